"""Sima'an (2003): four algorithms among a grammar's own trees, three parsers (Table 2)."""
