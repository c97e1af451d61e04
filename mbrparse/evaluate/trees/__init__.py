"""The trees of a comparison: where they come from, what counts of them, and what matches."""
