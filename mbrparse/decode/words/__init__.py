"""Prefixes of sentences: what may come next, and in a gap."""
