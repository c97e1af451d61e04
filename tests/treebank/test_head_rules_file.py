"""Files of head rules in disco-dop's form."""

from pathlib import Path

import pytest

from mbrparse.errors import FileError, HeadRulesError
from mbrparse.treebank.heads import HeadRule, find_head, head_rules, parse_head_rules

FILE = """\
% head rules of a small treebank

S left-to-right vp  s
s RIGHT-TO-LEFT Np
NP rightdis n ne
NX\tlike np
pp LEFTDIS p
CO right-to-left
ch LEFT
CH RIGHT x
"""


def test_the_form() -> None:
    rules = parse_head_rules(FILE.splitlines(keepends=True)).rules
    assert rules == {
        "S": (HeadRule("left", ("VP", "S")), HeadRule("right", ("NP",))),
        "NP": (HeadRule("right", ("N", "NE"), any_of=True),),
        "NX": (HeadRule("right", ("N", "NE"), any_of=True),),
        "PP": (HeadRule("left", ("P",), any_of=True),),
        "CO": (HeadRule("right"),),
        "CH": (HeadRule("left"), HeadRule("right", ("X",))),
    }


@pytest.mark.parametrize(
    ("parent", "children", "position"),
    [
        ("s", "np s vp", 2),  # the first label, wherever it stands
        ("S", "s s np", 0),  # the next label, from the left
        ("S", "np np x", 1),  # the next line
        ("S", "x y z", 2),  # none: from the side of the last line
        ("np", "n ne x", 1),  # any label, from the right
        ("NX", "NE N x", 1),
        ("pp", "x p p", 1),
        ("CO", "a b", 1),
        ("CH", "x a b", 0),
        ("CH", "a b $.", 1),
        ("OTHER", "a b", 0),
    ],
)
def test_what_they_mean(parent: str, children: str, position: int) -> None:
    assert find_head(parse_head_rules(FILE.split("\n")), parent, tuple(children.split())) == position


def test_later_lines_do_not_reach_an_earlier_like() -> None:
    rules = parse_head_rules(["NP LEFT N", "NX LIKE NP", "NP LEFT X", "NX RIGHT Y"]).rules
    assert rules["NX"] == (HeadRule("left", ("N",)), HeadRule("right", ("Y",)))


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", None, "holds no head rules; a rule reads e.g.: VP LEFT TO VBD VBN VP"),
        ("% nothing\n\n", None, "holds no head rules"),
        ("S LEFT VP\n\nNP\n", 3, "a label alone, 'NP'; a rule reads: LABEL DIRECTION LABELS..."),
        ("% x\nS UPWARDS VP\n", 2, "no direction 'UPWARDS'; there are: LEFT, RIGHT, LEFT-TO-RIGHT, RIGHT-TO"),
        ("S VP NP\n", 1, "no direction 'VP'"),
        ("S LIKE\n", 1, "LIKE names one label, not 0"),
        ("S LEFT A\nT LIKE S S\n", 2, "LIKE names one label, not 2"),
        ("NX LIKE NP\nNP LEFT N\n", 1, "LIKE 'NP', which has no rule above this line"),
        ("NX LIKE NX\n", 1, "LIKE 'NX', which has no rule above"),
    ],
)
def test_malformed(text: str, line: int | None, message: str) -> None:
    Path("my.headrules").write_text(text)
    with pytest.raises(HeadRulesError) as caught:
        head_rules("my.headrules")
    where = "my.headrules" if line is None else f"my.headrules:{line}"
    assert str(caught.value).startswith(f"{where}: {message}")
    assert caught.value.remedy
    assert "\n" not in str(caught.value)


def test_files_that_cannot_be_read() -> None:
    with pytest.raises(FileError, match="no such file"):
        head_rules("none")
    Path("latin").write_bytes("NP LEFT é\n".encode("latin-1"))
    with pytest.raises(FileError, match="not utf-8"):
        head_rules("latin")


def test_byte_order_mark_and_spaces_of_other_alphabets() -> None:
    Path("rules").write_bytes("\ufeffNP LEFT N\r\nNP\u3000A LEFT N\x85\tB\v".encode())
    left = HeadRule("left", ("N",))
    assert head_rules("rules").rules == {"NP": (left,), "NP\u3000A": (HeadRule("left", ("N\x85", "B\v")),)}
