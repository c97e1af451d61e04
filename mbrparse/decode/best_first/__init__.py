"""Best-first parsing: agenda, figures of merit, charts as far as the search got."""
