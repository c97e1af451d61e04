"""How the trees of corpora are written: a reader or a row of conventions for each."""
