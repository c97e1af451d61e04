"""Tag n-grams and boundary statistics, for figures of merit."""
