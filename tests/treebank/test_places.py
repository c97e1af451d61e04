"""Where trees are in their corpus: sidecars are written with trees, read, and noticed to be others'."""

import hashlib
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from commandline import Command
from hypothesis import given
from hypothesis import strategies as st

from mbrparse.treebank.corpora.places import CorpusPlace, Places, open_trees

CORPUS = """( (IP-MAT (N hestr-hestur) (V kemr-koma)) (ID 1150.A,.1))
( (CODE <P_3>) (ID 1150.A,.2))

( (IP-MAT (N maðr-maður)
          (V sér-sjá)) (ID 1150.A,.3))
( (IP-MAT (D sá-sá) (N hestr-hestur) (V kemr-koma)) (ID 1150.A,.4))
( (IP-MAT (D sá-sá) (N maðr-maður) (V sér-sjá)) (ID 1150.A,.5))
"""
#: The places of the trees that are kept.
PLACES = [
    CorpusPlace("a.psd", line, f"1150.A,.{number}") for line, number in ((1, 1), (4, 3), (6, 4), (7, 5))
]


@pytest.fixture
def corpus(command: Command) -> Command:
    """In a folder with a.psd, and all.mrg made of it."""
    Path("a.psd").write_text(CORPUS, "utf-8")
    assert command("binarize icepahc:a.psd -o all.mrg").code == 0
    return command


def places(path: str) -> list[CorpusPlace]:
    """The rows of a sidecar, read without the library; its digest must be the file's."""
    header, *rows = Path(f"{path}.places").read_text("utf-8").splitlines()
    digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    assert header == f"# mbrparse places 1, sha256 of the trees {digest}"
    fields = [row.split("\t") for row in rows]
    return [CorpusPlace(source, int(line), name) for source, line, name in fields]


def test_binarize_writes_the_places_of_what_it_keeps(corpus: Command) -> None:
    assert places("all.mrg") == PLACES
    trees = Path("all.mrg").read_bytes()
    assert corpus("binarize icepahc:a.psd").output.encode() == trees
    Path("b.mrg").write_text("(())\n(S x y)\n(S (A x)\n y)\n")
    assert corpus("binarize penn-historical:a.psd b.mrg -o two.mrg").code == 0
    assert places("two.mrg") == [*PLACES, CorpusPlace("b.mrg", 2), CorpusPlace("b.mrg", 3)]
    # From what was binarized, and in its own place.
    assert corpus("binarize all.mrg --hmarkov 1 -o all.mrg").code == 0
    assert places("all.mrg") == PLACES
    assert corpus("binarize *.mrg --max-length 2 -o short.mrg").code == 0
    assert places("short.mrg") == 2 * [*PLACES[:2], CorpusPlace("b.mrg", 2), CorpusPlace("b.mrg", 3)]


DAMAGES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "stale": (
        lambda rows: rows.replace(b"trees ", b"trees 0"),
        "all.mrg.places: no places of all.mrg as it is now",
    ),
    "rubbish": (lambda _: b"\0\xff\t" * 999, "all.mrg.places:1: bytes that are not utf-8"),
    "cut at a row": (
        lambda rows: b"".join(rows.splitlines(True)[:-1]),
        "all.mrg.places: 3 places, all.mrg has 4 lines",
    ),
    "no number": (
        lambda rows: rows.replace(b"\t4\t", b"\tfour\t"),
        "all.mrg.places:3: no row of source, line and ID",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_sidecar_of_other_trees_is_told_of_and_not_used(corpus: Command, damage: str) -> None:
    spoil, message = DAMAGES[damage]
    path = Path("all.mrg.places")
    path.write_bytes(spoil(path.read_bytes()))
    outcome = corpus("split all.mrg --test-last 1 --train-output tr --test-output te")
    assert outcome.code == 0
    said = f"mbrparse: {message}; not used: binarize or split once more, or delete it\n"
    assert outcome.err == f"{said}mbrparse: 3 training trees, 1 test tree\n"
    assert places("te") == [CorpusPlace("all.mrg", 4)]


texts = st.text(st.characters(codec="utf-8"), max_size=5)


@given(rows=st.lists(st.tuples(texts, st.integers(1, 10**9), texts)), empty=st.booleans())
def test_what_is_written_is_read(rows: list[tuple[str, int, str]], empty: bool) -> None:
    """But control characters, tabs and line ends among them, are escaped."""
    with open_trees("trees") as write:
        for row in rows:
            write(None if empty else "(S \udc80 y)", CorpusPlace(*row))
    told: list[str] = []
    known = Places(told.append)
    found = [known.of("trees", line) for line in range(1, len(rows) + 1)]
    escaped = [
        [
            re.sub("[\0-\x1f\x7f-\x9f\u2028\u2029]", lambda one: repr(one[0])[1:-1], text)
            for text in (source, name)
        ]
        for source, _, name in rows
    ]
    assert found == [(source, line, name) for (source, name), (_, line, _) in zip(escaped, rows, strict=True)]
    assert not told
    assert known.of("elsewhere", 3, "x") == ("elsewhere", 3, "x")
