"""What decoders find: labelled spans. The trees of these, and of sentences without a parse.

A decoder finds one tree for each of its objectives, which are of one kind, from a chart or posteriors. It is
made once, with its objectives, and its type says what it needs of a chart. Sources make them
(decode.parser.sources), as the table in decode.answers says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeVar

from mbrparse.treebank.binarize import debinarize
from mbrparse.treebank.brackets import tokens_of
from mbrparse.treebank.clean import TRACE
from mbrparse.treebank.labels import continuation_of, unescape
from mbrparse.treebank.tree import Tree

if TYPE_CHECKING:
    from mbrparse.decode.span_posteriors import Posteriors

#: A sentence's terminals; their tags or words are parsed, and they are kept under the guessed tree.
Sentence = tuple[Tree, ...]
#: What is written for a sentence without a parse.
Fallback = Literal["right-branching", "flat", "empty"]
#: Spans (start, end, label) in preorder.
LabelledSpans = Sequence[tuple[int, int, str]]
ChartT_contra = TypeVar("ChartT_contra", contravariant=True)


class Certificate(NamedTuple):
    """An upper bound of all trees' scores, and whether the tree that was found reaches it."""

    bound: float
    certified: bool


class Estimate(NamedTuple):
    """What samples say of the tree that is the commonest among them.

    ``estimate`` is its share of the ``samples``, with its ``standard_error``; ``leader_error`` about how
    probably another would have been as common (decode.parser.dop_source; None: unknown).
    """

    estimate: float
    standard_error: float
    leader_error: float | None
    samples: int


class Decoded(NamedTuple):
    """The best tree of one objective for one sentence.

    ``spans`` are its constituents (start, end, projected label) in preorder, ``preterminals`` the labels
    over its terminals (None: no label). ``score`` is the expected value of the objective (None: see
    ``log_prob``), ``expected`` the expected numbers of other matching items, by their name in ``--details``.
    The most probable derivation has its natural ``log_prob``. An n-ary tree has the expected number of
    ``constituents`` of the true n-ary tree, a tree of consistent brackets the probability that each span is
    ``consistent``. A tree that counts as a whole has a ``certificate``, or an ``estimate`` from samples.
    """

    spans: LabelledSpans
    preterminals: Sequence[str | None]
    score: float | None = None
    log_prob: float | None = None
    expected: Mapping[str, float] | None = None
    constituents: float | None = None
    consistent: Sequence[float] | None = None
    certificate: Certificate | None = None
    estimate: Estimate | None = None


class Decoder(Protocol[ChartT_contra]):
    """Finds the best trees for all its objectives at once."""

    def decode(self, chart: ChartT_contra, posteriors: Posteriors) -> Sequence[Decoded | None]:
        """Return a tree for each objective, None where none is found; the chart must have a parse."""
        ...


def sentence_of(one: Tree | str | Sequence[str | Tree]) -> Sentence:
    """The leaves of a tree, without traces, or those of the words of a text or a list.

    What is joined with tags is left out: it is to be found.
    """
    if isinstance(one, Tree):
        return tuple([leaf for leaf in map(untagged, one.leaves()) if leaf.label != TRACE])
    parts = tokens_of(one.replace("\n", " ")) if isinstance(one, str) else one
    return tuple([part if isinstance(part, Tree) else Tree(part) for part in parts])


def untagged(leaf: Tree) -> Tree:
    """A leaf without what is joined with its tag."""
    return leaf if leaf.tag == leaf.label else Tree(leaf.tag, word=leaf.word)


def words_of(sentence: Sentence) -> list[str]:
    """The words, or the tags of a sentence without words."""
    return [leaf.label if leaf.word is None else leaf.word for leaf in sentence]


@dataclass(frozen=True, slots=True)
class TreeForm:
    """How the trees of an objective are written.

    >>> form = TreeForm("S", nary=True)
    >>> str(form.tree([(0, 3, "S"), (1, 3, "A+B")], [Tree("x"), Tree("y"), Tree("z")]))
    '(S x (A (B y z)))'

    ``nary`` trees have no continuations, and their chains are expanded. ``root`` is written over a single
    terminal, which is no constituent. Words get the tags of their tree, except for those in ``bare``: these
    terminals stand in rules themselves.
    """

    root: str
    nary: bool = False
    bare: frozenset[str] = frozenset()

    def tree(
        self, spans: LabelledSpans, leaves: Sequence[Tree], tags: Sequence[str | None] | None = None
    ) -> Tree:
        """The tree of nested spans in preorder; ``tags``, if given, are its leaves' (None: no tag)."""
        if tags is not None:
            leaves = tagged(leaves, [None if tag in self.bare else tag for tag in tags])
        tree = build_tree(spans or [(0, 1, self.root)], leaves)
        return debinarize(tree) if self.nary else tree


def build_tree(spans: LabelledSpans, leaves: Sequence[Tree]) -> Tree:
    """The tree of nested (start, end, label) in preorder over ``leaves``.

    >>> str(build_tree([(0, 3, "S"), (1, 3, "A")], [Tree("x"), Tree("y"), Tree("z")]))
    '(S x (A y z))'
    """
    # The largest finished subtree that begins at each position, and where it ends.
    tops = list(leaves)
    ends = list(range(1, len(leaves) + 1))
    for start, end, label in reversed(spans):
        position = ends[start]
        children = [tops[start]]
        while position < end:
            children.append(tops[position])
            position = ends[position]
        tops[start] = Tree(label, children)
        ends[start] = end
    return tops[0]


def tagged(leaves: Sequence[Tree], preterminals: Sequence[str | None]) -> tuple[Tree, ...]:
    """The words of a sentence under other tags; without one (None) a word stays bare.

    >>> [str(leaf) for leaf in tagged([Tree("x"), Tree("NN", word=".")], [None, "."])]
    ['x', '(. .)']
    """
    built = []
    for leaf, preterminal in zip(leaves, preterminals, strict=True):
        word = leaf.label if leaf.word is None else leaf.word
        built.append(Tree(word) if preterminal is None else Tree(unescape(preterminal), word=word))
    return tuple(built)


def fallback_spans(
    length: int, fallback: Fallback, root: str, labels: frozenset[str]
) -> LabelledSpans | None:
    """The spans (start, end, label), in preorder, of a fall-back tree; None for an empty parse.

    ``right-branching`` is Goodman's (1996, section 5): a right-branching structure with the rightmost
    element attached high. Its root has the label ``root``, the others have that label's continuation,
    or ``root`` itself where the grammar's ``labels`` hold none.

    >>> fallback_spans(4, "right-branching", "S", frozenset({"S", "S_Cont"}))
    [(0, 4, 'S'), (0, 3, 'S_Cont'), (1, 3, 'S_Cont')]
    """
    if fallback == "empty" or length == 0:
        return None
    spans = [(0, length, root)]
    if fallback == "right-branching":
        continuation = continuation_of(root)
        below = continuation if continuation in labels else root
        spans.extend((start, length - 1, below) for start in range(length - 2))
    return spans
