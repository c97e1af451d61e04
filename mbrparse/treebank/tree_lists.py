"""Treebanks as lists of trees: read and prepared, or as a parser wrote them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from mbrparse.errors import CorpusError, MbrparseError
from mbrparse.files import source_name
from mbrparse.treebank.binarize import RIGHT_LINEAR, Binarization
from mbrparse.treebank.brackets import read_parse_file
from mbrparse.treebank.categories import STRIP, read_label_map
from mbrparse.treebank.clean import UnaryPolicy
from mbrparse.treebank.conventions import AS_USUAL, CorpusReading
from mbrparse.treebank.corpora import SourceTree, read_corpus
from mbrparse.treebank.prepare import LONGER, OnError, Preparation, PreparationStatistics, prepare_corpora
from mbrparse.treebank.tree import Tree


def read_trees(
    corpus: str | Path,
    *,
    binarize: bool | Binarization = True,
    unary: UnaryPolicy = "top",
    functions: str = STRIP,
    label_map: str | Path | None = None,
    reading: CorpusReading = AS_USUAL,
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
        CorpusError: There is no such corpus, or no tree in it.
        BracketError, FileError: A tree or a file that cannot be read, with its place.
        MbrparseError: An argument means nothing.

    >>> trees = read_trees("embedded:flights", max_length=5)
    >>> len(trees), str(trees[0])
    (204, '(SQ (VBP are) (SQ_Cont (EX there) (SQ_Cont (NP (JJ early) (NNS flights)) (. ?))))')
    """
    corpus = str(corpus)
    statistics = PreparationStatistics(source=source_name(corpus)) if statistics is None else statistics
    if sections is not None and not corpus.startswith("wsj:"):
        raise MbrparseError(f"sections of {corpus}", remedy="only wsj:DIR has them")
    if on_error not in ("stop", "skip"):
        raise MbrparseError(f"on_error is stop or skip, not {on_error!r}")
    if binarize is False:
        trees = read_corpus(
            corpus,
            reading,
            sections=sections,
            on_error=statistics.skip if on_error == "skip" else None,
            on_empty=_refuse,
            removed=statistics.removed,
        )
        return list(_as_they_stand(trees, max_length, statistics))
    how = Preparation(
        unary,
        functions,
        RIGHT_LINEAR if binarize is True else binarize,
        max_length,
        None if label_map is None else read_label_map(label_map),
    )
    prepared = prepare_corpora([corpus], how, statistics, reading, sections=sections, on_error=on_error)
    return [one.tree for one in prepared]


def _as_they_stand(
    trees: Iterable[SourceTree], max_length: int | None, statistics: PreparationStatistics
) -> Iterator[Tree]:
    for _, _, tree, _ in trees:
        if max_length is not None and len(tree.leaves()) > max_length:
            statistics.dropped[f"{LONGER} {max_length}"] += 1
        else:
            statistics.kept += 1
            yield tree
    statistics.check()


def _refuse(source: str, line: int) -> None:
    raise CorpusError(
        "an empty parse", source=source, line=line, remedy="read_parses reads a parser's output"
    )


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
    return [tree for _, tree, _ in read_parse_file(path, encoding)]
