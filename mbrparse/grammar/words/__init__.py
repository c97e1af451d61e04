"""Words as terminals: what stands for those that are rare or were never seen."""
