"""Forests: every derivation of a sentence, packed."""
