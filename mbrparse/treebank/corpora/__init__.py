"""Corpora by name and path: their files, their trees, and what is in them."""
