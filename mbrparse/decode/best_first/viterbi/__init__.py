"""The Viterbi agenda: items with one derivation each, for the most probable derivation alone; A*."""
