"""A limit of time for each sentence: who runs into it falls back, and nobody else notices."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commandline import Command
from conversion import rules_of

from mbrparse.charts import factory
from mbrparse.charts.base import clock as clocks
from mbrparse.charts.base.chart import Chart, Wanted
from mbrparse.charts.base.clock import Clock
from mbrparse.charts.base.packed_forest import STOPPED
from mbrparse.charts.crossing import consistency
from mbrparse.charts.dense import dense_charts, diagonal_charts
from mbrparse.charts.dense.dense_passes import dense_derivations, dense_outside, dense_posteriors
from mbrparse.charts.factory import ChartFactory
from mbrparse.charts.forest import forests, top_down
from mbrparse.charts.forest.forests import Forests
from mbrparse.charts.forest_charts import ForestCharts
from mbrparse.charts.kernel import kernel, seconds_of_making
from mbrparse.decode.best_first import best_first_charts
from mbrparse.decode.best_first.best_first import BestFirst, Until
from mbrparse.decode.best_first.best_first_charts import BestFirstCharts
from mbrparse.decode.best_first.search_kernels import TIME_UP, run_slice
from mbrparse.decode.candidates import k_best, samples
from mbrparse.decode.candidates.samples import Sampler
from mbrparse.decode.derivations import objective_search, search_memory
from mbrparse.decode.derivations.forest_decoder import ForestDecoder
from mbrparse.decode.derivations.forest_search import search_derivations
from mbrparse.decode.free import FreeDecoder, best_bracketing
from mbrparse.decode.nary import NaryDecoder, best_constituents, exact_f_decoder
from mbrparse.decode.parser.given_trees import GivenTree
from mbrparse.decode.parser.parser import Parser
from mbrparse.decode.parser.scoring import Scorer
from mbrparse.decode.parser_options import objective_of
from mbrparse.decode.posteriors.posteriors_file import read_posteriors
from mbrparse.decode.whole_trees import branch_and_bound
from mbrparse.decode.whole_trees.whole_tree_decoder import completions
from mbrparse.errors import OptionsError, TimeLimitError
from mbrparse.grammar.grammar_file import write_rules
from mbrparse.grammar.pcfg import PCFG
from mbrparse.treebank.brackets import read_tree
from mbrparse.treebank.tree import Tree

RULES = rules_of({"S -> S S": 2, "S -> x": 3}, kind="tags")
GRAMMAR = PCFG.from_rules(RULES)
# Two symbols of one label.
LATENT = PCFG.from_rules(rules_of({"S -> S S@1": 1, "S -> x": 1, "S@1 -> S S@1": 1, "S@1 -> x": 2}))
AGES = 1e6
"""Seconds that no test takes."""
SENTENCES = ["x x", "x x x x x", "x x x", "x", "x x x x"]
REASON = "not finished within 1e+06 seconds"

# The clock


def wait_for(clock: Clock) -> None:
    while not clock.stop[0]:
        time.sleep(0)


def test_the_flag_is_set_when_the_time_is_up_and_taken_back_after_the_block() -> None:
    clock = Clock(1e-6)
    for _ in range(3):
        with clock.running():
            wait_for(clock)
            with clock.running():  # has the time that is left
                assert clock.stop[0]
            with pytest.raises(TimeLimitError, match="not finished within 1e-06 seconds"):
                clock.check()
        clock.check()
        assert clock.counted > 0
    assert Clock(1.0).reason == "not finished within 1 second"


def test_an_earlier_end_is_not_missed() -> None:
    """The thread sleeps until the first block's end, which is far away."""
    clock = Clock(AGES)
    with clock.running():
        assert not clock.stop[0]
    with clock.running(spent=AGES):
        wait_for(clock)


def test_a_clock_that_is_forgotten_leaves_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clocks, "_PATIENCE", 1e-3)
    clock = Clock(AGES)
    with clock.running():
        watcher = clock._watcher
        assert watcher is not None
        assert watcher.daemon
    watcher.join()
    assert clock._watcher is None
    with clock.running(spent=AGES):  # another comes when it is wanted
        wait_for(clock)
    unlimited = Clock()
    with unlimited.running():
        assert unlimited._watcher is None
    unlimited.check()


def test_the_time_that_kernels_are_made_in_does_not_count() -> None:
    """The first sentence does not pay for the machine code."""

    @kernel
    def product(first: float, second: float) -> float:
        return first * second

    real, counted = time.monotonic(), clocks._now()
    made = seconds_of_making()
    assert product(2.0, 3.0) == 6.0
    spent = seconds_of_making() - made
    assert spent > 0
    assert clocks._now() - counted <= time.monotonic() - real - spent + 1e-6


def test_no_room_for_a_thread(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise RuntimeError("can't start new thread")

    write_rules(RULES, tmp_path / "grammar")
    monkeypatch.setattr(threading.Thread, "start", refuse)
    done = command("parse", "-g", tmp_path / "grammar", "--max-seconds", 9, stdin="x x\n")
    assert done.error.startswith("no thread can be started that keeps --max-seconds; ")


# Kernels look at it


def looked(answer: object) -> bool:
    """Whether a kernel that returned this had seen the flag."""
    return answer is False or answer in (0.0, STOPPED, TIME_UP, -math.inf)


@pytest.mark.parametrize(
    ("module", "name", "how"),
    [
        (forests, "forest_inside", {"objective": "labelled-recall", "symbols": 0}),
        (forests, "forest_outside", {"objective": "labelled-recall", "symbols": 0}),
        (forests, "forest_inside", {"objective": "labelled-tree", "symbols": 0}),
        (forests, "forest_inside", {"objective": "parent-child"}),
        (forests, "forest_outside", {"objective": "parent-child"}),
        (search_memory, "project_forest", {"objective": "max-rule-sum", "grammar": "latent"}),
        (best_first_charts, "run_slice", {"best_first": BestFirst("normalized-beta", Until("exhausted"))}),
        (best_first_charts, "run_slice", {"best_first": BestFirst("normalized-beta", Until("mass", 0.9))}),
    ],
)
def test_kernels_say_that_they_stopped(
    module: Any, name: str, how: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    how = dict(how)
    text = "x " * 5
    monkeypatch.setattr(factory, "MAX_DENSE_SYMBOLS", how.pop("symbols", factory.MAX_DENSE_SYMBOLS))
    objective = how.pop("objective", "labelled-recall")
    parser = Parser(LATENT if how.pop("grammar", "") else GRAMMAR, objective, max_seconds=AGES, **how)
    expected = str(parser.parse([text])[0].tree)
    answers = []

    def late(*arguments: Any) -> Any:
        parser.source.clock.stop[0] = 1
        answers.append(kernels[name](*arguments))
        return answers[-1]

    kernels = {name: getattr(module, name)}
    with monkeypatch.context() as patch:
        patch.setattr(module, name, late)
        found = parser.parse([text])[0]
    assert found.reason == REASON
    assert all(map(looked, answers))
    assert len(answers) == 1
    # And left everything as the next sentence needs it.
    assert str(parser.parse([text])[0].tree) == expected


@pytest.mark.parametrize(
    ("module", "name", "how", "filled", "nothing"),
    [
        (top_down, "sort_edges", {"k_best": 9}, lambda _, given: given[-2].edge_first, 0),
        (k_best, "best_derivations", {"k_best": 9}, lambda _, given: given[-1].place, -1),
        (samples, "draw", {"samples": 9}, lambda found, _: found[0], 0),
        (consistency, "masked_inside", {"objective": "consistent-brackets"}, lambda found, _: found, 0),
        (
            consistency,
            "masked_outside",
            {"objective": "consistent-brackets"},
            lambda _, given: given[-1].edge_share,
            0,
        ),
        (
            consistency,
            "consistent_spans",
            {"objective": "consistent-brackets"},
            lambda found, _: found,
            0,
        ),
        (
            exact_f_decoder,
            "fill_best",
            {"objective": objective_of("labelled-f").with_f("exact")},
            lambda _, given: given[2],
            0,
        ),
    ],
)
def test_kernels_of_searches_stop_at_the_first_cell(
    module: Any,
    name: str,
    how: dict[str, Any],
    filled: Callable[[Any, Any], Any],
    nothing: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = dict(how)
    parser = Parser(GRAMMAR, settings.pop("objective", "labelled-recall"), max_seconds=AGES, **settings)
    expected = parser.parse([SENTENCES[1]])[0]
    kernel, left = getattr(module, name), []

    def late(*arguments: Any) -> Any:
        parser.source.clock.stop[0] = 1
        found = kernel(*arguments)
        left.append(bool(np.all(filled(found, arguments) == nothing)))
        return found

    with monkeypatch.context() as patch:
        patch.setattr(module, name, late)
        assert parser.parse([SENTENCES[1]])[0].reason == REASON
    assert left == [True]
    again = parser.parse([SENTENCES[1]])[0]
    assert (again.trees, again.candidates) == (expected.trees, expected.candidates)


def test_what_is_counted_in_samples_stops() -> None:
    clock = Clock(AGES)
    drawn = Sampler(ForestCharts(GRAMMAR, clock=clock)).samples(GRAMMAR.encode(["x"] * 5), 9, 1)
    clock.stop[0] = 1
    for count in (
        lambda: drawn.trees(GRAMMAR.label_ids),
        lambda: drawn.consistency(GRAMMAR.label_ids, 5),
        lambda: completions(drawn._replace(clock=Clock()).trees(GRAMMAR.label_ids), np.zeros(15), 5, clock),
    ):
        with pytest.raises(TimeLimitError):
            count()


def test_minimum_risk_is_left_after_a_candidate() -> None:
    rows = []

    def risk(trees: Sequence[Tree]) -> Iterator[Any]:
        for _ in trees:
            rows.append(np.ones(len(trees)))
            parser.source.clock.stop[0] = len(rows) == 3
            yield rows[-1]

    parser = Parser(GRAMMAR, "minimum-risk", k_best=9, risk=risk, max_seconds=AGES)
    assert parser.parse([SENTENCES[1]])[0].reason == REASON
    assert len(rows) == 3


@pytest.mark.parametrize("judged", [False, True])
def test_a_search_of_whole_trees_gives_the_best_judged(judged: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where time runs out before one is judged the sentence falls back."""
    parser = Parser(LATENT, "consistent-brackets-tree", max_seconds=AGES)
    judge = branch_and_bound._Search.judge

    def late(search: Any, tree: Any, known: Any) -> None:
        if judged:
            judge(search, tree, known)
        parser.source.clock.stop[0] = 1
        judge(search, tree[:-1], known)

    monkeypatch.setattr(branch_and_bound._Search, "judge", late)
    [parse] = parser.parse(["x x x x x x"])
    assert parse.reason == (None if judged else REASON)
    if judged:
        assert parse.decoded[0] is not None
        assert parse.decoded[0].certificate is not None
        assert not parse.decoded[0].certificate.certified
        assert 0 < float(parse.decoded[0].score or 0) < parse.decoded[0].certificate.bound


def test_dense_kernels_stop_at_the_first_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    found, stop = [], np.ones(1, np.int32)

    def posteriors(state: Any, labels: Any, charts: Any, summary: Any, flag: Any) -> Any:
        dense_posteriors(state, labels, charts, summary, stop)
        found.append(int(np.count_nonzero(charts.inside)))
        charts.inside[:], charts.outside[:] = 0, 0
        total = dense_posteriors(state, labels, charts, summary, flag)
        charts.outside[:] = 0
        dense_outside(state, charts.inside, charts.outside, total, charts.peak, stop)
        found.append(int(np.count_nonzero(charts.outside)))
        return total

    def derivations(state: Any, best: Any, tolerance: Any, stack: Any, nodes: Any, _: Any) -> None:
        dense_derivations(state, best, tolerance, stack, nodes, stop)
        found.append(int(np.count_nonzero(best)))

    monkeypatch.setattr(dense_charts, "dense_posteriors", posteriors)
    monkeypatch.setattr(dense_charts, "dense_derivations", derivations)
    group = [GRAMMAR.encode(["x"] * 6)] * 8
    ChartFactory(GRAMMAR, wanted=Wanted(derivations=True), kernel="dense").charts(group)
    assert found == [8 * 2, 8 * 1, 8 * 2]  # the last two words; the root


def test_the_kernel_of_a_sentence_alone_stops_at_the_first_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, found = getattr(diagonal_charts, "diagonal_derivation"), []  # noqa: B009

    def late(state: Any, layout: Any, chart: Any, *others: Any) -> Any:
        kept = kernel(state, layout, chart, *others[:-1], np.ones(1, np.int32))
        found.append((kept, int(np.count_nonzero(chart))))
        return kept

    monkeypatch.setattr(diagonal_charts, "diagonal_derivation", late)
    wanted = Wanted(summaries=False, derivations=True)
    ChartFactory(GRAMMAR, wanted=wanted, kernel="dense").charts([GRAMMAR.encode(["x"] * 6)])
    assert found[0] == (False, 6)  # the words; whether there is a tree at all is looked for in the same way


@pytest.mark.parametrize("search", [best_bracketing, best_constituents])
def test_searches_of_spans_stop(search: Any) -> None:
    clock = Clock(AGES)
    clock.stop[0] = 1
    with pytest.raises(TimeLimitError):
        search(np.ones(10), 4, clock=clock)
    clock.check = lambda: None  # type: ignore[method-assign]
    assert search(np.ones(10), 4, clock=clock).score == 0.0
    clock.stop[0] = 0
    assert search(np.ones(10), 4, clock=clock).score > 0.0


def test_the_search_of_a_forest_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    parser = Parser(GRAMMAR, "parent-child", max_seconds=AGES)
    expected = str(parser.parse([SENTENCES[1]])[0].tree)
    kernel, seen = search_derivations, []

    def late(state: Any, *others: Any) -> None:
        parser.source.clock.stop[0] = 1
        state.values.own[:] = math.nan
        kernel(state, *others)
        seen.append(bool(np.isnan(state.values.own).all()))

    with monkeypatch.context() as patch:
        patch.setattr(objective_search, "search_derivations", late)
        assert parser.parse([SENTENCES[1]])[0].reason == REASON
    assert seen == [True]
    assert str(parser.parse([SENTENCES[1]])[0].tree) == expected


def test_chains_without_end_are_left() -> None:
    """Labels that all derive each other: their paths cannot all be tried."""
    names = [f"A{number}" for number in range(40)]
    counts = {f"S -> {name}": 1.0 for name in names} | {f"{name} -> x": 1.0 for name in names}
    counts |= {f"{one} -> {other}": 1 / 64 for one in names for other in names if one != other}
    grammar = PCFG.from_rules(rules_of(counts))
    parser = Parser(grammar, "parent-child", max_seconds=0.05)
    assert parser.parse(["x"])[0].reason == "not finished within 0.05 seconds"


# Sentences and their neighbours


def parsed_beside_a_slow_one(
    parser: Parser, target: Any, name: str, is_slow: Callable[..., bool], more: int = 0
) -> int:
    """Parse sentences of which the second, of five words, takes too long, the first so often ``more``.

    Returns how often the slow one was tried.
    """
    sentences = [*SENTENCES, *[SENTENCES[0]] * more]
    expected = [str(parse.tree) for parse in parser.parse(sentences)]
    work, tried = getattr(target, name), []

    def method(*arguments: Any) -> Any:
        if is_slow(*arguments):
            tried.append(name)
            parser.source.clock.stop[0] = 1
        return work(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(target, name, method)
        found = parser.parse(sentences)
    assert [parse.reason for parse in found] == [None, REASON] + [None] * (3 + more)
    assert [str(parse.tree) for parse in found][2:] == expected[2:]
    assert str(found[0].tree) == expected[0]
    assert not any(parse.unfinished for parse in found)
    return len(tried)


def test_a_group_of_dense_charts_is_filled_again_one_by_one() -> None:
    def is_slow(_: object, group: list[Chart], __: object) -> bool:
        return any(chart.length == 5 for chart in group)

    parser = Parser(GRAMMAR, "labelled-recall", "labelled-tree", max_seconds=AGES)
    # Few would be filled one by one at once.
    assert parsed_beside_a_slow_one(parser, ChartFactory, "_fill", is_slow, more=4) == 2


@pytest.mark.parametrize(
    ("objective", "target", "name", "is_slow"),
    [
        ("parent-child", Forests, "fill", lambda _, ids, *__: len(ids) == 5),
        ("max-rule-product", Forests, "fill", lambda _, ids, *__: len(ids) == 5),
        # With a limit of time sentences come one by one.
        (
            "labelled-recall",
            FreeDecoder,
            "decode_all",
            lambda _, __, given: any(x.length == 5 for x in given),
        ),
        ("labelled-f", NaryDecoder, "decode", lambda _, __, given: given.length == 5),
        ("parent-child", ForestDecoder, "decode", lambda _, __, given: given.length == 5),
        ("max-rule-sum", ForestDecoder, "decode", lambda _, __, given: given.length == 5),
    ],
)
def test_the_rest_is_tried_once(
    objective: str, target: type, name: str, is_slow: Callable[..., bool]
) -> None:
    parser = Parser(LATENT, objective, max_seconds=AGES)
    assert parsed_beside_a_slow_one(parser, target, name, is_slow) == 1


def test_a_search_without_a_parse_falls_back() -> None:
    parser = Parser(GRAMMAR, best_first=BestFirst("normalized-beta"), max_seconds=AGES)
    calls = parsed_beside_a_slow_one(parser, BestFirstCharts, "chart", lambda _, ids, __: len(ids) == 5)
    assert calls == 1


def test_a_search_that_is_cut_short_gives_the_best_found(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_rules(RULES, tmp_path / "grammar")
    search: Any = run_slice
    how = (
        *("parse", "-g", tmp_path / "grammar", "--engine", "best-first", "--until", "exhausted"),
        *("--merit", "normalized-beta", "--details", tmp_path / "details", "--max-seconds", "1e6"),
    )

    def interrupted(*arguments: Any) -> int:
        """Half of the edges, and then the time is up."""
        outcome = search(*arguments[:2], 600, arguments[3])
        arguments[3][0] = 1
        return int(outcome)

    whole = command(*how, stdin="x x\n" + "x " * 20)
    rows = [json.loads(line) for line in (tmp_path / "details").read_text().splitlines()]
    assert ["unfinished" in row for row in rows] == [False, False]
    monkeypatch.setattr(best_first_charts, "run_slice", interrupted)
    cut = command(*how, stdin="x x\n" + "x " * 20)
    rows = [json.loads(line) for line in (tmp_path / "details").read_text().splitlines()]
    assert [(row["status"], row["reason"], row.get("unfinished")) for row in rows] == [
        ("parsed", None, None),
        ("parsed", None, True),
    ]
    assert cut.out.splitlines()[0] == whole.out.splitlines()[0]


def test_given_posteriors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "p.npz"
    entries: dict[str, Any] = {"sentence": [0, 1], "start": [0, 0], "end": [2, 3], "label": [0, 0]}
    np.savez(path, lengths=[2, 3], labels=["S"], g=[1.0, 1.0], **entries)
    parser = Parser(read_posteriors(path), max_seconds=AGES)
    decoder: Any = parser.source.slots[0].decoder
    decode = decoder.decode_all

    def slow(charts: object, posteriors: list[Any]) -> Any:
        parser.source.clock.stop[0] = [one.length for one in posteriors] == [2]
        return decode(charts, posteriors)

    monkeypatch.setattr(decoder, "decode_all", slow)
    assert [parse.reason for parse in parser.parse(["x x", "x x x"])] == [REASON, None]


def test_a_sentence_that_takes_its_time() -> None:
    """Without a limit these charts would take minutes."""
    for objective in ("labelled-recall", "labelled-tree", "parent-child"):
        parser = Parser(GRAMMAR, objective, max_length=10_000, max_seconds=0.05)
        [parse] = parser.parse([["x"] * 3000])
        assert parse.reason == "not finished within 0.05 seconds"
        parser.source.clock.seconds = None
        expected = Parser(GRAMMAR, objective).parse(["x " * 9])
        assert str(parser.parse(["x " * 9])[0].tree) == str(expected[0].tree)


# The option


def test_an_ample_limit_changes_nothing(command: Command, tmp_path: Path) -> None:
    write_rules(RULES, tmp_path / "grammar")
    text = "x x\nx x x x x\n\nx\nx y\n" + "x " * 120
    how = ("parse", "-g", tmp_path / "grammar", "--objective", "labelled-tree")
    without = command(*how, stdin=text)
    assert without.code == 0
    assert command(*how, "--max-seconds", "1e6", stdin=text) == without
    assert command(*how, "--max-seconds", "1e6", "--jobs", 2, stdin=text) == without


def test_the_row_of_a_score_has_the_reason(command: Command, tmp_path: Path) -> None:
    write_rules(RULES, tmp_path / "grammar")
    long = "(S x " * 2999 + "x" + ")" * 2999
    how = ("score", "-g", tmp_path / "grammar", "--max-seconds")
    for more in ((), ("--no-items",)):
        done = command(*how, 0.05, *more, stdin=f"(S x x)\n{long}\n(S x x)\n")
        assert done.code == 0
        assert "1 without a probability (not finished within 0.05 seconds: 1)" in done.err
        first, slow, last = map(json.loads, done.out.splitlines())
        assert (slow["reason"], slow["log_probability"]) == ("not finished within 0.05 seconds", None)
        assert first | {"sentence": 3, "line": 3} == last
        assert first["reason"] is None


def test_a_score_stops_after_its_chart(monkeypatch: pytest.MonkeyPatch) -> None:
    """What crosses a span is computed when a row is made."""
    scorer = Scorer(GRAMMAR, "binarized", max_seconds=AGES, consistent=True)
    clock = scorer.source.clock
    kernel = getattr(consistency, "masked_inside")  # noqa: B009

    def late(*arguments: Any) -> Any:
        clock.stop[0] = len(arguments[0].forest.node_start) > 3
        return kernel(*arguments)

    monkeypatch.setattr(consistency, "masked_inside", late)
    trees = [read_tree("(S x x)"), read_tree("(S x (S x x))")]
    rows = scorer.rows([GivenTree("trees", number, tree) for number, tree in enumerate(trees, start=1)])
    assert [row["reason"] for row in rows] == [None, REASON]


def test_posteriors_give_up(command: Command, tmp_path: Path) -> None:
    write_rules(RULES, tmp_path / "grammar")
    how = ("posteriors", "-g", tmp_path / "grammar", "--max-seconds")
    done = command(*how, 0.05, stdin="x " * 3000)
    assert done.code == 1
    assert done.error == (
        "<stdin>: sentence 1 has no chart: not finished within 0.05 seconds; choose another sentence: "
        "--line N, or more seconds"
    )
    assert command(*how, 1e6, stdin="x x x").code == 0
    without = command("posteriors", "--posteriors", tmp_path / "none", "--max-seconds", 1)
    assert without.code == 2


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf", "1e400"])
def test_a_limit_is_a_number_above_zero(command: Command, tmp_path: Path, seconds: str) -> None:
    write_rules(RULES, tmp_path / "grammar")
    for name in ("parse", "score", "posteriors"):
        done = command(name, "-g", tmp_path / "grammar", "--max-seconds", seconds, stdin="(S x x)\n")
        assert done.code == 2
        assert "--max-seconds is a number above zero" in done.err
    with pytest.raises(OptionsError, match="max_seconds is a number above zero"):
        Parser(GRAMMAR, max_seconds=float(seconds))
