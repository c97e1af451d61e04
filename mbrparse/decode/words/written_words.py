"""Sums over the tokens of words as they are written, and of regions.

Punctuation and clitics count to the word that they are written with: ``barn.`` is the tokens ``barn`` and
``.``, ``can't`` is ``ca`` and ``n't``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, Literal

import numpy as np

Per = Literal["token", "word", "region"]
Row = dict[str, Any]
#: What is summed over the tokens of a word, in bits.
SUMMED = ("surprisal", "lexical", "syntactic")
#: The columns of a table of words or regions.
JOINED_COLUMNS = (
    *("sentence", "position", "word", "terminal", "tokens", "class", "log_prefix", *SUMMED, "entropy"),
    *("known", "start", "end", "length", "log_frequency", "reason"),
)
#: Of each word or end, where analyses are asked for.
OF_WORDS = (
    *("analysis", "analysis_probability", "open_brackets", "analyses_alive"),
    *("winner_rank", "winner_probability"),
)
#: The columns of a table of analyses.
OF_ANALYSES = (
    *("sentence", "position", "word", "analysis_rank", "probability", "continues"),
    *("continued", "open_brackets", "wins", "analysis"),
)
#: What is repeated of the rows before, of so many at most.
SPILLED, MOST_SPILLED = ("surprisal", "length", "log_frequency"), 9


def joined(rows: Iterable[Row], text: str, by: str = "word_number") -> list[Row]:
    """A row for the tokens of each word, or whatever ``by`` numbers: bits are summed.

    Entropies are those before its first token, that of derivations is after the last; ``log_frequency`` that
    of its rarest. A word is impossible (its surprisal infinite) where one of its tokens is.
    """
    found = []
    for number, group in groupby(rows, key=lambda row: row[by]):
        tokens = list(group)
        first, last = tokens[0], tokens[-1]
        word = text[first["start"] : last["end"]]
        row = {**first, "position": number, "word": word or last["word"], "tokens": len(tokens)}
        row["length"] = len(word)
        for name in (*SUMMED, *({"entropy_reduction"} & first.keys())):
            bits = [token[name] for token in tokens]
            row[name] = math.inf if math.inf in bits else sum(bits)
        row["terminal"] = " ".join(token["terminal"] for token in tokens)
        row["class"] = " ".join(dict.fromkeys(token["class"] for token in tokens if token["class"]))
        row["log_frequency"] = float(np.min([token["log_frequency"] for token in tokens]))
        row["known"] = min(token["known"] for token in tokens)
        of_last = ("log_prefix", "end", "reason", "derivation_entropy", *OF_WORDS)
        row.update({name: last[name] for name in of_last if name in last})
        found.append(row)
    return found


def spill(rows: Sequence[Row], count: int) -> None:
    """Add to the rows of a sentence columns of the ``count`` rows before: ``surprisal_1`` of the last."""
    for place, row in enumerate(rows):
        for back in range(1, count + 1):
            for name in SPILLED:
                row[f"{name}_{back}"] = rows[place - back][name] if place >= back else math.nan


def spilled_columns(count: int) -> list[str]:
    """The names of the columns that ``spill`` adds."""
    return [f"{name}_{back}" for back in range(1, count + 1) for name in SPILLED]
