"""bitpar's and NLTK's grammar formats, there and back."""

from pathlib import Path

import nltk
import pytest
from grammar_strategies import rule_sets
from hypothesis import assume, given
from hypothesis import strategies as st
from tree_strategies import tokens

from mbrparse.files import read_lines
from mbrparse.grammar import grammar_formats
from mbrparse.grammar.grammar_formats import read_bitpar, write_bitpar, write_nltk
from mbrparse.grammar.rules import (
    Rule,
    RuleSet,
    TerminalKind,
    Weight,
    is_terminal,
    relative_frequencies,
    unquote,
)

# Goodman (1996), grammar (3), and the grammar of Sima'an (2003), section 4.
COUNTS = relative_frequencies(
    "words",
    {"S": 3, "NP": 1},
    {
        Rule("S", ("NP", "VB")): 3,
        Rule("NP", ("DT", "NN")): 2,
        Rule("NP", ("NP", "NP")): 1.5,
        Rule("DT", ("'the'",)): 2,
        Rule("NN", ("'dog'",)): 1,
        Rule("NN", ("'saw'",)): 1,
        Rule("VB", ("'saw'",)): 3,
    },
)

nltk_terminals = tokens.filter(lambda text: not ("'" in text and '"' in text))


def read_nltk(path: Path, *options: TerminalKind, **named: str) -> RuleSet:
    return grammar_formats.read_nltk(read_lines(path), str(path), *options, **named)  # type: ignore[arg-type]


def read(tmp_path: Path, text: str, **options: str) -> RuleSet:
    path = tmp_path / "grammar.txt"
    path.write_text(text, "utf-8")
    return read_nltk(path, **options)


# --- NLTK --------------------------------------------------------------------------------


@given(rule_sets(terminals=nltk_terminals))
def test_nltk_there_and_back(tmp_path_factory: pytest.TempPathFactory, rules: RuleSet) -> None:
    path = tmp_path_factory.getbasetemp() / "random.pcfg"
    write_nltk(rules, path)
    again = read_nltk(path, rules.terminal_kind)
    assert again.start == {name: Weight(w.probability) for name, w in rules.start.items()}
    assert again.rules == {rule: Weight(w.probability) for rule, w in rules.rules.items()}


@given(rule_sets(terminals=nltk_terminals))
def test_nltk_itself_reads_what_we_write(tmp_path_factory: pytest.TempPathFactory, rules: RuleSet) -> None:
    path = tmp_path_factory.getbasetemp() / "theirs.pcfg"
    write_nltk(rules, path)
    theirs = nltk.PCFG.fromstring(path.read_bytes().decode())
    assert str(theirs.start()) == "ROOT"
    below = [production for production in theirs.productions() if str(production.lhs()) != "ROOT"]

    def shape(children: tuple[object, ...]) -> tuple[str | None, ...]:
        return tuple(child if isinstance(child, str) else None for child in children)

    assert [(shape(p.rhs()), p.prob()) for p in below] == [
        (tuple(unquote(c) if is_terminal(c) else None for c in rule.children), pytest.approx(w.probability))
        for rule, w in sorted(rules.rules.items())
    ]
    assert len({p.lhs() for p in below}) == len({rule.parent for rule in rules.rules})


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("ROOT -> S [0.75] | NP [0.25]\nS -> NP 'x' [1.0]\nNP -> 'x' 'y' [1.0]", {"S": 0.75, "NP": 0.25}),
        ("S -> NP 'x' [1.0]\nNP -> 'x' 'y' [1.0]", {"S": 1.0}),
        ("%start NP\nS -> NP 'x' [1.0]\nNP -> 'x' 'y' [1.0]", {"NP": 1.0}),
        # not a mere start distribution
        ("ROOT -> NP NP [1.0]\nNP -> 'x' 'y' [1.0]", {"ROOT": 1.0}),
    ],
)
def test_root_rules_are_the_start_distribution(text: str, start: dict[str, float], tmp_path: Path) -> None:
    rules = read(tmp_path, text)
    assert {name: w.probability for name, w in rules.start.items()} == start
    assert ("ROOT" in start) == any(rule.parent == "ROOT" for rule in rules.rules)


# --- bitpar ------------------------------------------------------------------------------


def test_bitpars_two_files(tmp_path: Path) -> None:
    rules, lexicon = tmp_path / "rules", tmp_path / "lexicon"
    write_bitpar(COUNTS, rules, lexicon)
    assert rules.read_text() == "2\tNP\tDT\tNN\n1.5\tNP\tNP\tNP\n1\tROOT\tNP\n3\tROOT\tS\n3\tS\tNP\tVB\n"
    assert lexicon.read_text() == "dog\tNN 1\nsaw\tNN 1\tVB 3\nthe\tDT 2\n"
    assert read_bitpar(rules, lexicon) == COUNTS


@given(rule_sets(terminals=tokens), st.sampled_from(["ROOT", "%"]))
def test_bitpar_there_and_back(tmp_path_factory: pytest.TempPathFactory, rules: RuleSet, root: str) -> None:
    """Words under preterminals, or tags and nothing else, as trained grammars have them."""
    base = tmp_path_factory.getbasetemp()
    lexical = {rule for rule in rules.rules if len(rule.children) == 1 and is_terminal(rule.children[0])}
    longer = rules.rules.keys() - lexical
    combined = {child for rule in longer for child in rule.children if is_terminal(child)}
    assume(bool(lexical) != bool(combined))
    assume(all(unquote(c) not in {rule.parent for rule in rules.rules} for c in combined))
    assume(any(rule.children != (f"'{rule.parent}'",) for rule in lexical) or not lexical)
    assume(longer)
    assume(root not in {rule.parent for rule in rules.rules})
    write_bitpar(rules, base / "rules", base / "lexicon", root)
    again = read_bitpar(base / "rules", base / "lexicon", root)
    assert again.terminal_kind == ("tags" if combined else "words")
    assert again.rules.keys() == rules.rules.keys()
    for rule, weight in rules.rules.items():
        assert again.rules[rule].probability == pytest.approx(weight.probability)
    assert {n: w.probability for n, w in again.start.items()} == pytest.approx(
        {n: w.probability for n, w in rules.start.items()}
    )
