"""Phrase-structure trees."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from mbrparse.errors import ArgumentError, MbrparseError
from mbrparse.treebank.labels import split_tag

if TYPE_CHECKING:
    import nltk

T = TypeVar("T")


class Tree:
    """An immutable phrase-structure tree.

    An inner node has a ``label`` and ``children``. A leaf has no children; its ``label`` is its tag
    and ``word`` the word under it, or None for a bare terminal, whose tag is itself. Every method
    works without recursion, so the depth of a tree is limited by memory alone.

    >>> tree = Tree("S", [Tree("NP", [Tree("DT", word="the"), Tree("NN", word="dog")]), Tree("x")])
    >>> str(tree)
    '(S (NP (DT the) (NN dog)) x)'
    >>> tree.tags(), tree.words()
    (('DT', 'NN', 'x'), ('the', 'dog', 'x'))
    """

    __slots__ = ("children", "label", "word")

    label: str
    children: tuple[Tree, ...]
    word: str | None

    def __init__(self, label: str, children: Sequence[Tree] = (), *, word: str | None = None) -> None:
        if not isinstance(label, str) or not (word is None or isinstance(word, str)):
            raise ArgumentError(f"a tree's label and word are text, not {label!r} and {word!r}")
        if word is not None and children:
            raise ArgumentError("a node has children or a word, not both")
        _set_label(self, label)
        _set_children(self, tuple(children))
        _set_word(self, word)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Tree is immutable: cannot set {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Tree is immutable: cannot delete {name}")

    @property
    def is_leaf(self) -> bool:
        """Whether this is a terminal (with or without a word)."""
        return not self.children

    @property
    def tag(self) -> str:
        """The tag of a terminal, without the labels that binarizing joins with the tag of a word."""
        return self.label if self.word is None else split_tag(self.label)[1]

    def preorder(self) -> Iterator[Tree]:
        """Yield every node, parents before children, left to right."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))

    def leaves(self) -> tuple[Tree, ...]:
        """The terminals, left to right."""
        found, stack = [], [self]
        while stack:
            node = stack.pop()
            if node.children:
                stack.extend(node.children[::-1])
            else:
                found.append(node)
        return tuple(found)

    def tags(self) -> tuple[str, ...]:
        """The tags of the terminals; a bare terminal is its own tag."""
        return tuple(leaf.tag for leaf in self.leaves())

    def words(self) -> tuple[str, ...]:
        """The words of the terminals; a bare terminal is its own word."""
        return tuple(leaf.label if leaf.word is None else leaf.word for leaf in self.leaves())

    def fold(self, leaf: Callable[[Tree], T], inner: Callable[[Tree, list[T]], T]) -> T:
        """Compute a value bottom-up: ``leaf`` of terminals, ``inner`` of a node and its children's.

        >>> Tree("S", [Tree("x"), Tree("x")]).fold(lambda leaf: 1, lambda node, sizes: sum(sizes))
        2
        """
        done: list[list[T]] = [[]]
        stack: list[Tree | None] = [self]  # None stands before a node whose children are done
        while stack:
            node = stack.pop()
            if node is None:
                node, values = stack.pop(), done.pop()
                assert node is not None
                done[-1].append(inner(node, values))
            elif node.children:
                done.append([])
                stack += (node, None, *node.children[::-1])
            else:
                done[-1].append(leaf(node))
        return done[0][0]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        stack = [(self, other)]
        while stack:
            mine, yours = stack.pop()
            if mine is yours:
                continue
            if (
                mine.label != yours.label
                or mine.word != yours.word
                or len(mine.children) != len(yours.children)
            ):
                return False
            stack.extend(zip(mine.children, yours.children, strict=True))
        return True

    def __hash__(self) -> int:
        return hash(tuple((node.label, node.word, len(node.children)) for node in self.preorder()))

    def __str__(self) -> str:
        """The tree as one line of brackets (see treebank.brackets for reading them)."""
        parts: list[str] = []  # a blank before each node
        stack: list[Tree | None] = [self]  # None ends a node
        while stack:
            node = stack.pop()
            if node is None:
                parts.append(")")
            elif not node.children:
                parts.append(" " + leaf_text(node))
            else:
                parts.append(" (" + bracket_free(node.label))
                children, first = node.children, node.children[0]
                stack.append(None)
                stack.extend(children[::-1])
                if (len(children) == 1 or not node.label) and not first.children and first.word is None:
                    # Written bare it would read back as the node's word, or as its label.
                    stack[-1] = Tree(first.label, word=first.label)
        return "".join(parts)[1:]

    def __repr__(self) -> str:
        return f"<Tree {self}>"

    def _repr_svg_(self) -> str | None:
        """The tree as a notebook shows it; None (it then shows the brackets) where it is too deep."""
        from mbrparse.treebank.drawing import draw_tree

        return draw_tree(self)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled as a flat list of nodes: the default would recurse to the tree's depth."""
        nodes = [(node.label, node.word, len(node.children)) for node in self.preorder()]
        return (_from_preorder, (nodes,))

    def to_nltk(self) -> nltk.Tree:
        """The same tree as an ``nltk.Tree`` (bare terminals become strings)."""
        import nltk

        def leaf(node: Tree) -> Any:
            return node.label if node.word is None else nltk.Tree(node.label, [node.word])

        return self.fold(leaf, lambda node, children: nltk.Tree(node.label, children))

    @classmethod
    def from_nltk(cls, tree: nltk.Tree) -> Tree:
        """The same tree as ours; raises MbrparseError at a node without children."""
        import nltk

        nodes: list[tuple[str, str | None, int]] = []
        stack: list[Any] = [tree]
        while stack:
            node = stack.pop()
            if not isinstance(node, nltk.Tree):
                nodes.append((str(node), None, 0))
            elif len(node) == 1 and not isinstance(node[0], nltk.Tree):
                nodes.append((str(node.label()), str(node[0]), 0))
            elif len(node) == 0:
                raise MbrparseError(f"constituent {node.label()!r} without children")
            else:
                nodes.append((str(node.label()), None, len(node)))
                stack.extend(reversed(node))
        return _from_preorder(nodes)


# The slots' own setters go past the class's __setattr__, which refuses, and are the fastest way.
_set_label, _set_children, _set_word = (vars(Tree)[name].__set__ for name in ("label", "children", "word"))


def bracket_free(text: str) -> str:
    """A label or word as it is written: with names for brackets."""
    if "(" in text or ")" in text:
        return text.replace("(", "-LRB-").replace(")", "-RRB-")
    return text


def leaf_text(leaf: Tree) -> str:
    """A leaf as it is written."""
    if leaf.word is None:
        return bracket_free(leaf.label)
    return f"({bracket_free(leaf.label)} {bracket_free(leaf.word)})"


def _from_preorder(nodes: list[tuple[str, str | None, int]]) -> Tree:
    """The tree of these labels, words and numbers of children, parents before children."""
    stack: list[Tree] = []
    for label, word, arity in reversed(nodes):
        children = [stack.pop() for _ in range(arity)]
        stack.append(Tree(label, children, word=word))
    return stack[0]
