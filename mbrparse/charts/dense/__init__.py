"""Charts whose cells hold every symbol: groups of sentences, one a lane."""
