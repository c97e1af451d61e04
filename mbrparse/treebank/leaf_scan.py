"""A fast scan for the leaves of a line that holds one whole tree, without building inner nodes.

What is found is what the reader of trees (treebank.brackets) finds; what is not so plain is left to it.
"""

from __future__ import annotations

import re

from mbrparse.treebank.tree import Tree

# A leaf, with the brackets that open before it and those that close after it. What opens has children that
# are seen: a bracket, or a bare word that is not alone. Else it is a leaf itself, or malformed.
# Python 3.11.2 is wrong about (...)*+, but not about (?>(...)*).
_LEAF = re.compile(
    r"((?>(?:\([^ \t\n()]*+[ \t]*+(?=\()|\([^ \t\n()]++[ \t]++(?=[^ \t\n()]++[ \t]*+[^ \t\n)]))*))"
    r"(?:\(([^ \t\n()]++)[ \t]++([^ \t\n()]++)[ \t]*+\)|([^ \t\n()]++))"
    r"([ \t\n)]*+)"
)


def scan_leaves(line: str, known: dict[tuple[str, str], Tree]) -> tuple[Tree, ...] | None:
    """The leaves of the line's tree; None where one plain tree does not fill the line, or is a leaf.

    Equal leaves are one object: ``known`` has them by tag (of bare ones empty) and word.

    >>> [str(leaf) for leaf in scan_leaves("(S (DT the) (NP (NN dog) x))", {})]
    ['(DT the)', '(NN dog)', 'x']
    >>> scan_leaves("(S a (B b)", {}), scan_leaves("(S a b) (S c d)", {})
    (None, None)
    """
    if line[:1] != "(" or "\r" in line:
        return None
    leaves: list[Tree] = []
    opened = closed = tagged = 0
    for openings, tag, under, bare, closings in _LEAF.findall(line):
        if openings:
            if leaves and closed >= opened:
                return None
            opened += openings.count("(")
        # The tree is not open any more, or not yet.
        if closed >= opened:
            return None
        tagged += tag != ""
        word = under or bare
        leaf = known.get((tag, word))
        if leaf is None:
            leaf = known[tag, word] = Tree(tag, word=word) if tag else Tree(word)
        leaves.append(leaf)
        if closings != " ":
            closed += closings.count(")")
    # What is no part of a leaf is passed over, but would have had brackets.
    whole = opened + tagged == line.count("(") and closed + tagged == line.count(")")
    return tuple(leaves) if whole and opened == closed else None
