"""Corpora by name: files, folders, globs, NLTK's, the LDC's, our own.

Files of trees: in folders and zips, by suffix or by content.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import nltk
import nltk.corpus
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mbrparse.errors import BracketError, CorpusError, FileError, MbrparseError
from mbrparse.treebank.corpora.reading import read_corpus
from mbrparse.treebank.formats.conventions import Removals

NltkFolder = Callable[..., None]


def texts(spec: object, sections: str | None = None) -> list[str]:
    return [str(tree) for _, _, tree, _ in read_corpus(str(spec), sections=sections)]


def test_folders_and_globs() -> None:
    """Where some files have names of treebank files, those named .txt and .prd are none."""
    Path("b").mkdir()
    for name in ("b/2.mrg", "b/10.mrg", "a.ptb", "notes.txt", "a.prd", "b/c[1].mrg"):
        Path(name).write_text(f"(S {Path(name).stem} x)\n(())\n")
    assert texts(".") == ["(S a x)", "(S 10 x)", "(S 2 x)", "(S c[1] x)"]
    assert texts("**/*.mrg") == ["(S 10 x)", "(S 2 x)", "(S c[1] x)"]
    assert texts("a.p??") == ["(S a x)", "(S a x)"]
    assert texts("b/c[1].mrg") == ["(S c[1] x)"]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("none.mrg", "none.mrg: no such file"),
        ("wsj:none", "no sections .folders named 00 to 24. found"),
        ("embedded:trains", "no embedded treebank 'trains'; there is: flights"),
        ("nltk:trains", "NLTK has no treebank 'trains'"),
    ],
)
def test_what_is_not_there(spec: str, message: str) -> None:
    with pytest.raises((CorpusError, FileError), match=message):
        texts(spec)


def test_malformed_trees_go_to_the_handler_across_files() -> None:
    Path("1.mrg").write_text("(S a x)\n(S b\n")
    Path("2.mrg").write_text("(S c x))\n(S d x)\n")
    with pytest.raises(BracketError, match=r"1\.mrg:2: unbalanced"):
        texts(".")
    errors: list[MbrparseError] = []
    found = [str(tree) for _, _, tree, _ in read_corpus(".", on_error=errors.append)]
    assert found == ["(S a x)", "(S d x)"]
    assert [error.line for error in errors] == [2, 1]


# --- the Wall Street Journal -------------------------------------------------------------


@pytest.mark.parametrize("place", ["", "combined/wsj"])
def test_sections(place: str) -> None:
    """The LDC's layout: sections 00, 02, 03 and 23, two files each."""
    for section in ("00", "02", "03", "23"):
        Path(place, section).mkdir(parents=True)
        for number in ("01", "00"):
            path = Path(place, section, f"wsj_{section}{number}.mrg")
            path.write_text(f"\n( (S {section} {number}))\n")
            path.with_suffix(".prd").write_text("(")
    for sections, expected in (
        (None, ["00", "02", "03", "23"]),
        ("02-03", ["02", "03"]),
        ("23", ["23"]),
        ("23, 2-2", ["23", "02"]),
    ):
        files = [f"( (S {section} {number}))" for section in expected for number in ("00", "01")]
        assert texts("wsj:.", sections) == files
    with pytest.raises(CorpusError, match=r"section 04 holds no \.mrg file"):
        texts("wsj:.", "02-04")


# --- NLTK's ------------------------------------------------------------------------------


@pytest.fixture
def nltk_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[NltkFolder]:
    """Install a corpus of our own under the name of NLTK's Penn sample, as a folder or zipped."""
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])

    def unload() -> None:
        if hasattr(nltk.corpus.treebank, "_unload"):
            nltk.corpus.treebank._unload()

    def install(files: dict[str, str], *, zipped: bool = False) -> None:
        corpora = tmp_path / "corpora"
        corpora.mkdir()
        with zipfile.ZipFile(corpora / "treebank.zip", "w") as archive:
            for name, text in files.items():
                archive.writestr(f"treebank/combined/{name}", text)
            if not zipped:
                archive.extractall(corpora)
        if not zipped:
            (corpora / "treebank.zip").unlink()

    unload()
    yield install
    unload()


@pytest.mark.parametrize("zipped", [True, False])
def test_an_nltk_corpus_zipped_or_not(nltk_folder: NltkFolder, zipped: bool) -> None:
    first, second = "\n( (S\n  (N b) x) )\n( (S c x) )\n", "( (S a x) )\n"
    nltk_folder({"wsj_0002.mrg": second, "wsj_0001.mrg": first, "README": ""}, zipped=zipped)
    found = [(source, line, str(tree)) for source, line, tree, _ in read_corpus("nltk:treebank")]
    assert found == [
        ("nltk:treebank/wsj_0001.mrg", 2, "( (S (N b) x))"),
        ("nltk:treebank/wsj_0001.mrg", 4, "( (S c x))"),
        ("nltk:treebank/wsj_0002.mrg", 1, "( (S a x))"),
    ]


@pytest.mark.usefixtures("nltk_folder")
def test_missing_corpus_names_the_command_that_fetches_it() -> None:
    with pytest.raises(
        CorpusError, match=r"not installed; fetch it with: \S*python\S* -m nltk\.downloader treebank$"
    ):
        texts("nltk:treebank")


# --- bytes that are no text ----------------------------------------------------------------


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans(), st.booleans()), max_size=6), st.booleans())
def test_bad_bytes_leave_out_their_own_tree_alone(
    trees: list[tuple[str, bool, bool]], in_comments: bool
) -> None:
    """A tree is lost where its own bytes are bad, also where two stand on one line."""
    data, line = b"", 1
    kept: list[tuple[int, str]] = []
    lost: list[tuple[int, str]] = []
    for word, bad, ends in trees:
        data += f"(S (N {word}".encode() + b"\xe9" * bad + b") x)" + b"\n" * ends
        (lost if bad else kept).append((line, f"(S (N {word}) x)"))
        line += ends
    if in_comments:
        data += b"\n# \xe9\n(S y z)\n"
        kept.append((line + 2, "(S y z)"))
    Path("bytes.mrg").write_bytes(data)
    errors: list[MbrparseError] = []
    removed = Removals()
    read = read_corpus("bytes.mrg", on_error=errors.append, removed=removed)
    assert [(line, str(tree)) for _, line, tree, _ in read] == kept
    assert [error.line for error in errors] == [line for line, _ in lost]
    assert all("bytes that are not utf-8" in str(error) for error in errors)
    elsewhere = "line with bytes that are not utf-8"
    assert removed == ({elsewhere: 1} if in_comments else {})
    assert removed.first == ({elsewhere: ("bytes.mrg", line + 1)} if in_comments else {})


Place = Callable[[dict[str, str | bytes]], Path]


def zipped(name: str, files: Mapping[str, str | bytes]) -> Path:
    with zipfile.ZipFile(name, "w", zipfile.ZIP_DEFLATED) as archive:
        for inside, content in files.items():
            archive.writestr(inside, content)
    return Path(name)


@pytest.fixture(params=["folder", "zip"])
def place(request: pytest.FixtureRequest) -> Place:
    """Makes a folder or a zip of given files."""

    def make(files: dict[str, str | bytes]) -> Path:
        archive = zipped("trees.bin", files)
        if request.param == "zip":
            return archive
        zipfile.ZipFile(archive).extractall("trees")
        return Path("trees")

    return make


def test_damaged_zips() -> None:
    path = zipped("a.zip", {"1.mrg": "(S a x)\n" * 100})
    data = bytearray(path.read_bytes())
    data[40] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(FileError, match=r"a\.zip/1\.mrg: cannot be unpacked"):
        texts(path)
    path.write_bytes(data[:60])
    with pytest.raises(FileError, match=r"a\.zip: is cut short or damaged .*; copy or download the zip"):
        texts(path)
    with pytest.raises(CorpusError, match="it holds no file at all"):
        texts(zipped("b.zip", {}))


@pytest.mark.parametrize(
    ("name", "suffix", "expected"),
    [
        ("craft", "tree", ["( (S (N a-a) (C 0) (V b-b)) (ID X,.1))"]),
        ("icepahc", "psd", ["(S (N a) (V b))"]),
        ("penn-historical", "psd", ["(S (N a-a) (V b-b))"] * 3),
    ],
)
def test_known_corpora_are_found_below_a_path(
    place: Place, name: str, suffix: str, expected: list[str]
) -> None:
    tree = "( (S (N a-a) (C 0) (V b-b)) (ID X,.1))\n"
    inside = [f"r/{file}.{suffix}" for file in ("penn/1", "finished/1", "draft/2")]
    path = place({**dict.fromkeys(inside, tree), "r/a.mrg": "("})
    assert texts(f"{name}:{path}") == expected
    single = next(path.rglob(f"1.{suffix}")) if path.is_dir() else path
    assert texts(f"{name}:{single}")[0] == expected[0]
