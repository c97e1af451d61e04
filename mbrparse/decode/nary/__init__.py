"""The space of n-ary trees: any constituents that do not cross, from posteriors of spans alone."""
