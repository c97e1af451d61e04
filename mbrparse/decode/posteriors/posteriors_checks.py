"""Checks of given posteriors: spans of the sentences, labels of the list, probabilities; what no model has.

Messages count sentences from 1, like lines, and name the entry's index in the arrays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from mbrparse.charts.exhaustive.factory import TIE
from mbrparse.charts.spans import begins
from mbrparse.decode.posteriors import given_posteriors
from mbrparse.decode.posteriors.given_posteriors import ROUNDING, Columns, GivenPosteriors
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

_ONE = 0.5  # constituents over a word that are expected
_LONGEST = 2**31 - 1  # as positions are held
_CHAIN = "--joiner names what joins the chains of another program ('' for nothing)"
# What would end a label in a written tree.
_BREAKS = frozenset("() \t\r\n\f\v")


def refuse(source: str, message: str, remedy: str) -> NoReturn:
    """Raise PosteriorsError."""
    raise PosteriorsError(message, source=source, remedy=remedy)


class RawPosteriors(NamedTuple):
    """Entries of some sentences, all of these; ``lengths`` of all sentences, ``labels`` of all.

    ``number`` is where in the file an entry stands, ``whole`` whether it has no others.
    """

    lengths: npt.NDArray[Any]
    labels: Sequence[str]
    sentence: npt.NDArray[Any]
    start: npt.NDArray[Any]
    end: npt.NDArray[Any]
    label: npt.NDArray[Any]
    g: npt.NDArray[Any]
    phrase: npt.NDArray[np.bool_]
    number: npt.NDArray[np.int64]
    whole: bool = True

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
ENTRIES = "sentence", "start", "end", "label", "g", "tag"


def known_marks(marks: LabelMarks | str | None) -> LabelMarks | None:
    """The marks of a style's name; raises OptionsError for a name that none has."""
    if isinstance(marks, str) and marks not in codec.STYLES:
        raise OptionsError(f"marks is {marks!r}: give a LabelMarks or one of {', '.join(codec.STYLES)}")
    return codec.STYLES[marks] if isinstance(marks, str) else marks


def translated(names: Sequence[str], marks: LabelMarks | None) -> tuple[list[str], npt.NDArray[np.int64]]:
    """Texts of labels in their order, and the place among them of each name, as a tag's and a phrase's.

    Over one word stand tags, which another program writes as they are.
    """
    shown = [names, names]
    if marks is not None:
        shown = [list(map(codec.escape, names)), list(map(marks.translate, names))]
    texts, place = np.unique(np.array(shown, np.str_), return_inverse=True)
    return texts.tolist(), place.reshape(2, -1)


def file_blocks(arrays: dict[str, npt.NDArray[Any]]) -> Iterator[RawPosteriors]:
    """The entries of the arrays of a file, sentence by sentence, some of them at a time."""
    sentence, tag = arrays["sentence"], arrays.get("tag")
    ordered = bool((sentence[1:] >= sentence[:-1]).all())
    order = None if ordered else np.argsort(sentence, kind="stable")
    sentence = sentence if order is None else sentence[order]
    first = np.append(np.flatnonzero(begins(sentence)), len(sentence))
    for cut in given_posteriors.windows(first):
        begin, end = first[list(cut)].tolist()
        number = np.arange(begin, end) if order is None else order[begin:end]
        rows = slice(begin, end) if order is None else number
        at, start, stop, label = (arrays[name][rows].astype(np.int64) for name in ENTRIES[:4])
        phrase = np.ones(end - begin, np.bool_) if tag is None else ~tag[rows]
        whole, labels = end - begin == len(sentence), arrays["labels"].tolist()
        g = arrays["g"][rows]
        yield RawPosteriors(arrays["lengths"], labels, at, start, stop, label, g, phrase, number, whole)


def checked_posteriors(
    blocks: Iterable[RawPosteriors],
    source: str,
    marks: LabelMarks | None,
    lengths: npt.NDArray[Any],
    names: Sequence[str],
    *,
    consistent: npt.NDArray[Any] | None = None,
    chains: Sequence[str] = (),
    nary: bool = False,
    **known: Any,
) -> GivenPosteriors:
    """The posteriors of entries, which are in the order of sentences; warns of ``doubts``.

    With ``nary`` a label of what is no constituent was left out before. Raises PosteriorsError for values
    that are none.
    """
    if not len(lengths):
        refuse(source, "there are no sentences: lengths is empty", "it has one number a sentence")
    wrong = np.flatnonzero((lengths < 0) | (lengths > _LONGEST))
    if len(wrong):
        says = f"sentence {wrong[0] + 1}: its length is {lengths[wrong[0]]}"
        refuse(source, says, "lengths are numbers of words")
    if consistent is not None:
        _check_consistent(consistent, lengths, source)
        consistent = consistent.astype(np.float64)
    texts, place = translated(names, marks)
    nulls = np.flatnonzero(np.isin(names, () if marks is None else marks.null))
    seen = np.zeros((2, len(names)), np.bool_)  # as a tag's label, and as a phrase's
    sizes = set[int]()  # of numbers

    def checked() -> Iterator[Columns]:
        for block in blocks:
            raw = block
            if len(nulls):
                kept = ~(np.isin(raw.label, nulls) & raw.phrase)
                raw = raw._replace(**{name: getattr(raw, name)[kept] for name in raw._fields[2:9]})
            _check_entries(raw, source)
            sizes.add(raw.g.dtype.itemsize)
            used = raw.label + raw.phrase * np.int64(len(names))
            now = np.bincount(used, minlength=seen.size).reshape(seen.shape) > 0
            if (now & ~seen).any():
                _check_labels(raw, now, seen, marks, source)
            seen[now] = True
            columns = raw.sentence, raw.start, raw.end, place.ravel()[used], raw.phrase, raw.g
            rank = None
            if not given_posteriors.ascends(given_posteriors.packed(columns[:-1])):
                _check_single(raw, source)
                rank = given_posteriors.ranks(raw.keys, raw.g)
            yield given_posteriors.in_order(columns, rank)

    given = GivenPosteriors.of_blocks(
        checked(),
        lengths=lengths.astype(np.int64),
        labels=tuple(texts),
        source=source,
        tie=TIE,
        consistent=consistent,
        **known,
    )
    there = np.unique(place[seen])
    place_there, label_ids = there.searchsorted(np.arange(len(texts))), given.label_ids
    for begin in range(0, len(label_ids), given_posteriors.TOGETHER):
        rows = slice(begin, begin + given_posteriors.TOGETHER)
        label_ids[rows] = place_there[label_ids[rows]]
    tie = TIE if sizes == {8} else _SINGLE_TIE
    given = replace(given, labels=tuple(texts[label] for label in there), tie=tie)
    phrases = _Spans.of(given, phrase=True)
    chains = [marks.translate(one) if marks else one for one in chains]
    continued = any(map(codec.is_continuation_label, given.labels))
    flat = nary or len(nulls) > 0 or (given.over_words() >= _ONE and not given.seems_tagged())
    given = replace(given, order=_order(given, phrases, chains), nary=flat and not continued)
    for line in doubts(given, phrases):
        warn(f"{source}: {line}")
    return given


def _check_entries(raw: RawPosteriors, source: str) -> None:
    """Check spans, label ids and posteriors; raises PosteriorsError for the first wrong one."""

    def check(wrong: npt.NDArray[np.bool_], says: Callable[[int], str], remedy: str) -> None:
        where = np.flatnonzero(wrong)
        if len(where):
            least = "" if raw.whole else "at least "
            others = f" (and {least}{len(where) - 1} more like it)" if len(where) > 1 else ""
            refuse(source, says(int(where[0])) + others, remedy)

    count, labels, most = len(raw.lengths), len(raw.labels), 1 + TOLERANCE.get(raw.g.dtype.itemsize, 0.0)
    check(
        (raw.sentence < 0) | (raw.sentence >= count),
        lambda entry: (
            f"sentence[{raw.number[entry]}] is {raw.sentence[entry]}, "
            f"where lengths has sentences 0 to {count - 1}"
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
    check(
        ~raw.phrase & (raw.end - raw.start > 1),
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
    key = given_posteriors.packed(raw.keys)
    order = np.argsort(key, kind="stable")
    new = begins(key[order])
    if new.all():
        return
    total = np.add.reduceat(raw.g[order], np.flatnonzero(new))[np.cumsum(new) - 1]
    where = np.flatnonzero(~new & ((total <= 1 + TOLERANCE[4]) | ~raw.phrase[order]))
    if len(where):
        entry, again = int(order[where[0] - 1]), int(order[where[0]])
        listed = f"entries {raw.number[entry]} and {raw.number[again]}"
        twice = f"{raw.labelled_place(entry)} is listed twice, as {listed}"
        refuse(source, twice, "add the posteriors of what is the same up to its label up, and list the sum")


def _check_labels(
    raw: RawPosteriors,
    now: npt.NDArray[np.bool_],
    before: npt.NDArray[np.bool_],
    marks: LabelMarks | None,
    source: str,
) -> None:
    """Check the labels that entries have ``now`` and had ``before``, as tags' and as phrases'.

    Over one word stand tags, which are whatever can be written; over more words stand the projected
    labels of binarized trees, or with ``marks`` another program's. A label that no entry has may be anything.
    """
    used = np.flatnonzero((now | before).any(0)).tolist()
    counted = Counter(raw.labels[label] for label in used)
    for label in used:
        name = raw.labels[label]
        trouble = _trouble(name, bool(now[1, label]), marks)
        if counted[name] > 1:
            trouble = "stands in labels twice", "give each label one position"
        if trouble is not None and now[:, label].any():
            first = raw.place(int(np.flatnonzero(raw.label == label)[0]))
            refuse(source, f"label {name!r} {trouble[0]} (first at {first})", trouble[1])


def _trouble(name: str, wide: bool, marks: LabelMarks | None) -> tuple[str, str] | None:
    """Why a label cannot stand in a tree, and the remedy."""
    if not name:
        return "is empty", (
            "if it is a model's label of what is no constituent, say so with `marks=benepar` or `null=''`"
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


def _order(given: GivenPosteriors, spans: _Spans, chains: Sequence[str]) -> LabelOrder | None:
    """That of labels over one span, where there are chains: listed ones, or sums of g above one."""
    if not chains and spans.total.max(initial=0.0) <= 1 + TOLERANCE[4]:
        return None
    phrase = given.phrase
    starts, ends, labels = given.starts[phrase], given.ends[phrase], given.label_ids[phrase]
    sentence, g = given.sentence[phrase], given.g[phrase]
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
    def of(cls, given: GivenPosteriors, *, phrase: bool) -> _Spans:
        """Of phrases or of tags."""
        parts = []
        for begin, end in given_posteriors.windows(given.first):
            *keys, _, phrases, g = given.columns(begin, end)
            chosen = phrases == phrase
            if not chosen.all():
                *keys, g = (column[chosen] for column in (*keys, g))
            first = np.flatnonzero(begins(*keys))
            sums = (
                [np.add.reduceat(g, first, dtype=np.float64), np.maximum.reduceat(g, first)]
                if len(g)
                else [g, g]
            )
            parts.append([*(key[first].astype(np.int64) for key in keys), *sums])
        return cls(*map(np.concatenate, zip(*parts, strict=True)))


def doubts(given: GivenPosteriors, phrases: _Spans) -> Iterator[str]:
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
    for line in _impossible(given, phrases):
        yield f"{line}: no marginals of trees (docs/posteriors.md)"


def _impossible(given: GivenPosteriors, phrases: _Spans) -> Iterator[str]:
    """Yield a line for each condition that is broken: the first sentence, and how many others break it.

    A span is in a tree at least as often as its most probable label, and where labels exclude each other, as
    joined chains and tags do, as often as all of them together. Where labels stand above themselves,
    posteriors are expected numbers, and say less.
    """
    tags = _Spans.of(given, phrase=False)
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
