"""Comparing parses with gold trees: what counts, and the results."""
