"""The papers' experiments: where training, decoding and evaluation meet. One folder a paper."""
