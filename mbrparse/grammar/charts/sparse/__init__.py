"""Charts whose cells hold the symbols that are there: large grammars, long sentences, unary rules."""
