"""Grammars of any kind in files, and other programs' formats of them."""
