"""Goodman (1996): two decoders on bracketed training (Table 1, Figure 2), and whether scores come true."""
