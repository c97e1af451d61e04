"""What is measured against what: each contender makes ready in a process of its own and is then called."""

from __future__ import annotations

import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

import numpy as np
from floor import CellProducts, LargeProduct
from peak_memory import peak_memory
from plain import PlainCharts
from samples import LARGE, SMALL, Sample, encoded, read_sample

from mbrparse.charts.chart import Chart
from mbrparse.charts.exhaustive.factory import ChartFactory
from mbrparse.charts.rule_tables import chart_rules, wide_symbols
from mbrparse.decode.answers import ParserOptions
from mbrparse.decode.objectives import OBJECTIVES
from mbrparse.decode.parser.parser import Parser
from mbrparse.decode.parser.parsing import ParseWorker
from mbrparse.decode.parser.sentences import Line

Work = Callable[[], float]


class Contender(NamedTuple):
    """``ready`` takes the sample and returns the work; its result is a check."""

    title: str
    ready: Callable[[Sample], Work]


class Times(NamedTuple):
    """One run: seconds, and what the work returned."""

    wall: float
    cpu: float
    result: float


def parsing(names: tuple[str, ...]) -> Callable[[Sample], Work]:
    """The whole way from sentences to trees."""

    def ready(sample: Sample) -> Work:
        objectives = tuple(OBJECTIVES[name] for name in names)
        parser = Parser(sample.grammar, *objectives)

        def work() -> float:
            parses = parser.parse(sample.sentences)
            for parse in parses:
                _ = parse.trees  # they are built when they are asked for
            return float(sum(parse.log_prob for parse in parses[::20] if parse.reason is None))

        return work

    return ready


def writing(names: tuple[str, ...]) -> Callable[[Sample], Work]:
    """From sentences to lines of text, as the command does it."""

    def ready(sample: Sample) -> Work:
        objectives = tuple(OBJECTIVES[name] for name in names)
        worker = ParseWorker(sample.grammar, ParserOptions(objectives))
        lines = [Line(sentence, place, False, "") for place, sentence in enumerate(sample.sentences)]

        def work() -> float:
            return float(len(worker(lines)))

        return work

    return ready


def viterbi() -> Callable[[Sample], Work]:
    """The most probable derivation alone (nothing asks for the sentence's probability)."""

    def ready(sample: Sample) -> Work:
        parser = Parser(sample.grammar, "labelled-tree")

        def work() -> float:
            parses = parser.parse(sample.sentences)
            for parse in parses:
                _ = parse.trees
            found = (parse.decoded[0] for parse in parses)
            return float(sum(one.log_prob for one in found if one is not None and one.log_prob is not None))

        return work

    return ready


def charts(*questions: Callable[[Chart], object]) -> Callable[[Sample], Work]:
    """What charts answer: no search, no trees."""

    def ready(sample: Sample) -> Work:
        factory = ChartFactory(sample.grammar)
        sentences = encoded(sample)

        def work() -> float:
            found = [factory.chart(sentence) for sentence in sentences]
            for chart in found:
                for ask in questions:
                    ask(chart)
            return float(sum(chart.log_prob for chart in found if chart.has_parse))

        return work

    return ready


def plain(what: str) -> Callable[[Sample], Work]:
    """The carried kernel: its inside_outside or viterbi."""

    def ready(sample: Sample) -> Work:
        sentences = encoded(sample)
        fill = getattr(PlainCharts(sample.grammar, max(map(len, sentences))), what)

        def work() -> float:
            return float(sum(value for value in map(fill, sentences) if value > -np.inf))

        return work

    return ready


def cell_products(sample: Sample) -> Work:
    """The floor's products, one cell after the other."""
    symbols = len(wide_symbols(chart_rules(sample.grammar)))
    return CellProducts([len(sentence) for sentence in sample.sentences], symbols)


ALL = ("labelled-tree", "labelled-recall", "bracketed-recall")
LR = ("labelled-recall",)
#: By setting and key; in the order of the table.
CONTENDERS: dict[tuple[str, str], Contender] = {}
for _setting in (SMALL.name, LARGE.name):
    CONTENDERS |= {
        (_setting, "all"): Contender("inside, outside, posteriors, three objectives, trees", parsing(ALL)),
        (_setting, "text"): Contender("  the same, lines of text instead of trees", writing(ALL)),
        (_setting, "recall"): Contender("inside, outside, Labelled Recall, trees", parsing(LR)),
        (_setting, "viterbi"): Contender("Viterbi, trees", viterbi()),
        (_setting, "charts"): Contender(
            "inside, outside, posteriors (no search)", charts(Chart.span_summary)
        ),
        (_setting, "all-charts"): Contender(
            "  with the best derivation", charts(Chart.span_summary, Chart.viterbi)
        ),
        (_setting, "plain"): Contender("plain kernel: inside, outside", plain("inside_outside")),
        (_setting, "plain-viterbi"): Contender("plain kernel: Viterbi", plain("viterbi")),
    }
CONTENDERS |= {
    (SMALL.name, "products"): Contender("the floor's products, cell by cell in numpy", cell_products),
    (SMALL.name, "peak"): Contender("one large product, double", lambda _: LargeProduct(np.float64)),
    (SMALL.name, "peak-single"): Contender("one large product, single", lambda _: LargeProduct(np.float32)),
}


def serve(connection: Connection, folder: Path, key: tuple[str, str]) -> None:
    """The life of a contender's process: make ready, warm up, run at each call, tell its memory at last."""
    work = CONTENDERS[key].ready(read_sample(folder, key[0]))
    work()  # compiles, and takes the memory it needs
    connection.send("ready")
    while connection.recv() == "run":
        wall, cpu = time.perf_counter(), time.process_time()
        result = work()
        connection.send(Times(time.perf_counter() - wall, time.process_time() - cpu, result))
    connection.send(peak_memory())
