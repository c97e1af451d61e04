"""Caraballo & Charniak (1998): figures of merit for best-first parsing, compared by their work."""
