"""Trees that are right or wrong as a whole: the most probable found, and how much better any could be."""
