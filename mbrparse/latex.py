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
    # Minus, en dash, plus-minus: by number, as a signal while Python compiles names makes a SyntaxError.
    "\u2212": "$-$",
    "\u2013": "--",
    "\u00b1": r"$\pm$",
}
_SPECIAL = re.compile(r"[\\~^&%$#_{}<>|\"\u2212\u2013\u00b1]|-(?=-)|`|'(?=')")


def latex(text: str) -> str:
    r"""The text with LaTeX's special characters escaped.

    >>> latex("50% of $_1--a")
    '50\\% of \\$\\_1-{}-a'
    """
    return _SPECIAL.sub(lambda match: _NAMED.get(match.group(), "\\" + match.group()), text)
