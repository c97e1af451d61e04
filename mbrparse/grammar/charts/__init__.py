"""Charts of a sentence: inside, outside, Viterbi, posteriors; dense and sparse kernels."""
