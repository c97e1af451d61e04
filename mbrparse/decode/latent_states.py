"""What the states of a label are: the rules or words of each, listed and drawn."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd

from mbrparse.decode.chart_picture import draw_table
from mbrparse.errors import GrammarError, shortened
from mbrparse.grammar.pcfg import PCFG, FloatArray
from mbrparse.grammar.projection import label_shares, projected_names
from mbrparse.grammar.rules import quote
from mbrparse.treebank.labels import state_of

_NAMED = 3  # words of a terminal that stands for several
_LEAST = 0.005  # nats
_COLUMNS = 16  # of a picture


def state_table(grammar: PCFG, label: str, source: str) -> pd.DataFrame:
    """The probability of each right-hand side, over projected labels, in each state of a projected label.

    Rows are called by the symbol and its share of the label's expected occurrences. Columns are labels, or
    the words of a terminal, in quotes. Raises GrammarError for a label that has no states.
    """
    names, above = np.unique(projected_names(grammar), return_inverse=True)
    labels = names[above]
    rows = np.flatnonzero(labels == label)
    symbols = [grammar.symbols[row] for row in rows]
    if not any(map(state_of, symbols)):
        split = {name for name, symbol in zip(labels, grammar.symbols, strict=True) if state_of(symbol)}
        message = f"{label} has no states" if symbols else f"no symbol has the label {label}"
        remedy = (
            f"these have: {' '.join(sorted(split))}" if split else "train --method split-merge makes some"
        )
        raise GrammarError(message, source=source, remedy=remedy)
    groups: dict[str, list[str]] = {terminal: [] for terminal in grammar.terminals}
    for word, terminal in getattr(grammar.unknown, "words", {}).items():
        groups.setdefault(terminal, []).append(word)
    words = [_named(groups[terminal] or [terminal]) for terminal in grammar.terminals]
    found: defaultdict[str, FloatArray] = defaultdict(lambda: np.zeros(len(rows)))
    for children, parent, log_prob, *columns in (
        (labels, grammar.parent, grammar.log_prob, grammar.left, grammar.right),
        (labels, grammar.unary_parent, grammar.unary_log_prob, grammar.unary_child),
        (words, grammar.lexical_symbol, grammar.lexical_log_prob, grammar.lexical_terminal),
    ):
        for rule in np.flatnonzero(np.isin(parent, rows)):
            item = " ".join(children[column[rule]] for column in columns)
            found[item][rows == parent[rule]] += np.exp(log_prob[rule])
    share = label_shares(grammar, above.astype(np.int32), len(names))[rows]
    return pd.DataFrame(found, pd.MultiIndex.from_arrays([symbols, share], names=["state", "share"]))


def distinctive(tables: dict[str, pd.DataFrame], top: int) -> pd.DataFrame:
    """What tells states from their label: grammar, state, share, item, probability, ratio to the label's.

    They are the items that add most to the divergence of the state from the label, .005 nats at least; where
    none adds as much, the most probable.
    """
    rows = []
    for grammar, table in tables.items():
        mean = _of_label(table)
        for (state, share), p in zip(table.index, table.to_numpy(), strict=True):
            gain = p * np.log(np.where(p > 0, p / mean, 1))
            order = np.lexsort((-p, -gain.round(2)))[:top]
            best = [at for at in order if gain[at] >= _LEAST] or order
            rows += [(grammar, state, share, table.columns[at], p[at], p[at] / mean[at]) for at in best]
    return pd.DataFrame(rows, columns=["grammar", "state", "share", "item", "probability", "ratio"])


def draw_states(tables: dict[str, pd.DataFrame], form: str) -> bytes:
    """A picture of the most frequent items in the states of each grammar, one grammar below the other."""
    rows = pd.concat(tables).fillna(0)
    mean = sum(_of_label(part) for _, part in rows.groupby(level=0))
    shown = rows.iloc[:, np.argsort(-mean, kind="stable")[:_COLUMNS]]
    values = shown.to_numpy()
    names = [f"{Path(name).name}: {state}  {share:.0%}" for name, state, share in shown.index]
    texts = {
        (row, column): f"{100 * values[row, column]:.0f}" for row, column in np.argwhere(values >= 0.005)
    }
    columns = [shortened(name, 24) for name in shown.columns]
    return draw_table(values, (names, columns), texts, ("", "", "probability"), form, (4.0, 2.0))


def _of_label(table: pd.DataFrame) -> FloatArray:
    return np.asarray(table.index.get_level_values("share") @ table.to_numpy())


def _named(words: list[str]) -> str:
    more = f" +{len(words) - _NAMED}" if len(words) > _NAMED else ""
    return " ".join(map(quote, words[:_NAMED])) + more
