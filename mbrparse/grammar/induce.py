"""A grammar from binarized trees: relative frequencies, no smoothing (Goodman 1996, section 5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from mbrparse.errors import GrammarError
from mbrparse.grammar.rules import Rule, RuleSet, TerminalKind, is_terminal, quote, relative_frequencies
from mbrparse.treebank.corpora import SourceTree
from mbrparse.treebank.labels import escape
from mbrparse.treebank.tree import Tree


def induce(trees: Iterable[SourceTree], terminal_kind: TerminalKind) -> RuleSet:
    """Count the rules of binarized trees.

    With terminals ``tags`` the tags are the terminals; with ``words`` they are preterminals over their
    words. A node with one child counts as a unary rule; where that child is a terminal, its tag becomes a
    preterminal over it: ``NP -> PRP`` and ``PRP -> 'PRP'``, since an NP that were rewritten as the
    terminal itself would be a preterminal, and no constituent. Raises GrammarError for a node with more
    than two children, and if there is no tree.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> tree = SourceTree("", 1, read_tree("(NP (DT the) (NN dog))"))
    >>> [str(rule) for rule in induce([tree], "words").rules]
    ['NP -> DT NN', "DT -> 'the'", "NN -> 'dog'"]
    >>> tree = SourceTree("", 1, read_tree("(S (NP (PRP he)) (VBZ is))"))
    >>> [str(rule) for rule in induce([tree], "tags").rules]
    ["S -> NP 'VBZ'", 'NP -> PRP', "PRP -> 'PRP'"]
    """
    start: Counter[str] = Counter()
    # Plain tuples while counting: a Rule for each node would double the time.
    inner: Counter[tuple[str, str, str]] = Counter()
    unary: Counter[tuple[str, str]] = Counter()
    lexical: Counter[tuple[str, str]] = Counter()
    words = terminal_kind == "words"

    def name(node: Tree) -> str:
        if node.children:
            return node.label
        return escape(node.label) if words and node.word is not None else quote(node.label)

    for source, line, tree in trees:
        if not tree.children:
            raise GrammarError("a tree without constituents", source=source, line=line, remedy=_REMEDY)
        start[tree.label] += 1
        stack = [tree]
        while stack:
            node = stack.pop()
            children = node.children
            if len(children) > 2:
                raise GrammarError(
                    f"constituent {node.label} has {len(children)} children, not 2",
                    source=source,
                    line=line,
                    remedy=_REMEDY,
                )
            if not node.label or is_terminal(node.label):
                raise GrammarError(
                    f"constituent label {node.label!r} cannot stand in a grammar",
                    source=source,
                    line=line,
                    remedy=_REMEDY,
                )
            if len(children) == 2:
                inner[node.label, name(children[0]), name(children[1])] += 1
            elif children[0].children:
                unary[node.label, children[0].label] += 1
            else:
                tag, word = children[0].label, children[0].word if words else None
                unary[node.label, escape(tag)] += 1
                lexical[tag, tag if word is None else word] += 1
                continue
            for child in children:
                if child.children:
                    stack.append(child)
                elif words and child.word is not None:
                    lexical[child.label, child.word] += 1
    if not start:
        raise GrammarError("no trees to train on", remedy="give binarized trees: mbrparse binarize")
    counts: dict[Rule, float] = {
        Rule(parent, (left, right)): count for (parent, left, right), count in inner.items()
    }
    for (parent, only), count in unary.items():
        counts[Rule(parent, (only,))] = count
    for (tag, terminal), count in lexical.items():
        counts[Rule(escape(tag), (quote(terminal),))] = count
    return relative_frequencies(terminal_kind, dict(start), counts)


_REMEDY = "binarize the trees first: mbrparse binarize"
