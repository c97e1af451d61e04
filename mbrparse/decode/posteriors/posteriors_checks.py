"""Checks of given posteriors: spans of the sentences, labels of the list, probabilities; what no model has.

Messages count sentences from 1, like lines, and name the entry's index in the arrays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from mbrparse.charts.exhaustive.factory import TIE
from mbrparse.charts.spans import begins
from mbrparse.decode.posteriors.given_posteriors import ROUNDING, GivenPosteriors, added_up, ranks
from mbrparse.decode.span_posteriors import LabelOrder
from mbrparse.errors import LabelError, OptionsError, PosteriorsError
from mbrparse.grammar.pcfg import FloatArray
from mbrparse.log import warn
from mbrparse.treebank import labels as codec
from mbrparse.treebank.labels import JOIN, LabelMarks

# How far rounding may bring a posterior above one, by bytes of a number: sums over a softmax, for instance.
TOLERANCE = {8: 1e-6, 4: ROUNDING}
# Of posteriors that are stored in single precision.
_SINGLE_TIE = 1e-5

_LONGEST = 2**31 - 1  # as positions are held
_CHAIN = "--joiner names what joins the chains of another program ('' for nothing)"
# What would end a label in a written tree.
_BREAKS = frozenset("() \t\r\n\f\v")


def refuse(source: str, message: str, remedy: str) -> NoReturn:
    """Raise PosteriorsError."""
    raise PosteriorsError(message, source=source, remedy=remedy)


class RawPosteriors(NamedTuple):
    """The arrays of a file; ``lengths`` by sentence, ``labels`` by label, the others by entry."""

    lengths: npt.NDArray[Any]
    labels: npt.NDArray[Any]
    sentence: npt.NDArray[Any]
    start: npt.NDArray[Any]
    end: npt.NDArray[Any]
    label: npt.NDArray[Any]
    g: npt.NDArray[Any]
    tag: npt.NDArray[np.bool_] | None = None

    @property
    def phrase(self) -> npt.NDArray[np.bool_]:
        """Which entries are constituents: where no array says, all are."""
        return np.ones(len(self.g), np.bool_) if self.tag is None else ~self.tag

    @property
    def keys(self) -> tuple[npt.NDArray[Any], ...]:
        """What equal entries share."""
        return self.sentence, self.start, self.end, self.label, self.phrase

    def place(self, entry: int) -> str:
        """An entry's sentence and span, for messages."""
        return f"sentence {int(self.sentence[entry]) + 1}: span ({self.start[entry]}, {self.end[entry]})"

    def labelled_place(self, entry: int) -> str:
        """The same with its label, which must be one of the list."""
        return f"{self.place(entry)} {str(self.labels[self.label[entry]])!r}"


#: The arrays that have an element for each entry.
ENTRIES = RawPosteriors._fields[2:]


def checked_posteriors(
    arrays: dict[str, npt.NDArray[Any]], source: str, marks: LabelMarks | str | None, ignored: Any = ()
) -> GivenPosteriors:
    """The posteriors of the arrays of a file; warns of ``doubts``.

    Raises PosteriorsError for values that are none.
    """
    if isinstance(marks, str):
        if marks not in codec.STYLES:
            raise OptionsError(f"marks is {marks!r}: give a LabelMarks or one of {', '.join(codec.STYLES)}")
        marks = codec.STYLES[marks]
    consistent, chains = arrays.pop("consistent", None), arrays.pop("chains", np.zeros(0, np.str_))
    listed = {name: tuple(arrays.pop(name).ravel().tolist()) for name in codec.MARKS if name in arrays}
    if listed:
        own = LabelMarks(next(iter(listed.pop("joiner", ())), None), **listed)
        marks = (marks or codec.PLAIN).over(own)
    if marks is not None and marks.null:
        nulls = np.flatnonzero(np.isin(arrays["labels"], marks.null))
        kept = ~np.isin(arrays["label"], nulls) | arrays.get("tag", np.False_)
        arrays |= {name: arrays[name][kept] for name in ENTRIES if name in arrays}
    raw = RawPosteriors(**arrays)
    _check_entries(raw, source)
    if consistent is not None:
        _check_consistent(consistent, raw.lengths, source)
        consistent = consistent.astype(np.float64)
    used, ids = np.unique(raw.label.astype(np.int64), return_inverse=True)
    names = [str(raw.labels[label]) for label in used]
    _check_labels(names, raw, ids, marks, source)
    _check_single(raw, source)
    # Over one word stand tags, which another program writes as they are.
    shown = [names, names]
    if marks is not None:
        shown = [list(map(codec.escape, names)), list(map(marks.translate, names))]
    texts, place = np.unique(np.array(shown, np.str_), return_inverse=True)
    there, label_ids = np.unique(place.reshape(2, -1)[raw.phrase.astype(np.int64), ids], return_inverse=True)
    given = GivenPosteriors.of_columns(
        raw.sentence.astype(np.int64),
        *(raw.start.astype(np.int32), raw.end.astype(np.int32), label_ids.astype(np.int32), raw.phrase),
        raw.g.astype(np.float64),
        ranks(raw.keys, raw.g),
        lengths=raw.lengths.astype(np.int64),
        source=source,
        labels=tuple(texts[there].tolist()),
        tie=TIE if raw.g.dtype.itemsize == 8 else _SINGLE_TIE,
        ignored=ignored,
        consistent=consistent,
        tells_tags=raw.tag is not None,
    )
    translated = [marks.translate(one) if marks else one for one in chains.tolist()]
    given = replace(given, order=_order(given, translated))
    for line in doubts(given):
        warn(f"{source}: {line}")
    return given


def _check_entries(raw: RawPosteriors, source: str) -> None:
    """Check lengths, spans, label ids and posteriors; raises PosteriorsError for the first wrong one."""

    def check(wrong: npt.NDArray[np.bool_], says: Callable[[int], str], remedy: str) -> None:
        where = np.flatnonzero(wrong)
        if len(where):
            others = f" (and {len(where) - 1} more like it)" if len(where) > 1 else ""
            refuse(source, says(int(where[0])) + others, remedy)

    if not len(raw.lengths):
        refuse(source, "there are no sentences: lengths is empty", "it has one number a sentence")
    count, labels, most = len(raw.lengths), len(raw.labels), 1 + TOLERANCE.get(raw.g.dtype.itemsize, 0.0)
    check(
        (raw.lengths < 0) | (raw.lengths > _LONGEST),
        lambda index: f"sentence {index + 1}: its length is {raw.lengths[index]}",
        "lengths are numbers of words",
    )
    check(
        (raw.sentence < 0) | (raw.sentence >= count),
        lambda entry: (
            f"sentence[{entry}] is {raw.sentence[entry]}, where lengths has sentences 0 to {count - 1}"
        ),
        "an entry's sentence is a position in lengths, from 0",
    )
    check(
        (raw.label < 0) | (raw.label >= labels),
        lambda entry: f"{raw.place(entry)} has the label {raw.label[entry]}, of {labels}",
        "an entry's label is a position in labels, from 0",
    )
    check(
        ~((raw.g >= 0) & (raw.g <= most)),
        lambda entry: f"{raw.labelled_place(entry)} has g {raw.g[entry]}, which is no probability",
        "g is the probability of the span with its label; of scores (logits) take mp.span_marginals",
    )
    length = raw.lengths[raw.sentence.astype(np.int64)]
    check(
        (raw.start < 0) | (raw.start >= raw.end) | (raw.end > length),
        lambda entry: f"{raw.place(entry)} is none of the sentence's {length[entry]} words",
        "spans are half-open: end is the position after the last word, start the first word's, from 0 (in "
        "Python see ends='inclusive'); words added for the model, a first and a last one, do not count",
    )
    if raw.tag is not None:
        check(
            raw.tag & (raw.end - raw.start > 1),
            lambda entry: f"{raw.labelled_place(entry)} is called a tag over more than one word",
            "in the array 'tag' only entries over one word are true",
        )


def _check_consistent(consistent: npt.NDArray[Any], lengths: npt.NDArray[Any], source: str) -> None:
    """Check that there is a probability for each span of each sentence."""
    long = lengths.astype(np.float64)
    spans = float((long * (long + 1) / 2).sum())
    if len(consistent) != spans:
        refuse(
            source,
            f"the array 'consistent' has {len(consistent):,} numbers, where the sentences have {spans:,.0f} "
            "spans",
            "it has one for each span of one word or more, in the order of sentence, start, end",
        )
    wrong = np.flatnonzero(~((consistent >= 0) & (consistent <= 1 + TOLERANCE[4])))
    if len(wrong):
        remedy = "it is the probability that no constituent crosses the span, from 0 to 1"
        refuse(source, f"consistent[{wrong[0]}] is {consistent[wrong[0]]}", remedy)


def _check_single(raw: RawPosteriors, source: str) -> None:
    """Check that what is listed twice is there more than once."""
    order = np.lexsort(raw.keys[::-1])
    new = begins(*(values[order] for values in raw.keys))
    if new.all():
        return
    total = np.add.reduceat(raw.g[order], np.flatnonzero(new))[np.cumsum(new) - 1]
    where = np.flatnonzero(~new & ((total <= 1 + TOLERANCE[4]) | ~raw.phrase[order]))
    if len(where):
        entry, again = int(order[where[0] - 1]), int(order[where[0]])
        twice = f"{raw.labelled_place(entry)} is listed twice, as entries {entry} and {again}"
        refuse(source, twice, "add the posteriors of what is the same up to its label up, and list the sum")


def _check_labels(
    names: Sequence[str],
    raw: RawPosteriors,
    ids: npt.NDArray[np.int64],
    marks: LabelMarks | None,
    source: str,
) -> None:
    """Check the labels that entries have; ``ids`` says which of ``names`` each entry has.

    Over one word stand tags, which are whatever can be written; over more words stand the projected
    labels of binarized trees, or with ``marks`` another program's. A label that no entry has may be anything.
    """
    counted, wide = Counter(names), set(ids[raw.phrase].tolist())
    for position, name in enumerate(names):
        trouble = _trouble(name, position in wide, marks)
        if counted[name] > 1:
            trouble = "stands in labels twice", "give each label one position"
        if trouble is not None:
            first = raw.place(int(np.flatnonzero(ids == position)[0]))
            refuse(source, f"label {name!r} {trouble[0]} (first at {first})", trouble[1])


def _trouble(name: str, wide: bool, marks: LabelMarks | None) -> tuple[str, str] | None:
    """Why a label cannot stand in a tree, and the remedy."""
    if not name:
        return "is empty", (
            "if it is a model's label of what is no constituent, say so with `label_style=benepar` or "
            "`null=''`"
        )
    # Also what --debinarize would write.
    if _BREAKS & set(name if marks is not None else name + codec.unescape(name)):
        return "holds a bracket or white space", "call it otherwise, such as -LRB- for a bracket"
    if any("\ud800" <= character <= "\udfff" for character in name):
        return "cannot be written in UTF-8", "call it otherwise"
    if not wide:
        return None
    if marks is not None:
        return None if all(marks.parts(name)) else ("is a chain with an end missing", _CHAIN)
    try:
        symbol = codec.parse_label(name)
    except LabelError:
        symbol = None
    if symbol is None or symbol.annotations:
        option = (
            codec.foreign_option(name) or "`joiner` and what joins its chains, such as '::' ('' for nothing)"
        )
        return "holds the mark of an annotation, one of ^ > ~ & @", (
            f"if it is part of another program's label, say so with {option}; otherwise sum over what is "
            "annotated and name the label alone (a continuation of S is S_Cont)"
        )
    if not all(symbol.base.split(JOIN)):
        return "is a chain with an end missing", f"S+VP is S over VP; {_CHAIN}"
    return None


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


_SLACK = 0.01  # sums over many labels in half precision come that near
_CHAIN_LABELS = 4  # labels over a span; no treebank has more on average
_LONGEST_CROSSED = 1000  # words: crossing spans of longer sentences are not looked for

_Places = npt.NDArray[np.int64]


class _Spans(NamedTuple):
    """Spans in the order of sentence, start, end: the sum of g over their labels, and the largest g."""

    sentence: _Places
    start: _Places
    end: _Places
    total: FloatArray
    largest: FloatArray

    @classmethod
    def of(cls, given: GivenPosteriors, chosen: npt.NDArray[np.bool_]) -> _Spans:
        """Of some entries."""
        keys, g = np.stack([given.sentence, given.starts, given.ends])[:, chosen], given.g[chosen]
        first = np.flatnonzero(begins(*keys))
        sums = [np.add.reduceat(g, first), np.maximum.reduceat(g, first)] if len(g) else [g, g]
        return cls(*keys[:, first], *sums)


def doubts(given: GivenPosteriors) -> Iterator[str]:
    """Yield what is ignored, and what posteriors may be that are not what they are taken for."""
    if given.ignored:
        yield f"ignored the arrays {', '.join(map(repr, given.ignored))}"
    if remark := codec.foreign_note(given.phrase_labels()):
        # Taken for names of phrases, they break any condition.
        yield remark
        return
    if len(given.g) and given.usual_root() is None:
        yield (
            "no span covers a whole sentence, so its root is called X; if 'end' is the last word itself, "
            "write end + 1"
        )
    if given.seems_tagged():
        yield (
            "most words are constituents by themselves; if these entries are tags, say so in an array 'tag' "
            "(docs/posteriors.md)"
        )
    if len(rows := given.repeated()) and given.order is not None and not given.order.above:
        row = rows[0]
        place = f"{given.labels[given.label_ids[row]]} over ({given.starts[row]}, {given.ends[row]})"
        first = f"sentence {given.sentence[row] + 1}, {place}"
        yield f"{len(rows)} labels are listed twice for a span: first {first}"
    for line in _impossible(given):
        yield f"{line}: no marginals of trees (docs/posteriors.md)"


def _impossible(given: GivenPosteriors) -> Iterator[str]:
    """Yield a line for each condition that is broken: the first sentence, and how many others break it.

    A span is in a tree at least as often as its most probable label, and where labels exclude each other, as
    joined chains and tags do, as often as all of them together. Where labels stand above themselves,
    posteriors are expected numbers, and say less.
    """
    phrases, tags = _Spans.of(given, given.phrase), _Spans.of(given, ~given.phrase)
    joined = next((label for label in given.phrase_labels() if JOIN in label), None)
    single = f"where chains are joined, as in {joined}, a span has one label"
    for spans, says in ((tags, "a word has one tag"), *([(phrases, single)] if joined else [])):
        if len(rows := np.flatnonzero(spans.total > 1 + _SLACK)):
            sums = f"({spans.start[rows[0]]}, {spans.end[rows[0]]}) add up to {spans.total[rows[0]]:.2f}"
            yield f"{_named(spans.sentence[rows])}: posteriors of span {sums}, but {says}"
    if len(given.repeated()):
        return
    mass = np.minimum(phrases.total if joined else phrases.largest, 1.0)
    yield from _too_many(given, phrases, mass)
    yield from _crossing(given, phrases, mass)


def _named(sentences: _Places) -> str:
    others = len(np.unique(sentences)) - 1
    return f"sentence {sentences.min() + 1}" + (f" (and {others} more)" if others else "")


def _too_many(given: GivenPosteriors, spans: _Spans, mass: FloatArray) -> Iterator[str]:
    """Trees of n words have at most n - 1 spans of more words than one."""
    wide = (spans.end - spans.start > 1).astype(np.float64)
    expected, listed = (
        np.bincount(spans.sentence, wide * weights, len(given.lengths)) for weights in (mass, spans.total)
    )
    most = np.maximum(given.lengths - 1, 0)
    wrong = np.flatnonzero(np.maximum(expected, listed / _CHAIN_LABELS) > most * (1 + _SLACK) + _SLACK)
    if len(wrong):
        yield (
            f"{_named(wrong)}: posteriors of {listed[wrong[0]]:.1f} constituents over two words or more, "
            f"where a tree of {given.lengths[wrong[0]]} words has at most {most[wrong[0]]} such spans"
        )


def _crossing(given: GivenPosteriors, spans: _Spans, mass: FloatArray) -> Iterator[str]:
    """Spans that cross are never in one tree, so together they are in at most all trees."""
    wrong, says = list[int](), ""
    first = np.searchsorted(spans.sentence, np.arange(len(given.lengths) + 1))
    for sentence in np.flatnonzero((given.lengths > 2) & (given.lengths <= _LONGEST_CROSSED)):
        rows = slice(first[sentence], first[sentence + 1])
        chart = np.zeros((int(given.lengths[sentence]) + 1,) * 2)  # by start and end
        chart[spans.start[rows], spans.end[rows]] = mass[rows]
        both = chart + _crossing_most(chart)
        if both.max() <= 1 + _SLACK:
            continue
        if not wrong:
            i, j = np.unravel_index(int(both.argmax()), chart.shape)
            inner = chart[i + 1 : j, j + 1 :]
            k, end = np.unravel_index(int(inner.argmax()), inner.shape)
            says = f"({i}, {j}) and ({i + 1 + k}, {j + 1 + end}) have {chart[i, j]:.2f} and {inner.max():.2f}"
        wrong.append(int(sentence))
    if wrong:
        yield f"{_named(np.array(wrong))}: spans {says}, but they cross, and no tree has both"


def _crossing_most(chart: FloatArray) -> FloatArray:
    """By start and end: the largest of the spans from inside a span to beyond its end."""
    beyond, crossing = np.zeros_like(chart), np.zeros_like(chart)
    beyond[:, :-1] = np.maximum.accumulate(chart[:, :0:-1], axis=1)[:, ::-1]
    beyond = np.triu(beyond, 1)  # of those that start before this end
    crossing[:-1] = np.maximum.accumulate(beyond[:0:-1])[::-1]
    return crossing
