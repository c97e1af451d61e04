"""Several derivations of a sentence instead of one tree: samples, the k best, the trees that they make."""
