"""The Penn-Helsinki style: the parsed corpora of historical English, IcePaHC, and similar ones.

A token of the text is a wrapper around its tree and ``(ID ...)``. Codes of the edition and comments
(``(CODE <P_12>)``, ``(CODE {COM:...})``, ``(CODE *XXX*)``) may be anywhere in the tree. Empty elements
have ordinary labels: ``0``, ``*``, ``*-1``, ``*T*-1``, ``*ICH*-2``, ``*con*``, ``*pro*`` ... A leaf of
IcePaHC is ``word-lemma``; the deep format writes ``(N (ORTHO word) (LEMMA lemma))``. The two halves of a
split word end and begin with ``$``, and stay so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from mbrparse.treebank.brackets import ReadTree, read_trees
from mbrparse.treebank.styles import Reading, leaf_word
from mbrparse.treebank.tree import Tree

#: What is no part of the text, whole: numbers of tokens, codes, line breaks, descriptions of the file.
NO_TEXT = frozenset({"ID", "CODE", "CODING", "COMMENT", "LB", "METADATA", "VERSION", "FORMAT"})
#: The label of a wrapper around several trees.
ROOT = "ROOT"

# *T*-1, *con*-D, *ICH*-2, *-1, *; 0. An asterisk that begins a word (a conjecture) is none of them.
_EMPTY = re.compile(r"\*[A-Za-z]*\*[-=\w]*|\*(?:[-=]\d+)?|0")
_KIND = re.compile(r"\*[^*]*\*|\*")
# Codes in the place of a word, or inside one: <P_12>, {COM:sic}, <heading>, </paren>.
_CODE = re.compile(r"\{[A-Za-z]+:[^{}]*\}|<[A-Z]+_[^<>]*>|</?(?:heading|font|paren|note|i|b|sup|sub)>")
# Characters by their names, <dash>, <dash/> or </dash>.
_TEXT_OF_CODE = {
    "dash": "-",
    "slash": "/",
    "lparen": "-LRB-",
    "rparen": "-RRB-",
    "equal": "=",
    "apostrophe": "'",
    "asterisk": "*",
}
_NAMED = re.compile(rf"</?({'|'.join(_TEXT_OF_CODE)})/?>")
_COMMENT_BEGINS, _COMMENT_ENDS = ("/*", "/~*"), ("*/", "*~/")


def read_penn_historical(lines: Iterable[str], source: str, reading: Reading) -> Iterator[ReadTree]:
    """Yield the trees of such a file, without what is no text; tokens without text are left out."""
    removed = reading.removed

    def childless(label: str) -> None:
        removed[f"({label}) without a word"] += 1

    for line, tree, _ in read_trees(_without_comments(lines), source, reading.on_error, childless=childless):
        text = None if tree is None else _text(tree, reading)
        if text is None:
            removed["token without text"] += 1
        else:
            yield ReadTree(line, text, _id(tree))


def read_icepahc(lines: Iterable[str], source: str, reading: Reading) -> Iterator[ReadTree]:
    """The same where leaves are ``word-lemma``: the word alone, unless ``reading.leaves`` says otherwise."""
    return read_penn_historical(lines, source, replace(reading, leaves=reading.leaves or "word"))


def split_lemma(token: str) -> tuple[str, str]:
    """Word and lemma of a leaf, the same twice where there is but one.

    Of several hyphens the middle one parts them, so that both have as many; of an even number, the last.

    >>> split_lemma("var-vera"), split_lemma(",-,"), split_lemma("-"), split_lemma("---")
    (('var', 'vera'), (',', ','), ('-', '-'), ('-', '-'))
    """
    hyphens = [place for place, letter in enumerate(token) if letter == "-"]
    if not hyphens:
        return token, token
    place = hyphens[len(hyphens) // 2] if len(hyphens) % 2 else hyphens[-1]
    word, lemma = token[:place], token[place + 1 :]
    return (word, lemma) if word and lemma else (token, token)


def _without_comments(lines: Iterable[str]) -> Iterator[str]:
    """Lines in which those of CorpusSearch's comments are empty: from /* or /~* to */ or *~/."""
    inside = False
    for line in lines:
        text = line.strip()
        if inside or text.startswith(_COMMENT_BEGINS):
            inside = not text.endswith(_COMMENT_ENDS)
            yield "\n"
        else:
            yield line


def _id(tree: Tree | None) -> str:
    """What the wrapper says that the token is called."""
    children = () if tree is None else tree.children
    return next((node.word for node in children if node.label == "ID" and node.word), "")


def _text(tree: Tree, reading: Reading) -> Tree | None:
    """The tree of a token without everything that is no text; None if nothing is left."""
    removed, leaves = reading.removed, reading.leaves

    def leaf(node: Tree) -> Tree | None:
        if _is_no_text(node) and node.word is not None:
            removed[f"({node.label})"] += 1
            return None
        token = node.label if node.word is None else node.word
        empty = _EMPTY.fullmatch(token) or (token == "0-0" and not node.label.startswith("NUM"))
        text = _CODE.sub("", token)
        if empty:
            kind = _KIND.match(token)
            removed["0" if kind is None else kind.group()] += 1
            return None
        if text != token:
            removed["code inside a word" if text.strip("-$") else "code in the place of a word"] += 1
            if not text.strip("-$"):
                return None
        if leaves in ("word", "lemma"):
            text = split_lemma(text)[leaves == "lemma"]
        text = _NAMED.sub(lambda match: _TEXT_OF_CODE[match[1]], text)
        if text == token:
            return node
        return Tree(text) if node.word is None else Tree(node.label, word=text)

    def inner(node: Tree, children: list[Tree | None]) -> Tree | None:
        if _is_no_text(node):
            removed[f"({node.label})"] += 1
            return None
        kept = [child for child in children if child is not None]
        parts = {child.label: child.word for child in kept}
        if "ORTHO" in parts and parts.keys() <= {"ORTHO", "LEMMA"}:
            return Tree(node.label, word=leaf_word(parts["ORTHO"] or "", parts.get("LEMMA"), leaves))
        if not kept and node.label:
            removed["constituent left empty"] += 1
        return Tree(node.label, kept) if kept else None

    found = tree.fold(leaf, inner)
    while found is not None and not found.label:
        if len(found.children) > 1:
            removed["wrapper around several trees (now ROOT)"] += 1
            return Tree(ROOT, found.children)
        removed["wrapper"] += 1
        found = found.children[0]
    return found


def _is_no_text(node: Tree) -> bool:
    return node.label.partition("-")[0] in NO_TEXT
