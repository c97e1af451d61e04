"""A PCFG and all that makes one or follows from one alone."""
