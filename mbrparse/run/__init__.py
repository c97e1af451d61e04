"""Running tasks and keeping their results: processes, clusters, shards, folders to resume from."""
