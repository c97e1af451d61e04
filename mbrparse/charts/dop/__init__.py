"""Charts of a DOP grammar: over addresses of the treebank's nodes, within the labels that pruning leaves."""
