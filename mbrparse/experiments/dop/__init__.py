"""Goodman's (1996) DOP experiment: a treebank's PCFG, its fragments, and the decoders of both."""
