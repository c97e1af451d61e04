"""Files of trees: in folders and zips, by suffix or by content."""

import zipfile
from pathlib import Path

import pytest

from mbrparse.io.errors import CorpusError, FileError
from mbrparse.treebank.corpora import find_corpora, read_corpus
from mbrparse.treebank.corpus_files import TreeFile, begins_with_bracket, tree_files


def fill(path: Path, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def zipped(path: Path, files: dict[str, str | bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def texts(spec: object) -> list[str]:
    return [str(tree) for _, _, tree in read_corpus(str(spec))]


@pytest.fixture(params=["folder", "zip"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> "Place":
    return Place(tmp_path, request.param == "zip")


class Place:
    """A folder or a zip of given files."""

    def __init__(self, path: Path, is_zip: bool) -> None:
        self.path, self.is_zip = path, is_zip

    def of(self, files: dict[str, str | bytes]) -> Path:
        if self.is_zip:
            return zipped(self.path / "trees.bin", files)
        fill(self.path / "trees", files)
        return self.path / "trees"


def test_suffixes_of_trees_go_before_content(place: Place) -> None:
    names = ("a.mrg", "b.ptb", "c.tree", "d.psd", "e.parse", "f.tbf")
    files: dict[str, str | bytes] = {f"x/{name}": f"(S {name[0]} x)\n" for name in names}
    found = texts(place.of({**files, "README": "(S no x)", "y.txt": "(S no x)"}))
    assert found == [f"(S {name[0]} x)" for name in names]


def test_content_where_no_suffix_tells(place: Place) -> None:
    files: dict[str, str | bytes] = {
        "b": "\n# comment\n  (S b x)\n",
        "a.txt": b"\xef\xbb\xbf\r\n( (S a x) )\n",
        "c.xml": "<x>(S no x)</x>",
        "d": "",
        ".hidden": "(S no x)",
    }
    assert [file.source.rpartition("/")[2] for file in tree_files(str(place.of(files)))] == ["a.txt", "b"]


def test_nothing_there(place: Place) -> None:
    with pytest.raises(CorpusError, match=r"none of its files \(\*\.md, \*README\) begins with a bracket"):
        texts(place.of({"x.md": "x", "README": "y"}))


def test_where_the_trees_of_a_zip_stand(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", {"x/1.mrg": "\n(S a x)", "__MACOSX/x/1.mrg": "junk"})
    assert [(source, line) for source, line, _ in read_corpus(str(path))] == [(f"{path}/x/1.mrg", 2)]
    path = zipped(tmp_path / "b.zip", {"1.mrg": b"(S \xff x)"})
    with pytest.raises(FileError, match=r"b\.zip/1\.mrg:1: bytes that are not utf-8"):
        texts(path)


def test_utf_16_is_told_by_content(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes("\n(S a x)".encode("utf-16"))
    assert begins_with_bracket(TreeFile(str(tmp_path / "a")))


def test_damaged_zips(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", {"1.mrg": "(S a x)\n" * 100})
    data = bytearray(path.read_bytes())
    data[40] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(FileError, match=r"a\.zip/1\.mrg: cannot be unpacked"):
        texts(path)
    path.write_bytes(data[:60])
    with pytest.raises(FileError, match=r"a\.zip: is cut short or damaged .*; copy or download the zip"):
        texts(path)
    path.write_bytes(b"PK\3\4")
    with pytest.raises(FileError, match="is cut short or damaged"):
        texts(path)
    with pytest.raises(CorpusError, match="it holds no file at all"):
        texts(zipped(tmp_path / "b.zip", {}))


def test_damaged_zips_are_no_corpora(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(b"PK\3\4")
    zipped(tmp_path / "b.zip", {"x/penn/1.tree": "(S a x)"})
    found = find_corpora([str(tmp_path)])
    assert found["craft"] == [f"craft:{tmp_path / 'b.zip'}"]
    with pytest.raises(FileError, match="is cut short or damaged"):
        find_corpora([str(tmp_path / "a.zip")])


@pytest.mark.parametrize("name", ["craft", "icepahc", "penn-historical"])
def test_known_corpora_are_found_below_a_path(place: Place, name: str) -> None:
    tree = "( (S (N a-a) (C 0) (V b-b)) (ID X,.1))\n"
    suffix = "tree" if name == "craft" else "psd"
    path = place.of(
        {
            f"r/penn/1.{suffix}": tree,
            f"r/finished/1.{suffix}": tree,
            f"r/draft/2.{suffix}": tree,
            "r/a.mrg": "(",
        }
    )
    found = texts(f"{name}:{path}")
    assert (
        found
        == {
            "craft": ["( (S (N a-a) (C 0) (V b-b)) (ID X,.1))"],
            "icepahc": ["(S (N a) (V b))"],
            "penn-historical": ["(S (N a-a) (V b-b))"] * 3,
        }[name]
    )
    single = next(path.rglob(f"1.{suffix}")) if path.is_dir() else path
    assert texts(f"{name}:{single}")[0] == found[0]
