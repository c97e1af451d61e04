"""Grids of parsers, one for every combination of options; ``reproduce`` is a grid of one cell."""
