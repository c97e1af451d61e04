"""Posteriors of labelled spans: of a chart, from a file, to a file."""
