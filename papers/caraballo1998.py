"""Caraballo & Charniak (1998): figures of merit for best-first parsing, compared by their work.

A grammar and its statistics are counted from all but the last part of a treebank, whose sentences are
parsed: to exhaustion, and with each merit until most of a sentence's probability is found. *Edges* are rule
expansions; *non-zero edges* those that are part of a complete parse; CPU time is the search's own.

    python papers/caraballo1998.py nltk:treebank -o build/merits
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import pandas as pd
from steps import Steps, paper, per_cent, read, with_published, write_trees

import mbrparse as mp

MERITS = (
    *("stack", "beta", "normalized-beta", "trigram", "prefix", "prefix-normalized", "prefix-estimate"),
    *("left-boundary", "boundary-bigram", "boundary-trigram"),
)
FIGURES = {"edges": "edges", "useful": "non-zero edges", "popped": "popped", "seconds": "CPU time"}
#: 10, 14, 20, 28, ...: two points for each doubling, up to ten million edges.
CHECKPOINTS = tuple(round(10 * 2 ** (step / 2)) for step in range(41))
SHOWN = (100, 200, 500, 1000, 2000, 5000, 10_000, 50_000)
#: Recall counts as full within this share of what the merit comes to in the end.
FULL = 0.99
#: Edges to full recall, by the paper's conclusion.
PUBLISHED = {
    "boundary-trigram": ("-", "-", "-", "-", "under 2,000"),
    "its nearest competitors": ("-", "-", "-", "-", "about 3,000"),
    "stack, beta": ("-", "-", "-", "-", "about 50,000"),
}
CHUNK = 10
Spans = set[tuple[int, int]]


def spans(tree: mp.Tree, start: int = 0) -> Spans:
    """The spans of a tree's constituents over two terminals and more."""
    found, end = set(), start
    for child in tree.children:
        found |= spans(child, end)
        end += max(1, len(child.leaves()))
    return found | {(start, end)} if end > start + 1 else found


def guessed(chart: Any, symbols: Sequence[str], edges: int) -> Spans:
    """The spans of the best n-ary tree within so many edges: without continuations, but the root stays."""
    nodes = chart.viterbi_within(min(edges, chart.edge_count)).nodes
    places = enumerate(nodes)
    return {(i, j) for place, (i, j, x) in places if not place or not symbols[x].endswith("_Cont")}


def measured(
    grammar: Path, statistics: Path, gold: Path, merits: Sequence[str], mass: float, beta: float, first: int
) -> list[dict[str, Any]]:
    """The figures of some sentences, exhaustive and by merit, and the best parse at each checkpoint."""
    model, counts = mp.read_grammar(grammar), mp.read_statistics(statistics)
    parsers = {}
    for name in ("exhaustive", *merits):
        merit, until = ("stack", "exhausted") if name == "exhaustive" else (name, f"mass:{mass}")
        how = mp.BestFirst(merit, mp.Until.parse(until), beta_threshold=beta, statistics=counts)
        parsers[name] = mp.Parser(model, "labelled-tree", best_first=how)
        parsers[name].parse([list(model.terminals[:2])])  # kernels are loaded before anything is timed
    found = []
    for tree in read(gold)[first : first + CHUNK]:
        row: dict[str, Any] = {"length": len(tree.leaves()), "merits": {}}
        correct = spans(mp.debinarize(tree))
        for name, parser in parsers.items():
            chart: Any = parser.parse([tree])[0].chart
            if chart is None:
                break
            figures = (chart.edge_count, chart.useful_edge_count, chart.popped, chart.seconds)
            row["merits"][name] = dict(zip(FIGURES, figures, strict=True))
            if name != "exhaustive":
                reached = [edges for edges in CHECKPOINTS if edges < chart.edge_count]
                points = (guessed(chart, model.symbols, edges) for edges in (*reached, chart.edge_count))
                row["merits"][name]["curve"] = [[len(one & correct), len(one)] for one in points]
        found.append({**row, "gold": len(correct)})
    return found


def point(rows: Sequence[dict[str, Any]], merit: str, place: int) -> tuple[float, float, float]:
    """(recall, precision, coverage) at one checkpoint, pooled; precision is of the parsed sentences."""
    curves = [row["merits"][merit]["curve"] for row in rows]
    points = [curve[min(place, len(curve) - 1)] for curve in curves]
    matches, guesses = (sum(column) for column in zip(*points, strict=True))
    parsed = sum(guess > 0 for _, guess in points)
    recall = matches / sum(row["gold"] for row in rows)
    return recall, matches / guesses if guesses else float("nan"), parsed / len(rows)


def curves(rows: Sequence[dict[str, Any]], merits: Sequence[str]) -> pd.DataFrame:
    """All points: merit, edges, recall, precision, coverage."""
    points = ((m, edges, *point(rows, m, k)) for m in merits for k, edges in enumerate(CHECKPOINTS))
    return pd.DataFrame(points, columns=["merit", "edges", "recall", "precision", "coverage"])


def edges_to_full_recall(curve: pd.DataFrame) -> int:
    """The first checkpoint from which recall stays within one per cent of where it ends."""
    below = curve["recall"] < FULL * curve["recall"].iloc[-1]
    return int(curve["edges"].iloc[len(curve) - int(below[::-1].to_numpy().argmax()) if below.any() else 0])


@paper
@click.option("--grammar", type=click.Path(path_type=Path), help="Parse with this grammar instead.")
@click.option("--statistics", type=click.Path(path_type=Path), help="Its statistics (default: expected).")
@click.option("--merit", "merits", type=click.Choice(MERITS), multiple=True, default=MERITS)
@click.option("--sentences", default=300, help="Parse at most so many.")
@click.option("--min-length", default=3)
@click.option("--max-length", default=30, help="Leave longer out of both parts.")
@click.option("--test-fraction", default="0.1", help="The last part, to hold out.")
@click.option("--mass", default=0.95, help="Search for this share of the probability.")
@click.option("--beta-threshold", default=0.01)
def main(
    steps: Steps, corpus: str, grammar: Path | None, statistics: Path | None, merits: tuple[str, ...],
    sentences: int, min_length: int, max_length: int, test_fraction: str, mass: float, beta_threshold: float,
) -> None:  # fmt: skip
    """Compare figures of merit by the work that they need to find most of a sentence's probability."""
    trees, train, test, gold = map(steps.path, ("trees.mrg", "train.mrg", "test.mrg", "gold.mrg"))
    steps.mbrparse("binarize", corpus, max_length=max_length, on_error="skip", no_ids=True, output=trees)
    steps.mbrparse("split", trees, test_fraction=test_fraction, train_output=train, test_output=test)
    long_enough = [tree for tree in read(test) if len(tree.leaves()) >= min_length][:sentences]
    if not long_enough:
        raise click.ClickException("no sentence of these lengths is held out")
    write_trees(long_enough, gold)
    if statistics is None or grammar is None:
        init, statistics = grammar, steps.path("statistics.txt")
        how = {"method": "inside-outside", "init": init, "iterations": 0} if init else {}
        grammar = steps.path("grammar.txt")
        steps.mbrparse("train", train, **how, output=grammar, statistics_output=statistics)
    common = (grammar, statistics, gold, list(merits), mass, beta_threshold)
    calls = {f"sentences/{first:04}": (*common, first) for first in range(0, len(long_enough), CHUNK)}
    rows = [row for part in steps.values(measured, calls).values() for row in part]
    parsed = [row for row in rows if row["merits"]]
    if not parsed:
        raise click.ClickException("the grammar parses none of the sentences")
    report(steps, parsed, merits, f"{corpus}: {len(parsed)} sentences, {len(rows) - len(parsed)} unparsable")


def report(steps: Steps, rows: Sequence[dict[str, Any]], merits: Sequence[str], title: str) -> None:
    """The tables shares, lengths and curves, and the plots."""
    found = pd.DataFrame(
        {"sentence": place, "length": row["length"], "merit": name, **{key: one[key] for key in FIGURES}}
        for place, row in enumerate(rows, start=1)
        for name, one in row["merits"].items()
    )
    found.to_csv(steps.path("sentences.csv"), index=False)
    sums = found.groupby("merit")[list(FIGURES)].sum()
    shares = (sums / sums.loc["exhaustive"]).loc[list(merits)].rename(columns=FIGURES)
    points = curves(rows, merits)
    full = {merit: edges_to_full_recall(of) for merit, of in points.groupby("merit")}
    shown = per_cent(shares, 1).assign(**{"edges to full recall": shares.index.map(full).map(str)})
    shown = with_published(shown, "Caraballo & Charniak (1998), WSJ", PUBLISHED)
    steps.table("shares", shares, f"{title}; per cent of exhaustive", shown)
    low = (found["length"] - 1) // 5 * 5 + 1
    ranges = low.astype(str) + "-" + (low + 4).astype(str)
    order = ranges[low.sort_values(kind="stable").index].unique()
    edges = found.groupby(["merit", ranges])["edges"].sum().unstack()[order]
    lengths = (edges / edges.loc["exhaustive"]).loc[list(merits)]
    steps.table("lengths", lengths, "edges, per cent of exhaustive, by sentence length", per_cent(lengths, 1))
    near = [min(CHECKPOINTS, key=lambda one, n=n: abs(one - n)) for n in SHOWN]  # type: ignore[misc]
    text = []
    for what in ("recall", "precision", "coverage"):
        table = points.pivot(index="merit", columns="edges", values=what).loc[list(merits), near]
        text.append(f"{what}, by edges (about)\n\n{per_cent(table.set_axis(SHOWN, axis=1), 1).to_string()}\n")
    points.to_csv(steps.path("curves.csv"), index=False)
    steps.text("curves", "\n".join(text))
    draw(steps, points, lengths, title)


def draw(steps: Steps, points: pd.DataFrame, lengths: pd.DataFrame, title: str) -> None:
    """Recall, precision and coverage against edges; edges against length."""
    with steps.plot("curves", 4, title) as axes:
        for panel, what in zip(axes, ("recall", "precision", "coverage"), strict=False):
            table = 100 * points.pivot(index="edges", columns="merit", values=what)[lengths.index]
            table.plot(ax=panel, logx=True, title=what, ylabel="per cent", legend=False, ylim=(0, 102))
        (100 * lengths.T).plot(ax=axes[3], title="edges, per cent of exhaustive", xlabel="terminals")


if __name__ == "__main__":
    main()
