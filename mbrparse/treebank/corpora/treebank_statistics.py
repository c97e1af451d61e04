"""What is in a treebank: counts over its trees as they are read, before cleaning.

What is malformed in a treebank, and what is likely meant otherwise than it is read.
"""

from __future__ import annotations

import glob
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from mbrparse import arguments, errors
from mbrparse.files import source_name
from mbrparse.treebank import clean
from mbrparse.treebank.corpora import prepare
from mbrparse.treebank.corpora.known_corpora import CORPORA, corpus_path, known_corpus
from mbrparse.treebank.corpora.reading import (
    SourceTree,
    corpus_files,
    find_corpora,
    no_trees,
    read_corpus,
    tree_files,
)  # fmt: skip
from mbrparse.treebank.formats import conventions, styles
from mbrparse.treebank.formats.conventions import AS_USUAL, CorpusReading, Removals
from mbrparse.treebank.formats.formats import FORMATS, format_path, looked_at
from mbrparse.treebank.tree import Tree

TABLES = (
    "labels", "tags", "words", "rules", "chains", "branching", "lengths", "depths", "functions", "traces",
    "roots", "wrappers", "removed",
)  # fmt: skip
FILE_FIGURES = ("trees", "words", "constituents")
#: Those in the order of their numbers; the others begin with what is most frequent.
NUMBERED = ("branching", "lengths", "depths")
_UNLABELLED = "( )"
_INDEX = re.compile(r"(?<=.)[-=]\d+$")
_IS_NAMED = re.compile(r"\D").search


@dataclass(slots=True)
class TreebankStatistics:
    """Counts over trees, which are not kept: memory grows with what is different in them.

    A tree is counted as it is read, but for its wrappers (``clean.unwrap``); with ``no_traces`` these go
    first. Traces are no words, and have no tags. A tree's **depth** is the most constituents above a word. A
    **chain** is a maximal one of two constituents or more in which all but the last have one child; where it
    ends in one word, it has its tag. Rules and chains have categories, as ``functions`` of ``Preparation``
    says.
    """

    functions: str = clean.STRIP
    no_traces: bool = False
    malformed: list[errors.MbrparseError] = field(default_factory=list)
    files: dict[str, Counter[str]] = field(default_factory=dict)  #: ``FILE_FIGURES``
    labels: Counter[tuple[clean.Categories, str]] = field(default_factory=Counter)  #: whole
    leaves: Counter[tuple[str, str]] = field(default_factory=Counter)  #: tags and words
    rules: Counter[tuple[str, ...]] = field(default_factory=Counter)
    removed: Removals = field(default_factory=Removals)
    _tables: dict[str, Counter[str]] = field(default_factory=lambda: {name: Counter() for name in TABLES})
    _trees: set[int] = field(default_factory=set)  # hashes of 64 bits
    _sentences: set[int] = field(default_factory=set)

    def watch(self, trees: Iterable[SourceTree], convention: str = clean.PENN) -> Iterator[SourceTree]:
        """Pass trees whose labels follow a convention (``categories``) through, and count them."""
        how = clean.categories(self.functions, convention)
        category, tag = lru_cache(None)(how.category), lru_cache(None)(how.tag)

        def name(node: Tree) -> str:
            return category(node.label) if node.children else tag(node.label)

        for one in trees:
            tree = (
                clean.prune(one.tree, lambda leaf: leaf.label == clean.TRACE) if self.no_traces else one.tree
            )
            if tree is None:
                continue
            self._trees.add(hash(str(tree)))
            while len(tree.children) == 1 and tree.label in clean.WRAPPERS:
                self._tables["wrappers"][tree.label or _UNLABELLED] += 1
                tree = tree.children[0]
            nodes = list(tree.preorder())
            inner = [node for node in nodes if node.children]
            leaves = [
                (tag(node.label), node.label if node.word is None else node.word)
                for node in nodes
                if not node.children
            ]
            words = [word for tag, word in leaves if tag != clean.TRACE]
            self._sentences.add(hash(tuple(words)))
            self.labels.update((how, node.label) for node in inner)
            self.leaves.update(leaves)
            self.rules.update((name(node), *map(name, node.children)) for node in inner)
            self._see_chains(nodes, name)
            depth, above, level = 0, 0, [tree]
            while level:
                if any(not node.children and tag(node.label) != clean.TRACE for node in level):
                    depth = above
                above, level = above + 1, [child for node in level for child in node.children]
            for table, key in (("lengths", str(len(words))), ("depths", str(depth)), ("roots", name(tree))):
                self._tables[table][key] += 1
            counts = self.files.setdefault(one.source, Counter())
            counts.update(trees=1, words=len(words), constituents=len(inner))
            yield one

    def _see_chains(self, nodes: Iterable[Tree], name: Callable[[Tree], str]) -> None:
        """Count chains of the nodes of a tree in preorder, where an only child comes next."""
        chain: list[str] = []
        for node in nodes:
            chain.append(name(node))
            if len(node.children) != 1:
                if len(chain) > (1 if node.children else 2):
                    self._tables["chains"][" ".join(chain)] += 1
                chain.clear()

    def figures(self) -> dict[str, float]:
        """Single figures by name; a **repeated** tree or sentence is the same as one before it."""
        total = {name: sum(one[name] for one in self.files.values()) for name in FILE_FIGURES}
        tables, trees = self.counts(), total["trees"]
        return {
            "files": len(self.files),
            **total,
            "traces": sum(tables["traces"].values()),
            "malformed trees left out": len(self.malformed),
            "words a tree": total["words"] / trees,
            "words in the longest": int([*tables["lengths"]][-1]),
            "constituents a tree": total["constituents"] / trees,
            "depth of the deepest": int([*tables["depths"]][-1]),
            "constituents with one child": tables["branching"].get("1", 0),
            **{f"different {name}": len(tables[name]) for name in TABLES[:5]},
            "repeated trees": trees - len(self._trees),
            "repeated sentences": trees - len(self._sentences),
        }

    def counts(self) -> dict[str, dict[str, int]]:
        """The counts of each of ``TABLES``: first what is most frequent, numbers in their order.

        ``functions`` are those of constituents, without indices; ``removed`` is all that the corpus's reader
        took out or changed, and ``traces`` has those of them that are such.
        """
        found = {name: table.copy() for name, table in self._tables.items()} | {"removed": self.removed}
        for (how, label), count in self.labels.items():
            found["labels"][how.category(label)] += count
            found["functions"].update(dict.fromkeys(filter(_IS_NAMED, how.functions(label)), count))
        for (tag, word), count in self.leaves.items():
            if tag == clean.TRACE:
                found["traces"][_INDEX.sub("", word)] += count
            else:
                found["tags"][tag] += count
                found["words"][word] += count
        for (parent, *children), count in self.rules.items():
            found["rules"][f"{parent or _UNLABELLED} -> {' '.join(children)}"] += count
            found["branching"][str(len(children))] += count
        found["traces"].update({kind: count for kind, count in self.removed.items() if kind[0] in "*0"})
        orders = (lambda pair: (-pair[1], pair[0]), lambda pair: int(pair[0]))
        return {name: dict(sorted(found[name].items(), key=orders[name in NUMBERED])) for name in TABLES}


@arguments.checked
def treebank_statistics(
    *specs: str,
    functions: str = clean.STRIP,
    no_traces: bool = False,
    reading: CorpusReading = AS_USUAL,
    on_error: prepare.OnError = "stop",
    progress: Callable[[Iterable[SourceTree]], Iterable[SourceTree]] = iter,
) -> TreebankStatistics:
    """Count what is in corpora, each by its own conventions; raises MbrparseError as ``read_trees`` does.

    >>> found = treebank_statistics("embedded:flights")
    >>> found.figures()["words"], next(iter(found.counts()["rules"].items()))
    (13930, ('NP -> NNP', 1986))
    """
    found = TreebankStatistics(functions, no_traces)
    skip = found.malformed.append if on_error == "skip" else None
    for spec in specs:
        corpus = known_corpus(spec)
        trees = read_corpus(spec, reading, on_error=skip, removed=found.removed)
        deque(progress(found.watch(trees, clean.PENN if corpus is None else corpus.functions)), maxlen=0)
    if not found.files:
        raise next(iter(found.malformed), no_trees(", ".join(map(source_name, specs))))
    return found


# How many files of a corpus, and lines of each, say what its style is; lines of a last tree that are shown.
_FILES, _LINES, _SHOWN = 3, 5000, 10
_NOT_WORDS = {*conventions.NO_TEXT, "ID", "LEMMA", "META", "URL"}
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
    malformed: list[errors.MbrparseError] = []
    removed, suspicious, sanity, wrong = Removals(), Removals(), prepare.Sanity(), 0
    trees = read_corpus(spec, reading, on_error=malformed.append, removed=removed)
    for one in chain(progress(trees), [None]):
        for error in malformed:
            yield Finding("malformed", 1, error.source or spec, error.line or 0, error.message)
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
            sanity.see(clean.without_traces(one.tree) or one.tree)
    if not wrong and not sanity.trees:
        raise no_trees(spec)
    suspicious[_PHRASE] *= sanity.same < sanity.words  # or there are no tags
    suspicious[_HYPHEN] *= suspicious[_HYPHEN] > sanity.words / 2
    for what, n in suspicious.most_common():
        yield Finding("suspicious", n, *suspicious.first[what], what)
    for what, n in removed.most_common():  # bytes that are no text end a reading, wherever they are
        yield Finding("malformed" if "bytes" in what else "removed", n, *removed.first[what], what)
    yield from (Finding("suspicious", 1, spec, 0, warning) for warning in sanity.warnings())


def _see(tree: Tree, suspicious: Removals, removed: Removals) -> None:
    """Count what is suspicious in a tree, and its wrappers."""
    while len(tree.children) == 1 and tree.label in clean.WRAPPERS:
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
    """The name by which a path is best read: that of another style only where a file begins with its marks.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "text.psd")
    ...     _ = path.write_text("( (IP (N dogs) (V bark)) (ID A,1.1))")
    ...     likely_reader(str(path)).removesuffix(str(path))
    'penn-historical:'
    """
    if format_path(path)[0] or known_corpus(path):
        return path
    for file in tree_files(path)[:_FILES]:
        encoding = file.encoding(reading.encoding)
        name, lines = looked_at(islice(file.lines(encoding, []), _LINES), reading)
        style = styles.marked_style("".join(lines)) if name == "brackets" else "penn"
        if style != "penn":
            return next(f"{corpus.name}:{path}" for corpus in CORPORA if corpus.style == style)
    return path


class FirstTree(NamedTuple):
    """The first tree of a corpus as it is read, the lines that it stands on, and the format of its file."""

    tree: Tree
    written: str
    format: str


def first_tree(spec: str, reading: CorpusReading = AS_USUAL) -> FirstTree | None:
    """The first tree of a corpus; None where it has none, or its files are not at a path."""
    found = list(islice(read_corpus(spec, reading, on_error=lambda _: None), 2))
    files = [] if spec.startswith(("nltk:", "embedded:")) else corpus_files(spec)
    file = next((file for file in files if found and file.source == found[0].source), None)
    if file is None:
        return None
    begins = found[0].line
    same_file = len(found) > 1 and found[1].source == file.source
    ends = max(found[1].line, begins + 1) if same_file else begins + _SHOWN
    lines = list(islice(file.lines(file.encoding(reading.encoding), []), ends - 1))
    name = format_path(spec)[0] or looked_at(lines, reading)[0]
    written = " ".join(" ".join(lines[begins - 1 :]).split())
    return FirstTree(found[0].tree, written, FORMATS[name].title)


def readers_at(path: str) -> list[str]:
    """The names by which a path is read, by its layout or by what is in it; of a folder, of its zips.

    Raises FileError where nothing is there.
    """
    if format_path(path)[0] or known_corpus(path) or (glob.has_magic(path) and not Path(path).exists()):
        return [path]
    found = [spec for name, specs in find_corpora([path]).items() for spec in specs if ":" not in name]
    plain = [spec for spec in found if (corpus := known_corpus(spec)) and corpus.style == "penn"]
    others = dict.fromkeys(map(corpus_path, found or [path])).keys() - map(corpus_path, plain)
    return [*plain, *map(likely_reader, sorted(others))]
