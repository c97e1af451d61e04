"""Brackets that parses must have, against all derivations listed one by one, without those that lack one.

The twin of every objective is a grammar that has just the derivations that are left: each is of symbols of
its own, with its probability at the root, and the library parses the sentence with it, without brackets.
"""

import json
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import NamedTuple

import naive
import pytest
from commandline import Outcome, run
from conversion import posteriors_of, rules_of, to_rules
from hypothesis import assume, given
from hypothesis import strategies as st
from naive_objectives import projection_of
from strategies import derived
from unary_strategies import unary_cases

import mbrparse as mp
from mbrparse.decode.answers import ParserOptions
from mbrparse.decode.objectives import OBJECTIVES, Objective, Space
from mbrparse.decode.parser.parser import Parse
from mbrparse.decode.trees import LabelledSpans
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.rules import TerminalKind
from mbrparse.training.bracketed_text import BracketedSentence, encode_corpus
from mbrparse.training.expectation import EStep, probabilities
from mbrparse.treebank.outlines import constituents

TERMINALS = ("x", "y", "z")
MOST = 40
"""How many derivations are compared at most."""
LABELS = ("NP^S", "NP^VP", "X_Cont", "S+VP", "VP", "VP@2", "S&1", "S+VP_Cont", "NP+NP", "QP")


class Bracket(NamedTuple):
    """A constituent that must be there; the label * is any."""

    start: int
    end: int
    label: str


def chain_over(tree: naive.Node, words: bool) -> dict[tuple[int, int], list[str]]:
    """By span the labels of the n-ary tree over it, from the top, with ``words`` tags too."""
    found: dict[tuple[int, int], list[str]] = defaultdict(list)
    for node in naive.nodes(tree):
        label = projection_of(naive.Grammar({node.symbol: 1.0}, {}, {}))[node.symbol]
        is_written = bool(node.children) or (words and node.symbol not in TERMINALS)
        if is_written and not label.endswith("_Cont"):
            found[node.start, node.end] += label.split("+") if node.children else [label]
    return found


def has(tree: naive.Node, brackets: Sequence[Bracket], words: bool) -> bool:
    """Whether all brackets are constituents, those over one span in this order; * says that there is one."""
    chains, asked = chain_over(tree, words), defaultdict(list)
    for start, end, label in brackets:
        asked[start, end].append(label)
    for span, labels in asked.items():
        rest = iter(chains[span])
        if not chains[span] or not all(label in rest for label in labels if label != "*"):
            return False
    return True


def text_of(sentence: Sequence[str], brackets: Sequence[Bracket], words: bool) -> str:
    """The sentence with its brackets; over a tag they stand around a word with that tag."""
    tokens = list(sentence)
    if not words and any(end - start == 1 for start, end, _ in brackets):
        tokens = [f"({word} {word})" for word in tokens]
    for start, end, label in reversed(brackets):  # inner ones first
        tokens[start] = f"({label} {tokens[start]}"
        tokens[end - 1] += ")"
    return " ".join(tokens)


def grammar_of(
    left: Sequence[tuple[naive.Node, naive.P]], sentence: Sequence[str], unaries: bool
) -> naive.Grammar:
    """A grammar that has these derivations of the sentence and no others."""
    total = sum(p for _, p in left)
    grammar, names = naive.Grammar({}, {}, {}), count()

    def add(node: naive.Node) -> str:
        if node.symbol in TERMINALS:
            grammar.lexical[node.symbol, node.symbol] = 1.0
            return node.symbol
        name, below = f"{node.symbol}~{next(names)}", tuple(map(add, node.children))
        if len(below) == 2:
            grammar.binary[name, below[0], below[1]] = 1.0
        elif below:
            grammar.unary[name, below[0]] = 1.0
        else:
            grammar.lexical[name, sentence[node.start]] = 1.0
        return name

    for tree, p in left:
        grammar.start[add(tree)] = float(p / total)
    if unaries:  # where there are none, labels over one span are alternatives
        grammar.unary["NONE~1", "NONE~2"] = grammar.lexical["NONE~2", sentence[0]] = 1.0
    return grammar


def parsed(
    grammar: naive.Grammar, words: bool, sentence: object, rows: Sequence[Objective], constrain: bool
) -> Parse:
    kind: TerminalKind = "words" if words else "tags"
    pcfg = PCFG.from_rules(replace(to_rules(grammar), terminal_kind=kind))
    options = ParserOptions(tuple(rows), k_best=MOST, expectations=True, constrain=constrain)
    return mp.Parser(pcfg, options=options).parse(sentence)[0]


def by_tree(parse: Parse) -> dict[object, float]:
    """The candidates' log probabilities by their constituents: words may have several tags."""
    return {one.tree and tuple(constituents(one.tree)): one.log_prob for one in parse.candidates}


def scores(parse: Parse) -> dict[str, float]:
    """Those of the objectives that have a tree."""
    return {name: score for name, score in parse.expected_scores.items() if score is not None}


def check(
    grammar: naive.Grammar,
    sentence: list[str],
    brackets: list[Bracket],
    words: bool,
    rows: Sequence[Objective],
) -> None:
    text = text_of(sentence, brackets, words)
    every = naive.derivations(grammar, sentence)
    left = [(tree, p) for tree, p in every if has(tree, brackets, words)]
    assume(len(left) <= MOST)
    found = parsed(grammar, words, text, rows, True)
    if not left:
        assert found.log_prob == -math.inf
        numbers = range(len(brackets) + 1)
        first = next(n for n in numbers if not any(has(tree, brackets[:n], words) for tree, _ in every))
        assert found.reason is not None
        if first:
            start, end, label = brackets[first - 1]
            assert f"({label} {' '.join(sentence[start:end])}) is the first" in found.reason
        else:
            assert found.reason == "no parse"
        return
    total = float(sum(p for _, p in left))
    assert found.log_prob == pytest.approx(math.log(total), abs=1e-9)
    twin = parsed(grammar_of(left, sentence, bool(grammar.unary)), words, [sentence], rows, False)
    assert twin.log_prob == pytest.approx(0.0, abs=1e-9)
    assert found.posteriors is not None
    assert twin.posteriors is not None
    for one in ("entries", "nary_entries"):
        known = found.posteriors, twin.posteriors
        ours, theirs = (posteriors_of(getattr(each, one), each.labels) for each in known)
        assert ours == pytest.approx(theirs, abs=1e-9)
    assert scores(found) == pytest.approx(scores(twin), rel=1e-6, abs=1e-9)
    expected = {tree: log_prob + math.log(total) for tree, log_prob in by_tree(twin).items()}
    if len(sentence) > 1:  # what is written over one word is the grammar's usual root
        assert by_tree(found) == pytest.approx(expected, abs=1e-9)
    for objective, decoded in zip(found.objectives, found.decoded, strict=True):
        if decoded is not None:
            tags = decoded.preterminals if words else ()
            assert kept(objective, decoded.spans, tags, brackets, bool(grammar.unary)), objective


def kept(
    objective: Objective,
    spans: LabelledSpans,
    tags: Sequence[str | None],
    brackets: Sequence[Bracket],
    unaries: bool,
) -> bool:
    """Whether a tree has the brackets.

    With unary rules trees that are none of the grammar's have the brackets' spans, but need not have all the
    labels of a chain: the free space has one label over a span, and none over a word. An n-ary tree may be
    without what is not probable enough.
    """
    over: dict[tuple[int, int], list[str]] = defaultdict(list)
    for start, end, label in spans:
        over[start, end] += [] if label.endswith("_Cont") else label.split("+")
    for place, tag in enumerate(tags):
        over[place, place + 1] += [tag] if tag else []
    for start, end, label in brackets:
        if label == "*" or (unaries and objective.space is not Space.GRAMMAR):
            there = objective.space is Space.NARY or end - start == 1 or (start, end) in over
        else:
            there = label in over[start, end]
        if not there:
            return False
    return True


@st.composite
def bracketed(draw: st.DrawFn, grammar: naive.Grammar, sentence: list[str], words: bool) -> list[Bracket]:
    """Some brackets of a derivation, in the order of the text, perhaps with labels that it does not have."""
    every = naive.derivations(grammar, sentence)
    chains = chain_over(draw(st.sampled_from(every))[0], words)
    labels = sorted(
        {label for tree, _ in every for chain in chain_over(tree, words).values() for label in chain}
    )
    brackets = []
    for span in sorted(chains, key=lambda span: (span[0], -span[1])):
        for label in chains[span]:
            kind = draw(st.sampled_from(["none", "label", "any", "other"]))
            if kind == "any" and span[1] - span[0] > 1:
                brackets.append(Bracket(*span, "*"))
            elif kind in ("label", "other"):
                brackets.append(Bracket(*span, label if kind == "label" else draw(st.sampled_from(labels))))
    return brackets


BINARY = [row for name, row in OBJECTIVES.items() if name != "minimum-risk"]
UNARY = [row.for_unaries() for row in BINARY if row.name != "most-probable-tree"]


@given(derived(), st.data(), st.booleans())
def test_every_objective_of_grammars_without_unary_rules(
    case: tuple[naive.Grammar, list[str]], data: st.DataObject, words: bool
) -> None:
    brackets = data.draw(bracketed(*case, words))
    check(*case, brackets, words, BINARY)


@given(unary_cases(cyclic=False, nonterminals=LABELS), st.data(), st.booleans())
def test_every_objective_of_grammars_with_unary_rules(
    case: tuple[naive.Grammar, list[str]], data: st.DataObject, words: bool
) -> None:
    assume(naive.derivations(*case))
    check(*case, data.draw(bracketed(*case, words)), words, UNARY)


CYCLIC = naive.Grammar(
    {"S": 0.5, "NP": 0.5},
    {("S", "V", "W"): 0.5, ("VP", "V", "W"): 0.6, ("NP", "V", "W"): 0.3},
    {("S", "x"): 0.3, ("NP", "x"): 0.45, ("V", "x"): 1.0, ("W", "y"): 1.0, ("VP", "x"): 0.2},
    {("S", "VP"): 0.1, ("VP", "NP"): 0.2, ("NP", "S"): 0.2, ("NP", "NP"): 0.05, ("S", "S"): 0.1},
)


@pytest.mark.parametrize("labels", [["S"], ["NP", "S"], ["S", "S"], ["VP", "NP", "VP"], ["*"], ["V"]])
@pytest.mark.parametrize("sentence", [["x"], ["x", "y"]])
def test_chains_that_go_round_cycles(labels: list[str], sentence: list[str]) -> None:
    """Against all chains of up to 14 rules: the others together have less than a millionth."""
    brackets = [Bracket(0, len(sentence), label) for label in labels]
    found = parsed(CYCLIC, True, text_of(sentence, brackets, True), [OBJECTIVES["labelled-tree"]], True)
    every = naive.derivations(CYCLIC, sentence, 14)
    left = [(tree, p) for tree, p in every if has(tree, brackets, True) or labels == ["*"]]
    total = float(sum(p for _, p in left))
    if not left:
        assert found.reason is not None
        return
    assert math.exp(found.log_prob) == pytest.approx(total, rel=1e-6)
    assert found.posteriors is not None
    constituents_of = defaultdict[tuple[int, int, str], float](float)
    for tree, p in left:
        for span in naive.labelled_spans(tree):
            constituents_of[span] += float(p) / total
    entries = found.posteriors.entries
    ours = posteriors_of(entries._replace(preterminals=0 * entries.preterminals), found.posteriors.labels)
    ours = {span: g for span, g in ours.items() if g > 1e-12}
    assert ours == pytest.approx(constituents_of, rel=1e-5)
    best = max(left, key=lambda one: one[1])
    assert found.expected_scores["labelled-tree"] == pytest.approx(float(best[1]) / total, rel=1e-5)


def test_the_restriction_is_that_of_training() -> None:
    rows = {"S -> S S": 3, "S -> A S": 2, "S -> A A": 1, "A -> A S": 1, "A -> x": 2, "S -> x": 1}
    grammar = PCFG.from_rules(rules_of(rows, kind="tags"))
    brackets = frozenset({(1, 4), (2, 4)})
    step = EStep(grammar, encode_corpus(grammar, [BracketedSentence(("x",) * 6, brackets)]))
    [log_prob] = step.expect(probabilities(grammar)).log_probs
    [parse] = mp.Parser(grammar, constrain=True).parse("x (* x (* x x)) x x")
    assert parse.log_prob == pytest.approx(log_prob, rel=1e-12)


def run_on(text: str, tmp_path: Path, *options: str | Path) -> Outcome:
    (tmp_path / "g.nltk").write_text(
        "S -> NP VP [1]\nNP -> NP PP [1/4] | 'I' [1/4] | 'stars' [1/4] | 'telescopes' [1/4]\n"
        "VP -> V NP [1/2] | VP PP [1/2]\nV -> 'saw' [1]\nPP -> P NP [1]\nP -> 'with' [1]\n"
    )
    (tmp_path / "in.txt").write_text(text)
    return run("parse", "-g", tmp_path / "g.nltk", tmp_path / "in.txt", "--constrain", *options)


def test_the_command_reads_a_sentence_a_line(tmp_path: Path) -> None:
    texts = ["I saw (NP stars with telescopes)", "(* I (VP (* saw stars) with telescopes))", ""]
    texts.append("(TOP (S I saw stars))")
    outcome = run_on("\n".join(texts), tmp_path, "--details", tmp_path / "d.jsonl")
    assert outcome.output.splitlines() == [
        "(S (NP I) (VP (V saw) (NP (NP stars) (PP (P with) (NP telescopes)))))",
        "(S (NP I) (VP (VP (V saw) (NP stars)) (PP (P with) (NP telescopes))))",
        "(())",
        "(S (NP I) (VP (V saw) (NP stars)))",
    ]
    rows = [json.loads(line) for line in (tmp_path / "d.jsonl").read_text().splitlines()]
    assert math.exp(rows[0]["log_probability"]) == pytest.approx(1 / 512)
    assert math.exp(rows[1]["log_probability"]) == pytest.approx(1 / 256)
    assert rows[0]["trees"]["labelled-recall"]["posterior"] == pytest.approx(1)


def test_a_trace_has_its_brackets(tmp_path: Path) -> None:
    """A word that is called like one is a word, as it is without --constrain."""
    outcome = run_on("I (VP saw -NONE- (-NONE- *)) stars", tmp_path)
    assert mp.read_tree(outcome.output).words() == ("I", "saw", "-NONE-", "stars")


def test_the_bracket_that_excludes_all_parses_is_named(tmp_path: Path) -> None:
    outcome = run_on("I (VP saw stars) (* with telescopes)\nI (* saw (NP stars with) telescopes)\n", tmp_path)
    assert "1 fell back (no parse within these brackets: (NP stars with) is the first" in outcome.err
    assert outcome.code == 0


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("I saw (NPP stars)", "the grammar has no label NPP; did you mean 'PP'?"),
        ("I saw (QX stars)", "the grammar has no label QX; brackets without a label: (* ...)"),
        ("I saw (NP stars", "never closed; brackets hold words or brackets"),
        ("I) saw (NP stars", "closing bracket without an opening one; brackets hold"),
        ("I saw ()", "empty brackets inside a tree; brackets hold"),
        ("I saw (NP )", "constituent 'NP' without children; brackets hold"),
    ],
)
def test_brackets_that_are_none_are_refused_with_their_line(text: str, told: str, tmp_path: Path) -> None:
    error = run_on(f"I saw stars\n{text}\n", tmp_path, "-o", tmp_path / "out.mrg").error
    assert not (tmp_path / "out.mrg").exists()
    assert "in.txt:2: " in error
    assert told in error


def test_who_cannot_constrain_says_so(tmp_path: Path) -> None:
    for other in (["--tagged"], ["--input", "tokens"], ["--tokenize"]):
        assert "cannot be combined with --constrain" in run_on("I", tmp_path, *other).usage_error
    assert "--constrain and --prune" in run_on("I", tmp_path, "--prune", "0.1").usage_error
    assert "--constrain and this" in run_on("I", tmp_path, "--engine", "best-first").usage_error
    tree = "(S (NP a b) c)"
    with pytest.raises(mp.MbrparseError, match=r"`constrain` needs a PCFG, not a DOP grammar"):
        mp.Parser(mp.train([tree], method="dop"), constrain=True)


def test_trees_and_lists_are_sentences_too() -> None:
    grammar = mp.train(["(S (NP a b) c)", "(S a (VP b c))", "(S (NP a b) c)"])
    parser = mp.Parser(grammar, constrain=True)
    assert [
        str(one.tree) for one in parser.parse([mp.read_tree("(S a (VP b c))"), "a (* b c)", ["a", "b", "c"]])
    ] == [
        "(S a (VP b c))",
        "(S a (VP b c))",
        "(S (NP a b) c)",
    ]
    assert str(parser.parse(mp.read_tree("(S a (VP b c))"))[0].tree) == "(S a (VP b c))"
