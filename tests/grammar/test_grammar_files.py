"""mbrparse's own grammar files: what is written is read, what is wrong is said with its line."""

import math
import os
import pickle
import threading
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from grammar_strategies import rule_sets, symbols
from hypothesis import given
from hypothesis import strategies as st

from mbrparse.errors import FileError, GrammarError
from mbrparse.grammar.files.grammar_files import (
    describe,
    read_grammar,
    read_rules,
    write_grammar,
    write_rules,
)
from mbrparse.grammar.pcfg import PCFG, UNKNOWN_TERMINAL
from mbrparse.grammar.rules import Rule, RuleSet, Weight, relative_frequencies
from mbrparse.treebank.labels import project

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
        ("mbrparse-grammar 1", "mbrparse-grammar 2", 1, "version 2, but this program reads 1; a newer"),
        ("terminals tags\n", "", 8, "the header lacks 'terminals', 'start' or 'rules'"),
        ("terminals tags", "terminals letters", 2, "not a line of a grammar file"),
        ("rules 3", "rules 4", 9, "the header announces 4 rules, the file holds 3"),
        ("rules 3", "rules ²", 5, "not a line of a grammar file"),
        ("S -> NP S", "S ->", 8, "not a line of a grammar file"),
        ("0.4 2", "0,4 2", 7, "'0,4' is not a number of 0 or more"),
        ("0.4 2", "-0.4 2", 7, "'-0.4' is not a number of 0 or more"),
        ("0.4 2", "nan 2", 7, "'nan' is not a number"),
        ("0.4 2", "0.4_0 2", 7, "'0.4_0' is not a number"),
        ("0.4 2", "0.4 1e400", 7, "'1e400' is not a number"),
        ("0.4 2", "- -", 7, "neither a probability nor a count"),
        ("end\n", "end\n1 1 S -> S S\n", 10, "text after the line 'end'"),
        ("0.4 2 S -> NP 'VB'\n0.6 3", "- 2 S -> NP 'VB'\n0.6 -", 9, "the rules of S give neither all prob"),
        ("0.4 2", "0.5 2", 9, "disagree: S -> NP 'VB' has 0.5, but 2 of 5; write - for"),
        ("0.4 2", "0.5 -", None, "the rules of S have probabilities that sum to 1.1, not 1; mend the"),
        ("0.75 3", "0.5 -", None, "the start distribution have probabilities that sum to 0.75"),
        ("NP S\n", "NP VP\n", None, "nonterminal VP has no rule; give it one, or write it as a terminal: "),
        ("start S", "start X", None, "nonterminal X has no rule"),
        ("0.4 2 S", "1.5 - S", None, "the rules of S have a probability outside of 0 to 1"),
    ],
)
def test_errors(path: Path, old: str, new: str, line: int | None, message: str) -> None:
    assert old in TEXT
    with pytest.raises(GrammarError, match=message) as caught:
        read(path, TEXT.replace(old, new))
    assert (caught.value.source, caught.value.line) == (str(path), line)
    assert "\n" not in str(caught.value)


def test_describe(path: Path) -> None:
    text = TEXT.replace("rules 3\n", "rules 5\n1 - VP -> 'x'\n1 - X -> S VP NP\n").replace(
        "'DT' 'NN'", "'DT' 'VB'"
    )
    assert describe(read(path, text)) == {
        "terminals": "tags, 3",
        "nonterminals": "4",
        "symbols": "6",
        "rules": "5",
        "  binary": "3",
        "  lexical": "1",
        "  longer": "1",
        "start": "S 0.7500, NP 0.2500",
    }


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

SPLIT = RuleSet(
    "words",
    {"S~0": Weight(0.25, 1), "S~1": Weight(0.75, 3)},
    {
        Rule("S~0", ("NP", "S~1")): Weight(0.4, 2),
        Rule("S~0", ("S~1",)): Weight(0.6, 3),
        Rule("S~1", ("NP", "S~0")): Weight(0.1, 1),
        Rule("S~1", ("'eats'",)): Weight(0.9, 9),
        Rule("NP", ("'_'",)): Weight(0.5, None),
        Rule("NP", ("'eats'",)): Weight(0.5, None),
    },
)


def bits(grammar: PCFG) -> dict[str, object]:
    """All that a grammar is, but for what it was made from."""
    values = {field.name: getattr(grammar, field.name) for field in fields(PCFG) if field.name != "source"}
    return {
        name: (value.dtype, value.tobytes()) if isinstance(value, np.ndarray) else value
        for name, value in values.items()
    }


def naive(rules: RuleSet) -> dict[str, object]:
    """The same, a rule at a time."""

    def quoted(name: str) -> bool:
        return len(name) > 2 and name.startswith("'") and name.endswith("'")

    def divided(weights: list[Weight]) -> list[float]:
        total = math.fsum(weight.probability for weight in weights)
        near = (len(weights) + 1) * 2.0**-52 < abs(total - 1) <= 1e-6
        return [weight.probability / (total if near else 1.0) for weight in weights]

    def log(probability: float) -> float:
        return float(np.log(probability)) if probability else -math.inf

    groups: dict[str, list[Rule]] = {}
    for rule in rules.rules:
        groups.setdefault(rule.parent, []).append(rule)
    masses = {
        rule: mass
        for group in groups.values()
        for rule, mass in zip(group, divided([rules.rules[rule] for rule in group]), strict=True)
        if mass
    }
    lexical = {rule for rule in masses if len(rule.children) == 1 and quoted(rule.children[0])}
    used = {*rules.start, *(rule.parent for rule in masses)}
    used |= {child for rule in masses.keys() - lexical for child in rule.children}
    order = sorted(used, key=lambda name: (name[1:-1], True) if quoted(name) else (name, False))
    entries = [
        (rule.children[0][1:-1], rule.parent, mass) for rule, mass in masses.items() if rule in lexical
    ]
    entries += [(name[1:-1], name, 1.0) for name in order if quoted(name)]
    words = sorted({word for word, _, _ in entries})
    tables = [
        sorted(
            (order.index(rule.parent), *map(order.index, rule.children), log(mass))
            for rule, mass in masses.items()
            if rule not in lexical and len(rule.children) == size
        )
        for size in (2, 1)
    ]
    rows = [
        *tables,
        sorted((words.index(word), order.index(name), log(mass)) for word, name, mass in entries),
    ]
    binary, unary, leaves = (
        [*np.array(table, np.float64).reshape(-1, width).T]
        for table, width in zip(rows, (4, 3, 3), strict=True)
    )
    starts = dict(zip(rules.start, divided(list(rules.start.values())), strict=True))
    names = (
        *("parent", "left", "right", "log_prob", "unary_parent", "unary_child", "unary_log_prob"),
        *("lexical_terminal", "lexical_symbol", "lexical_log_prob", "root_log_prob"),
    )
    root = np.array([log(starts.get(name, 0.0)) for name in order])
    arrays = dict(zip(names, (*binary, *unary, *leaves, root), strict=True))
    typed = {name: a if "log" in name else a.astype(np.int32) for name, a in arrays.items()}
    over = {
        rule: weight for rule, weight in rules.rules.items() if rule.children in {(f"'{w}'",) for w in words}
    }
    counted = None not in [
        weight.count
        for rule, weight in rules.rules.items()
        if len(rule.children) == 1 and quoted(rule.children[0])
    ]
    usual: list[str | None] = []
    for word in words:
        tags: dict[str, float] = {}
        for rule, weight in over.items():
            if rule.children == (f"'{word}'",):
                tag, mass = project(rule.parent), weight.count if counted else weight.probability
                tags[tag] = tags.get(tag, 0.0) + (mass or 0.0)
        usual.append(min(tags, key=lambda tag: (-tags[tag], tag)) if tags else None)
    return {
        "terminal_kind": rules.terminal_kind,
        "symbols": tuple(order),
        "terminals": tuple(words),
        **{name: (array.dtype, array.tobytes()) for name, array in typed.items()},
        "unknown": rules.unknown,
        "usual_tags": tuple(usual),
    }


sets = rule_sets(max_children=2) | rule_sets(names=st.builds("{}~{}".format, symbols, st.sampled_from("01")))


@given(sets.filter(lambda rules: all(len(rule.children) < 3 for rule in rules.rules)))
def test_arrays_are_those_of_one_rule_at_a_time(
    tmp_path_factory: pytest.TempPathFactory, rules: RuleSet
) -> None:
    path = tmp_path_factory.getbasetemp() / "arrays.grammar"
    write_rules(rules, path)
    grammar = read_grammar(path)
    assert bits(grammar) == bits(PCFG.from_rules(rules)) == naive(read_rules(path))
    assert list(read_rules(path).rules) == sorted(rules.rules)
    write_grammar(grammar, path.with_suffix(".again"))
    assert path.with_suffix(".again").read_bytes() == path.read_bytes()


def test_a_pickled_grammar_has_its_arrays(tmp_path: Path) -> None:
    write_rules(SPLIT, tmp_path / "g")
    grammar = read_grammar(tmp_path / "g")
    sent = pickle.loads(pickle.dumps(grammar))
    assert (sent.rules, bits(sent)) == (None, bits(grammar))
    assert grammar.rules == SPLIT


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    write_rules(SPLIT, tmp_path / "g")
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes((tmp_path / "g").read_bytes()))
    writer.start()
    assert bits(read_grammar(tmp_path / "pipe")) == bits(read_grammar(tmp_path / "g"))
    writer.join()


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_says_the_encoding(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "g").write_text(TEXT.replace("NN", "\u00e9"), encoding)
    assert Rule("NP", ("'DT'", "'\u00e9'")) in read_rules(tmp_path / "g").rules


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "g").write_text(TEXT.replace("NN", "\u00e9"), "latin-1")
    with pytest.raises(FileError, match="g:6: bytes that are not utf-8"):
        read_rules(tmp_path / "g")


def test_longer_rules_are_refused_by_charts_unless_impossible() -> None:
    counts = {Rule("S", ("'x'", "'x'", "'x'")): 0.0, Rule("S", ("'x'", "'y'")): 1.0}
    assert PCFG.from_rules(relative_frequencies("tags", {"S": 1.0}, counts)).log_prob.tolist() == [0.0]
    counts[Rule("S", ("'x'", "'x'", "'x'"))] = 1.0
    with pytest.raises(GrammarError, match="3-ary rule S -> 'x' 'x' 'x': charts take rules of one or two"):
        PCFG.from_rules(relative_frequencies("tags", {"S": 1.0}, counts))


RULES = RuleSet(
    "tags",
    {"S^X": Weight(0.4), "S": Weight(0.3), "NP": Weight(0.3)},
    {
        Rule("S", ("NP", "'VB'")): Weight(0.5),
        Rule("S", ("'NP'", "'VB'")): Weight(0.5),
        Rule("S", ("S", "S")): Weight(0),
        Rule("S^X", ("S", "NP_Cont>VB")): Weight(1),
        Rule("NP", ("'UH'",)): Weight(0.75),
        Rule("NP", ("S",)): Weight(0.25),
        Rule("NP_Cont>VB", ("'VB'", "'VB'")): Weight(1),
    },
)


def test_projected_labels() -> None:
    """A tag and a phrase of one name have one label; annotations are projected away, flags are not."""
    grammar = PCFG.from_rules(RULES)
    assert grammar.labels == ("NP", "NP_Cont", "S", "VB")
    assert [grammar.labels[i] for i in grammar.label_ids] == ["NP", "NP", "NP_Cont", "S", "S", "VB"]


def test_start_label_sums_over_symbols() -> None:
    assert PCFG.from_rules(RULES).start_label == "S"


def test_encode() -> None:
    grammar = PCFG.from_rules(RULES)
    ids = grammar.encode(["VB", "missing", "'VB'", "NP"])
    assert ids.dtype == np.int32
    assert ids.tolist() == [2, UNKNOWN_TERMINAL, UNKNOWN_TERMINAL, 0]
    assert grammar.encode([]).tolist() == []
