"""Grids: a parser for every combination of options, of training sizes and of folds."""
