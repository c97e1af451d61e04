"""The chart of one sentence as a table or a picture: each span's most probable label and its posterior.

What the states of a label are: the rules or words of each, listed and drawn.
"""

from __future__ import annotations

import io
import re
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import pandas as pd

from mbrparse import local_settings, log
from mbrparse.errors import GrammarError, shortened, visible
from mbrparse.grammar import pcfg, projection, rules, unknown_words
from mbrparse.treebank.labels import state_of

#: Background colours of terminals (of 256) for a posterior of nothing up to one.
_SHADES = (231, 230, 229, 228, 222, 215, 209, 203)
_WIDEST_WORD = 12
_CELL = 0.62  # inches
_LEGEND = "posterior of the most probable label"
_LABELLED = 40  # words: beyond, labels in the cells could not be read


class ConstituentPosteriors(Protocol):
    """The posteriors of a sentence's constituents, one by one and summed over labels."""

    @property
    def frame(self) -> pd.DataFrame: ...

    def bracketed(self, start: int, end: int) -> float: ...


class PictureCell(NamedTuple):
    """A span, its most probable label, that label's posterior and the sum over all labels."""

    start: int
    end: int
    label: str
    g: float
    total: float


def cells(
    posteriors: ConstituentPosteriors, threshold: float = 0.01, every_label: bool = False
) -> list[PictureCell]:
    """The spans that have a constituent of at least this posterior, by start and end.

    Over one terminal they are constituents too (of unary rules), no preterminals; of equal labels the
    first in text order. With ``every_label`` there is one for each label, the most probable of a span first.
    """
    rows: Iterable[Any] = posteriors.frame.itertuples(index=False)
    if not every_label:
        best: dict[tuple[int, int], Any] = {}
        for row in rows:
            if row[:2] not in best or row.g > best[row[:2]].g * (1 + 1e-9):
                best[row[:2]] = row
        rows = best.values()
    return [
        PictureCell(start, end, str(label), float(g), posteriors.bracketed(start, end))
        for start, end, label, g in sorted(rows, key=lambda row: (row.start, row.end, -row.g))
        if g >= threshold
    ]


def heat_table(
    shown: Sequence[PictureCell], words: Sequence[str], width: int | None = None, colours: bool = False
) -> str:
    """A table for a terminal: a row for each first word, a column for each last one, per cent in the cells.

    Columns that do not fit into ``width`` characters are set below the others. With ``colours`` the more
    probable is the redder.

    >>> cells = PictureCell(0, 2, "S", 1.0, 1.0), PictureCell(1, 2, "VP", 0.25, 0.3)
    >>> print(heat_table(cells, ["it", "rains"]), end="")
             1   2
             it  rains
    0 it         S 100
    1 rains      VP 25
    """
    names = [_cut(word) for word in words]
    text = {(cell.start, cell.end): f"{visible(cell.label)} {100 * cell.g:.0f}" for cell in shown}
    g = {(cell.start, cell.end): cell.g for cell in shown}
    heads = [f"{start} {name}" for start, name in enumerate(names)]
    margin = max(map(len, heads), default=0)
    widths = [
        max(len(name), *(len(text.get((start, end), "")) for start in range(end)))
        for end, name in enumerate(names, start=1)
    ]
    for end, name in enumerate(names, start=1):
        text |= {(-2, end): str(end), (-1, end): name}
    blocks = []
    for columns in _folded(widths, None if width is None else width - margin):
        block = ""
        for start, head in [(-2, ""), (-1, ""), *enumerate(heads[: columns[-1]])]:
            line = head.ljust(margin)
            for end in columns:
                field = text.get((start, end), "").ljust(widths[end - 1])
                line += "  " + (_shaded(field, g[start, end]) if colours and (start, end) in g else field)
            block += f"{line.rstrip()}\n"
        blocks.append(block)
    return "\n".join(blocks)


def listing(
    shown: Sequence[PictureCell], words: Sequence[str], places: Sequence[tuple[int, str, int, int]] = ()
) -> Iterator[str]:
    """Lines of a table with tabs: start, end, label, g, the sum over labels, and the words.

    ``places`` are those of the words in a text (``sentences.WrittenToken``): what a span has of it follows.
    """
    more = ("first_word", "last_word", "text_start", "text_end") if places else ()
    yield "\t".join(["start", "end", "label", "g", "total", "words", *more]) + "\n"
    for start, end, label, g, total in shown:
        covered = visible(" ".join(words[start:end]))
        written = (
            [places[start][0], places[end - 1][0], places[start][2], places[end - 1][3]] if places else []
        )
        row = [start, end, visible(label), f"{g:.6g}", f"{total:.6g}", covered, *written]
        yield "\t".join(map(str, row)) + "\n"


def _folded(widths: Sequence[int], room: int | None) -> Iterator[list[int]]:
    """The columns (1, 2, ...) of each block."""
    block: list[int] = []
    used = 0
    for column, width in enumerate(widths, start=1):
        if room is not None and block and used + width + 2 > room:
            yield block
            block, used = [], 0
        block.append(column)
        used += width + 2
    if block:
        yield block


def _shaded(field: str, g: float) -> str:
    shade = _SHADES[min(int(g * len(_SHADES)), len(_SHADES) - 1)]
    return f"\x1b[38;5;16;48;5;{shade}m{field}\x1b[0m"


def _cut(word: str) -> str:
    word = visible(word)
    return word if len(word) <= _WIDEST_WORD else f"{word[: _WIDEST_WORD - 1]}…"


@dataclass(frozen=True)
class ChartPicture:
    """A sentence's chart to look at: ``str`` is a table, ``svg`` and ``png`` are pictures."""

    cells: Sequence[PictureCell]
    words: Sequence[str]

    def svg(self) -> bytes:
        """The picture as an SVG file's bytes."""
        return draw_cells(self.cells, self.words, "svg")

    def png(self) -> bytes:
        """The picture as a PNG file's bytes."""
        return draw_cells(self.cells, self.words, "png")

    def __str__(self) -> str:
        return heat_table(self.cells, self.words)

    def _repr_svg_(self) -> str:
        return self.svg().decode("utf-8")


def draw_cells(shown: Sequence[PictureCell], words: Sequence[str], form: str) -> bytes:
    """The picture's bytes: rows are first words, columns last ones, shades the labels' posteriors."""
    n = len(words)
    g = np.full((n, n), np.nan)
    for cell in shown:
        g[cell.start, cell.end - 1] = cell.g
    labelled = shown if n <= _LABELLED else []
    texts = {(cell.start, cell.end - 1): f"{visible(cell.label)}\n{100 * cell.g:.0f}" for cell in labelled}
    return draw_table(g, (words, words), texts, ("last word", "first word", _LEGEND), form)


@contextmanager
def panels(size: tuple[float, float], count: int = 1) -> Iterator[tuple[Any, Any, Callable[[str], bytes]]]:
    """A figure of this size in inches, its panels side by side, and what draws it when these are filled.

    That takes svg, png or pdf, and warns of characters that the font lacks. The same input gives the same
    bytes with one version of matplotlib; text stays text, $ too.
    """
    with local_settings.no_local_settings():
        import matplotlib as mpl
        from matplotlib.figure import Figure

    def drawn(form: str) -> bytes:
        stream = io.BytesIO()
        metadata = {{"svg": "Date", "png": "Software", "pdf": "CreationDate"}[form]: None}
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            figure.savefig(stream, format=form, metadata=metadata, dpi=130)
        said = "\n".join(str(one.message) for one in found)
        lacking = dict.fromkeys(chr(int(code)) for code in re.findall(r"^Glyph (\d+)", said, re.MULTILINE))
        if lacking and form != "svg":  # whoever shows an SVG has fonts of his own
            which = shortened("".join(lacking), 20)
            log.warn(f"the picture's font lacks {which}: boxes stand for that in {form.upper()}, not in SVG")
        return stream.getvalue()

    with mpl.rc_context({"svg.hashsalt": "mbrparse", "svg.fonttype": "none", "text.parse_math": False}):
        figure = Figure(figsize=size, layout="constrained")
        [axes] = figure.subplots(1, count, squeeze=False)
        yield figure, axes, drawn


def draw_table(
    values: pcfg.FloatArray,
    names: tuple[Sequence[str], Sequence[str]],
    texts: Mapping[tuple[int, int], str],
    titles: tuple[str, str, str],
    form: str,
    margins: tuple[float, float] = (1.6, 0.8),
) -> bytes:
    """A picture's bytes: values up to one as shades, nan as nothing, with texts in some cells.

    Names are of rows and columns; titles those of columns, rows and shades; margins inches beside and below.
    ``form`` is svg, png or pdf.
    """
    height, width = values.shape
    cell = min(_CELL, 25 / max(values.shape))
    rows, columns = ([shortened(visible(name)) for name in axis] for axis in names)
    size = max(width * cell, 3.0) + margins[0], max(height * cell, 3.0) + margins[1]
    with panels(size) as (figure, [axes], drawn):
        image = axes.imshow(values, cmap="YlOrRd", vmin=0, vmax=1)
        axes.set_xticks(range(width), columns, rotation=90 if width > 8 else 0)
        axes.set_yticks(range(height), rows)
        axes.set_xlabel(titles[0])
        axes.set_ylabel(titles[1])
        axes.set_xticks(np.arange(-0.5, width), minor=True)
        axes.set_yticks(np.arange(-0.5, height), minor=True)
        axes.grid(which="minor", color="0.9", linewidth=0.5)
        axes.tick_params(which="minor", length=0)
        for (row, column), written in texts.items():
            font = max(3, min(9, 46 / max(len(written.split("\n")[0]), 5)))
            ink = "white" if values[row, column] > 0.6 else "black"
            axes.text(column, row, written, size=font, color=ink, ha="center", va="center")
        figure.colorbar(image, ax=axes, label=titles[2], shrink=0.8)
        return drawn(form)


_NAMED = 3  # words of a terminal that stands for several
_LEAST = 0.005  # nats
_COLUMNS = 16  # of a picture


def state_table(grammar: pcfg.PCFG, label: str, source: str) -> pd.DataFrame:
    """The probability of each right-hand side, over projected labels, in each state of a projected label.

    Rows are called by the symbol and its share of the label's expected occurrences. Columns are labels, or
    the words of a terminal, in quotes. Raises GrammarError for a label that has no states.
    """
    names, above = np.unique(projection.projected_names(grammar), return_inverse=True)
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
    groups = {
        terminal: () if unknown_words.is_unknown(terminal) else words
        for terminal, words in grammar.class_members[1].items()
    }
    words = [_named(groups.get(terminal) or [terminal]) for terminal in grammar.terminals]
    found: defaultdict[str, pcfg.FloatArray] = defaultdict(lambda: np.zeros(len(rows)))
    for children, parent, log_prob, *columns in (
        (labels, grammar.parent, grammar.log_prob, grammar.left, grammar.right),
        (labels, grammar.unary_parent, grammar.unary_log_prob, grammar.unary_child),
        (words, grammar.lexical_symbol, grammar.lexical_log_prob, grammar.lexical_terminal),
    ):
        for rule in np.flatnonzero(np.isin(parent, rows)):
            item = " ".join(children[column[rule]] for column in columns)
            found[item][rows == parent[rule]] += np.exp(log_prob[rule])
    share = projection.label_shares(grammar, above.astype(np.int32), len(names))[rows]
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


def _of_label(table: pd.DataFrame) -> pcfg.FloatArray:
    return np.asarray(table.index.get_level_values("share") @ table.to_numpy())


def _named(words: Sequence[str]) -> str:
    more = f" +{len(words) - _NAMED}" if len(words) > _NAMED else ""
    return " ".join(map(rules.quote, words[:_NAMED])) + more
