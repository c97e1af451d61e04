"""A page to look at: what was compared, every figure leading to the sentences behind it, and their trees."""
