"""Best-first parsing (Caraballo & Charniak 1998): agenda, figures of merit, partial charts."""
