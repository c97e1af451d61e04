"""Charts whose cells hold every symbol."""
