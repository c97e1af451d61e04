"""The commands of the papers' experiments: options, one call of the library, print."""
