"""Grammars of the papers with published figures, as the naive twin's, in exact fractions."""

from fractions import Fraction

from naive import Grammar, P

F = Fraction
TERMINAL_X: dict[tuple[str, str], P] = {("x", "x"): F(1)}

# Goodman (1996), grammar (3).
GOODMAN_RULES: dict[tuple[str, str, str], P] = {
    **{("S", left, right): F(1, 4) for left, right in ("AC", "AD", "EB", "FB")},
    **{(symbol, "x", "x"): F(1) for symbol in "ABCDEF"},
}
GOODMAN = Grammar({"S": F(1)}, GOODMAN_RULES, TERMINAL_X)
X4 = ["x"] * 4

# Sima'an (2003), the grammar read off four trees of x^8.
SIMAAN = Grammar(
    {"S": F(1)},
    {
        ("S", "x", "x"): F(2, 20),
        ("S", "x", "S"): F(6, 20),
        ("S", "S", "x"): F(6, 20),
        ("S", "S", "S"): F(2, 20),
        ("S", "A", "A"): F(4, 20),
        ("A", "x", "x"): F(1),
    },
    TERMINAL_X,
)
X8 = ["x"] * 8
