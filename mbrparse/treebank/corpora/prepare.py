"""From a corpus to binarized trees, with statistics of what was left out and why.

Treebanks as lists of trees: read and prepared, or as a parser wrote them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from mbrparse import arguments, errors, files, log
from mbrparse.treebank import clean
from mbrparse.treebank.binarize import RIGHT_LINEAR, Binarization, binarize
from mbrparse.treebank.corpora.known_corpora import known_corpus
from mbrparse.treebank.corpora.reading import SourceTree, no_trees, read_corpus
from mbrparse.treebank.formats import conventions, formats
from mbrparse.treebank.heads import choose_heads
from mbrparse.treebank.tree import Tree

#: With fewer trees than this there are no warnings.
ENOUGH = 100


@dataclass(slots=True)
class Sanity:
    """Counts over trees that still have all labels and unary productions, but no traces."""

    trees: int = 0
    words: int = 0
    single: int = 0
    constituents: int = 0
    unary: int = 0
    same: int = 0
    in_pairs: int = 0
    numbered: int = 0
    tag_types: set[str] = field(default_factory=set)
    word_types: set[str] = field(default_factory=set)

    def see(self, tree: Tree) -> None:
        """Count a tree."""
        self.trees += 1
        self.single += not tree.children
        self.numbered += not tree.label and any(child.label == "ID" for child in tree.children)
        for node in tree.preorder():
            children = node.children
            if children:
                self.constituents += 1
                self.unary += len(children) == 1
                bare = [child for child in children if child.is_leaf and child.word is None]
                self.in_pairs += 2 * (len(children) == len(bare) == 2)
            else:
                word = node.label if node.word is None else node.word
                self.words += 1
                self.same += word == node.label
                self.tag_types.add(node.label)
                self.word_types.add(word)

    def warnings(self) -> list[str]:
        """What is unusual for a treebank; empty for fewer than ``ENOUGH`` trees."""
        if self.numbered:
            return [
                "trees hold (ID ...): read the Penn-Helsinki style as penn-historical:PATH or icepahc:PATH"
            ]
        if self.trees < ENOUGH:
            return []
        found = []
        mean = self.words / self.trees
        if self.in_pairs > self.words / 2:
            found.append("most tags have two words below them: are leaves (tag word lemma)?")
        if not 2 <= mean <= 100:
            found.append(f"{mean:.1f} words a tree")
        if self.single > self.trees / 2:
            found.append(f"{self.single} of {self.trees} trees are single words")
        if len(self.tag_types) > len(self.word_types):
            found.append(
                f"{len(self.tag_types)} different tags, {len(self.word_types)} words: are they exchanged?"
            )
        if self.unary > 0.7 * self.constituents:
            found.append(f"{self.unary} of {self.constituents} constituents have one child")
        return found


OnError = Literal["stop", "skip"]
LONGER = "longer than"


@arguments.checked
@dataclass(frozen=True, slots=True)
class Preparation:
    """What is done to each tree of a corpus; lengths count the cleaned tree's terminals.

    ``unary`` of "keep" and "join-tags" are the binarized tree's chains too, whatever ``binarization`` says.
    ``functions`` is strip, keep or a convention of ``categories``; strip uses the corpus's own.
    """

    unary: clean.UnaryPolicy = "top"
    functions: str = clean.STRIP
    binarization: Binarization = RIGHT_LINEAR
    max_length: int | None = None
    label_map: clean.LabelMap | None = None
    min_length: int = 1

    def __post_init__(self) -> None:
        self.categories()

    def categories(self, convention: str = clean.PENN) -> clean.Categories:
        """How the labels of a corpus of this convention are read."""
        return clean.categories(self.functions, convention, self.label_map)


@dataclass(slots=True)
class PreparationStatistics:
    """How many trees were read and kept, why the others were dropped, and what was taken from all of them."""

    kept: int = 0
    source: str | None = None  #: what messages call the input
    dropped: Counter[str] = field(default_factory=Counter)
    first_error: errors.MbrparseError | None = None
    removed: conventions.Removals = field(default_factory=conventions.Removals)
    unmatched: list[str] = field(default_factory=list)  #: labels to drop that are nowhere
    sanity: Sanity = field(default_factory=Sanity)

    @property
    def read(self) -> int:
        return self.kept + self.dropped.total()

    def skip(self, error: errors.MbrparseError) -> None:
        """Count a malformed tree (an error handler for the readers)."""
        self.first_error = self.first_error or error
        self.dropped["malformed"] += 1

    def check(self) -> None:
        """Raise CorpusError if nothing was there to read, or no tree is left."""
        if self.read == 0:
            raise no_trees(self.source)
        if not self.kept:
            raise errors.CorpusError(f"no tree is left: {self}", source=self.source)

    def notes(self) -> list[str]:
        """What was removed from the trees, and warnings about unusual figures, one line each."""
        found = []
        if self.removed:
            counts = ", ".join(f"{what} {count}" for what, count in self.removed.most_common() if count)
            found.append(f"taken out or changed: {counts}")
        warnings = self.sanity.warnings()
        lost = sum(count for why, count in self.dropped.items() if not why.startswith(LONGER))
        if self.read >= ENOUGH and lost > self.read / 2:
            warnings.insert(0, f"{lost} of {self.read} trees were dropped")
        if self.unmatched:
            warnings.append(f"no label fits `drop={','.join(self.unmatched)}`")
        return found + [f"warning: {warning}" for warning in warnings]

    def __str__(self) -> str:
        """The numbers in one line.

        >>> str(PreparationStatistics(kept=3, dropped=Counter({"longer than 40": 2})))
        'read 5 trees, kept 3, dropped 2 (longer than 40: 2)'
        """
        text = f"read {log.counted(self.read, 'tree')}, kept {self.kept}, dropped {self.dropped.total()}"
        if self.dropped:
            text += " (" + ", ".join(f"{why}: {count}" for why, count in self.dropped.items()) + ")"
        if error := self.first_error:
            text += f"; first: {str(error).removesuffix(f'; {error.remedy}')}"
        return text


def prepare(
    trees: Iterable[SourceTree], how: Preparation, statistics: PreparationStatistics
) -> Iterator[SourceTree]:
    """Clean and binarize trees one by one, each with its place, filling ``statistics`` as they pass.

    Heads are chosen before function tags and unary productions go. Raises CorpusError if nothing was
    there to read, or no tree is left.
    """
    yield from _prepared(trees, how, statistics, clean.PENN)
    statistics.check()


def prepare_corpora(
    specs: Sequence[str],
    how: Preparation,
    statistics: PreparationStatistics,
    reading: conventions.CorpusReading = conventions.AS_USUAL,
    *,
    sections: str | None = None,
    on_error: OnError = "stop",
) -> Iterator[SourceTree]:
    """Read, clean and binarize corpora, each by its own conventions; see ``read_corpus`` and ``prepare``."""
    statistics.source = statistics.source or ", ".join(map(files.source_name, specs))
    for spec in specs:
        corpus = known_corpus(spec)
        trees = read_corpus(
            spec,
            reading,
            sections=sections,
            on_error=statistics.skip if on_error == "skip" else None,
            removed=statistics.removed,
        )
        yield from _prepared(trees, how, statistics, clean.PENN if corpus is None else corpus.functions)
    statistics.unmatched = reading.unmatched(statistics.removed)
    statistics.check()


def _prepared(
    trees: Iterable[SourceTree], how: Preparation, statistics: PreparationStatistics, convention: str
) -> Iterator[SourceTree]:
    categories = how.categories(convention)
    binarization = how.binarization
    if how.unary in {"keep", "join-tags"}:
        binarization = replace(binarization, chains=how.unary)
    for placed in trees:
        bare = clean.without_traces(placed.tree)
        if bare is not placed.tree:
            _count_removed(placed.tree, bare, statistics.removed)
        if bare is None:
            statistics.dropped["empty"] += 1
            continue
        statistics.sanity.see(bare)
        cleaned = clean.simplify(bare, how.unary, categories)
        if cleaned.is_leaf or (how.unary == "join-tags" and len(cleaned.leaves()) == 1):
            statistics.dropped["single terminal"] += 1
        elif how.max_length is not None and len(cleaned.leaves()) > how.max_length:
            statistics.dropped[f"{LONGER} {how.max_length}"] += 1
        elif len(cleaned.leaves()) < how.min_length:
            statistics.dropped[f"shorter than {how.min_length}"] += 1
        else:
            statistics.kept += 1
            driven = binarization.heads
            heads = None if driven is None else choose_heads(bare, driven.rules, categories)
            yield placed._replace(tree=binarize(cleaned, binarization, heads))


def _count_removed(tree: Tree, bare: Tree | None, removed: conventions.Removals) -> None:
    """Count the traces and wrappers that were taken from a tree."""
    leaves = tree.leaves()
    traces = len(leaves) - (0 if bare is None else len(bare.leaves()))
    if traces:
        removed[f"trace {clean.TRACE}"] += traces
    while len(tree.children) == 1 and tree.label in clean.WRAPPERS:
        removed[f"wrapper {tree.label or '( )'}"] += 1
        tree = tree.children[0]
    if not tree.label and len(tree.children) > 1:
        removed["wrapper around several trees, which stays"] += 1


@arguments.checked
def read_trees(
    corpus: str | Path,
    *,
    binarize: bool | Binarization = True,
    unary: clean.UnaryPolicy = "top",
    functions: str = clean.STRIP,
    label_map: str | Path | None = None,
    reading: conventions.CorpusReading = conventions.AS_USUAL,
    max_length: int | None = None,
    sections: str | None = None,
    on_error: OnError = "stop",
    statistics: PreparationStatistics | None = None,
) -> list[Tree]:
    """Read a treebank, cleaned and binarized as ``mbrparse binarize`` does, or as it is.

    Args:
        corpus: A file, "-", a folder, a zip, a glob, "nltk:NAME", "craft:PATH", "icepahc:PATH",
            "penn-historical:PATH", "greynir:PATH", "wsj:DIR" or "embedded:flights".
        binarize: How; True is to the right without Markovization (Goodman 1996, section 5). False: trees
            stay as they are in the corpus (one that is binarized already, say), ``unary`` and
            ``functions`` as well, and an empty parse is an error (see ``read_parses``).
        unary: Which label survives a singleton production over a constituent: "top" or "bottom", all of
            them joined to one ("join", with tags too "join-tags"), or every production stays ("keep").
        functions: "strip" cuts labels by the corpus's convention, in files at the first - or =; "keep" leaves
            them whole; "after:-=" and "before:+" name the characters to cut at.
        label_map: A file of old and new labels, with wildcards (docs/treebanks.md).
        reading: The encoding, and conventions that are not known by the corpus's name.
        max_length: Trees with more terminals are left out.
        sections: Of "wsj:DIR", such as "02-21".
        on_error: Whether a malformed tree is an error or left out.
        statistics: Counts how many trees were read and kept, and why others were dropped.

    Returns:
        The trees in the corpus's order, without those that cleaning leaves nothing of, or one terminal.

    Raises:
        CorpusError: There is no such corpus, no tree in it, or none is left.
        BracketError, FileError: A tree or a file that cannot be read, with its place.
        MbrparseError: An argument means nothing.

    >>> trees = read_trees("embedded:flights", max_length=5)
    >>> len(trees), str(trees[0])
    (204, '(SQ (VBP are) (SQ_Cont (EX there) (SQ_Cont (NP (JJ early) (NNS flights)) (. ?))))')
    """
    corpus = str(corpus)
    statistics = PreparationStatistics(source=files.source_name(corpus)) if statistics is None else statistics
    if sections is not None and not corpus.startswith("wsj:"):
        raise errors.MbrparseError(f"sections of {corpus}", remedy="only wsj:DIR has them")
    if on_error not in ("stop", "skip"):
        raise errors.MbrparseError(f"on_error is stop or skip, not {on_error!r}")
    if binarize is False:
        skip, kept = statistics.skip if on_error == "skip" else None, []
        removed = statistics.removed
        for one in read_corpus(
            corpus, reading, sections=sections, on_error=skip, on_empty=_refuse, removed=removed
        ):
            if max_length is not None and len(one.tree.leaves()) > max_length:
                statistics.dropped[f"{LONGER} {max_length}"] += 1
            else:
                statistics.kept += 1
                kept.append(one.tree)
        statistics.check()
        return kept
    how = Preparation(
        unary,
        functions,
        RIGHT_LINEAR if binarize is True else binarize,
        max_length,
        None if label_map is None else clean.read_label_map(label_map),
    )
    prepared = prepare_corpora([corpus], how, statistics, reading, sections=sections, on_error=on_error)
    return [one.tree for one in prepared]


def _refuse(source: str, line: int) -> None:
    raise errors.CorpusError(
        "an empty parse", source=source, line=line, remedy="read_parses reads a parser's output"
    )


@arguments.checked
def read_parses(path: str | Path, *, encoding: str = "utf-8") -> list[Tree | None]:
    """Read a parser's output as ``mbrparse evaluate`` does: a tree for each sentence, None without a parse.

    "(())" is a sentence without a parse; so is an empty line where each tree is on one line.

    Raises:
        BracketError, FileError: A tree or a file that cannot be read, with its line.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "viterbi.mrg")
    ...     _ = path.write_text("(S x y)\\n(())\\n")
    ...     read_parses(path)
    [<Tree (S x y)>, None]
    """
    return [tree for _, tree, _ in formats.read_parse_file(path, encoding)]
