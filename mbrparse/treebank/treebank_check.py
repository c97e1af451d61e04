"""What is malformed in a treebank, and what is likely meant otherwise than it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any, NamedTuple

from mbrparse.errors import BracketError, CorpusError, MbrparseError
from mbrparse.treebank.clean import WRAPPERS, without_traces
from mbrparse.treebank.conventions import AS_USUAL, CorpusReading, Removals
from mbrparse.treebank.corpora import find_corpora, no_trees, read_corpus
from mbrparse.treebank.known_corpora import CORPORA, corpus_path, known_corpus
from mbrparse.treebank.penn_historical import NO_TEXT
from mbrparse.treebank.prepare import Sanity
from mbrparse.treebank.tree import Tree

_NOT_WORDS = {*NO_TEXT, "ID", "LEMMA", "META", "URL"}
_PHRASE = "several words under one label, (NN a b): read as a phrase of words without tags"
_HYPHEN = "most words have a hyphen inside: are they word-lemma?"


class Finding(NamedTuple):
    """A ``malformed`` tree; or what is ``suspicious`` or ``removed``, how often, and where first."""

    kind: str
    number: int
    source: str
    line: int
    what: str


def check_treebank(
    spec: str, reading: CorpusReading = AS_USUAL, progress: Callable[[Iterable[Any]], Iterable[Any]] = iter
) -> Iterator[Finding]:
    """Yield each malformed tree of a corpus as it is read, then what is suspicious or removed.

    Raises MbrparseError where it cannot be read, or there is no tree.
    """
    malformed: list[MbrparseError] = []
    removed, suspicious, sanity, wrong = Removals(), Removals(), Sanity(), 0
    trees = read_corpus(spec, reading, on_error=malformed.append, removed=removed)
    for one in chain(progress(trees), [None]):
        for error in malformed:
            pieces = error.fragments if isinstance(error, BracketError) else 0
            more = f"; {pieces} trees before it are likely its pieces" * (pieces > 0)
            yield Finding("malformed", 1, error.source or spec, error.line or 0, error.message + more)
        wrong += len(malformed)
        malformed.clear()
        if one is not None:
            for kind, (source, line) in removed.first.items():  # a reader knows the last line of a tree
                if source == one.source and line > one.line:
                    removed.first[kind] = source, one.line
            read, there = removed.place, (one.source, one.line)
            removed.place = suspicious.place = there
            _see(one.tree, suspicious, removed)
            removed.place = read  # where the reader goes on, which may be far behind the tree
            sanity.see(without_traces(one.tree) or one.tree)
    if not wrong and not sanity.trees:
        raise no_trees(spec)
    suspicious[_PHRASE] *= sanity.same < sanity.words  # or there are no tags
    suspicious[_HYPHEN] *= suspicious[_HYPHEN] > sanity.words / 2
    for kind, counts in (("suspicious", suspicious), ("removed", removed)):
        yield from (Finding(kind, n, *counts.first[what], what) for what, n in counts.most_common() if n)
    yield from (Finding("suspicious", 1, spec, 0, warning) for warning in sanity.warnings())


def _see(tree: Tree, suspicious: Removals, removed: Removals) -> None:
    """Count what is suspicious in a tree, and its wrappers."""
    while len(tree.children) == 1 and tree.label in WRAPPERS:
        removed[f"wrapper {tree.label or '( )'}"] += 1
        tree = tree.children[0]
    for node in tree.preorder():
        bare = sum(child.is_leaf and child.word is None for child in node.children)
        if 0 < bare < len(node.children):
            suspicious["a word beside constituents, (NN a (lemma b))"] += 1
        elif bare:
            suspicious[_PHRASE] += 1
        elif not node.label:
            suspicious["a constituent without a label, or a wrapper around several"] += 1
        elif node.word is not None and node.label.partition("-")[0].upper() in _NOT_WORDS:
            suspicious[f"a word under ({node.label}), which is likely no text"] += 1
        elif node.word is not None and "-" in node.word[1:-1]:
            suspicious[_HYPHEN] += 1


def likely_reader(path: str, reading: CorpusReading = AS_USUAL) -> str:
    """The name by which a path is best read: that of another style where half as much is wrong.

    Only its first hundred trees are read.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "text.psd")
    ...     _ = path.write_text("( (IP (N dogs) (V bark)) (ID A,1.1))")
    ...     likely_reader(str(path)).removesuffix(str(path))
    'penn-historical:'
    """

    def faults(spec: str) -> float:
        try:
            found = check_treebank(spec, reading, lambda trees: islice(trees, 100))
            return sum(one.number for one in found if one.kind != "removed") * (1 if spec == path else 2)
        except CorpusError:
            return float("inf")

    names = [corpus.name for corpus in CORPORA if corpus.takes_path and corpus.style != "penn"]
    return min((path, *(f"{name}:{path}" for name in ["penn-historical", *names])), key=faults)


def readers_at(path: str) -> list[str]:
    """The names by which a path is read, by its layout or by what is in it; of a folder, of its zips.

    Raises FileError where nothing is there.
    """
    found = [spec for name, specs in find_corpora([path]).items() for spec in specs if ":" not in name]
    plain = [spec for spec in found if (corpus := known_corpus(spec)) and corpus.style == "penn"]
    others = dict.fromkeys(map(corpus_path, found or [path])).keys() - map(corpus_path, plain)
    return [*plain, *map(likely_reader, sorted(others))]
