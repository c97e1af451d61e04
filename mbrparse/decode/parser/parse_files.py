"""The output of parsing: trees as text, which need not be built; files of all objectives; statistics."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mbrparse.charts.spans import SpanEntries
from mbrparse.decode.trees import TreeForm, TreeParts
from mbrparse.files import atomic_outputs, open_output, open_output_bytes
from mbrparse.grammar.pcfg import FloatArray
from mbrparse.log import Log, counted
from mbrparse.treebank.binarize import expanded
from mbrparse.treebank.brackets import EMPTY_PARSE, read_trees
from mbrparse.treebank.labels import is_continuation, parse_label, split_chain, unescape
from mbrparse.treebank.outlines import tree_digest
from mbrparse.treebank.tree import Tree, bracket_free, leaf_text

if TYPE_CHECKING:
    from mbrparse.decode.posteriors.posteriors_file import PosteriorsWriter


#: So many fall-backs are told one by one.
_TOLD = 5


def most_common(reasons: Counter[str]) -> str:
    """The most common reasons and how often each was, for people."""
    most = ", ".join(f"{reason}: {count}" for reason, count in reasons.most_common(3))
    return most + (", ..." if len(reasons) > 3 else "")


class Lines(NamedTuple):
    """What is written for a sentence: trees, details, the reason of a fall-back, and more if asked for."""

    trees: tuple[str, ...]
    details: str | None
    reason: str | None
    length: int = 0
    entries: SpanEntries | None = None
    candidates: tuple[str, ...] = ()  # their log probabilities and trees, tab-separated
    consistent: FloatArray | None = None
    certified: tuple[tuple[str, bool], ...] = ()  #: by objective, where trees have a certificate


@dataclass(slots=True)
class ParseAccount:
    """The number of sentences, and the reasons of fall-backs."""

    sentences: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    certified: dict[str, list[bool]] = field(default_factory=dict)
    """By objective, whether each tree with a certificate is certified."""
    first: list[str] = field(default_factory=list)
    """A line for people for each of the first fall-backs."""

    def __str__(self) -> str:
        """One line for people.

        >>> str(ParseAccount(9, Counter({"no parse": 2})))
        '9 sentences, 2 fell back (no parse: 2)'
        """
        text = f"{counted(self.sentences, 'sentence')}, {self.reasons.total()} fell back"
        if self.reasons:
            text = f"{text} ({most_common(self.reasons)})"
        counts = [f"{name} {sum(found)} of {len(found)}" for name, found in self.certified.items()]
        return f"{text}; certified: {', '.join(counts)}" if counts else text

    @classmethod
    def of(cls, results: Iterable[Lines]) -> ParseAccount:
        """Count lines that are not written, and whose numbers are not known."""
        account = cls()
        for lines in results:
            account.add(lines)
        account.first.clear()
        return account

    def add(self, lines: Lines) -> None:
        """Count a sentence."""
        self.sentences += 1
        for name, certified in lines.certified:
            self.certified.setdefault(name, []).append(certified)
        if lines.reason is not None:
            self.reasons[lines.reason] += 1
            if len(self.first) < _TOLD:
                self.first.append(
                    f"sentence {self.sentences} was not parsed, its tree is a fall-back: {lines.reason}"
                )

    def tell(self, log: Log) -> None:
        """Log the first fall-backs, then the counts."""
        for line in (*self.first, str(self)):
            log(line)


def write_parses(
    results: Iterable[Lines],
    trees: Sequence[str | Path],
    details: str | Path | None = None,
    posteriors: tuple[PosteriorsWriter, str | Path] | None = None,
    form: Callable[[str], str] = str,
    candidates: str | Path | None = None,
) -> ParseAccount:
    """Write the results of sentences, a line for each; all files are complete, or all absent.

    ``trees`` has a path for each objective, in the order of ``Lines.trees``; ``form`` maps a tree's line to
    what is written, whose digests the details get. ``posteriors`` are collected and written at the end.
    ``candidates`` are written a line each, after the number of their sentence. Raises FileError where a file
    cannot be written.
    """
    account = ParseAccount()
    with ExitStack() as stack:
        stack.enter_context(atomic_outputs())
        streams = [stack.enter_context(open_output(path)) for path in trees]
        detail_stream = None if details is None else stack.enter_context(open_output(details))
        entries = None if posteriors is None else stack.enter_context(open_output_bytes(posteriors[1]))
        candidate_stream = None if candidates is None else stack.enter_context(open_output(candidates))
        for lines in results:
            texts = list(map(form, lines.trees))
            for stream, text in zip(streams, texts, strict=True):
                stream.write(f"{text}\n")
            if detail_stream is not None and lines.details is not None:
                digests = [tree_digest(read.tree) for read in read_trees(texts)]
                detail_stream.write(f'{lines.details[:-1]}, "digests": {json.dumps(digests)}}}\n')
            if posteriors is not None:
                posteriors[0].add(lines.length, lines.entries, lines.consistent)
            account.add(lines)
            if candidate_stream is not None:
                candidate_stream.writelines(f"{account.sentences}\t{one}\n" for one in lines.candidates)
        if posteriors is not None and entries is not None:
            posteriors[0].write(entries)
    return account


class _Opening(NamedTuple):
    """What a constituent's label writes."""

    text: str
    brackets: int  #: how many close it: one for each label of a chain
    dropped: bool  #: a continuation that is not written, except at the root
    nameless: bool  #: its innermost label is empty


class BracketText:
    """Writes trees as lines, and keeps what labels write."""

    def __init__(self) -> None:
        # By the id of a form, which is kept so that the id stays unique.
        self._openings: dict[int, tuple[TreeForm, dict[str, _Opening]]] = {}

    def lines(self, trees: Sequence[TreeParts | None]) -> list[str]:
        """The text of each tree (None: the empty parse), the same as that of the built tree."""
        # Trees of one sentence share their leaves, whose texts are made once.
        texts: dict[tuple[int, bool, bool], list[str]] = {}
        found = []
        for tree in trees:
            if tree is None:
                found.append(EMPTY_PARSE)
                continue
            key = id(tree.leaves), tree.tags is None, (nary := tree.form.nary)
            if key not in texts:
                texts[key] = [_leaf(leaf, nary) if tree.tags is None else _word(leaf) for leaf in tree.leaves]
            found.append(self._line(tree, texts[key]))
        return found

    def _line(self, tree: TreeParts, leaves: list[str]) -> str:
        form, known = self._openings.setdefault(id(tree.form), (tree.form, {}))
        opened = [""] * len(leaves)
        closed = [0] * len(leaves)
        alone = [False] * len(leaves)  # in the innermost constituent that opens before it
        root = True
        for start, end, label in tree.constituents:
            opening = known.get(label) or known.setdefault(label, _opening(label, form))
            if root or not opening.dropped:
                opened[start] += opening.text
                closed[end - 1] += opening.brackets
                alone[start] = end == start + 1 or opening.nameless
                root = False
        if tree.tags is not None:
            leaves = [
                word if tag is None or tag in form.bare else _leaf(Tree(unescape(tag), word=word), form.nary)
                for tag, word in zip(tree.tags, leaves, strict=True)
            ]
        if True in alone:
            leaves = [
                # Written bare, it would be read as the word of its constituent, or as its label.
                f"({leaf} {leaf})" if single and _is_bare(tree, place) else leaf
                for place, (leaf, single) in enumerate(zip(leaves, alone, strict=True))
            ]
        pieces = zip(opened, leaves, closed, strict=True)
        return " ".join([before + leaf + ")" * brackets for before, leaf, brackets in pieces])


def _opening(label: str, form: TreeForm) -> _Opening:
    chain: tuple[str, ...] = split_chain(parse_label(label).base) if form.nary else (label,)
    text = "".join(f"({bracket_free(one)} " for one in chain)
    return _Opening(text, len(chain), form.nary and is_continuation(label), not chain[-1])


def _leaf(leaf: Tree, nary: bool) -> str:
    """A leaf as it is written; in an n-ary tree with the constituents that are joined with its tag."""
    tree = expanded(leaf) if nary else leaf
    return leaf_text(tree) if tree.is_leaf else str(tree)


def _is_bare(tree: TreeParts, place: int) -> bool:
    """Whether a leaf is written without a tag."""
    if tree.tags is None:
        return tree.leaves[place].word is None
    tag = tree.tags[place]
    return tag is None or tag in tree.form.bare


def _word(leaf: Tree) -> str:
    return bracket_free(leaf.label if leaf.word is None else leaf.word)
