"""``mbrparse check``: all malformed trees, and what is suspicious, against texts of which that is known."""

import json
from collections import Counter
from pathlib import Path

import pytest
from commandline import Command
from hypothesis import given
from hypothesis import strategies as st

from mbrparse.errors import MbrparseError
from mbrparse.treebank.corpora.reading import read_corpus
from mbrparse.treebank.corpora.treebank_statistics import check_treebank

GOOD = b"(S (NP (N dogs)) (V bark))"
#: Texts of one tree, and what is wrong with it.
FAULTS = {
    b"(S (NP (N dogs)) (V bark)": "unbalanced brackets",
    b"(S (NP (N dogs))) (V bark))": "closing bracket without an opening one",
    b"(S (NP ) (V bark))": "constituent 'NP' without children",
    b"(S\n  (A\n    (B ))\n  (C x)\n  (D ))": "constituent 'B' without children",
    b"(S (N \xe9) (V bark))": "bytes that are not utf-8",
}
ODD = {
    b"(S (NN a b) (V c))": ["several words"],
    b"(S (NN a (lemma b)) (V c))": ["a word beside", "a word under (lemma)"],
    b"((S (N a) (V c)) (ID x))": ["a constituent without a label", "a word under (ID)"],
    b"(S (COMMENT a) (CODE-1 c))": ["a word under (COMMENT)", "a word under (CODE-1)"],
}


@given(st.lists(st.sampled_from([GOOD, *FAULTS, *ODD])))
def test_all_that_is_wrong_and_nothing_else(texts: list[bytes]) -> None:
    """Each malformed tree once, at the line it begins on (children that lack: on their own)."""
    malformed: list[tuple[int, str]] = []
    odd, first, line = Counter[str](), dict[str, int](), 1
    for text in [GOOD, *texts]:
        if text in FAULTS:
            malformed.append((line + (2 if b"(B )" in text else 0), FAULTS[text]))
        for what in ODD.get(text, []):
            odd[what] += 1
            first.setdefault(what, line)
        line += text.count(b"\n") + 1
    Path("a.mrg").write_bytes(b"\n".join([GOOD, *texts]) + b"\n")
    found = list(check_treebank("a.mrg"))
    wrong = [one for one in found if one.kind == "malformed"]
    assert [(one.source, one.line) for one in wrong] == [("a.mrg", place) for place, _ in malformed]
    assert all(one.what.startswith(what) for one, (_, what) in zip(wrong, malformed, strict=True))
    suspicious = [one for one in found if one.kind == "suspicious" and one.line]
    assert len(suspicious) == len(odd)
    for what, number in odd.items():
        [one] = [one for one in suspicious if one.what.startswith(what)]
        assert (one.number, one.source, one.line) == (number, "a.mrg", first[what])
    errors: list[MbrparseError] = []
    trees = [tree for _, _, tree, _ in read_corpus("a.mrg", on_error=errors.append)]
    assert len(errors) == len(malformed)
    assert len(trees) + len(errors) == len(texts) + 1


def test_a_file(command: Command) -> None:
    Path("a.mrg").write_bytes(b"\n".join([GOOD, *FAULTS, *ODD, b"( (S (N a) (V b)))"]))
    outcome = command("check a.mrg")
    assert outcome.code == 1
    lines = outcome.out.splitlines()
    assert lines[:3] == [
        "a.mrg:2: unbalanced brackets: 1 opened here or later, never closed",
        "a.mrg:3: closing bracket without an opening one",
        "a.mrg:4: constituent 'NP' without children",
    ]
    assert "a.mrg:15: removed (1): wrapper ( )" in lines
    assert outcome.err.endswith("mbrparse: malformed trees: 5\n")
    found = list(map(json.loads, command("check a.mrg --format json").out.splitlines()))
    assert found[4] == {
        "kind": "malformed", "number": 1, "source": "a.mrg", "line": 10, "what": "bytes that are not utf-8",
    }  # fmt: skip


def test_several_and_none_that_is_malformed(command: Command) -> None:
    Path("a.mrg").write_bytes(GOOD)
    Path("b.mrg").write_bytes(b"(S (NN a b) (V c))")
    outcome = command("check a.mrg b.mrg")
    assert outcome.output.startswith("b.mrg:1: suspicious (1): several words under one label")
    assert outcome.err == "mbrparse: malformed trees: 0\n"
    assert command("check -", stdin="(S DT NN)\n(S A B)\n").output == ""  # no tags, but words of their own
    latin = b"(S (N caf\xe9) (V bark))"
    Path("c.mrg").write_bytes(latin)
    assert command("check c.mrg --encoding latin-1").output == ""
    found = command("check a.mrg c.mrg --encoding utf-8,latin-1").output
    assert "c.mrg:1: removed (1): file read as latin-1\n" in found
    assert command("corpora c.mrg").error.startswith("c.mrg:1: bytes that are not utf-8; name the file's enc")
    assert command("check none.mrg").error == "none.mrg: no such file"
    assert "no trees in the input" in command("check -").error
    assert "Missing argument 'TREEBANK...'" in command("check").usage_error


@pytest.mark.parametrize(
    ("text", "reader"),
    [
        ("( (IP (N hundar) (V gelta)) (ID A,.1))", "penn-historical:a.psd"),
        ("( (IP (N hundar-hundur) (V gelta-gelta)) (ID A,.1))", "icepahc:a.psd"),
        ("( (META (ID 1) (COMMENT ))\n (IP (N hundar-hundur) (V gelta-gelta)))", "icepahc:a.psd"),
        ("(ROOT (IP (N dogs) (V well-fed)))", None),
        ("(S (NN a b) (V c))", None),
    ],
)
def test_the_reader_of_another_style_is_named(command: Command, text: str, reader: str | None) -> None:
    Path("a.psd").write_text(f"{text}\n" * 120)
    noted = [line for line in command("check a.psd").err.splitlines() if "another style" in line]
    expected = f"mbrparse: a.psd looks like another style: name its reader, {reader}"
    assert noted == ([expected] if reader else [])


def test_bad_bytes_behind_a_bracket_that_stays_open(command: Command) -> None:
    """The reader is at the end of the file before it yields the trees after the bracket."""
    Path("open.mrg").write_bytes(b"(S (N a)\n(V x)\n" + GOOD + b"\n(S (N \xe9) (V x))\n")
    outcome = command("check open.mrg")
    assert outcome.code == 1
    _, *others = outcome.out.splitlines()
    assert others == ["open.mrg:4: bytes that are not utf-8"]
