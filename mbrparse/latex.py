"""Text for LaTeX."""

from __future__ import annotations

import re

_NAMED = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\symbol{34}",
    # No ligatures: these would be dashes and other quotes.
    "-": "-{}",
    "'": "'{}",
    "`": "{}`",
    "\N{MINUS SIGN}": "$-$",
    "\N{EN DASH}": "--",
    "\N{PLUS-MINUS SIGN}": r"$\pm$",
}
_SPECIAL = re.compile(r"[\\~^&%$#_{}<>|\"\N{MINUS SIGN}\N{EN DASH}\N{PLUS-MINUS SIGN}]|-(?=-)|`|'(?=')")


def latex(text: str) -> str:
    r"""The text with LaTeX's special characters escaped.

    >>> latex("50% of $_1--a")
    '50\\% of \\$\\_1-{}-a'
    """
    return _SPECIAL.sub(lambda match: _NAMED.get(match.group(), "\\" + match.group()), text)
