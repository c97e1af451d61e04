"""The known corpora on this machine: in NLTK's data, and at given paths."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from mbrparse.io.errors import CorpusError, FileError
from mbrparse.treebank.corpora import wsj_files
from mbrparse.treebank.corpus_files import tree_files
from mbrparse.treebank.known_corpora import CORPORA, Corpus


def find_corpora(paths: Iterable[str]) -> dict[str, list[str]]:
    """For each known corpus by name, the specs that read it here; looks into paths and the zips in them.

    Damaged zips in a folder are passed over. Raises FileError at a path that is not there, or that is one.
    """
    places = [place for path in paths for place in _places(path)]
    found = {corpus.name: list(_found(corpus, places)) for corpus in CORPORA}
    named = {spec.partition(":")[2] for spec in found["icepahc"]}
    general = found["penn-historical"]
    found["penn-historical"] = [spec for spec in general if spec.partition(":")[2] not in named]
    return found


def _places(path: str) -> list[str]:
    if not Path(path).exists():
        raise FileError("no such file or folder", source=path)
    if not Path(path).is_dir():
        return [path]
    return [path, *(str(file) for file in sorted(Path(path).iterdir()) if _is_whole_zip(file))]


def _is_whole_zip(path: Path) -> bool:
    return path.is_file() and zipfile.is_zipfile(path)


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
    parts = [Path(file.member or file.path) for file in files]
    parts = [part for part in parts if part.name.endswith(corpus.suffixes)]
    return any(not corpus.folders or set(corpus.folders) & set(part.parts) for part in parts)


def _is_installed(name: str) -> bool:
    import nltk.data

    for resource in (f"corpora/{name}", f"corpora/{name}.zip"):
        try:
            nltk.data.find(resource)
        except LookupError:
            continue
        return True
    return False
