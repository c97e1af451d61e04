"""The chart of one sentence as a table or a picture: each span's most probable label and its posterior."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from mbrparse.errors import visible
from mbrparse.local_settings import no_local_settings

if TYPE_CHECKING:
    import pandas as pd

    from mbrparse.grammar.pcfg import FloatArray

#: Background colours of terminals (of 256) for a posterior of nothing up to one.
_SHADES = (231, 230, 229, 228, 222, 215, 209, 203)
_WIDEST_WORD = 12
_CELL = 0.62  # inches
_SURELY = 1.005  # what is shown as more than 100 per cent
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


#: What is said where a posterior is above one.
ABOVE_ONE = "above 100: an expected number of constituents, more than one a tree where unary rules cycle"


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
        PictureCell(
            row.start, row.end, str(row.label), float(row.g), posteriors.bracketed(row.start, row.end)
        )
        for row in sorted(rows, key=lambda row: (row.start, row.end, -row.g))
        if row.g >= threshold
    ]


def heat_table(
    shown: Sequence[PictureCell], words: Sequence[str], width: int | None = None, colours: bool = False
) -> str:
    """A table for a terminal: a row for each first word, a column for each last one, per cent in the cells.

    Columns that do not fit into ``width`` characters are set below the others. With ``colours`` the more
    probable is the redder.

    >>> print(heat_table([Cell(0, 2, "S", 1.0, 1.0), Cell(1, 2, "VP", 0.25, 0.3)], ["it", "rains"]), end="")
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
    blocks = []
    for columns in _folded(widths, None if width is None else width - margin):
        rows = [("", [str(end) for end in columns]), ("", [names[end - 1] for end in columns])]
        lines = [_row(head, row, [widths[end - 1] for end in columns], margin) for head, row in rows]
        for start, head in enumerate(heads[: columns[-1]]):
            line = head.ljust(margin)
            for end in columns:
                field = text.get((start, end), "").ljust(widths[end - 1])
                line += "  " + (_shaded(field, g[start, end]) if colours and (start, end) in g else field)
            lines.append(line.rstrip())
        blocks.append("\n".join(lines) + "\n")
    if any(cell.g > _SURELY for cell in shown):
        blocks.append(f"{ABOVE_ONE}\n")
    return "\n".join(blocks)


def listing(shown: Sequence[PictureCell], words: Sequence[str]) -> Iterator[str]:
    """Lines of a table with tabs: start, end, label, g, the sum over labels, and the words."""
    yield "start\tend\tlabel\tg\ttotal\twords\n"
    for start, end, label, g, total in shown:
        covered = visible(" ".join(words[start:end]))
        yield f"{start}\t{end}\t{visible(label)}\t{g:.6g}\t{total:.6g}\t{covered}\n"


def _row(head: str, fields: Sequence[str], widths: Sequence[int], margin: int) -> str:
    line = head.ljust(margin)
    return "".join(
        [line, *(f"  {field.ljust(width)}" for field, width in zip(fields, widths, strict=True))]
    ).rstrip()


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

    @classmethod
    def of(cls, posteriors: ConstituentPosteriors, words: Sequence[str], threshold: float) -> ChartPicture:
        """Of what is at least so probable."""
        return cls(cells(posteriors, threshold), words)

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
    import numpy as np

    n = len(words)
    g = np.full((n, n), np.nan)
    for cell in shown:
        g[cell.start, cell.end - 1] = cell.g
    above = any(cell.g > _SURELY for cell in shown)
    last = f"last word\n{fill(ABOVE_ONE, 36)}" if above else "last word"
    labelled = shown if n <= _LABELLED else []
    texts = {(cell.start, cell.end - 1): f"{visible(cell.label)}\n{100 * cell.g:.0f}" for cell in labelled}
    return draw_table(g, (words, words), texts, (last, "first word", _LEGEND), form)


def draw_table(
    values: FloatArray,
    names: tuple[Sequence[str], Sequence[str]],
    texts: Mapping[tuple[int, int], str],
    titles: tuple[str, str, str],
    form: str,
    margins: tuple[float, float] = (1.6, 0.8),
) -> bytes:
    """A picture's bytes: values up to one as shades, nan as nothing, with texts in some cells.

    Names are of rows and columns; titles those of columns, rows and shades; margins inches beside and below.
    ``form`` is svg, png or pdf. The same input gives the same bytes with one version of matplotlib.
    """
    import numpy as np

    with no_local_settings():
        import matplotlib as mpl
        from matplotlib.figure import Figure

    height, width = values.shape
    cell = min(_CELL, 25 / max(values.shape))
    rows, columns = ([visible(name).replace("$", r"\$") for name in axis] for axis in names)
    with mpl.rc_context({"svg.hashsalt": "mbrparse", "svg.fonttype": "none"}):
        size = max(width * cell, 3.0) + margins[0], max(height * cell, 3.0) + margins[1]
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.add_subplot()
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
            text = written.replace("$", r"\$")
            font = max(3, min(9, 46 / max(len(text.split("\n")[0]), 5)))
            ink = "white" if values[row, column] > 0.6 else "black"
            axes.text(column, row, text, size=font, color=ink, ha="center", va="center")
        figure.colorbar(image, ax=axes, label=titles[2], shrink=0.8)
        stream = io.BytesIO()
        metadata = {{"svg": "Date", "png": "Software", "pdf": "CreationDate"}[form]: None}
        figure.savefig(stream, format=form, metadata=metadata, dpi=120)
    return stream.getvalue()
