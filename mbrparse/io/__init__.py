"""Errors, files and what is written at once or not at all, the log, signals. Knows nothing of parsing."""
