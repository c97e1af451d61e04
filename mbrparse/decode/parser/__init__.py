"""The parser: where sentences come from, the decoders that serve them, and what is written of each."""
