"""Reading treebanks: files, folders, zips, globs, known corpora (``known_corpora``) and the treebank that
ships with the package; and finding the known corpora on this machine, in NLTK's data and at given paths.

The files of trees that a path names: one file, a folder's, a zip's, or those that a glob matches.

In folders and zips the files with a suffix of trees are taken; where there is none, all that begin with a
bracket, whatever they are called. They come in the order of their paths.
"""

from __future__ import annotations

import glob
import hashlib
import io
import os
import re
import zipfile
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, NamedTuple, NoReturn, cast

from mbrparse import files
from mbrparse.errors import CorpusError, FileError, MbrparseError
from mbrparse.treebank.brackets import WRITTEN, tokens_of
from mbrparse.treebank.corpora import known_corpora
from mbrparse.treebank.formats import formats, styles
from mbrparse.treebank.formats.conventions import AS_USUAL, CorpusReading, Reading, Removals, conformed
from mbrparse.treebank.tree import Tree, bracket_free

TREE_SUFFIXES = formats.FORMATS["brackets"].suffixes

# White space, lines of comments, and then a bracket.
_BEGINS_WITH_BRACKET = re.compile(r"[\ufeff\s]*(?:#[^\n]*\n\s*)*\(")
_BEGINNING = 4096
_ZIPS = (b"PK\3\4", b"PK\5\6")  # with files, and with none
_DAMAGED = "copy or download the zip once more"
# Of a zip's file of more bytes than these, how many may come of one.
_SMALL, _FULL = 1 << 20, 200


@dataclass(frozen=True, slots=True)
class TreeFile:
    """A file, or with ``member`` one of a zip's files."""

    path: str
    member: str | None = None

    @property
    def source(self) -> str:
        """Its name in messages."""
        return files.source_name(self.path) if self.member is None else f"{self.path}/{self.member}"

    @property
    def inner_path(self) -> PurePosixPath:
        """Its path, in a zip that of the member."""
        return PurePosixPath(Path(self.path).as_posix() if self.member is None else self.member)

    def lines(self, encoding: str, bad: list[int] | None = None) -> Iterator[str]:
        """Yield its lines (``decode_lines``); raises FileError where it cannot be read or decoded."""
        with self.open() as stream:
            yield from files.decode_lines(stream, self.source, encoding, bad)

    def encoding(self, encodings: str) -> str:
        """Of encodings with commas between the first that all of it fits, or else the last."""
        *names, last = encodings.split(",")
        if names:
            files.refuse_stream(self.path)
        for name in names:
            try:
                deque(self.lines(name), maxlen=0)
                return name
            except FileError as error:
                if error.source is None:  # no encoding of that name
                    raise
        return last

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open it for reading bytes; raises FileError."""
        if self.member is None:
            with files.open_input(self.path) as stream:
                yield stream
            return

        with _zip(self.path) as archive:
            try:
                packed = archive.getinfo(self.member)
                if packed.file_size > max(_FULL * packed.compress_size, _SMALL):
                    raise FileError(
                        f"unpacks to {packed.file_size:,} bytes, more than {_FULL} times its size",
                        source=self.source,
                        remedy="no text packs so well; if it is one, unpack the zip and name the folder",
                    )
                with archive.open(packed) as member:
                    yield member  # type: ignore[misc]  # it has read1, which is all that is asked of it
            except (MbrparseError, MemoryError):
                raise
            except Exception as error:  # zipfile's, struct's, of each method of packing, of the system
                if type(error) is RuntimeError:  # of zipfile, for a password
                    raise FileError("is encrypted", source=self.source, remedy="unpack the zip") from None
                raise FileError(
                    f"cannot be unpacked ({error})", source=self.source, remedy=_DAMAGED
                ) from None


def tree_files(
    spec: str, suffixes: Sequence[str] = TREE_SUFFIXES, folders: Sequence[str] = ()
) -> list[TreeFile]:
    """The files of trees that a path, ``-`` or a glob names.

    Of the folders of these names the first that is there is taken alone. Raises CorpusError where there is
    no file of trees.
    """
    if spec == files.STANDARD:
        return [TreeFile(spec)]
    if not spec:  # which pathlib takes for the working folder
        raise CorpusError("an input without a name", remedy="name a file or a folder, or . for this one")
    path = Path(spec)
    if path.is_dir():
        inside = [TreeFile(str(file)) for file in sorted(_below(path)) if file.is_file()]
        return _of_trees(spec, "folder", inside, suffixes, folders)
    if is_zip(path):
        with _zip(spec) as archive:
            names = sorted(name for name in archive.namelist() if not name.endswith("/"))
        inside = [TreeFile(spec, name) for name in names if not name.startswith("__MACOSX/")]
        return _of_trees(spec, "zip", inside, suffixes, folders)
    if not path.exists() and glob.has_magic(spec):
        matches = glob.glob(spec, recursive=True)
        found = sorted(
            file
            for file in matches
            if not (Path(file).is_dir() or file.endswith((files.SIDECAR, files.MADE)))
        )
        if not found:
            raise CorpusError(
                "no file matches", source=spec, remedy="** stands for folders, as in 'trees/**/*.mrg'"
            )
        return [TreeFile(file) for file in found]
    return [TreeFile(spec)]


def _below(folder: Path) -> Iterator[Path]:
    """All that is in a folder and in those within; raises FileError for one that cannot be read."""

    def refuse(error: OSError) -> NoReturn:
        raise FileError(f"cannot be read ({error.strerror})", source=error.filename)

    for within, _, names in os.walk(folder, onerror=refuse):
        yield from (Path(within, name) for name in names)


def is_zip(path: Path) -> bool:
    """Whether this is a zip, whole or damaged, by how it begins: no tree does so."""
    try:
        with open(path, "rb") if files.is_file(path) else io.BytesIO() as stream:
            return stream.read(4) in _ZIPS
    except OSError:
        return False


def holds_trees(file: TreeFile) -> bool:
    """Whether a file begins with a bracket, comments apart, or in another format of trees."""
    with file.open() as stream:
        begins = stream.read(_BEGINNING)
    text = begins.decode("utf-16" if begins[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8", "ignore")
    return _BEGINS_WITH_BRACKET.match(text) is not None or formats.recognized(text) != "brackets"


def _of_trees(
    spec: str, kind: str, inside: Sequence[TreeFile], suffixes: Sequence[str], folders: Sequence[str]
) -> list[TreeFile]:
    found = [file for file in inside if file.inner_path.name.endswith(tuple(suffixes))]
    for folder in folders:
        within = [file for file in found if folder in file.inner_path.parts[:-1]]
        if within:
            return within
    visible = (file for file in inside if not file.inner_path.name.startswith("."))
    found = found or list(filter(holds_trees, visible))
    if not found:
        kinds = ", ".join(
            sorted({f"*{file.inner_path.suffix or file.inner_path.name}" for file in inside})[:5]
        )
        remedy = (
            f"none of its files ({kinds}) begins as one" if kinds else "it holds no file at all: name another"
        )
        raise CorpusError(f"{kind} holds no file of trees", source=spec, remedy=remedy)
    return found


@contextmanager
def _zip(path: str) -> Iterator[zipfile.ZipFile]:
    try:
        archive = zipfile.ZipFile(path)
    except PermissionError as error:
        raise FileError(f"cannot be read ({error.strerror})", source=path) from None
    except MemoryError:
        raise
    except Exception as error:  # zipfile's, struct's, of the system where it seeks in vain
        raise FileError(f"is cut short or damaged ({error})", source=path, remedy=_DAMAGED) from None
    with archive:
        yield archive


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
    on_error: Callable[[MbrparseError], None] | None = None,
    on_empty: Callable[[str, int], None] | None = None,
    removed: Removals | None = None,
    tokens: bool = False,
) -> Iterator[SourceTree]:
    """Yield the trees that ``spec`` names, in order; empty parses are passed over.

    ``spec`` is a file, ``-``, a folder or a zip (its files of trees, in order), a glob, or the name of a
    known corpus: ``craft:PATH``, ``icepahc:PATH``, ``penn-historical:PATH``, ``greynir:PATH``, ``wsj:DIR``
    (with ``sections``), ``nltk:NAME``, ``embedded:NAME``. Malformed trees raise MbrparseError or go to
    ``on_error``. ``on_empty`` is called with source and line of each empty parse in a file. ``how`` is added
    to what is known of the corpus; ``removed`` counts what is taken from the trees; ``tokens`` are those of
    ``read_inputs``.

    Raises CorpusError if there is no such corpus.
    """
    corpus = known_corpora.known_corpus(spec)
    style = "penn" if corpus is None else corpus.style
    if corpus is None and spec.startswith("nltk:") and not known_corpora.is_plain(spec):
        style = known_corpora.NLTK
    written = styles.STYLES[style].joined(how)
    if how.leaves is not None and not written.has_lemmas:
        able = (one.spec for one in known_corpora.CORPORA if styles.STYLES[one.style].has_lemmas)
        names = ", ".join(able)
        raise CorpusError(
            f"{spec} gives no lemmas that leaves could hold",
            remedy=f"these do: {names}; elsewhere `terminals_below` says where they are",
        )
    reading = Reading(written, how, on_error, on_empty, Removals() if removed is None else removed)
    if spec.startswith("embedded:"):
        lines = io.StringIO(_embedded(spec, ".mrg").read_text("utf-8"))
        return _read_lines(lines, spec, reading, "brackets")
    if spec.startswith("nltk:"):
        return _read_nltk(spec, reading)
    name = formats.format_path(spec)[0] or written.format or ("" if corpus is None else "brackets")
    return _read_files(corpus_files(spec, sections), name, how.encoding, reading, tokens)


def corpus_files(spec: str, sections: str | None = None) -> Sequence[TreeFile]:
    """The files of a corpus that is neither embedded nor NLTK's."""
    corpus = known_corpora.known_corpus(spec)
    if corpus is None:
        name, path = formats.format_path(spec)
        return tree_files(path, formats.FORMATS[name or "brackets"].suffixes)
    if corpus.name == "wsj":
        return [TreeFile(file) for file in wsj_files(spec, sections)]
    return tree_files(known_corpora.corpus_path(spec), corpus.suffixes or TREE_SUFFIXES, corpus.folders)


def corpus_digest(spec: str) -> str:
    """Ten digits of the names and bytes of all files that a corpus has; raises as ``read_corpus``."""
    found = hashlib.sha256()
    if spec.startswith("embedded:"):
        found.update(_embedded(spec, ".mrg").read_bytes())
    elif spec.startswith("nltk:"):
        for file, _, stream in known_corpora.nltk_files(spec):
            found.update(f"{file}\0".encode() + hashlib.sha256(stream.read()).digest())
    else:
        for one in corpus_files(spec):
            with one.open() as stream:
                content = hashlib.file_digest(cast("io.BytesIO", stream), "sha256")
            found.update(os.fsencode(one.inner_path.name) + b"\0" + content.digest())
    return found.hexdigest()[:10]


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


def _read_files(
    files: Sequence[TreeFile], name: str, encodings: str, reading: Reading, tokens: bool
) -> Iterator[SourceTree]:
    for file in files:
        bad, encoding = reading.bad_lines(), file.encoding(encodings)
        if not encodings.startswith(encoding):
            reading.removed.place = (file.source, 1)
            reading.removed[f"file read as {encoding}"] += 1
        lines: Iterable[str] = file.lines(encoding, bad)
        here = name
        if tokens and not name:
            here, lines = formats.looked_at(lines, reading.own, tokens=True)
        if here != "tokens":
            yield from _read_lines(lines, file.source, reading, here, bad, encoding)
            continue
        for number, line in enumerate(lines, start=1):
            if words := tokens_of(bracket_free(line)):
                yield SourceTree(file.source, number, Tree("S", list(map(Tree, words))))


def _read_lines(
    lines: Iterable[str],
    source: str,
    reading: Reading,
    name: str = "",
    bad: list[int] | None = None,
    encoding: str = "utf-8",
) -> Iterator[SourceTree]:
    """The trees of a file; one whose text holds what was on ``bad`` lines (``decode_lines``) is malformed."""
    reported: set[int] = set()
    if not name:
        name, lines = formats.looked_at(lines, reading.own)
    read = known_corpora.nltk_trees if name == known_corpora.NLTK else formats.FORMATS[name].read
    trees = read(_placed(lines, source, reading.removed), source, reading)
    for line, tree, named in conformed(trees, reading):
        if tree is None:
            if reading.on_empty is not None:
                reading.on_empty(source, line)
        elif bad and reading.on_error is not None and files.holds_bad_bytes(str(tree)):
            here = bad[bisect_left(bad, line) : bisect_right(bad, reading.removed.place[1])]
            reported.update(here)
            reading.on_error(files.bad_bytes(source, here[0], encoding))
        else:
            yield SourceTree(source, line, tree, named)
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
    name = reading.conventions.format or "brackets"
    if name == known_corpora.NLTK:
        yield from _read_lines((), spec, reading, name)
        return
    for file, encoding, stream in known_corpora.nltk_files(spec):
        source, bad = f"{spec}/{file}", reading.bad_lines()
        lines = files.decode_lines(stream, source, encoding, bad)
        yield from _read_lines(lines, source, reading, name, bad, encoding)


def read_inputs(specs: Sequence[str], encoding: str = "utf-8", tokens: bool = False) -> Iterator[SourceTree]:
    """Yield the trees of all ``specs`` (see ``read_corpus``); raises CorpusError where there is none.

    With ``tokens``, those of files that begin with no bracket are flat trees of the tokens of each line.
    """
    found = False
    for spec in specs:
        for tree in read_corpus(spec, CorpusReading(encoding), tokens=tokens):
            found = True
            yield tree
    if not found:
        raise no_trees(", ".join(map(files.source_name, specs)))


def no_trees(source: str | None) -> CorpusError:
    """The error for an input without trees."""
    return CorpusError("no trees in the input", source=source, remedy=WRITTEN)


def find_corpora(paths: Iterable[str]) -> dict[str, list[str]]:
    """For each known corpus by name, the specs that read it here; looks into paths and the zips in them.

    Damaged zips in a folder are passed over. Raises FileError at a path that is not there, or that is one.
    """
    places = []
    for path in paths:
        if not Path(path).exists():
            raise FileError("no such file or folder", source=path)
        files.refuse_stream(path)
        places.append(path)
        if Path(path).is_dir():
            inside = sorted(Path(path).iterdir())
            places += [str(file) for file in inside if file.is_file() and zipfile.is_zipfile(file)]
    found = {corpus.name: list(_found(corpus, places)) for corpus in known_corpora.CORPORA}
    named = {spec.partition(":")[2] for spec in found["icepahc"]}
    general = found["penn-historical"]
    found["penn-historical"] = [spec for spec in general if spec.partition(":")[2] not in named]
    return found


def _found(corpus: known_corpora.Corpus, places: Iterable[str]) -> Iterator[str]:
    if corpus.takes_path:
        yield from (f"{corpus.name}:{place}" for place in places if _is_at(corpus, place))
    elif corpus.name.startswith("embedded:") or _is_installed(corpus.name.partition(":")[2]):
        yield corpus.name


def _is_at(corpus: known_corpora.Corpus, place: str) -> bool:
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
        with suppress(LookupError):
            nltk.data.find(resource)
            return True
    return False
