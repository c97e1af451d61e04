"""Grammar files as columns: the same grammar as the reader of lines finds, to the last bit, or None."""

import math
import os
import pickle
import re
import threading
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from grammar_strategies import rule_sets, symbols
from hypothesis import given
from hypothesis import strategies as st

from mbrparse.errors import GrammarError, MbrparseError
from mbrparse.grammar.files.grammars import read_any_grammar, read_grammar, write_grammar
from mbrparse.grammar.grammar_file import read_rules, write_rules
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.rule_columns import RuleColumns, read_columns
from mbrparse.grammar.rules import Rule, RuleSet, Weight, relative_frequencies
from mbrparse.run.manifest import content_digest
from mbrparse.treebank.labels import project

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
def test_columns_are_what_lines_are(tmp_path_factory: pytest.TempPathFactory, rules: RuleSet) -> None:
    path = tmp_path_factory.getbasetemp() / "columns.grammar"
    write_rules(rules, path)
    found = read_columns(path)
    # Words may hold bytes that the quick reader leaves to the other one.
    assert (found is None) == any(byte < 32 and byte != 10 for byte in path.read_bytes())
    lines = read_rules(path)
    assert bits(read_grammar(path)) == bits(PCFG.from_rules(lines)) == naive(lines)
    if found is not None:
        assert found.rules() == lines
        assert list(found.rules().rules) == list(lines.rules)


EDITS = [
    "",
    " ",
    "\n",
    "\t",
    "\r",
    "-",
    "_",
    "1_0",
    "0",
    "9",
    "nan",
    "inf",
    "1e400",
    "#",
    "->",
    "'",
    "~",
    "\u00e9",
]
EDITS += [
    " - ",
    "\n0 0 S~0 -> NP NP\n",
    "\n- - S~0 -> NP NP\n",
    "\n# note\n",
    "end\n",
    "\nstart NP 0 0\n",
    "\ufeff",
]


@given(st.data())
def test_of_a_changed_file_columns_are_what_lines_are_or_none(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / "edited.grammar"
    write_rules(SPLIT, path)
    text = path.read_text("utf-8")
    for _ in range(data.draw(st.integers(1, 2))):
        place = data.draw(st.integers(0, len(text)))
        text = text[:place] + data.draw(st.sampled_from(EDITS)) + text[place + data.draw(st.integers(0, 3)) :]
    path.write_text(text, "utf-8")
    found = read_columns(path)
    if found is not None:
        assert bits(PCFG.from_columns(found)) == bits(PCFG.from_rules(read_rules(path)))


@pytest.mark.parametrize(
    ("old", "new", "quick"),
    [
        ("0.4 2 S~0", "- 2 S~0", True),  # the counts' share
        ("0.4 2 S~0", "0.4 - S~0", True),
        ("0.4 2 S~0", "0.40000000000000002 2 S~0", True),
        ("0.4 2 S~0", "0.4000001 2 S~0", True),  # sums to nearly one
        ("0.4 2 S~0", "0.4_0 2 S~0", False),
        ("0.4 2 S~0", "+0.4 2.0E0 S~0", True),
        ("0.4 2 S~0", "0.4 2  S~0", False),
        ("0.4 2 S~0", "# note\n0.4 2 S~0", False),
        ("S~0 -> S~1", "S~0 -> NP S~1", False),  # a rule twice
        ("0.4 2 S~0", "0.5 2 S~0", False),
        ("0.4 2 S~0", "0.4 9 S~0", False),
        ("0.4 2 S~0", "0.4 1e301 S~0", False),
        ("0.6 3 S~0", "1.6 - S~0", False),
        ("0.4 2 S~0 ->", "0.4 2 S~0 =>", False),
        ("rules 6", "rules 7", False),
        ("-> NP S~1", "-> VP S~1", False),
        ("start S~0", "start 'eats'", False),
        ("0.9 9 S~1 -> 'eats'", "0.9 9 S~1 -> S~0", True),  # left with probability one tenth
        ("0.9 9 S~1 -> 'eats'\n0.1 1", "1 9 S~1 -> S~1\n0 0", False),
        ("NP", "^NP", False),
        ("end\n", "end", False),
        ("end\n", "end\nend\n", False),
        ("mbrparse-grammar 1", "mbrparse-grammar 2", False),
    ],
)
def test_what_is_read_as_columns(tmp_path: Path, old: str, new: str, quick: bool) -> None:
    path = tmp_path / "g"
    write_rules(SPLIT, path)
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")
    found = read_columns(path)
    assert (found is not None) == quick
    try:
        rules = read_rules(path)
    except MbrparseError as error:
        assert not quick
        with pytest.raises(type(error), match=re.escape(str(error))):
            read_grammar(path)
    else:
        assert bits(read_grammar(path)) == bits(PCFG.from_rules(rules)) == naive(rules)


def test_rules_are_made_when_they_are_asked_for(tmp_path: Path) -> None:
    write_rules(SPLIT, tmp_path / "g")
    for grammar in (read_grammar(tmp_path / "g"), read_any_grammar(tmp_path / "g").pcfg):
        assert isinstance(grammar.source, RuleColumns)
        rules = read_rules(tmp_path / "g")
        assert content_digest(grammar.content) == content_digest(PCFG.from_rules(rules).content)
        assert grammar.rules == rules
        write_grammar(grammar, tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == (tmp_path / "g").read_bytes()
        sent = pickle.loads(pickle.dumps(grammar))
        assert sent.rules is None
        assert bits(sent) == bits(grammar)


def test_what_is_to_be_normalized_is_read_by_lines(tmp_path: Path) -> None:
    write_rules(SPLIT, tmp_path / "g")
    text = (tmp_path / "g").read_text().replace("0.5 -", "0.25 -")
    (tmp_path / "g").write_text(text)
    with pytest.raises(GrammarError, match=r"the rules of NP have probabilities that sum to 0\.5, not 1"):
        read_grammar(tmp_path / "g")
    assert np.exp(read_grammar(tmp_path / "g", normalize=True).lexical_log_prob).round(3).tolist() == [
        0.5,
        0.5,
        0.9,
    ]


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    write_rules(SPLIT, tmp_path / "g")
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes((tmp_path / "g").read_bytes()))
    writer.start()
    assert bits(read_grammar(tmp_path / "pipe")) == bits(read_grammar(tmp_path / "g"))
    writer.join()


def test_longer_rules_are_refused_unless_impossible() -> None:
    counts = {Rule("S", ("'x'", "'x'", "'x'")): 0.0, Rule("S", ("'x'", "'y'")): 1.0}
    assert PCFG.from_rules(relative_frequencies("tags", {"S": 1.0}, counts)).log_prob.tolist() == [0.0]
    counts[Rule("S", ("'x'", "'x'", "'x'"))] = 1.0
    with pytest.raises(GrammarError, match="3-ary rule S -> 'x' 'x' 'x': charts take rules of one or two"):
        PCFG.from_rules(relative_frequencies("tags", {"S": 1.0}, counts))
