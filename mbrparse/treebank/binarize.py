"""Binarizing cleaned trees, and the way back.

A constituent with more than two children becomes a chain of continuations (Goodman 1996, section 5):
to the right, X -> A B C D becomes X -> A X_Cont, X_Cont -> B X_Cont, X_Cont -> C D. Around a head H,
X -> A H C D becomes X -> A X_Cont, X_Cont -> X_Cont D, X_Cont -> H C (Sima'an 2003).

Trees of other programs, whose labels have marks of their own (``LabelMarks``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeVar

from mbrparse import arguments, errors, log
from mbrparse.treebank import clean
from mbrparse.treebank import labels as codec
from mbrparse.treebank.brackets import AnyTree, ReadTree, any_tree
from mbrparse.treebank.heads import HeadChoice, HeadRules, choose_heads
from mbrparse.treebank.tree import Tree


def linearize(top: str, children: Sequence[Tree], head: int, label: Callable[[int, int], str]) -> Tree:
    """Split children off from the outside in, first those left of the head, then those right of it.

    ``label(start, end)`` names the node over children start..end (half-open) within the chain, ``top``
    the node over all. Around the last child this is the right-linear chain, around the first the left-
    linear one.

    >>> children = [Tree(tag) for tag in "abHcd"]
    >>> str(linearize("X", children, 2, lambda start, end: f"X{start}{end}"))
    '(X a (X15 b (X25 (X24 H c) d)))'
    """
    count = len(children)
    if count <= 2:
        return Tree(top, children)
    start = head if head + 1 < count else head - 1
    end = start + 2
    pair: tuple[Tree, ...] = (children[start], children[start + 1])
    while end - start < count:
        chain = Tree(label(start, end), pair)
        if end < count:
            pair = (chain, children[end])
            end += 1
        else:
            start -= 1
            pair = (children[start], chain)
    return Tree(top, pair)


Direction = Literal["right", "left"]
ChainPolicy = Literal["join", "join-tags", "keep"]


@dataclass(frozen=True, slots=True)
class HeadDriven:
    """Linearization around the head child.

    ``tags``: labels name the tag of their head word. ``frames``: continuations name the complements
    still to come on the left and on the right.
    """

    rules: HeadRules
    tags: bool = False
    frames: bool = False


@arguments.checked
@dataclass(frozen=True, slots=True)
class Binarization:
    """How to binarize.

    ``hmarkov`` is the number of siblings still to come that a continuation's label names (math.inf:
    all); ``vmarkov`` counts the levels that a label names, itself included (1: no parents).
    ``chains`` of unary productions become one label or stay; with ``join-tags`` those over a word's tag
    become part of the tag. With ``heads`` there is no direction and no ``hmarkov``.
    """

    direction: Direction = "right"
    hmarkov: float = 0
    vmarkov: int = 1
    chains: ChainPolicy = "join"
    heads: HeadDriven | None = None

    def __post_init__(self) -> None:
        if not (self.hmarkov >= 0 and (self.hmarkov == math.inf or self.hmarkov == int(self.hmarkov))):
            raise errors.OptionsError(f"`hmarkov` is 0, 1, 2, ... or inf, not {self.hmarkov}")
        if self.vmarkov < 1:
            raise errors.OptionsError(f"`vmarkov` is 1 or more, not {self.vmarkov}")
        if self.heads is not None and (self.hmarkov, self.direction) != (0, "right"):
            raise errors.OptionsError("`direction` and `hmarkov` have no meaning around heads")


RIGHT_LINEAR = Binarization()


@arguments.checked
def binarize(
    tree: AnyTree, how: Binarization = RIGHT_LINEAR, choices: Sequence[HeadChoice] | None = None
) -> Tree:
    """Binarize a cleaned tree.

    ``choices`` are the heads that were chosen before it was cleaned (see ``choose_heads``); without,
    they are chosen on the tree itself.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> str(binarize(read_tree("(S a b c)")))
    '(S a (S_Cont b c))'
    >>> str(binarize(read_tree("(S a (S b (VP c d e)))"), Binarization(hmarkov=1, vmarkov=2)))
    '(S a (S^S b (VP^S c (VP_Cont>d^S d e))))'
    """
    tree = _tags_joined(any_tree(tree), how.chains)
    if tree.is_leaf:
        return tree
    found = _constituents(tree, how)
    if how.heads is not None:
        chosen = choose_heads(tree, how.heads.rules) if choices is None else choices
        branching = (node for node in found if len(node.children) > 1)
        for node, choice in zip(branching, chosen, strict=True):
            node.choice = choice
    # Parents come before their children: backwards, a constituent's children are on top of those built,
    # the first on the very top.
    built: list[_Built] = []
    for node in reversed(found):
        children = [_built_leaf(child) if child.is_leaf else built.pop() for child in node.children]
        built.append(_build(node, children, how))
    return built[0].tree


def debinarize(tree: AnyTree) -> Tree:
    """Splice continuations out, drop annotations, expand joined chains and tags.

    The exact inverse of ``binarize``; on other trees (a parser's) continuations may be anywhere, a root that
    is one gets its base label, and an empty bracket around the tree goes.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> str(debinarize(read_tree("( (S_Cont a (S+VP^S b (VP_Cont>c>d (NP++NN c) d))))")))
    '(S a (S (VP b (NP (NN c)) d)))'
    """
    tree = clean.unwrap(any_tree(tree), {""})
    if tree.is_leaf:
        return expanded(tree)

    def inner(node: Tree, groups: list[list[Tree]]) -> list[Tree]:
        children = [child for group in groups for child in group]
        if codec.is_continuation(node.label) and node is not tree:
            return children
        labels = codec.split_chain(codec.parse_label(node.label).base)
        for label in reversed(labels):
            children = [Tree(label, children)]
        return children

    return tree.fold(lambda leaf: [expanded(leaf)], inner)[0]


def expanded(leaf: Tree) -> Tree:
    """The word under its treebank's tag, and under the constituents that are joined with it."""
    if leaf.word is None or codec.TAG_JOIN not in leaf.label:
        return leaf
    labels, tag = codec.split_tag(leaf.label)
    tree = Tree(tag, word=leaf.word)
    for label in reversed(labels):
        tree = Tree(label, [tree])
    return tree


def _tags_joined(node: Tree, chains: ChainPolicy) -> Tree:
    """The node, or a leaf where all between it and a word is joined with the tag."""
    labels, below = [], node
    while chains == "join-tags" and len(below.children) == 1:
        labels.append(below.label)
        below = below.children[0]
    if below.word is None or not (labels or codec.TAG_JOIN in below.label):
        return node
    return Tree(codec.join_tag(labels, below.label), word=below.word)


class _Constituent:
    """A constituent on its way into binary form; a joined chain counts as one."""

    __slots__ = ("ancestors", "base", "children", "choice")

    def __init__(self, node: Tree, ancestors: tuple[str, ...], chains: ChainPolicy) -> None:
        labels = [node.label]
        while chains != "keep" and len(node.children) == 1 and not node.children[0].is_leaf:
            node = node.children[0]
            labels.append(node.label)
        self.base = codec.join_chain(tuple(labels))
        self.children = [_tags_joined(child, chains) for child in node.children]
        self.ancestors = ancestors
        self.choice: HeadChoice | None = None


class _Built(NamedTuple):
    """A node in binary form, its label without annotations, and the tag of its head word."""

    tree: Tree
    name: str
    head_tag: str


def _constituents(tree: Tree, how: Binarization) -> list[_Constituent]:
    """Parents before children, left to right; top-down, since a label names its ancestors."""
    found: list[_Constituent] = []
    stack = [_Constituent(tree, (), how.chains)]
    while stack:
        node = stack.pop()
        found.append(node)
        ancestors = (node.base, *node.ancestors)[: how.vmarkov - 1]
        stack.extend(
            _Constituent(child, ancestors, how.chains)
            for child in reversed(node.children)
            if not child.is_leaf
        )
    return found


def _built_leaf(leaf: Tree) -> _Built:
    labels, tag = ((), leaf.label) if leaf.word is None else codec.split_tag(leaf.label)
    return _Built(leaf, codec.JOIN.join(map(codec.escape, (*labels, tag))), codec.escape(tag))


def _build(node: _Constituent, children: Sequence[_Built], how: Binarization) -> _Built:
    choice, count = node.choice, len(children)
    head = choice.head if choice else count - 1 if how.direction == "right" else 0
    head_tag = children[head].head_tag
    annotations = "".join([codec.PARENT + name for name in node.ancestors])
    if how.heads is not None and how.heads.tags:
        annotations += codec.HEAD_TAG + head_tag
    continuation = node.base + codec.CONTINUATION
    named = count if how.hmarkov == math.inf else int(how.hmarkov)
    complements = choice.complements if choice and how.heads and how.heads.frames else None

    def label(start: int, end: int) -> str:
        """The label of the continuation over children start..end."""
        siblings = frames = ""
        if named:
            to_come = children[start:end] if how.direction == "right" else children[start:end][::-1]
            siblings = "".join([codec.SIBLING + child.name for child in to_come[:named]])
        if complements:
            frames = codec.frame(complements[start:head]) + codec.frame(complements[head:end])
        return continuation + siblings + annotations + frames

    trees = [child.tree for child in children]
    return _Built(linearize(node.base + annotations, trees, head, label), node.base, head_tag)


Item = TypeVar("Item")

_LOOKED_AT = 1000  # trees: a binarizer's labels are in every few


def translated(tree: Tree, marks: codec.LabelMarks) -> Tree:
    """A tree of another program with its constituents' labels as binarized trees have them here.

    A null label becomes the continuation of the label above, but at the root.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> marks = codec.LabelMarks("::", "|<", "-")
    >>> print(translated(read_tree("(S::VP (V a) (VP|<> (P b) (- (N c) (N d))))"), marks))
    (S+VP (V a) (VP_Cont (P b) (VP_Cont (N c) (N d))))
    """
    found: list[tuple[Tree, str]] = []
    stack = [(tree, "")]
    while stack:
        node, above = stack.pop()
        label = node.label
        if node.children:
            label = codec.continuation_of(above) if above and label in marks.null else marks.translate(label)
        found.append((node, label))
        stack.extend((child, label) for child in reversed(node.children))
    built: list[Tree] = []
    for node, label in reversed(found):
        built.append(Tree(label, [built.pop() for _ in node.children], word=node.word))
    return built[0]


def translated_trees(trees: Iterable[ReadTree], marks: codec.LabelMarks, nary: bool) -> Iterator[ReadTree]:
    """Trees, those with ``marks`` in their labels ``translated``, and with ``nary`` debinarized."""
    for line, tree, name in trees:
        if tree is not None and any(map(marks.in_label, phrase_labels(tree))):
            ours = translated(clean.unwrap(tree), marks)
            yield ReadTree(line, debinarize(ours) if nary else ours, name)
        else:
            yield ReadTree(line, tree, name)


def our_trees(
    trees: Iterable[ReadTree], marks: codec.LabelMarks | None, nary: bool, source: str
) -> Iterator[ReadTree]:
    """The same, or without marks trees as they are; warns of labels that still look foreign."""
    found = trees if marks is None else translated_trees(trees, marks, nary)
    return watched(found, lambda read: phrase_labels(read.tree), source)


def phrase_labels(tree: Tree | None) -> set[str]:
    """The labels of a tree's constituents."""
    return set() if tree is None else {node.label for node in clean.unwrap(tree).preorder() if node.children}


def watched(items: Iterable[Item], labels_of: Callable[[Item], Iterable[str]], source: str) -> Iterator[Item]:
    """Trees or lines as they are; warns once of labels that look like another program's."""
    warned = False
    for number, item in enumerate(items):
        if not warned and number < _LOOKED_AT and (found := codec.foreign_note(labels_of(item))):
            warned = True
            log.warn(f"{source}: {found}")
        yield item
