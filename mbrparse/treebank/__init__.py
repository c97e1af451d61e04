"""Trees in and out. Nothing probabilistic."""
