"""Words as terminals: rare words, unknown words, and the tagger that tags them."""
