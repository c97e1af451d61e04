"""Grammars made from charts: expectation–maximization and split–merge."""
