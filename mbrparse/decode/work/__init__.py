"""A run in blocks that are kept as they are finished: to be resumed, or parsed in shards and merged."""
