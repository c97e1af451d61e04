"""The papers' experiments: where decoding and evaluation meet. One file per experiment."""
