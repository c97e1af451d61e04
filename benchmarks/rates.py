"""Sentences a second: interleaved repetitions, medians, ratios within the run."""

from __future__ import annotations

import multiprocessing
import statistics
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

from contenders import CONTENDERS, Times, serve
from floor import SIDE, operations
from samples import LARGE, SMALL, read_sample

from mbrparse.charts.rule_tables import chart_rules, wide_symbols

Key = tuple[str, str]


class Measured(NamedTuple):
    """Medians of one contender."""

    wall: float
    cpu: float
    spread: float  # largest over least CPU seconds
    result: float
    memory: float  # MB, of the whole process


def measure(folder: Path, keys: list[Key], repetitions: int) -> dict[Key, Measured]:
    """Run A B C A B C ...; contenders wait in processes of their own, only one works at a time."""
    context = multiprocessing.get_context("spawn")
    calls: dict[Key, Connection] = {}
    processes = []
    for key in keys:
        ours, theirs = context.Pipe()
        process = context.Process(target=serve, args=(theirs, folder, key))
        process.start()
        theirs.close()
        ours.recv()
        calls[key] = ours
        processes.append(process)
    runs: dict[Key, list[Times]] = {key: [] for key in keys}
    for _ in range(repetitions):
        for key, call in calls.items():
            call.send("run")
            runs[key].append(call.recv())
    measured = {}
    for key, call in calls.items():
        call.send("end")
        cpu = [run.cpu for run in runs[key]]
        measured[key] = Measured(
            statistics.median(run.wall for run in runs[key]),
            statistics.median(cpu),
            max(cpu) / max(min(cpu), 1e-9),
            runs[key][0].result,
            call.recv(),
        )
    for process in processes:
        process.join()
    return measured


def report(folder: Path, repetitions: int) -> None:
    """Measure and print all contenders."""
    measured = measure(folder, list(CONTENDERS), repetitions)
    check(measured)
    print(f"\nSentences a second of CPU time (medians of {repetitions} interleaved runs; by wall clock in")
    print("brackets; largest over least run; peak memory of the process)")
    for setting in (SMALL, LARGE):
        sample = read_sample(folder, setting.name)
        lengths = [len(sentence) for sentence in sample.sentences]
        symbols = len(wide_symbols(chart_rules(sample.grammar)))
        print(
            f"\n{setting.name} grammar ({setting}): {len(sample.grammar.symbols)} symbols, {symbols} of them "
            f"wide, {len(sample.grammar.parent)} rules; {len(lengths)} sentences"
        )
        rates = {}
        for (name, key), one in measured.items():
            if name == setting.name and not key.startswith("peak"):
                rates[key] = len(lengths) / one.cpu
                print(
                    f"  {CONTENDERS[name, key].title:<56}{rates[key]:>8.0f} ({len(lengths) / one.wall:.0f})"
                    f"{one.spread:>8.2f}{one.memory:>7.0f} MB"
                )
        for key, dtype in (("peak", "double"), ("peak-single", "single")):
            speed = 2.0 * SIDE**3 / measured[SMALL.name, key].cpu
            rates[key] = len(lengths) * speed / operations(lengths, symbols)
            title = f"floor: dense products at {speed / 1e9:.0f} GFLOP/s, {dtype}"
            print(f"  {title:<56}{short(rates[key]):>8}")
        print_ratios(rates)


def print_ratios(rates: dict[str, float]) -> None:
    """Ours over theirs, what the targets are stated in."""
    print(f"  {'ratios':<56}{'/ plain':>8}{'/ floor':>10}{'/ charts':>10}{'/ all charts':>14}")
    for key, title, rival, floor in (
        ("charts", "inside, outside, posteriors", "plain", "peak"),
        ("recall", "with Labelled Recall and trees", "plain", "peak"),
        ("all", "with three objectives and trees", "plain", "peak"),
        ("text", "with three objectives and lines of text", "plain", "peak"),
        ("viterbi", "Viterbi with trees", "plain-viterbi", ""),
    ):
        ratio = f"{short(rates[key] / rates[floor]):>10}" if floor else ""
        charts = "" if rival != "plain" else f"{rates[key] / rates['charts']:>10.2f}"
        # Beside what three objectives want of charts: labelled-tree is another pass.
        if key in ("all", "text"):
            charts += f"{rates[key] / rates['all-charts']:>14.2f}"
        print(f"  {title:<56}{rates[key] / rates[rival]:>8.1f}{ratio}{charts}")


def short(number: float) -> str:
    """Two or three digits that matter."""
    return f"{number:.0f}" if number >= 100 else f"{number:.2f}"


def check(measured: dict[Key, Measured]) -> None:
    """Ours and the plain kernel agree on the probabilities of sentences and of best derivations."""
    for setting in (SMALL.name, LARGE.name):
        for ours, theirs in (("charts", "plain"), ("viterbi", "plain-viterbi")):
            one, other = measured[setting, ours].result, measured[setting, theirs].result
            if abs(one - other) > 1e-9 * abs(other):
                raise SystemExit(f"{setting}: {ours} and {theirs} disagree: {one} and {other}")
