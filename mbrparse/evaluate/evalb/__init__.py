"""EVALB's way of scoring, line by line as it behaves."""
