"""Reading treebanks: files, folders, zips, globs, known corpora (``known_corpora``) and the treebank that
ships with the package; and finding the known corpora on this machine, in NLTK's data and at given paths.
"""

from __future__ import annotations

import contextlib
import io
import re
import zipfile
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mbrparse.errors import CorpusError, FileError
from mbrparse.files import bad_bytes, decode_lines, holds_bad_bytes, source_name
from mbrparse.treebank.corpora.corpus_files import TREE_SUFFIXES, TreeFile, tree_files
from mbrparse.treebank.corpora.known_corpora import CORPORA, Corpus, corpus_path, known_corpus
from mbrparse.treebank.formats.conventions import (
    AS_USUAL,
    CorpusReading,
    ErrorHandler,
    Reading,
    Removals,
    StyleName,
    conformed,
)
from mbrparse.treebank.formats.styles import STYLES, is_plain, nltk_corpus, nltk_files, nltk_trees
from mbrparse.treebank.tree import Tree

EMBEDDED = ("flights",)
_SECTIONS = "write e.g. 02-21 or 00,23"


class SourceTree(NamedTuple):
    """A tree, its file and line, and what the corpus calls it, if it does."""

    source: str
    line: int
    tree: Tree
    id: str = ""


def read_corpus(
    spec: str,
    how: CorpusReading = AS_USUAL,
    *,
    sections: str | None = None,
    on_error: ErrorHandler = None,
    on_empty: Callable[[str, int], None] | None = None,
    removed: Removals | None = None,
) -> Iterator[SourceTree]:
    """Yield the trees that ``spec`` names, in order; empty parses are passed over.

    ``spec`` is a file, ``-``, a folder or a zip (its files of trees, in order), a glob, or the name of a
    known corpus: ``craft:PATH``, ``icepahc:PATH``, ``penn-historical:PATH``, ``greynir:PATH``, ``wsj:DIR``
    (with ``sections``), ``nltk:NAME``, ``embedded:NAME``. Malformed trees raise MbrparseError or go to
    ``on_error``. ``on_empty`` is called with source and line of each empty parse in a file. ``how`` is added
    to what is known of the corpus; ``removed`` counts what is taken from the trees.

    Raises CorpusError if there is no such corpus.
    """
    corpus = known_corpus(spec)
    style: StyleName = "penn" if corpus is None else corpus.style
    if corpus is None and spec.startswith("nltk:") and not is_plain(nltk_corpus(spec)):
        style = "nltk"
    conventions = STYLES[style].joined(how)
    reading = Reading(conventions, on_error, on_empty, Removals() if removed is None else removed)
    if how.leaves is not None and not conventions.has_lemmas:
        names = ", ".join(known.spec for known in CORPORA if STYLES[known.style].has_lemmas)
        raise CorpusError(
            f"{spec} gives no lemmas that leaves could hold",
            remedy=f"these do: {names}; elsewhere `terminals_below` says where they are",
        )
    if spec.startswith("embedded:"):
        lines = io.StringIO(_embedded(spec, ".mrg").read_text("utf-8"))
        return _read_lines(lines, spec, reading)
    if spec.startswith("nltk:"):
        return _read_nltk(spec, reading)
    if corpus is None:
        files: Sequence[TreeFile] = tree_files(spec)
    elif corpus.name == "wsj":
        files = [TreeFile(file) for file in wsj_files(spec, sections)]
    else:
        files = tree_files(corpus_path(spec), corpus.suffixes or TREE_SUFFIXES, corpus.folders)
    return _read_files(files, how.encoding, reading)


def parse_sections(text: str) -> list[int]:
    """Read a list of sections and ranges.

    >>> parse_sections("02-04,23")
    [2, 3, 4, 23]
    """
    numbers: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r" *([0-9]{1,2})(?:-([0-9]{1,2}))? *", part)
        if match is None:
            raise CorpusError(f"sections {text!r} are not understood", remedy=_SECTIONS)
        first = int(match.group(1))
        numbers.extend(range(first, int(match.group(2) or first) + 1))
    if not numbers:
        raise CorpusError(f"sections {text!r} name no section", remedy=_SECTIONS)
    return numbers


def _read_files(files: Sequence[TreeFile], encodings: str, reading: Reading) -> Iterator[SourceTree]:
    for file in files:
        bad, encoding = reading.bad_lines(), file.encoding(encodings)
        if not encodings.startswith(encoding):
            reading.removed.place = (file.source, 1)
            reading.removed[f"file read as {encoding}"] += 1
        yield from _read_lines(file.lines(encoding, bad), file.source, reading, bad, encoding)


def _read_lines(
    lines: Iterable[str], source: str, reading: Reading, bad: list[int] | None = None, encoding: str = "utf-8"
) -> Iterator[SourceTree]:
    """The trees of a file; one whose text holds what was on ``bad`` lines (``decode_lines``) is malformed."""
    reported: set[int] = set()
    for line, tree, name in conformed(_placed(lines, source, reading.removed), source, reading):
        if tree is None:
            if reading.on_empty is not None:
                reading.on_empty(source, line)
        elif bad and reading.on_error is not None and holds_bad_bytes(str(tree)):
            here = bad[bisect_left(bad, line) : bisect_right(bad, reading.removed.place[1])]
            reported.update(here)
            reading.on_error(bad_bytes(source, here[0], encoding))
        else:
            yield SourceTree(source, line, tree, name)
    for number in bad or ():
        if number not in reported:
            reading.removed.place = (source, number)
            reading.removed[f"line with bytes that are not {encoding}"] += 1


def _placed(lines: Iterable[str], source: str, removed: Removals) -> Iterator[str]:
    """The lines, of which the last one that was read is where something is removed."""
    for number, line in enumerate(lines, start=1):
        removed.place = (source, number)
        yield line


def wsj_files(spec: str, sections: str | None) -> list[str]:
    """The .mrg files of wsj:DIR, in order; raises CorpusError where there are none."""
    root = Path(spec.removeprefix("wsj:"))
    layouts = (root / layout for layout in ("", "parsed/mrg/wsj", "combined/wsj", "wsj"))
    base = next((layout for layout in layouts if any(layout.glob("[0-9][0-9]"))), None)
    if base is None:
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


def embedded_grammar(spec: str) -> str:
    """The path of the grammar that an embedded treebank was sampled from; other specs are themselves."""
    return str(_embedded(spec, ".grammar")) if spec.startswith("embedded:") else spec


def _embedded(spec: str, suffix: str) -> Any:
    name = spec.removeprefix("embedded:")
    if name not in EMBEDDED:
        raise CorpusError(f"no embedded treebank {name!r}", remedy=f"there is: {', '.join(EMBEDDED)}")
    from importlib.resources import files

    return files("mbrparse.treebank") / "data" / f"{name}{suffix}"


def _read_nltk(spec: str, reading: Reading) -> Iterator[SourceTree]:
    if reading.conventions.read is nltk_trees:
        yield from _read_lines((), spec, reading)
        return
    for file, encoding, stream in nltk_files(spec):
        source, bad = f"{spec}/{file}", reading.bad_lines()
        yield from _read_lines(decode_lines(stream, source, encoding, bad), source, reading, bad, encoding)


def read_inputs(specs: Sequence[str], encoding: str = "utf-8") -> Iterator[SourceTree]:
    """Yield the trees of all ``specs`` (see ``read_corpus``); raises CorpusError where there is none."""
    found = False
    for spec in specs:
        for tree in read_corpus(spec, CorpusReading(encoding)):
            found = True
            yield tree
    if not found:
        raise no_trees(", ".join(map(source_name, specs)))


def no_trees(source: str | None) -> CorpusError:
    """The error for an input without trees."""
    return CorpusError(
        "no trees in the input", source=source, remedy="trees are written in brackets: (S (NP ...) ...)"
    )


def find_corpora(paths: Iterable[str]) -> dict[str, list[str]]:
    """For each known corpus by name, the specs that read it here; looks into paths and the zips in them.

    Damaged zips in a folder are passed over. Raises FileError at a path that is not there, or that is one.
    """
    places = []
    for path in paths:
        if not Path(path).exists():
            raise FileError("no such file or folder", source=path)
        places.append(path)
        if Path(path).is_dir():
            files = sorted(Path(path).iterdir())
            places += [str(file) for file in files if file.is_file() and zipfile.is_zipfile(file)]
    found = {corpus.name: list(_found(corpus, places)) for corpus in CORPORA}
    named = {spec.partition(":")[2] for spec in found["icepahc"]}
    general = found["penn-historical"]
    found["penn-historical"] = [spec for spec in general if spec.partition(":")[2] not in named]
    return found


def _found(corpus: Corpus, places: Iterable[str]) -> Iterator[str]:
    if not corpus.takes_path:
        if corpus.name.startswith("embedded:") or _is_installed(corpus.name.partition(":")[2]):
            yield corpus.name
        return
    for place in places:
        if _is_at(corpus, place):
            yield f"{corpus.name}:{place}"


def _is_at(corpus: Corpus, place: str) -> bool:
    try:
        if not corpus.suffixes:
            return bool(wsj_files(f"wsj:{place}", None))
        files = tree_files(place, corpus.suffixes)
    except CorpusError:
        return False
    found = [file.inner_path for file in files if file.inner_path.name.endswith(corpus.suffixes)]
    return any(not corpus.folders or set(corpus.folders) & set(path.parts) for path in found)


def _is_installed(name: str) -> bool:
    import nltk.data

    for resource in (f"corpora/{name}", f"corpora/{name}.zip"):
        with contextlib.suppress(LookupError):
            nltk.data.find(resource)
            return True
    return False
