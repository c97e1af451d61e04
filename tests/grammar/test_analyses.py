"""The analyses of prefixes: all trees cut behind them, derivations the best first, and Hale's garden path."""

import math
from collections.abc import Iterator

import naive_analyses as twin
import pytest
from conversion import rules_of
from hypothesis import assume, given
from hypothesis import strategies as st
from naive_analyses import Nested
from naive_prefixes import Words
from prefix_strategies import any_words, consistent_grammars, derived, finite_grammars
from test_derivation_entropy import HALE

import mbrparse as mp
from mbrparse.decode.words.analyses import Analyses, Analysis
from mbrparse.decode.words.prefixes import Prefixes
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.rules import RuleSet


def nested(pcfg: PCFG, analysis: Analysis, words: Words) -> Nested:
    """An analysis as the twin has it."""
    given, spoken = iter(analysis.rules), iter(words)

    def below(symbol: int) -> Nested:
        parent, *children = next(given, (-1,))
        name = pcfg.symbols[symbol]
        if parent < 0:
            return (name,)
        assert parent == symbol
        parts = [below(child) for child in children if child >= 0]
        return (name, *parts) if parts else (name, next(spoken))

    return below(analysis.rules[0][0])


@given(st.data(), finite_grammars(cyclic=False), st.integers(1, 30))
def test_analyses_are_all_trees_cut_behind_the_prefix(data: st.DataObject, rules: RuleSet, most: int) -> None:
    words = data.draw(derived(rules, 8) | any_words(rules))
    known = twin.trees(rules)
    assume(len(known) < 5000 and words)
    pcfg = PCFG.from_rules(rules)
    prefixes, tokens, n = Prefixes(pcfg), pcfg.encode(words), len(words)
    analyses = Analyses(prefixes, most)
    found = analyses.of_prefixes(tokens)
    of_words, listed = analyses.rows(words, tokens, prefixes.read(tokens))
    groups = [twin.grouped(rules, words[:k]) for k in range(1, n + 1)]
    groups.append({tree: p for tree, p in known if twin.words_of(tree) == words})
    best = max([*groups[n].values(), 0.0]) or max([*groups[n - 1].values(), 0.0])
    for k, (one, group) in enumerate(zip(found, groups, strict=True), start=1):
        masses = sorted(group.values(), reverse=True)
        assert [math.exp(each.log_prob) for each in one] == pytest.approx(masses[:most])
        trees = [nested(pcfg, each, words) for each in one]
        assert len(set(trees)) == len(trees)
        assert [group[tree] for tree in trees] == pytest.approx(masses[:most])
        total, rows = math.fsum(masses), listed[k - 1]
        assert [row["probability"] for row in rows] == pytest.approx([p / total for p in masses[:most]])
        assert [row["open_brackets"] for row in rows] == list(map(twin.open_brackets, trees))
        later = groups[k] if k <= n else {}
        for row, tree in zip(rows, trees, strict=True):
            goes_on = math.fsum(p for longer, p in later.items() if twin.cut(longer, k) == tree)
            wanted = goes_on / math.fsum(later.values()) if later else math.nan
            assert row["continued"] == pytest.approx(wanted, abs=1e-12, nan_ok=True)
        near = sum(p * 10 >= masses[0] * (1 + 1e-9) for p in masses[:most])
        assert (
            near <= of_words[k - 1]["analyses_alive"] <= sum(p * 10.0001 >= masses[0] for p in masses[:most])
        )
        winners = {twin.cut(tree, k) for tree, p in (groups[n] or groups[n - 1]).items() if p > best * 0.999}
        wins = [tree for row, tree in zip(rows, trees, strict=True) if row["wins"]]
        assert set(wins) <= winners
        ranks = [row["analysis_rank"] for row in rows if row["wins"]] or [math.nan]
        assert of_words[k - 1]["winner_rank"] == pytest.approx(ranks[0], nan_ok=True)
        if len(winners) == 1 and group:
            p = of_words[k - 1]["winner_probability"]
            assert p == pytest.approx(group[next(iter(winners))] / total)
            assert bool(wins) == (next(iter(winners)) in trees)


@given(st.data(), consistent_grammars() | finite_grammars(), st.integers(1, 25))
def test_infinitely_many_come_in_their_order(data: st.DataObject, rules: RuleSet, most: int) -> None:
    """Left recursion, and cycles of unary rules."""
    words = data.draw(derived(rules, 4))
    pcfg = PCFG.from_rules(rules)
    found = Analyses(Prefixes(pcfg), most).of_prefixes(pcfg.encode(words))
    for k in range(1, len(words) + 1):
        masses = [math.exp(one.log_prob) for one in found[k - 1]]
        least = 1e-5 * masses[0]
        wanted = twin.best_first(rules, words[:k], most, least)
        assert [p for p in masses if p >= least] == pytest.approx(wanted)
        assert len({one.rules for one in found[k - 1]}) == len(masses)
        assert all(one.until(k) == len(one.rules) for one in found[k - 1])
    best = found[-1][0]
    ways = [one.rules for one in found[len(words) - 1]]
    assert sum(left < 0 for _, left, _ in best.rules[: best.until(1)]) == 1
    assert best.rules in ways or len(ways) == most


def analysed(
    rules: RuleSet, text: str, most: int = 3
) -> Iterator[tuple[str, list[tuple[float, float, str]]]]:
    table = mp.analyses(PCFG.from_rules(rules), text, most)
    for _, rows in table.groupby("position"):
        columns = rows[["probability", "continued", "analysis"]].round(4).values.tolist()
        yield str(rows["word"].iloc[0]), [tuple(row) for row in columns]


def test_hales_garden_path() -> None:
    found = dict(analysed(rules_of(HALE), "the horse raced past the barn fell"))
    dies, horse, barn = found["barn"]
    assert dies == (
        0.6895,
        0.0,
        "(S (NP (DT the) (NN horse)) (VP (VBN raced) (PP (IN past) (NP (DT the) (NN barn)))))",
    )
    # Either the horse or the barn fell: both are equally probable.
    assert horse[:2] == barn[:2] == (0.0852, 0.3675)
    assert {horse[2], barn[2]} == {
        "(S (NP (NP (DT the) (NN horse)) (VP (VBN raced) (PP (IN past) (NP (DT the) (NN barn))))) (VP ...))",
        "(S (NP (DT the) (NN horse)) (VP (VBN raced) (PP (IN past) (NP (NP (DT the) (NN barn)) (VP ...)))))",
    }
    assert [p for p, _, _ in found["</s>"]] == [0.4489, 0.4489, 0.0511]


def test_how_analyses_are_written() -> None:
    """Continuations are not shown; what is still to come of a long rule has its symbols, or dots."""
    typed = mp.grammar("S -> A B '.' [0.75] | A C [0.25]\nA -> 'a' [1.0]\nB -> 'b' [1.0]\nC -> 'b' '.' [1.0]")
    table = mp.analyses(typed, "a b .")
    assert table["analysis"].tolist() == [
        *("(S (A a) (B ...) (. ...))", "(S (A a) (C ...))"),
        *("(S (A a) (B b) (. ...))", "(S (A a) (C b (. ...)))"),
        *("(S (A a) (B b) .)", "(S (A a) (C b .))") * 2,
    ]
    assert table["open_brackets"].tolist() == [1, 1, 1, 2, 0, 0, 0, 0]
    counted = mp.train([mp.binarize("(S a b c d)")])
    table = mp.analyses(counted, "a b", end=False)
    assert table["analysis"].tolist()[0] == "(S a ...)"
    assert table["analysis"].tolist()[-1] == "(S a b ...)"
    assert table["position"].max() == 2


def test_columns_of_words() -> None:
    hale = PCFG.from_rules(rules_of(HALE))
    text = "the horse raced past the barn fell"
    table = mp.surprisal(hale, text, analyses=5)
    assert table["winner_rank"].tolist() == [1, 1, 1, 1, 3, 3, 4, 1]
    assert table["winner_probability"].round(4).tolist() == [
        0.8764,
        0.8764,
        0.7526,
        0.7868,
        0.0852,
        0.0852,
        0.1131,
        0.4489,
    ]
    assert table["open_brackets"].tolist() == [2, 1, 2, 3, 4, 0, 2, 0]
    # What is impossible has none; without a tree of the sentence the best of its words wins.
    table = mp.surprisal(hale, "the horse horse", analyses=2)
    assert table["analysis"].tolist()[1:] == ["(S (NP (DT the) (NN horse)) (VP ...))", "", ""]
    assert table["winner_rank"].isna().all()
    table = mp.surprisal(hale, "the horse", analyses=2)
    assert table["winner_rank"].tolist()[:2] == [1, 1]
    assert table["analysis"].tolist()[2] == ""


def test_a_long_sentence_beyond_the_range_of_numbers() -> None:
    rare = rules_of({"S -> S S": 0.25, "S -> a": 0.75e-160, "S -> b": 0.75})
    pcfg = PCFG.from_rules(rare)
    found = Analyses(Prefixes(pcfg), 3).of_prefixes(pcfg.encode(["a"] * 40))
    assert found[0][0].log_prob == pytest.approx(math.log(0.75e-160))
    assert found[-1][0].log_prob == pytest.approx(40 * math.log(0.75e-160) + 39 * math.log(0.25))
    assert [len(one) for one in found] == [3] * 41
