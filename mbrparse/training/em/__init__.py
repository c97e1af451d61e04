"""Re-estimation from (partially) bracketed text: expected counts, EM, checkpoints."""
