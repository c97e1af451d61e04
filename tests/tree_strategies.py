"""Hypothesis strategies: labels meant to break the codec, and trees of them."""

from hypothesis import strategies as st

from mbrparse.treebank.tree import Tree


def is_binary(tree: Tree) -> bool:
    """Whether every constituent has exactly two children."""
    return all(len(node.children) == 2 for node in tree.preorder() if node.children)


_MARKS = (
    "_Cont X_Cont X_Cont_Cont _Con % %5FCont %00 ^ S^NP > S> ~&@ + S+VP ' '' 'NN' 'a b' -> # end ( -NONE-"
)
HOSTILE_LABELS = ("", *_MARKS.split(" "), "'a\nb'", "a b", "\t", "\u3000", "\u0085", "NP-SBJ=1")
ASCII_BLANKS = " \t\r\n\f\v"

labels = st.sampled_from(HOSTILE_LABELS) | st.text(max_size=5)
"""Any treebank label, the nastiest first."""

tokens = st.sampled_from(
    [label for label in HOSTILE_LABELS if label and not set(label) & {*ASCII_BLANKS, "("}]
)
tokens |= st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="() \t\n")
    | st.sampled_from("\r\v\f\x1c\x1d\x1e\x85\u2028\u2029\u00a0\u3000\u00b2\x1b"),
    min_size=1,
    max_size=4,
).filter(lambda token: token == token.strip("\r"))
"""Text that stands between blanks in brackets and in grammar files: a tag or a word."""


def trees(labels: st.SearchStrategy[str], *, max_leaves: int = 12) -> st.SearchStrategy[Tree]:
    """Trees whose constituents have such labels, over leaves with and without a word.

    A lone bare leaf, and a bare one that comes first under no label, cannot be written in brackets and
    do not occur.
    """
    leaves = st.builds(lambda tag, word: Tree(tag, word=word), tokens, st.none() | tokens)

    def node(label: str, children: list[Tree]) -> Tree:
        first = children[0]
        if first.is_leaf and first.word is None and (len(children) == 1 or not label):
            children = [Tree(first.label, word=first.label), *children[1:]]
        return Tree(label, children)

    def above(children: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
        return st.builds(node, labels, st.lists(children, min_size=1, max_size=5))

    return above(st.recursive(leaves, above, max_leaves=max_leaves))
