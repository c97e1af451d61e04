"""Corpora by name: files, folders, globs, NLTK's, the LDC's, our own."""

import hashlib
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import nltk
import nltk.corpus
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tree_strategies import is_binary

from mbrparse.errors import BracketError, CorpusError, FileError, MbrparseError
from mbrparse.treebank.corpora.prepare import Preparation, PreparationStatistics, prepare
from mbrparse.treebank.corpora.reading import SourceTree, embedded_grammar, parse_sections, read_corpus
from mbrparse.treebank.formats.conventions import CorpusReading, Removals
from mbrparse.treebank.tree import Tree

NltkFolder = Callable[..., None]


def texts(spec: str, sections: str | None = None) -> list[str]:
    return [str(tree) for _, _, tree, _ in read_corpus(spec, sections=sections)]


def test_a_file_and_where_its_trees_stand() -> None:
    Path("gold.txt").write_text("(S a x)\n\n()\n( (S\n  b x))\n")
    found = [(source, line, str(tree)) for source, line, tree, _ in read_corpus("gold.txt")]
    assert found == [("gold.txt", 1, "(S a x)"), ("gold.txt", 4, "( (S b x))")]


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
        ("*.xml", "xml: no file matches"),
        (".", "folder holds no file of trees"),
        ("wsj:.", "no sections .folders named 00 to 24. found"),
        ("wsj:none", "no sections .folders named 00 to 24. found"),
        ("embedded:trains", "no embedded treebank 'trains'; there is: flights"),
        ("nltk:trains", "NLTK has no treebank 'trains'"),
        ("nltk:stopwords", "no treebank|not installed"),
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


@pytest.mark.parametrize("place", ["", "parsed/mrg/wsj", "combined/wsj", "wsj"])
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


@pytest.mark.parametrize("text", ["", "2-", "a", "021", "21-02"])
def test_sections_that_are_not_understood(text: str) -> None:
    with pytest.raises(CorpusError, match=r"write e\.g\. 02-21 or 00,23"):
        parse_sections(text)


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


def test_lines_of_an_nltk_corpus_end_at_newlines_only(nltk_folder: NltkFolder) -> None:
    """NLTK's own streams end lines at U+001C and others too, which would cut the word in two."""
    nltk_folder({"wsj_0001.mrg": "(S (N a\x1cb) x)\n(S c x)\n"})
    found = [(line, tree.words()) for _, line, tree, _ in read_corpus("nltk:treebank")]
    assert found == [(1, ("a\x1cb", "x")), (2, ("c", "x"))]


def test_unreadable_trees_of_an_nltk_corpus(nltk_folder: NltkFolder) -> None:
    nltk_folder({"wsj_0001.mrg": "(S a x)\n(S b\n(S c x)\n"})
    with pytest.raises(BracketError, match=r"^nltk:treebank/wsj_0001.mrg:2: unbalanced"):
        texts("nltk:treebank")
    errors: list[MbrparseError] = []
    assert len(list(read_corpus("nltk:treebank", on_error=errors.append))) == 2
    assert len(errors) == 1


@pytest.mark.usefixtures("nltk_folder")
def test_missing_corpus_names_the_command_that_fetches_it() -> None:
    with pytest.raises(
        CorpusError, match=r"not installed; fetch it with: \S*python\S* -m nltk\.downloader treebank$"
    ):
        texts("nltk:treebank")


def test_an_nltk_corpus_of_other_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    class Dependencies:
        def parsed_sents(self) -> list[object]:
            return [object()]

    monkeypatch.setattr(nltk.corpus, "dependency_treebank", Dependencies())
    with pytest.raises(CorpusError, match="holds no phrase-structure trees"):
        texts("nltk:dependency_treebank")


def test_a_tree_that_an_nltk_reader_left_without_children(monkeypatch: pytest.MonkeyPatch) -> None:
    class Corpus:
        def parsed_sents(self) -> list[nltk.Tree]:
            return [nltk.Tree.fromstring("(S (A x) y)"), nltk.Tree("S", []), nltk.Tree.fromstring("(S z z)")]

    monkeypatch.setattr(nltk.corpus, "sinica_treebank", Corpus())
    errors: list[MbrparseError] = []
    found = list(read_corpus("nltk:sinica_treebank", on_error=errors.append))
    assert [(line, str(tree)) for _, line, tree, _ in found] == [(1, "(S (A x) y)"), (3, "(S z z)")]
    assert [error.line for error in errors] == [2]


def test_sinica(sinica_sample: tuple[Tree, ...]) -> None:
    statistics = PreparationStatistics()
    trees = list(prepare((SourceTree("", 1, tree) for tree in sinica_sample), Preparation(), statistics))
    assert str(statistics) == "read 10000 trees, kept 9864, dropped 136 (single terminal: 136)"
    assert all(is_binary(one.tree) for one in trees)


# --- our own -----------------------------------------------------------------------------


def test_flights_is_frozen() -> None:
    path = Path(embedded_grammar("embedded:flights")).with_suffix(".mrg")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert digest == "6dfb55e5002760679c9a2813b44ace84b2c4bc3cb060b740e7bcf5e515ba09cb"


def test_flights_is_read() -> None:
    found = list(read_corpus("embedded:flights"))
    assert len(found) == 1500
    assert (found[-1].source, found[-1].line) == ("embedded:flights", 1500)


def test_the_grammar_of_an_embedded_treebank_or_the_path_itself() -> None:
    assert embedded_grammar("my.grammar") == "my.grammar"
    assert Path(embedded_grammar("embedded:flights")).read_text("utf-8").startswith("mbrparse-grammar 1\n")


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


@pytest.mark.parametrize(
    ("encoding", "bad"),
    [("utf-16-le", b"\x00\xd8"), ("gb18030", b"\xff"), ("utf-8-sig", b"\xc3"), ("ascii", b"\xe9")],
)
def test_bad_bytes_of_other_encodings(encoding: str, bad: bytes) -> None:
    data = "(S (N a) x)\n(S (N b) x)\n(S (N c) x)\n".encode(encoding)
    letter = "b".encode(encoding.removesuffix("-sig"))
    Path("bytes.mrg").write_bytes(data.replace(letter, letter + bad))
    errors: list[MbrparseError] = []
    read = read_corpus("bytes.mrg", CorpusReading(encoding), on_error=errors.append)
    found = [str(tree) for _, _, tree, _ in read]
    assert (found[0], found[-1], [error.line for error in errors]) == ("(S (N a) x)", "(S (N c) x)", [2])
    with pytest.raises(FileError, match=f"2: bytes that are not {encoding}; name the file's encoding"):
        list(read_corpus("bytes.mrg", CorpusReading(encoding)))
