"""Evaluations of unsupervised parsing once more, each from its script's steps; nothing of the library.

Trees are nested tuples (label, children) and terminals (tag, word), as ``read`` makes them of brackets.
"""

from __future__ import annotations

from typing import Any

WORDS = (
    "CC CD DT EX FW IN JJ JJR JJS LS MD NN NNS NNP NNPS PDT POS PRP PRP$ RB RBR RBS RP SYM TO UH VB VBD VBG "
    "VBN VBP VBZ WDT WP WP$ WRB"
)
Spans = list[tuple[int, int]]


def read(text: str) -> Any:
    """A tree of brackets, token by token."""
    tokens = text.replace("(", " ( ").replace(")", " ) ").split()

    def node(at: int) -> tuple[Any, int]:
        label, at = ("", at + 1) if tokens[at + 1] == "(" else (tokens[at + 1], at + 2)
        if tokens[at] != "(":
            return (label, tokens[at]), at + 2
        children = []
        while tokens[at] == "(":
            child, at = node(at)
            children.append(child)
        return (label, children), at + 1

    return node(0)[0]


def tags(tree: Any) -> list[str]:
    """The terminals' tags."""
    label, below = tree
    return [label] if isinstance(below, str) else [tag for child in below for tag in tags(child)]


def without(tree: Any, gold_tags: list[str], at: int = 0) -> Any:
    """The tree without what is no word by the gold's tags, and what that leaves empty; unaries stay."""
    label, below = tree
    if isinstance(below, str):
        return tree if gold_tags[at] in WORDS.split() else None
    children = []
    for child in below:
        kept = without(child, gold_tags, at)
        at += len(tags(child))
        if kept is not None:
            children.append(kept)
    return (label, children) if children else None


def constituents(tree: Any, at: int = 0) -> list[tuple[str, int, int]]:
    """Label, start and end of each node that is no terminal, the root last."""
    label, below = tree
    if isinstance(below, str):
        return []
    found, start = [], at
    for child in below:
        found += constituents(child, at)
        at += len(tags(child))
    return [*found, (label, start, at)]


def prpn(tree: Any) -> Spans:
    """Sets of spans of two words at least, without the sentence."""
    sentence = 0, len(tags(tree))
    return sorted({(s, e) for _, s, e in constituents(tree) if e - s > 1 and (s, e) != sentence})


def compound_pcfg(tree: Any) -> Spans:
    """The same, but that only the root's own is left out."""
    return sorted({(s, e) for _, s, e in constituents(tree)[:-1] if e - s > 1})


def diora(tree: Any) -> Spans:
    """All brackets of EVALB by diora.prm, as often as they are there."""
    gone = ["ROOT", "S1", "-NONE-", ",", ":", "``", "''", ".", "?", "!"]
    return [(s, e) for label, s, e in constituents(tree) if label.split("-")[0].split("=")[0] not in gone]


def common(gold: Spans, guess: Spans) -> int:
    """How many are in both, each as often as in the one that has fewer."""
    return sum(min(gold.count(span), guess.count(span)) for span in set(gold))


def sentence(gold: Spans, guess: Spans) -> tuple[float, float, float]:
    """Precision, recall and F of a sentence, as PRPN has them."""
    both = common(gold, guess)
    precision = both / len(guess) if guess else 0.0
    recall = both / len(gold) if gold else 1.0
    if not gold and not guess:
        precision = 1.0
    return precision, recall, 2 * precision * recall / (precision + recall) if precision + recall else 0.0
