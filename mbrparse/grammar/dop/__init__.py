"""Data-oriented parsing: an addressed treebank, its reduction, and the grammar of all its fragments."""
