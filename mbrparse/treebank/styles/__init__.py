"""How corpora write their trees, a file for each style: from lines to trees."""
