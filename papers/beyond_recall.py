"""Beyond recall: what Goodman (1996) announced or left out, beside his algorithms.

He announced the General Recall Algorithm and the n-ary branching case, and left consistent brackets recall as
too time-consuming. Here they stand on one held-out part, by the measures that they are made for and by those
that they lose by.

    python papers/beyond_recall.py nltk:treebank -o build/beyond
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import pandas as pd
from steps import Steps, paper, per_cent, read

import mbrparse as mp

OBJECTIVES = (
    *("labelled-tree", "labelled-recall", "general-recall", "labelled-f", "bracketed-f", "bracketed-recall"),
    *("consistent-brackets", "consistent-brackets-tree"),
)
NARY = (
    *("labelled-tree", "labelled-recall", "general-recall", "labelled-f", "labelled-f-pooled"),
    *("labelled-f-exact", "bracketed-f"),
)
BINARY = (
    *("labelled-tree", "labelled-recall", "bracketed-recall", "consistent-brackets"),
    "consistent-brackets-tree",
)
NARY_CRITERIA = ["labelled_precision", "labelled_recall", "labelled_f", "labelled_tree"]
BINARY_CRITERIA = [
    *("consistent_brackets_recall", "consistent_brackets_tree", "bracketed_recall", "labelled_recall")
]
#: Costs of a node along the curve of precision against recall.
COSTS = [place / 20 for place in range(20)]
Details = list[dict[str, Any]]


def read_details(path: Path) -> Details:
    """What parse said of each sentence that has a parse."""
    rows = map(json.loads, path.read_text("utf-8").splitlines())
    return [row for row in rows if row["status"] == "parsed"]


def expected_f(details: Details, objective: str, gold: Sequence[float]) -> float:
    """The ratio F that trees expect without their continuations; ``gold`` are the expected |G|."""
    above = below = 0.0
    for row, correct in zip(details, gold, strict=True):
        nodes = row["trees"][objective]["nodes"]
        kept = [posterior for _, _, label, posterior in nodes if not label.endswith("_Cont")]
        above, below = above + 2 * sum(kept), below + len(kept) + correct
    return above / below


class Parses:
    """The held-out trees and the parses of each objective, one file each."""

    def __init__(self, steps: Steps, corpus: str, test_fraction: str, max_length: int) -> None:
        self.steps, self.gold, self.grammar = steps, steps.path("gold.mrg"), steps.path("grammar.txt")
        trees, self.train = steps.path("trees.mrg"), steps.path("train.mrg")
        steps.mbrparse("binarize", corpus, max_length=max_length, on_error="skip", no_ids=True, output=trees)
        steps.mbrparse(
            "split", trees, test_fraction=test_fraction, train_output=self.train, test_output=self.gold
        )
        steps.mbrparse("train", self.train, output=self.grammar)
        self.details = self.parse("{objective}", OBJECTIVES)
        self.exact = self.parse("labelled-f-exact", "labelled-f", exact=True)
        # The gold's expected number of constituents, of which labelled-f's details tell.
        self.expected = [row["trees"]["labelled-f"]["constituents"] for row in self.details]

    def parse(self, name: str, objective: str | Sequence[str], **how: object) -> Details:
        """Parse into NAME.mrg."""
        output, details = self.steps.path(f"{name}.mrg"), self.steps.path(f"{name.strip('{}')}.jsonl")
        files = {"grammar": self.grammar, "details": details, "output": output}
        self.steps.mbrparse("parse", self.gold, objective=objective, **how, **files)
        return read_details(details)

    def pooled(self) -> float:
        """The cost of a node that is best for F over all sentences (Dinkelbach): half of that F."""
        cost, last = 0.25, -1.0
        while abs(cost - last) > 1e-9:
            last, details = cost, self.parse("labelled-f-pooled", "general-recall", node_cost=cost)
            cost = expected_f(details, "general-recall", self.expected) / 2
        self.pooled_details = details
        return cost

    def trees(self, names: Sequence[str]) -> dict[str, list[mp.Tree | None]]:
        """The parses by objective."""
        return {name: mp.read_parses(self.steps.path(f"{name}.mrg")) for name in names}


def promised(parses: Parses) -> Iterator[tuple[str, str, float]]:
    """The rates that trees expect: objective, what, how much."""

    def mean(objective: str, rows: Details, share: Callable[[dict[str, Any]], tuple[float, float]]) -> float:
        pairs = [share(row["trees"][objective]) for row in rows]
        return sum(above for above, _ in pairs) / sum(below for _, below in pairs)

    for name in NARY:
        rows, objective = {
            "labelled-f-pooled": (parses.pooled_details, "general-recall"),
            "labelled-f-exact": (parses.exact, "labelled-f"),
        }.get(name, (parses.details, name))
        yield name, "F", expected_f(rows, objective, parses.expected)
        if objective == "labelled-f":
            yield name, "sentence F", mean(objective, rows, lambda tree: (tree["expected_score"], 1))
    share = lambda tree: (tree["expected_consistent"], tree["constituents"])  # noqa: E731
    yield "consistent-brackets", "cons. recall", mean("consistent-brackets", parses.details, share)
    last = "consistent-brackets-tree"
    yield last, "cons. tree", mean(last, parses.details, lambda tree: (tree["expected_score"], 1))


@paper
@click.option("--test-fraction", default="0.1", help="The last part, to hold out.")
@click.option("--max-length", default=40, help="Leave out longer sentences.")
@click.option("--resamples", default=10_000, help="Resamples for significance.")
@click.option("--seed", default=0, help="Seed of the resamples.")
def main(steps: Steps, corpus: str, test_fraction: str, max_length: int, resamples: int, seed: int) -> None:
    """Compare n-ary trees by precision, recall and F, and binary trees by consistent brackets."""
    parses = Parses(steps, corpus, test_fraction, max_length)
    cost, gold = parses.pooled(), read(parses.gold)
    tests: dict[str, Any] = {"resamples": resamples, "seed": seed}
    title = f"{corpus}: {len(read(parses.train))} trees to train on, {len(gold)} held out"
    texts, frames = [title], []
    for form, names, average, criteria in (
        ("original", NARY, "pooled", NARY_CRITERIA),
        ("original", NARY, "sentence", ["labelled_f"]),
        ("binarized", BINARY, "pooled", BINARY_CRITERIA),
    ):
        found = mp.compare(
            gold,
            parses.trees(names),
            form=form,
            average=average,
            criteria=criteria,
            **tests,
            log=lambda _: None,
        )
        texts.append(f"{form} trees, rates {average}\n\n{found}")
        frames.append(found.frame)
        found.frame.to_csv(steps.path(f"{form}-{average}.csv"))
    steps.text("tables", "\n\n".join(texts) + "\n")
    expected = pd.DataFrame(promised(parses), columns=["name", "what", "rate"])
    expected = expected.pivot(index="name", columns="what", values="rate").reindex(
        [*NARY, *BINARY[3:]], columns=expected["what"].unique()
    )
    title = f"What the trees expect (labelled-f-pooled: general-recall --node-cost {cost:.4f})"
    steps.table("promised", expected, title, per_cent(expected))
    curve(steps, parses, gold, frames[0])


def curve(steps: Steps, parses: Parses, gold: list[mp.Tree], others: pd.DataFrame) -> None:
    """Precision and recall of General Recall by the cost of a node, and a point for each objective."""
    for cost in COSTS:
        parses.parse(f"sweep/cost-{cost:.2f}", "general-recall", node_cost=cost)
    names = {f"sweep/cost-{cost:.2f}": cost for cost in COSTS}
    how: dict[str, Any] = {"form": "original", "criteria": NARY_CRITERIA, "resamples": 0}
    found = mp.compare(gold, parses.trees(list(names)), **how, log=lambda _: None).frame[NARY_CRITERIA]
    found.index = pd.Index(COSTS, name="cost")
    steps.table("curve", found, "General Recall by the cost of a node", per_cent(found))
    with steps.plot("curve", 1, "Precision against recall") as [panel]:
        x, y = (100 * found[f"labelled_{rate}"] for rate in ("recall", "precision"))
        panel.plot(x, y, ".-", color="#1f5f99", label="general-recall by cost")
        for cost in COSTS[::4]:
            panel.annotate(f"{cost:.1f}", (x[cost], y[cost]), (5, 4), textcoords="offset points", fontsize=8)
        for place, (name, row) in enumerate(others.iterrows()):
            point = 100 * row["labelled_recall"], 100 * row["labelled_precision"]
            panel.plot(*point, "osD^vPX"[place], label=f"{name}, F {100 * row['labelled_f']:.2f}")
        panel.set(xlabel="labelled recall, per cent", ylabel="labelled precision, per cent")
        panel.legend(frameon=False, fontsize=8, loc="lower left")


if __name__ == "__main__":
    main()
