"""Charts of a sentence: inside, outside, Viterbi, posteriors. Packed forests, and lanes for batches."""
