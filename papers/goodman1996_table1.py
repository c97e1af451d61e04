"""Goodman (1996), Table 1 and Figure 2: two decoders on grammars trained from bracketed text.

Each run trains, after Pereira & Schabes (1992), on its own sentences from its own random grammar, and parses
held-out sentences after each iteration. Bracketed recall is against the binarized gold, consistent brackets
against the n-ary one.

    python papers/goodman1996_table1.py embedded:flights -o build/table1
"""

from __future__ import annotations

import io
import random
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import click
import pandas as pd
from scipy.stats import ttest_1samp
from steps import Steps, mbrparse, paper, per_cent, read, with_published, write_trees

import mbrparse as mp

DECODERS = {"labelled-tree": "Labelled Tree", "bracketed-recall": "Bracketed Recall"}
CRITERIA = {
    "consistent_brackets_recall": "cons. brack. recall",
    "consistent_brackets_tree": "cons. brack. tree",
    "bracketed_recall": "brack. recall",
}
DIFFERENCE = "Difference (Bracketed Recall - Labelled Tree)"
#: Goodman's figures of the criteria: minimum, maximum, mean, standard deviation, per cent, on ATIS.
PUBLISHED = {
    "Labelled Tree": "86.06 93.27 90.13 2.57 51.14 77.27 63.98 7.96 71.38 81.88 75.87 3.18",
    "Bracketed Recall": "88.02 94.34 91.14 2.22 53.41 76.14 63.64 7.82 72.15 80.69 76.03 3.14",
    "Difference": "-1.55 2.45 1.01 1.07 -3.41 3.41 -0.34 2.34 -1.34 2.02 0.17 1.20",
}


def one_run(trees: Path, folder: Path, design: dict[str, Any], run: int) -> dict[str, Any]:
    """Rates after each iteration, and how the last grammar fits the test strings."""
    size, seed = design["train"], f"{design['seed']}/{run}"
    drawn = random.Random(seed).sample(read(trees), size + design["test"])
    test, grammar, curve = (folder / f"run-{run:02}" / name for name in ("test.mrg", "grammar.txt", "curve"))
    train = write_trees(drawn[:size], test.with_name("train.mrg"))
    write_trees(drawn[size:], test)
    how = {"nonterminals": design["nonterminals"], "no_brackets": not design["brackets"], "heldout": test}
    how["seed"] = random.Random(f"{seed}/grammar").getrandbits(32)
    rates: list[dict[str, Any]] = []
    for iteration in range(design["iterations"] + 1):
        go_on = {"iterations": iteration, "resume": iteration > 0, "output": grammar, "curve": curve}
        with redirect_stderr(io.StringIO()):
            mbrparse("train", train, method="inside-outside", **how, **go_on)
        parses = mp.Parser(mp.read_grammar(grammar), *DECODERS).parse(drawn[size:])
        found = mp.compare(drawn[size:], parses, resamples=0).frame
        rates += ({"decoder": name, **found.loc[name, list(CRITERIA)].to_dict()} for name in DECODERS)
    last = pd.read_csv(curve).iloc[-1]
    return {"rates": rates, "curve": last.to_dict()}


@paper
@click.option("--runs", default=10)
@click.option("--train", default=700, help="Sentences trained on.")
@click.option("--test", default=88, help="Sentences parsed.")
@click.option("--nonterminals", default=15)
@click.option("--iterations", default=75)
@click.option("--brackets/--no-brackets", default=True, help="In training.")
@click.option("--max-length", type=int, help="Leave out longer sentences.")
@click.option("--on-error", type=click.Choice(["stop", "skip"]), default="stop", help="At a malformed tree.")
@click.option("--seed", default=0, help="Seed of splits and random starts.")
def main(steps: Steps, corpus: str, runs: int, max_length: int | None, on_error: str, **design: Any) -> None:
    """Compare Labelled Tree and Bracketed Recall on grammars of bracketed training."""
    trees = steps.path("trees.mrg")
    steps.mbrparse("binarize", corpus, max_length=max_length, on_error=on_error, no_ids=True, output=trees)
    if design["train"] + design["test"] > len(read(trees)):
        raise click.ClickException("more sentences are asked for than there are: lower --train or --test")
    calls = {f"run-{run:02}": (trees, steps.folder, design, run) for run in range(1, runs + 1)}
    results = list(steps.values(one_run, calls).values())
    rates = pd.DataFrame(
        {"run": run, "iteration": place // len(DECODERS), **row}
        for run, result in enumerate(results, start=1)
        for place, row in enumerate(result["rates"])
    )
    rates.to_csv(steps.path("rates.csv"), index=False)
    found = table(rates)
    shown = per_cent(found[["min", "max", "mean", "std"]])
    shown["t"], shown["p"] = found["t"].map("{:.2f}".format), found["p"].map("{:.4f}".format)
    shown = shown.replace("nan", "-")
    paper_rows = {}
    for name, figures in PUBLISHED.items():
        for place, heading in enumerate(CRITERIA.values()):
            paper_rows[f"{name}: {heading}"] = figures.split()[4 * place : 4 * place + 4]
    mode = "bracketed" if design["brackets"] else "raw"
    title = f"{corpus}, {mode} training, {runs} runs, per cent; paired t-test over the runs"
    shown.index = [f"{row}: {CRITERIA[criterion]}" for row, criterion in found.index]
    steps.table("table1", found, title, with_published(shown, "Goodman (1996), Table 1, ATIS", paper_rows))
    last = pd.DataFrame(result["curve"] for result in results)
    steps.text(
        "fit",
        f"bracketing accuracy (Pereira & Schabes 1992; Labelled Tree parses): {shown['mean'].iloc[0]}\n"
        f"cross-entropy of the test strings: {last['heldout_cross_entropy'].mean():.4f} bits a terminal\n"
        f"test sentences not parsed: {last['heldout_left_out'].sum():.0f}\n",
    )
    figure2(steps, rates, f"{corpus}, {mode} training: run 1; shaded: lowest to highest of {runs} runs")


def table(rates: pd.DataFrame) -> pd.DataFrame:
    """The rates after the last iteration, summarized over the runs; t and p of the differences."""
    last = rates[rates["iteration"] == rates["iteration"].max()].set_index(["run", "decoder"])[list(CRITERIA)]
    one, other = (last.xs(decoder, level="decoder") for decoder in DECODERS)
    rows = {**dict(zip(DECODERS.values(), (one, other), strict=True)), DIFFERENCE: other - one}
    found = pd.concat({name: of_runs.agg(["min", "max", "mean", "std"]).T for name, of_runs in rows.items()})
    for criterion in CRITERIA:
        values = rows[DIFFERENCE][criterion]
        if len(values) > 1 and values.max() - values.min() > 1e-12:
            test = ttest_1samp(values, 0.0)
            found.loc[(DIFFERENCE, criterion), ["t", "p"]] = test.statistic, test.pvalue
    return found.reindex(columns=["min", "max", "mean", "std", "t", "p"])


def figure2(steps: Steps, rates: pd.DataFrame, title: str) -> None:
    """Run 1 in bold, and the spread of all runs behind, by iteration."""
    styles = dict(zip(DECODERS, (("#b2472e", "--"), ("#1f5f99", "-")), strict=True))
    with steps.plot("figure2", 2, title) as axes:
        for panel, criterion in zip(axes, list(CRITERIA)[:2], strict=True):
            for decoder, (colour, line) in styles.items():
                found = rates[rates["decoder"] == decoder].pivot(
                    index="iteration", columns="run", values=criterion
                )
                found *= 100
                panel.fill_between(
                    found.index, found.min(axis=1), found.max(axis=1), color=colour, alpha=0.15
                )
                panel.plot(found.index, found[1], line, color=colour, label=DECODERS[decoder])
            panel.set(title=CRITERIA[criterion], xlabel="iteration", ylabel="per cent")
        axes[0].legend(loc="lower right", frameon=False)


if __name__ == "__main__":
    main()
