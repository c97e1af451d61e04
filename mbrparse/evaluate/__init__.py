"""From two sets of trees to tables. Knows no grammar."""
