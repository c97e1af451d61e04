"""From a chart to a tree: posteriors, objectives, search, fall-backs, the parser."""
