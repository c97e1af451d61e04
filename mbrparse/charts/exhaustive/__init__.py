"""Which engine makes the chart of a sentence, and which of its labels a pruned chart keeps."""
