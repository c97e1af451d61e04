"""Decoders over DOP grammars: what posteriors of their charts serve, and samples of their derivations."""
