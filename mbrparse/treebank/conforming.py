"""From trees as they are written to those of text alone, by a reading's conventions; what goes is counted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial

from mbrparse.treebank.brackets import ReadTree
from mbrparse.treebank.conventions import Reading, fitting, leaf_word
from mbrparse.treebank.penn_historical import named_characters, split_lemma, without_codes
from mbrparse.treebank.tree import Tree

#: The label of a wrapper around several trees.
ROOT = "ROOT"
_KIND = re.compile(r"\*[^*]*\*|[*0]")
_TAKEN = {"word": "lemma", "lemma": "word", "both": "space before a lemma"}


def conformed(lines: Iterable[str], source: str, reading: Reading) -> Iterator[ReadTree]:
    """Yield the trees of a file by the conventions of its reading; those without text are left out."""
    how, removed = reading.conventions, reading.removed
    trees = how.read(lines, source, reading)
    labels = how.drop or how.roots or how.ids or how.lemma or how.form
    if not (labels or how.empty or how.codes or how.lemmas == "second"):
        yield from trees
        return
    is_name, is_root = fitting(how.ids), fitting(how.roots)
    leaf, inner = partial(_leaf, reading), partial(_inner, reading)
    for line, tree, name in trees:
        found = None if tree is None else tree.fold(leaf, inner)
        if tree is None or found is None:
            removed["token without text"] += 1
            continue
        while len(found.children) == 1 and is_root(found.label):
            removed[f"wrapper {found.label}".rstrip()] += 1
            found = found.children[0]
        if not found.label and is_root(""):
            removed["wrapper around several trees (now ROOT)"] += 1
            found = Tree(ROOT, found.children)
        # A tree's name is below its root, or one constituent further down.
        nodes = (node for child in tree.children for node in (child, *child.children) if not _is_bare(node))
        names = (" ".join(node.words()) for node in nodes if is_name(node.label))
        yield ReadTree(line, found, name or next(names, ""))


def _leaf(reading: Reading, node: Tree) -> Tree | None:
    """A leaf's text; None where it is none."""
    how, removed = reading.conventions, reading.removed
    if node.word is not None and reading.dropped(node.label):
        removed[f"({node.label})"] += 1
        return None
    token = text = node.label if node.word is None else node.word
    if how.empty is not None and how.empty.fullmatch(f"{node.label} {token}"):
        removed[_KIND.findall(token)[0]] += 1
        return None
    if how.codes:
        text, code = without_codes(token)
        if code:
            removed[code] += 1
        if not text:
            return None
    if how.lemmas == "hyphen" and how.leaves in ("word", "lemma"):
        text = split_lemma(text)[how.leaves == "lemma"]
    text = named_characters(text) if how.codes else text
    if text == token:
        return node
    return Tree(text) if node.word is None else Tree(node.label, word=text)


def _inner(reading: Reading, node: Tree, children: list[Tree | None]) -> Tree | None:
    """A constituent, or a tag and its word; None where nothing of it is left."""
    if reading.dropped(node.label):
        reading.removed[f"({node.label})"] += 1
        return None
    kept = [child for child in children if child is not None]
    terminal, leaves = _terminal(reading, kept), reading.conventions.leaves or "word"
    if terminal is not None:
        word, lemma = terminal
        if lemma:
            reading.removed[_TAKEN[leaves]] += 1
        return Tree(node.label, word=leaf_word(word, lemma, leaves))
    if not kept and node.label:
        reading.removed["constituent left empty"] += 1
    return Tree(node.label, kept) if kept else None


def _terminal(reading: Reading, children: list[Tree]) -> tuple[str, str] | None:
    """Word and lemma of the tag with these children; None where they are constituents or words."""
    how = reading.conventions
    if how.lemmas == "second" and len(children) == 2 and all(map(_is_bare, children)):
        return children[0].label, children[1].label
    parts = [child for child in children if child.label in (how.lemma, how.form) and not _is_bare(child)]
    words = {part.label: part.words() for part in parts if all(map(_is_bare, part.children))}
    rest = [child for child in children if child not in parts]
    if len(words) < max(1, len(parts)) or bool(rest) == (how.form in words) or not all(map(_is_bare, rest)):
        return None  # neither of them, one twice, or what is no word
    form = words.get(how.form) or tuple(leaf.label for leaf in rest)
    if len(form) > 1:
        reading.removed["blank inside a word (now _)"] += 1
    return "_".join(form), "_".join(words.get(how.lemma, ()))


def _is_bare(node: Tree) -> bool:
    return node.is_leaf and node.word is None
