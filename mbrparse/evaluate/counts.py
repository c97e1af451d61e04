"""How many constituents of a tree match those of the correct tree (``treebank.outlines`` lists them).

The counts of Goodman 1996, section 2, for one sentence:

* L (``labelled``): constituents of the guess that are, with their label, in the correct tree;
* B (``bracketed``): the same without the label;
* C (``consistent``): constituents of the guess that no constituent of the reference crosses, where
  (s,t) crosses (q,r) iff s < q < t < r or q < s < r < t (half-open positions).

Trees may hold a span or a labelled span more than once (unary chains): L and B are the sizes of
multiset intersections, so that each correct constituent is matched at most once.

Trees prepared for a comparison: gold sentences, pairs of trees for tallies, and original forms.

For comparisons of original trees, binarized files are un-binarized. A file (or list of trees) is taken to be
binarized if any label in it is a continuation, or any tag a joined one; all of its trees then are, those
without too, and flat fall-backs among them. So are parses with joined chains (``A+B``) where the gold has the
labels A and B, and none of the chains. Else trees stay as they are: what looks like a joined chain or an
annotation (``A^B``) may be a treebank's own label.

The table of counts: gold trees and the parses of any number of parsers, one row per sentence and parser.

Everything later (rates, averages, significance) works on this table; nothing is scored twice. All
sources are read side by side, one sentence at a time, so that of files memory holds counts and no trees.
"""

from __future__ import annotations

from array import array
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, filterfalse
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeVar

import numpy as np

from mbrparse import arguments, errors, log
from mbrparse.evaluate.align import Alignment, BinarizedForm, Form, Place, TreeSource, check_gold
from mbrparse.treebank import binarize, clean, outlines
from mbrparse.treebank import labels as codec
from mbrparse.treebank.brackets import ReadTree
from mbrparse.treebank.tree import Tree

if TYPE_CHECKING:
    import pandas as pd

Item = TypeVar("Item", bound=Hashable)


class Brackets(NamedTuple):
    """The constituents of a tree that count, as they are compared; parents before children."""

    spans: list[outlines.Span]
    labels: list[str]


class Matches(NamedTuple):
    """L, B and C of one guessed tree."""

    labelled: int
    bracketed: int
    consistent: int


def _common(counts: Counter[Item], items: Sequence[Item]) -> int:
    """The size of the intersection of two multisets."""
    distinct = set(items)
    if len(distinct) == len(items):  # the usual case, and faster
        return len(counts.keys() & distinct)
    return (counts & Counter(items)).total()


def gap_owners(spans: Sequence[outlines.Span], terminals: int) -> list[int]:
    """For each position the number of the smallest span that has it strictly inside (-1: none).

    ``spans`` are a tree's, parents before children, so that descendants have larger numbers than
    their ancestors.

    >>> gap_owners([(0, 4), (1, 4), (1, 3)], 4)
    [-1, 0, 2, 1, -1]
    """
    owners = [-1] * (terminals + 1)
    for number, (start, end) in enumerate(spans):
        # Slices keep this short, and quick: a chain of 5,000 constituents takes milliseconds.
        owners[start + 1 : end] = [number] * (end - start - 1)
    return owners


def consistent(spans: Sequence[outlines.Span], owners: Sequence[int]) -> int:
    """How many spans cross none of the tree whose ``gap_owners`` are given.

    A span crosses nothing iff it is the union of adjacent children of one node. That node is the
    owner of the positions between these children, and all other positions inside belong to nodes
    below it; so the smallest number inside is the node's, and an owner of either end that has a
    larger number is below the node and reaches over that end.

    >>> consistent([(0, 3), (1, 4), (1, 3)], gap_owners([(0, 4), (1, 4), (1, 3)], 4))
    2
    """
    count = 0
    for start, end in spans:
        if end - start < 2:
            count += 1
            continue
        inside = min(owners[start + 1 : end])
        count += owners[start] <= inside >= owners[end]
    return count


class ComparedTrees(NamedTuple):
    """The constituents of both that count, and the places of those that match, gold first.

    The tags are those of the terminals that spans count; the parse's may be missing where no tally
    needs them. Of a sentence without a parse ``guess`` is empty, and so are its tags.
    """

    gold: Brackets
    guess: Brackets
    pairs: Sequence[tuple[int, int]]
    gold_tags: Sequence[str]
    guess_tags: Sequence[str] = ()


class Tally(Protocol):
    """Sums over one parser's sentences."""

    def add(self, trees: ComparedTrees) -> None:
        """Add a sentence."""
        ...


def equal_pairs(gold: Brackets, guess: Brackets) -> list[tuple[int, int]]:
    """The places of equal constituents; each matches once, from the top."""
    return equal_places(*(list(zip(tree.spans, tree.labels, strict=True)) for tree in (gold, guess)))


def equal_places(gold: Sequence[Hashable], guess: Sequence[Hashable]) -> list[tuple[int, int]]:
    """The places of equal items; each matches once, from the first.

    >>> equal_places("aba", "xaa")
    [(0, 1), (2, 2)]
    """
    free: dict[Hashable, list[int]] = {}
    for place in reversed(range(len(guess))):
        free.setdefault(guess[place], []).append(place)
    return [(place, free[item].pop()) for place, item in enumerate(gold) if free.get(item)]


def debinarized(trees: ComparedTrees) -> ComparedTrees:
    """The same without continuations, where there are any: n-ary trees."""
    if not any(map(codec.is_continuation_label, [*trees.gold.labels, *trees.guess.labels])):
        return trees
    gold, guess = _without_continuations(trees.gold), _without_continuations(trees.guess)
    return trees._replace(gold=gold, guess=guess, pairs=equal_pairs(gold, guess))


def _without_continuations(tree: Brackets) -> Brackets:
    kept = [
        place for place, label in enumerate(tree.labels) if not (place and codec.is_continuation_label(label))
    ]
    return Brackets([tree.spans[place] for place in kept], [tree.labels[place] for place in kept])


def parents(spans: Sequence[outlines.Span]) -> list[int]:
    """For each constituent of a tree the place of the one around it (-1: none); parents before children.

    >>> parents([(0, 4), (0, 2), (2, 4), (2, 4)])
    [-1, 0, 0, 2]
    """
    found, around = [], [-1]
    for place, (start, end) in enumerate(spans):
        while around[-1] >= 0 and not (spans[around[-1]][0] <= start and end <= spans[around[-1]][1]):
            around.pop()
        found.append(around[-1])
        around.append(place)
    return found


CrossingReference = Literal["debinarized", "binarized"]


@arguments.checked
@dataclass(frozen=True, slots=True)
class Comparison:
    """How constituents are compared.

    In binarized form labels are projected: annotations are dropped, continuations stay what they are;
    with ``unaries``, constituents may have a single child that is one too. In original form binarized
    files are un-binarized first (``trees_in``).

    Consistent brackets are judged against the debinarized gold, which has no continuations, or against
    the binarized gold itself. The former must be what Goodman (1996) did: for two binary trees B/N_C
    and C/N_G are equal, yet his tables have different values for them.

    Raises MbrparseError at values that mean nothing together.
    """

    form: Form = "binarized"
    crossing_reference: CrossingReference = "debinarized"
    unaries: bool = False

    def __post_init__(self) -> None:
        if self.form == "original" and (self.unaries or self.crossing_reference == "binarized"):
            raise errors.MbrparseError(
                "unaries and a binarized crossing reference apply to binarized trees, not to original ones"
            )

    def signature(self) -> dict[str, str]:
        """The part of a table's signature that this decides."""
        crossing = "original" if self.form == "original" else self.crossing_reference
        unaries = {"unaries": "kept"} if self.unaries else {}
        return {"form": self.form, **unaries, "crossing": crossing}


PAPER_FORM = Comparison()


class GoldSentence:
    """A gold tree made ready for comparing with any number of guesses.

    Raises InputMismatchError where it is not in the form of the comparison.
    """

    def __init__(self, tree: Tree, how: Comparison, place: Place) -> None:
        read = outlines.outline(tree)
        self.leaves = read.leaves
        if how.form == "binarized":
            check_gold(read, place, how.unaries)
        self.brackets = Brackets(read.spans, compared_labels(read, how.form, place))
        self._bracketed = Counter(read.spans)
        self._labelled = Counter(zip(*self.brackets, strict=True))
        self._owners = gap_owners(crossing_reference(*self.brackets, how), len(self.leaves))

    def matches(self, guess: Brackets) -> Matches:
        """L, B and C of a guess over the same terminals.

        >>> from mbrparse.treebank.brackets import read_tree
        >>> gold = GoldSentence(read_tree("(S (A a b) (B c d))"), Comparison(), Place("gold", 1))
        >>> gold.matches(Brackets([(0, 4), (1, 4), (2, 4)], ["S", "C", "D"]))
        Matches(labelled=1, bracketed=2, consistent=2)
        """
        # No two spans of one tree cross.
        wrong = [span for span in guess.spans if span not in self._bracketed]
        return Matches(
            _common(self._labelled, list(zip(*guess, strict=True))),
            _common(self._bracketed, guess.spans),
            len(guess.spans) - len(wrong) + consistent(wrong, self._owners),
        )


def compared_labels(tree: outlines.Outline, form: Form, place: Place) -> list[str]:
    """The labels of a tree as they are compared."""
    if form == "original":
        return tree.labels
    try:
        return [codec.project(label) for label in tree.labels]
    except errors.LabelError as error:
        raise place.error(errors.LabelError, error.message, "is this tree in binarized form?") from None


def crossing_reference(spans: list[outlines.Span], labels: list[str], how: Comparison) -> list[outlines.Span]:
    """The spans that C is judged by; debinarizing leaves the root and what is no continuation."""
    if how.form == "original" or how.crossing_reference == "binarized":
        return spans
    rest = zip(spans[1:], labels[1:], strict=True)
    return spans[:1] + [span for span, label in rest if not codec.is_continuation(label)]


def trees_in(form: Form) -> Callable[[TreeSource], Iterator[ReadTree]]:
    """How the trees of one comparison's sources are read in a form, the gold first."""
    joined: set[str] = set()
    gold: list[_Gold] = []

    def note(tree: Tree) -> None:
        if not joined and (chain := _first_chain(tree)) is not None:
            joined.add(chain)
            size = len(codec.split_chain(chain))
            log.warn(f"joined chains are expanded, and {chain} counts as {size} constituents")

    def original(source: TreeSource) -> Iterator[ReadTree]:
        if gold:
            return _original(note, gold[0], source)
        gold.append(_Gold(_original(note, None, source)))
        return gold[0].trees()

    return original if form == "original" else lambda source: source.trees()


class _Gold:
    """Gold trees; for the labels of all, those to come are read ahead."""

    def __init__(self, trees: Iterator[ReadTree]) -> None:
        self._trees, self._ahead = trees, deque[ReadTree]()
        self._labels: set[str] = set()

    def trees(self) -> Iterator[ReadTree]:
        """Yield each tree."""
        for read in self._taken():
            yield read
            while self._ahead:
                yield self._ahead.popleft()

    def labels(self) -> set[str]:
        """All labels of constituents."""
        self._ahead.extend(self._taken())
        return self._labels

    def _taken(self) -> Iterator[ReadTree]:
        for read in self._trees:
            if read.tree is not None:
                self._labels.update(_labels(read.tree))
            yield read

    def joined(self, trees: Sequence[Tree]) -> bool:
        """Whether labels of these are chains of labels that are here, and no label here is such a chain."""
        chains = {label for tree in trees for label in _labels(tree) if codec.JOIN in label}
        known = self.labels() if chains else self._labels
        return not chains & known and any(known.issuperset(chain.split(codec.JOIN)) for chain in chains)


def _original(note: Callable[[Tree], None], gold: _Gold | None, source: TreeSource) -> Iterator[ReadTree]:
    """The trees of a source, un-binarized if they were binarized; raises as ``source.trees`` does.

    Until a continuation is found, trees that would be changed wait, and what follows them: few, but
    where original labels look like those of a binarization. Raises LabelError.
    """
    trees = source.trees()
    waiting: list[ReadTree] = []
    for read in trees:
        if read.tree is not None and any(map(_is_binarized, read.tree.preorder())):
            waiting.append(read)
            break
        if waiting or (read.tree is not None and any(map(_would_change, _labels(read.tree)))):
            waiting.append(read)
        else:
            yield read
    else:
        kept = [tree for _, tree, _ in waiting if tree is not None]
        if gold is None or not gold.joined(kept):
            # No label of a binarization ends with a mark, as that of a category does: <NP\S>.
            own = (label for tree in kept for label in _labels(tree) if label and label[-1] != codec.SIBLING)
            label = next(filter(_would_change, own), None)
            if label and not any(len(node.children) > 2 for tree in kept for node in tree.preorder()):
                log.warn(
                    f"{source.source}: no label is a continuation, so labels such as {label} stay as they are"
                )
            yield from waiting
            return
    for line, tree, name in chain(waiting, trees):
        if tree is None:
            yield ReadTree(line, None, name)
            continue
        try:
            original = binarize.debinarize(clean.unwrap(tree))
        except errors.LabelError as error:
            remedy = "other labels here are continuations: is this tree in binarized form?"
            raise source.place(line).error(errors.LabelError, error.message, remedy) from None
        note(tree)
        yield ReadTree(line, original, name)


def _is_binarized(node: Tree) -> bool:
    return codec.is_continuation_label(node.label) if node.children else node.tag != node.label


def _labels(tree: Tree) -> Iterator[str]:
    return (node.label for node in clean.unwrap(tree).preorder() if not node.is_leaf)


@lru_cache(maxsize=65536)
def _would_change(label: str) -> bool:
    """Whether un-binarizing does anything to a label, if only to refuse it."""
    try:
        return codec.split_chain(codec.parse_label(label).base) != (label,)
    except errors.LabelError:
        return True


def _first_chain(tree: Tree) -> str | None:
    """The first joined chain among a tree's constituents."""
    labels = filterfalse(codec.is_continuation_label, _labels(tree))
    bases = (codec.parse_label(label).base for label in labels)
    return next((base for base in bases if len(codec.split_chain(base)) > 1), None)


class SentenceCounts(NamedTuple):
    """One row of the table: a sentence of one parser."""

    name: str  #: of the parses
    sentence: int  #: 1-based
    gold_line: int  #: where its tree begins in the gold file; of trees in memory, as ``sentence``
    parse_line: int  #: and in the parse file
    terminals: int
    parsed: int  #: 0 for an empty parse, else 1
    gold: int  #: constituents of the gold tree, N_C
    guess: int  #: constituents of the parse, N_G
    labelled: int  #: L
    bracketed: int  #: B
    consistent: int  #: C


def count_matches(
    gold: TreeSource,
    parses: Sequence[TreeSource],
    how: Comparison = PAPER_FORM,
    tallies: Mapping[str, Sequence[Tally]] | None = None,
) -> Iterator[list[SentenceCounts]]:
    """Yield, for each gold sentence, its counts in each parser's parses.

    ``tallies`` (by each name) are updated; labels that un-binarizing changes are warned of. As in a
    parse file, an empty line among gold trees of one line each is an empty tree, which a gold file must not
    have: line for line, the files stay together.

    Raises CorpusError (no trees, an empty gold tree), InputMismatchError (trees that do not belong
    together), BracketError, FileError or LabelError, all with their place.
    """
    alignment = Alignment(gold, parses, trees_in(how.form))
    forms = [BinarizedForm() for _ in parses]
    for number, line, tree in alignment.gold_trees():
        sentence = GoldSentence(tree, how, gold.place(line))
        correct, leaves, rows = sentence.brackets, sentence.leaves, []
        for source, form, parse in zip(parses, forms, alignment.parses(leaves), strict=True):
            place = source.place(parse.line)
            if how.form == "binarized":
                form.add(parse.outline, place)
            guess = Brackets(parse.outline.spans, compared_labels(parse.outline, how.form, place))
            sizes = (len(leaves), int(parse.tree is not None), len(correct.spans), len(guess.spans))
            matches = sentence.matches(guess)
            rows.append(SentenceCounts(source.name, number, line, parse.line, *sizes, *matches))
            if tallies is not None and tallies[source.name]:
                tags = [[leaf.tag for leaf in each] for each in (leaves, parse.outline.leaves)]
                compared = ComparedTrees(correct, guess, equal_pairs(correct, guess), *tags)
                for tally in tallies[source.name]:
                    tally.add(compared)
        yield rows
    for form in forms:
        form.check()


def counts_table(rows: Iterable[Sequence[NamedTuple]]) -> pd.DataFrame:
    """The table of counts, one column for each field of the rows, parser after parser.

    The first field is the parser's name, all others are integers. Of rows, which are large, none is kept.
    """
    import pandas as pd

    rows = iter(rows)
    first = next(rows)
    counts = [array("q") for _ in first]
    for sentence in chain([first], rows):
        for numbers, row in zip(counts, sentence, strict=True):
            numbers.extend(row[1:])
    names, fields = [row[0] for row in first], first[0]._fields
    table = np.concatenate([np.frombuffer(numbers, np.int64) for numbers in counts])
    columns = table.reshape(-1, len(fields) - 1).T.copy()
    name = np.repeat(np.array(names, dtype=object), len(columns[0]) // len(names))
    return pd.DataFrame(dict(zip(fields, (name, *columns), strict=True)))
