"""From counts to rates and their tables."""
