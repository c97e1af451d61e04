"""Reading the posteriors of another model: an .npz file of parallel arrays (docs/posteriors.md).

========  =================  ==========================================================
lengths   int [sentences]    how many words each sentence has
labels    text [labels]      the labels, as they stand in binarized trees
sentence  int [entries]      the entry's sentence, a position in ``lengths``
start     int [entries]      where its span starts
end       int [entries]      where it ends: the position after its last word
label     int [entries]      its label, a position in ``labels``
g         float [entries]    its posterior, in single or double precision
========  =================  ==========================================================

It may also hold ``consistent``, float [spans]: for all spans of all sentences, in the order of sentence,
start, end, the probability that no constituent crosses the span; ``tag``, bool [entries]: which entries over
one word are tags. Those that are none are constituents, all of them without this array; and ``chains``, text
[chains]: labels that stand over one span in their order, as S+VP. Texts named ``joiner``, ``continuation``
and ``null`` say how another program writes labels (``LabelMarks``).
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mbrparse.charts.factory import TIE
from mbrparse.decode.label_order import LabelOrder
from mbrparse.decode.posteriors.given_posteriors import GivenPosteriors, added_up
from mbrparse.decode.posteriors.posteriors_archive import of_entries, read_arrays
from mbrparse.decode.posteriors.posteriors_checks import (
    TOLERANCE,
    RawPosteriors,
    check_consistent,
    check_entries,
    check_labels,
    check_single,
)
from mbrparse.errors import OptionsError, PosteriorsError
from mbrparse.files import open_input, source_name
from mbrparse.grammar.pcfg import IntArray
from mbrparse.treebank.labels import JOIN, MARKS, PLAIN, STYLES, LabelMarks, escape


def read_posteriors(path: str | Path, marks: LabelMarks | str | None = None) -> GivenPosteriors:
    """Read and check a file of posteriors (``-``: standard input).

    With ``marks``, or those that it names, its labels are another program's ("supar", "benepar", "nltk" and
    "torch-struct" are known), and are translated; posteriors of labels that become equal are added, those of
    null labels left out. Raises FileError, and PosteriorsError for an invalid file or no posteriors.
    """
    source = source_name(path)
    try:
        with open_input(path) as stream:
            # Zip archives are read from their end, so pipes are read whole first.
            arrays, ignored = read_arrays(stream if stream.seekable() else io.BytesIO(stream.read()), source)
        return checked_posteriors(arrays, source, marks, ignored)
    except MemoryError:
        raise PosteriorsError(
            "does not fit into memory",
            source=source,
            remedy="cut it, and the text with it, into several, or leave out entries near zero",
        ) from None


def checked_posteriors(
    arrays: dict[str, npt.NDArray[Any]], source: str, marks: LabelMarks | str | None, ignored: Any = ()
) -> GivenPosteriors:
    """The posteriors of the arrays of a file; raises PosteriorsError for values that are none."""
    if isinstance(marks, str) and marks not in STYLES:
        raise OptionsError(f"marks is {marks!r}: give a LabelMarks or one of {', '.join(STYLES)}")
    marks = STYLES[marks] if isinstance(marks, str) else marks
    consistent, chains = arrays.pop("consistent", None), arrays.pop("chains", None)
    told = {name: tuple(arrays.pop(name).ravel().tolist()) for name in MARKS if name in arrays}
    if told:
        marks = (marks or PLAIN).over(LabelMarks(next(iter(told.pop("joiner", ())), None), **told))
    if marks is not None and marks.null:
        nulls = np.flatnonzero(np.isin(arrays["labels"], marks.null))
        kept = ~np.isin(arrays["label"], nulls) | arrays.get("tag", np.False_)
        arrays |= {name: array[kept] for name, array in arrays.items() if of_entries(name)}
    raw = RawPosteriors(**arrays)
    check_entries(raw, source)
    if consistent is not None:
        check_consistent(consistent, raw.lengths, source)
        consistent = consistent.astype(np.float64)
    used, ids = np.unique(raw.label.astype(np.int64), return_inverse=True)
    names = [str(raw.labels[label]) for label in used]
    check_labels(names, raw, ids, source, marks)
    check_single(raw, np.lexsort((raw.phrase, raw.label, raw.end, raw.start, raw.sentence)), source)
    labels, label_ids = _labels(names, ids, raw.phrase, marks)
    given = GivenPosteriors.of_columns(
        raw.sentence.astype(np.int64),
        *(raw.start.astype(np.int32), raw.end.astype(np.int32), label_ids, raw.phrase),
        raw.g.astype(np.float64),
        lengths=raw.lengths.astype(np.int64),
        source=source,
        labels=labels,
        tie=TIE["double" if raw.g.dtype.itemsize == 8 else "single"],
        ignored=ignored,
        consistent=consistent,
        tells_tags=raw.tag is not None,
    )
    translated = [] if chains is None else [marks.translate(one) if marks else one for one in chains.tolist()]
    return replace(given, order=_order(given, translated))


def _order(given: GivenPosteriors, chains: Sequence[str]) -> LabelOrder | None:
    """That of labels over one span, where there are chains: listed ones, or sums of g above one."""
    phrase, g = given.phrase, given.g[given.phrase]
    starts, ends, labels = given.starts[phrase], given.ends[phrase], given.label_ids[phrase]
    sentence = given.sentence[phrase]
    _, sums = added_up(np.arange(len(g)), (sentence, starts, ends), g)
    if not chains and sums.max(initial=0.0) <= 1 + TOLERANCE[4]:
        return None
    share = (ends - starts) / given.lengths[sentence]
    mass, wide = (np.bincount(labels, of, len(given.labels)) for of in (g, g * share))
    width = np.divide(wide, mass, out=np.zeros(len(mass)), where=mass > 0)
    above = Counter(pair for chain in chains for pair in combinations(chain.split(JOIN), 2))
    return LabelOrder(above, dict(zip(given.labels, width.tolist(), strict=True)))


def _labels(
    names: Sequence[str], ids: npt.NDArray[np.int64], wide: npt.NDArray[np.bool_], marks: LabelMarks | None
) -> tuple[tuple[str, ...], IntArray]:
    """The labels in text order, and each entry's; of another program's, those over one word are tags."""
    if marks is None:
        shown = [list(names), list(names)]
    else:
        shown = [[escape(name) for name in names], [marks.translate(name) for name in names]]
    found = {shown[is_wide][position] for is_wide in (0, 1) for position in np.unique(ids[wide == is_wide])}
    labels = tuple(sorted(found))
    rank = {name: position for position, name in enumerate(labels)}
    if not names:
        return labels, ids.astype(np.int32)
    ranks = np.array([[rank.get(name, -1) for name in row] for row in shown], np.int32)
    return labels, ranks[wide.astype(np.int64), ids]
