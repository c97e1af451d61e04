"""Lines of brackets from the parts of trees: those of a batch in one kernel call, without building trees.

A tree's text consists of pieces: the opening of each label with all brackets of its chain, each leaf, and
closing brackets. Pieces are bytes (UTF-8) in tables, which grow as new labels occur.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.aside import Pace
from mbrparse.decode.trees import TreeForm, TreeParts
from mbrparse.grammar.charts.columns import NO_LABEL, Labels, Names, Spans
from mbrparse.grammar.charts.rule_tables import Ints, Offsets
from mbrparse.grammar.kernel import kernel
from mbrparse.treebank.brackets import EMPTY_PARSE
from mbrparse.treebank.labels import is_continuation, parse_label, split_chain, unescape
from mbrparse.treebank.tree import Tree, bracket_free, leaf_text

Bytes = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]

# The piece of a word without a tag.
_BARE = 0
_UNKNOWN = -1
_BLANK, _OPEN, _CLOSE = b" ()"


class _Texts(NamedTuple):
    """Strings in one array: string k is ``text[begin[k]]`` .. ``text[begin[k + 1]]``."""

    text: Bytes
    begin: Offsets


class _Named(NamedTuple):
    """Labels by id, or tags, and the form of the trees that have them."""

    ids: Ints
    names: Sequence[str]
    form: TreeForm
    tags: bool = False


class _Pieces(NamedTuple):
    """Openings of labels and tags: the text, how many brackets close it, and how it is written."""

    openings: _Texts
    closings: Offsets
    dropped: Flags  # a continuation that is not written, but at the root
    nameless: Flags  # its innermost label is empty
    longest: int  # no opening takes more bytes, with a blank and what closes it


class _Leaves(NamedTuple):
    """The leaves of sentences, one after the other."""

    texts: _Texts
    bare: Flags


class _Trees(NamedTuple):
    """Trees: tree t has the spans ``first_span[t]`` .. ``first_span[t + 1]``; labels and tags are pieces."""

    first_span: Offsets
    first_leaf: Offsets
    first_tag: Offsets  # -1: its leaves have theirs
    length: Offsets
    starts: Ints
    ends: Ints
    labels: Offsets
    tags: Offsets


class BracketText:
    """Writes trees as lines, and keeps the pieces of labels."""

    def __init__(self) -> None:
        self._pace = Pace()
        self._openings = [""]
        self._rows = [(0, False, False)]
        self._pieces = _pieces(self._openings, self._rows)
        # By names and form, and whether they are tags: the piece of each id, and at last that of NO_LABEL.
        # Names and form are kept, so that their ids stay unique.
        self._of_names: dict[tuple[int, int, bool], tuple[Sequence[str], TreeForm, Offsets]] = {}
        self._listed = Names()

    def lines(self, trees: Sequence[TreeParts | None]) -> list[str]:
        """The text of each tree (None: the empty parse), the same as that of the built tree."""
        written = [tree for tree in trees if tree is not None]
        if not written:
            return [EMPTY_PARSE] * len(trees)
        tokens = sum(len(tree.leaves) for tree in written)
        line = self._pace.run([tokens], lambda _: True, self._lines, written)  # nothing is ever refused
        return [EMPTY_PARSE if tree is None else next(line) for tree in trees]

    def _lines(self, written: Sequence[TreeParts]) -> Iterator[str]:
        leaves, first_leaf, room = _leaves(written)
        spans = [self._columns(tree.constituents) for tree in written]
        lengths = [len(tree.leaves) for tree in written]
        labels = self._found(
            [_Named(one.ids, one.names, tree.form) for one, tree in zip(spans, written, strict=True)]
        )
        tags = self._found([self._tags(tree.tags, tree.form) for tree in written if tree.tags is not None])
        table = _Trees(
            _bounds(map(len, spans)),
            np.array(first_leaf),
            np.array(_first_tags(written)),
            np.array(lengths),
            np.concatenate([one.starts for one in spans]),
            np.concatenate([one.ends for one in spans]),
            labels,
            tags,
        )
        if len(self._rows) > len(self._pieces.closings):
            self._pieces = _pieces(self._openings, self._rows)
        text = np.empty(room + (len(labels) + len(tags)) * self._pieces.longest, np.uint8)
        until = np.zeros(len(written) + 1, np.int64)
        _write(table, self._pieces, leaves, np.empty((len(labels) + 1, 2), np.int32), text, until)
        return _strings(text, until.tolist())

    def _columns(self, spans: Sequence[tuple[int, int, str]]) -> Spans[str]:
        if isinstance(spans, Spans):
            return spans
        starts, ends, labels = zip(*spans, strict=True)
        ids = [self._listed.id_of(label) for label in labels]
        return Spans(np.array(starts), np.array(ends), np.array(ids), self._listed.names)

    def _tags(self, tags: Sequence[str | None], form: TreeForm) -> _Named:
        if isinstance(tags, Labels):
            return _Named(tags.ids, tags.names, form, True)
        ids = [NO_LABEL if tag is None else self._listed.id_of(tag) for tag in tags]
        return _Named(np.array(ids, np.int64), self._listed.names, form, True)

    def _found(self, labels: Sequence[_Named]) -> Offsets:
        """The pieces of labels."""
        if not labels:
            return np.zeros(0, np.int64)
        found = np.concatenate([self._pieces_of(one)[one.ids] for one in labels])
        if found.min(initial=0) == _UNKNOWN:
            for one in labels:
                pieces = self._pieces_of(one)
                for label_id in np.unique(one.ids[pieces[one.ids] == _UNKNOWN]).tolist():
                    pieces[label_id] = self._piece(one, one.names[label_id])
            found = np.concatenate([self._pieces_of(one)[one.ids] for one in labels])
        return found

    def _pieces_of(self, labels: _Named) -> Offsets:
        key = id(labels.names), id(labels.form), labels.tags
        known = self._of_names.get(key)
        if known is not None and len(known[2]) > len(labels.names):
            return known[2]
        pieces = np.full(len(labels.names) + 1, _UNKNOWN)
        if known is not None:
            pieces[: len(known[2]) - 1] = known[2][:-1]
        pieces[NO_LABEL] = _BARE
        self._of_names[key] = labels.names, labels.form, pieces
        return pieces

    def _piece(self, labels: _Named, name: str) -> int:
        """A new piece."""
        if labels.tags and name in labels.form.bare:
            return _BARE
        dropped = False
        chain: tuple[str, ...] = (name,)
        if labels.tags:
            chain = (unescape(name),)
        elif labels.form.nary:
            dropped, chain = is_continuation(name), split_chain(parse_label(name).base)
        self._openings.append("".join(f"({bracket_free(label)} " for label in chain))
        self._rows.append((len(chain), dropped, not chain[-1]))
        return len(self._rows) - 1


def _pieces(openings: Sequence[str], rows: Sequence[tuple[int, bool, bool]]) -> _Pieces:
    closings, dropped, nameless = map(np.array, zip(*rows, strict=True))
    texts = _texts(openings)
    longest = int((np.diff(texts.begin) + closings).max()) + 1
    return _Pieces(texts, closings, dropped, nameless, longest)


def _first_tags(trees: Sequence[TreeParts]) -> list[int]:
    """Where the tags of each tree begin, or -1."""
    first, found = 0, []
    for tree in trees:
        found.append(-1 if tree.tags is None else first)
        first += 0 if tree.tags is None else len(tree.tags)
    return found


def _leaves(trees: Sequence[TreeParts]) -> tuple[_Leaves, list[int], int]:
    """The leaves of all trees, those of one sentence once, and where those of each tree begin.

    And bytes enough for all: each leaf may be written twice, with brackets and blanks.
    """
    first: dict[tuple[int, bool], int] = {}
    # Equal leaves are mostly one object.
    known: dict[bool, dict[int, str]] = {True: {}, False: {}}
    texts: list[str] = []
    bare: list[bool] = []
    found = []
    for tree in trees:
        key = id(tree.leaves), tree.tags is None
        if key not in first:
            first[key] = len(texts)
            write, written = (leaf_text if tree.tags is None else _word), known[tree.tags is None]
            texts += [
                written.get(id(leaf)) or written.setdefault(id(leaf), write(leaf)) for leaf in tree.leaves
            ]
            bare += [leaf.word is None for leaf in tree.leaves]
        found.append(first[key])
    leaves = _Leaves(_texts(texts), np.array(bare))
    begin = leaves.texts.begin.tolist()
    ends = (place + len(tree.leaves) for place, tree in zip(found, trees, strict=True))
    room = sum(
        2 * (begin[end] - begin[place]) + 4 * (end - place) for place, end in zip(found, ends, strict=True)
    )
    return leaves, found, room


def _word(leaf: Tree) -> str:
    return bracket_free(leaf.label if leaf.word is None else leaf.word)


def _bounds(counts: Iterable[int]) -> Offsets:
    return np.fromiter(itertools.accumulate(counts, initial=0), np.int64)


def _texts(texts: Sequence[str]) -> _Texts:
    joined = "".join(texts)
    data = joined.encode("utf-8", "surrogatepass")
    lengths = (
        map(len, texts) if joined.isascii() else (len(one.encode("utf-8", "surrogatepass")) for one in texts)
    )
    return _Texts(np.frombuffer(data, np.uint8), _bounds(lengths))


def _strings(text: Bytes, until: Sequence[int]) -> Iterator[str]:
    data = text[: until[-1]].tobytes()
    return (str(data[begin:end], "utf-8", "surrogatepass") for begin, end in itertools.pairwise(until))


@kernel
def _write(trees: _Trees, pieces: _Pieces, leaves: _Leaves, stack: Ints, text: Bytes, until: Offsets) -> None:
    """Write all trees; ``stack`` holds what is open, its end and piece."""
    place = 0
    for tree in range(len(trees.length)):
        root, tag, leaf = trees.first_span[tree], trees.first_tag[tree], trees.first_leaf[tree]
        node, height, first = root, 0, True
        for position in range(trees.length[tree]):
            while node < trees.first_span[tree + 1] and trees.starts[node] == position:
                piece = trees.labels[node]
                if node == root or not pieces.dropped[piece]:
                    if not first:
                        text[place] = _BLANK
                        place += 1
                    place = _copy(pieces.openings, piece, text, place)
                    stack[height, 0], stack[height, 1] = trees.ends[node], piece
                    height += 1
                    first = True
                node += 1
            if not first:
                text[place] = _BLANK
                place += 1
            piece = _BARE if tag < 0 else trees.tags[tag + position]
            bare = leaves.bare[leaf + position] if tag < 0 else piece == _BARE
            # Written bare it would read back as the node's word, or as its label.
            alone = stack[height - 1, 0] == position + 1 or pieces.nameless[stack[height - 1, 1]]
            if piece != _BARE:
                place = _copy(pieces.openings, piece, text, place)
            elif bare and first and alone:
                text[place] = _OPEN
                place = _copy(leaves.texts, leaf + position, text, place + 1)
                text[place] = _BLANK
                place += 1
            place = _copy(leaves.texts, leaf + position, text, place)
            if piece != _BARE or (bare and first and alone):
                text[place] = _CLOSE
                place += 1
            first = False
            while height and stack[height - 1, 0] == position + 1:
                height -= 1
                for _ in range(pieces.closings[stack[height, 1]]):
                    text[place] = _CLOSE
                    place += 1
        until[tree + 1] = place


@kernel
def _copy(texts: _Texts, number: int, text: Bytes, place: int) -> int:
    """Copy a string to ``place``; return where it ends."""
    for byte in range(texts.begin[number], texts.begin[number + 1]):
        text[place] = texts.text[byte]
        place += 1
    return place
