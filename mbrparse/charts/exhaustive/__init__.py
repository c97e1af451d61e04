"""Charts of all derivations of a sentence: dense ones and forests, and which of them serve a grammar."""
