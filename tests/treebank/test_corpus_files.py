"""Files of trees: in folders and zips, by suffix or by content."""

import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from mbrparse.errors import CorpusError, FileError
from mbrparse.treebank.corpora.corpus_files import TreeFile, begins_with_bracket, tree_files
from mbrparse.treebank.corpora.reading import find_corpora, read_corpus

Place = Callable[[dict[str, str | bytes]], Path]


def zipped(name: str, files: Mapping[str, str | bytes]) -> Path:
    with zipfile.ZipFile(name, "w", zipfile.ZIP_DEFLATED) as archive:
        for inside, content in files.items():
            archive.writestr(inside, content)
    return Path(name)


def texts(spec: object) -> list[str]:
    return [str(tree) for _, _, tree, _ in read_corpus(str(spec))]


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


def test_suffixes_of_trees_go_before_content(place: Place) -> None:
    names = ("a.mrg", "b.ptb", "c.tree", "d.psd", "e.parse", "f.tbf")
    files: dict[str, str | bytes] = {f"x/{name}": f"(S {name[0]} x)\n" for name in names}
    found = texts(place({**files, "README": "(S no x)", "y.txt": "(S no x)"}))
    assert found == [f"(S {name[0]} x)" for name in names]


def test_content_where_no_suffix_tells(place: Place) -> None:
    files: dict[str, str | bytes] = {
        "b": "\n# comment\n  (S b x)\n",
        "a.txt": b"\xef\xbb\xbf\r\n( (S a x) )\n",
        "c.xml": "<x>(S no x)</x>",
        "d": "",
        ".hidden": "(S no x)",
    }
    assert [file.source.rpartition("/")[2] for file in tree_files(str(place(files)))] == ["a.txt", "b"]


def test_nothing_there(place: Place) -> None:
    with pytest.raises(CorpusError, match=r"none of its files \(\*\.md, \*README\) begins with a bracket"):
        texts(place({"x.md": "x", "README": "y"}))


def test_where_the_trees_of_a_zip_stand() -> None:
    zipped("a.zip", {"x/1.mrg": "\n(S a x)", "__MACOSX/x/1.mrg": "junk"})
    assert [(source, line) for source, line, _, _ in read_corpus("a.zip")] == [("a.zip/x/1.mrg", 2)]
    zipped("b.zip", {"1.mrg": b"(S \xff x)"})
    with pytest.raises(FileError, match=r"b\.zip/1\.mrg:1: bytes that are not utf-8"):
        texts("b.zip")


def test_utf_16_is_told_by_content() -> None:
    Path("a").write_bytes("\n(S a x)".encode("utf-16"))
    assert begins_with_bracket(TreeFile("a"))


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


def test_damaged_zips_are_no_corpora() -> None:
    Path("a.zip").write_bytes(b"PK\3\4")
    zipped("b.zip", {"x/penn/1.tree": "(S a x)"})
    assert find_corpora(["."])["craft"] == ["craft:b.zip"]
    for read in (texts, lambda path: find_corpora([path])):
        with pytest.raises(FileError, match="is cut short or damaged"):
            read("a.zip")


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
