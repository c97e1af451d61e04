"""mbrparse's own grammar files: what is written is read, what is wrong is said with its line."""

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from grammar_strategies import rule_sets, symbols
from hypothesis import given
from hypothesis import strategies as st

from mbrparse.errors import GrammarError
from mbrparse.grammar.grammar_files import read_grammar, read_rules, write_grammar, write_rules
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.rules import Rule, RuleSet, Weight

TEXT = """\
mbrparse-grammar 1
terminals tags
start NP 0.25 1
start S 0.75 3
rules 3
1 2 NP -> 'DT' 'NN'
0.4 2 S -> NP 'VB'
0.6 3 S -> NP S
end
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "my.grammar"


def read(path: Path, text: str) -> RuleSet:
    path.write_text(text, "utf-8")
    return read_rules(path)


@given(rule_sets())
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, rules: RuleSet) -> None:
    path = tmp_path_factory.getbasetemp() / "random.grammar"
    write_rules(rules, path)
    assert read_rules(path) == rules


def test_the_text(path: Path) -> None:
    rules = read(path, TEXT)
    assert rules == RuleSet(
        "tags",
        {"S": Weight(0.75, 3), "NP": Weight(0.25, 1)},
        {
            Rule("S", ("NP", "S")): Weight(0.6, 3),
            Rule("S", ("NP", "'VB'")): Weight(0.4, 2),
            Rule("NP", ("'DT'", "'NN'")): Weight(1, 2),
        },
    )
    write_rules(rules, path)
    assert path.read_text() == TEXT


COUNTED = [("0.4 2", "- 2"), ("0.6 3", "- 3"), ("0.25 1", "- 1"), ("0.75 3", "- 3")]


@pytest.mark.parametrize(
    "changes",
    [
        [("\n", "\r\n\r\n  # remark\r\n"), (" ", "\t  "), ("mbrparse", "\ufeffmbrparse")],
        COUNTED,  # a missing probability is the counts' share
    ],
)
def test_the_same_rules_in_other_texts(path: Path, changes: list[tuple[str, str]]) -> None:
    text = TEXT
    for old, new in changes:
        text = text.replace(old, new)
    assert read(path, text) == read(path, TEXT)


def test_equal_rules_add_up(path: Path) -> None:
    lines = "rules 5\n1 2 NP -> 'DT' 'NN'\n0.4 2 S -> NP 'VB'\n0.2 1 S -> NP S\n- 2 S -> NP S\n- 0 S -> S S\n"
    start, end = TEXT.index("rules"), TEXT.index("end")
    rules = read(path, TEXT[:start] + "start S 0 0\n" + lines + TEXT[end:])
    weight = rules.rules[Rule("S", ("NP", "S"))]
    assert weight.probability == pytest.approx(0.6)
    assert weight.count == 3
    assert rules.rules[Rule("S", ("S", "S"))] == Weight(0, 0)
    assert rules.start["S"] == Weight(0.75, 3)


@pytest.mark.parametrize(("excess", "fits"), [(9e-7, True), (-9e-7, True), (2e-6, False), (-2e-6, False)])
def test_probabilities_sum_to_one_within_a_millionth(path: Path, excess: float, fits: bool) -> None:
    text = TEXT.replace("0.4 2", f"{0.4 + excess:.9f} -").replace("0.6 3", "0.6 -")
    if fits:
        assert sum(weight.probability for weight in read(path, text).start.values()) == 1
    else:
        with pytest.raises(GrammarError, match="the rules of S have probabilities that sum to"):
            read(path, text)


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("end\n", "", 8, "the file ends before its line 'end'; it was cut off"),
        (TEXT[TEXT.index("NP 'VB'") :], "", 7, "not a line of a grammar file; rules read: PROB"),
        (TEXT, "", 1, "not a grammar file .its first line is not 'mbrparse-grammar 1'."),
        ("mbrparse-grammar 1", "mbrparse-grammar 2", 1, "not a grammar file .its first line is not"),
        ("terminals tags\n", "", 8, "the header lacks .terminals."),
        ("rules 3", "rules 4", 9, "the header announces 4 rules, the file holds 3"),
        ("0.4 2", "0,4 2", 7, "'0,4' is not a number of 0 or more"),
        ("0.4 2 S -> NP 'VB'\n0.6 3", "- 2 S -> NP 'VB'\n0.6 -", 9, "the rules of S give neither all prob"),
        ("0.4 2", "0.5 2", 9, "disagree: S -> NP 'VB' has 0.5, but 2 of 5; write - for"),
        ("0.75 3", "0.5 -", None, "the start distribution have probabilities that sum to 0.75"),
        ("start S", "start X", None, "nonterminal X has no rule"),
    ],
)
def test_errors(path: Path, old: str, new: str, line: int | None, message: str) -> None:
    assert old in TEXT
    with pytest.raises(GrammarError, match=message) as caught:
        read(path, TEXT.replace(old, new))
    assert (caught.value.source, caught.value.line) == (str(path), line)
    assert "\n" not in str(caught.value)


def numbers(weight: Weight) -> tuple[float, float | None]:
    return weight.probability, weight.count


def test_a_file_of_version_1_stays_readable() -> None:
    """A frozen file: what it says must be read the same for as long as there is a version 1."""
    rules = read_rules(Path(__file__).parent.parent / "data" / "version-1.grammar")
    assert rules.terminal_kind == "words"
    assert rules.unknown is not None
    assert rules.unknown.fields == ("signature", "2")
    assert {name: numbers(weight) for name, weight in rules.start.items()} == {
        "S": (0.75, 3),
        "NP": (0.25, 1),
    }
    assert {str(rule): numbers(weight) for rule, weight in rules.rules.items()} == {
        "S -> NP VP": (0.75, 3),
        "S -> NP_Cont>VP^S VP": (0.25, 1),
        "NP -> DT NN": (1, None),
        "NP_Cont>VP^S -> DT NN": (1, None),
        "VP -> VBZ": (0.5, None),
        "VP -> VBZ NP": (0.5, None),
        "DT -> 'the'": (1, None),
        "VBZ -> '(UNKNOWN-s)'": (1, None),
        "NN -> 'dog'": (1, None),
    }


# Arrays


def bits(grammar: PCFG) -> dict[str, object]:
    """All that a grammar is, but for what it was made from."""
    values = {field.name: getattr(grammar, field.name) for field in fields(PCFG) if field.name != "rules"}
    return {
        name: (value.dtype, value.tobytes()) if isinstance(value, np.ndarray) else value
        for name, value in values.items()
    }


sets = rule_sets(max_children=2) | rule_sets(names=st.builds("{}~{}".format, symbols, st.sampled_from("01")))


@given(sets.filter(lambda rules: all(len(rule.children) < 3 for rule in rules.rules)))
def test_arrays_are_read_as_they_are_made_of_rules(
    tmp_path_factory: pytest.TempPathFactory, rules: RuleSet
) -> None:
    path = tmp_path_factory.getbasetemp() / "arrays.grammar"
    write_rules(rules, path)
    grammar = read_grammar(path)
    assert bits(grammar) == bits(PCFG.from_rules(rules))
    assert list(read_rules(path).rules) == sorted(rules.rules)
    write_grammar(grammar, path.with_suffix(".again"))
    assert path.with_suffix(".again").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_says_the_encoding(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "g").write_text(TEXT.replace("NN", "\u00e9"), encoding)
    assert Rule("NP", ("'DT'", "'\u00e9'")) in read_rules(tmp_path / "g").rules
