"""Where trees come from: files, folders, globs, NLTK's corpora, the LDC's Wall Street Journal, and the
treebank that ships with the package.
"""

from __future__ import annotations

import glob
import importlib.resources
import io
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from mbrparse.errors import BracketError, CorpusError, MbrparseError
from mbrparse.files import STANDARD, source_name
from mbrparse.treebank.brackets import read_tree_file, read_trees
from mbrparse.treebank.tree import Tree

TREE_SUFFIXES = (".mrg", ".ptb")
EMBEDDED = ("flights",)

ErrorHandler = Callable[[MbrparseError], None] | None


class SourceTree(NamedTuple):
    """A tree and where it stands."""

    source: str
    line: int
    tree: Tree


def read_corpus(
    spec: str,
    *,
    encoding: str = "utf-8",
    sections: str | None = None,
    on_error: ErrorHandler = None,
    on_empty: Callable[[str, int], None] | None = None,
) -> Iterator[SourceTree]:
    """Yield the trees that ``spec`` names, in order; empty parses are passed over.

    ``spec`` is a file, ``-``, a folder (its .mrg and .ptb files, in order), a glob, ``nltk:NAME``,
    ``wsj:DIR`` (with ``sections``) or ``embedded:NAME``. Malformed trees raise MbrparseError or go to
    ``on_error``; so do, always, trees that an NLTK reader cannot read, since the user cannot mend them.
    ``on_empty`` is told the source and line of each empty parse in a file.

    Raises CorpusError if there is no such corpus.
    """
    if spec.startswith("nltk:"):
        return _read_nltk(spec, on_error)
    if spec.startswith("wsj:"):
        paths = _wsj_files(spec, sections)
    elif spec.startswith("embedded:"):
        return _read_embedded(spec)
    else:
        paths = _files(spec)
    return _read_files(paths, encoding, on_error, on_empty)


def parse_sections(text: str) -> list[int]:
    """Read a list of sections and ranges.

    >>> parse_sections("02-04,23")
    [2, 3, 4, 23]
    """
    numbers: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r" *([0-9]{1,2})(?:-([0-9]{1,2}))? *", part)
        if match is None:
            raise CorpusError(f"sections {text!r} are not understood", remedy="write e.g. 02-21 or 00,23")
        first = int(match.group(1))
        numbers.extend(range(first, int(match.group(2) or first) + 1))
    if not numbers:
        raise CorpusError(f"sections {text!r} name no section", remedy="write e.g. 02-21 or 00,23")
    return numbers


def _read_files(
    paths: Iterable[str],
    encoding: str,
    on_error: ErrorHandler,
    on_empty: Callable[[str, int], None] | None,
) -> Iterator[SourceTree]:
    for path in paths:
        for line, tree in read_tree_file(path, encoding, on_error):
            if tree is not None:
                yield SourceTree(source_name(path), line, tree)
            elif on_empty is not None:
                on_empty(source_name(path), line)


def _files(spec: str) -> list[str]:
    if spec == STANDARD:
        return [spec]
    path = Path(spec)
    if path.is_dir():
        found = sorted(str(file) for file in path.rglob("*") if file.suffix in TREE_SUFFIXES)
        if not found:
            suffixes = {f"*{file.suffix or file.name}" for file in path.rglob("*") if file.is_file()}
            held = ", ".join(sorted(suffixes)[:5])
            raise CorpusError(
                "folder holds no .mrg or .ptb file",
                source=spec,
                remedy=f"name its files of trees, or a glob that only these match ({held})"
                if held
                else "it holds no file at all: name another",
            )
        return found
    if not path.exists() and glob.has_magic(spec):
        found = sorted(file for file in glob.glob(spec, recursive=True) if not Path(file).is_dir())
        if not found:
            raise CorpusError(
                "no file matches", source=spec, remedy="** stands for folders, as in 'trees/**/*.mrg'"
            )
        return found
    return [spec]


def _wsj_files(spec: str, sections: str | None) -> list[str]:
    root = Path(spec.removeprefix("wsj:"))
    for layout in ("", "parsed/mrg/wsj", "combined/wsj", "wsj"):
        base = root / layout
        if any(base.glob("[0-9][0-9]")):
            break
    else:
        raise CorpusError(
            "no sections (folders named 00 to 24) found",
            source=spec,
            remedy="name the folder that holds them, e.g. wsj:.../parsed/mrg/wsj",
        )
    numbers = parse_sections(sections) if sections else range(100)
    found: list[str] = []
    for number in numbers:
        files = sorted(str(file) for file in (base / f"{number:02}").glob("*.mrg"))
        if sections and not files:
            raise CorpusError(f"section {number:02} holds no .mrg file", source=spec)
        found.extend(files)
    return found


def _read_embedded(spec: str) -> Iterator[SourceTree]:
    lines = io.StringIO(_embedded(spec, ".mrg").read_text("utf-8"))
    return (SourceTree(spec, line, tree) for line, tree in read_trees(lines, spec) if tree is not None)


def embedded_grammar(spec: str) -> str:
    """The path of the grammar that an embedded treebank was sampled from; other specs are themselves."""
    if not spec.startswith("embedded:"):
        return spec
    return str(_embedded(spec, ".grammar"))


def _embedded(spec: str, suffix: str) -> Any:
    name = spec.removeprefix("embedded:")
    if name not in EMBEDDED:
        raise CorpusError(f"no embedded treebank {name!r}", remedy=f"there is: {', '.join(EMBEDDED)}")
    return importlib.resources.files("mbrparse.treebank") / "data" / f"{name}{suffix}"


def _read_nltk(spec: str, on_error: ErrorHandler) -> Iterator[SourceTree]:
    import nltk.corpus

    name = spec.removeprefix("nltk:")
    remedy = f"fetch it with: {sys.executable} -m nltk.downloader {name}"
    corpus: Any = getattr(nltk.corpus, name, None)
    try:
        parsed = getattr(corpus, "parsed_sents", None)
    except LookupError:
        raise CorpusError(f"NLTK corpus {name!r} is not installed", remedy=remedy) from None
    if parsed is None:
        raise CorpusError(f"NLTK has no treebank {name!r}", remedy="see nltk.org/nltk_data for its names")

    def skip(error: MbrparseError) -> None:
        if on_error is None:
            raise error
        on_error(error)

    if _plain_brackets(corpus):
        for file in corpus.fileids():
            source = f"{spec}/{file}"
            with corpus.open(file) as stream:
                lines = io.StringIO(stream.read())  # its own lines also end at U+0085, U+2028, ...
            for line, tree in read_trees(lines, source, skip):
                if tree is not None:
                    yield SourceTree(source, line, tree)
        return
    for number, sentence in enumerate(parsed(), start=1):
        if not isinstance(sentence, nltk.Tree):
            raise CorpusError(f"NLTK corpus {name!r} holds no phrase-structure trees")
        try:
            tree = Tree.from_nltk(sentence)
        except ValueError as error:
            skip(BracketError(str(error), source=spec, line=number))
        else:
            yield SourceTree(spec, number, tree)


def _plain_brackets(corpus: Any) -> bool:
    """Whether an NLTK reader does nothing that our own, far faster one would not."""
    from nltk.corpus.reader import BracketParseCorpusReader

    kind = type(corpus)
    return (
        issubclass(kind, BracketParseCorpusReader)
        and kind._normalize is BracketParseCorpusReader._normalize
        and kind._read_block is BracketParseCorpusReader._read_block
        and getattr(corpus, "_comment_char", None) is None
    )
