"""Grammars in files: mbrparse's own format, NLTK's and bitpar's."""
