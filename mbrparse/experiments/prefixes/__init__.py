"""Optimal perplexities of a grammar beside those of n-gram models (Jumelet & Zuidema 2023)."""
