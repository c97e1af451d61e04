"""Goodman (1996), DOP: a treebank's PCFG, its fragments, and the decoders of both, on random splits.

Learning curves of Labelled Recall run over training sentences and over the depth of fragments. Bod's (1993)
chart, in which every fragment stands by itself, is compared with the reduction on the first split.

    python papers/dop1996.py embedded:flights -o build/dop
"""

from __future__ import annotations

import io
import itertools
import json
import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr
from fractions import Fraction
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
from scipy.stats import ttest_1samp
from steps import Steps, mbrparse, paper, per_cent, read, with_published, write_trees

import mbrparse as mp

DECODERS = {
    "labelled-recall": "labelled recall",
    "labelled-tree": "most probable derivation",
    "most-probable-tree": "Monte Carlo",
}
WEIGHTINGS = ("plain", "equal", "bonnema")
CRITERIA = {
    "labelled_tree": "lab. tree",
    "labelled_recall": "lab. recall",
    "bracketed_recall": "brack. recall",
    "consistent_brackets_recall": "cons. recall",
    "consistent_brackets_tree": "cons. tree",
}
DEPTHS = (1, 2, 3, 4, 5, 6)
#: Of longer sentences the forest of fragments does not fit memory.
LONGEST = 20
How = dict[str, Any]


def split(trees: Path, folder: Path, how: How, run: int) -> tuple[Path, Path]:
    """The training and the test part of a random split."""
    drawn = random.Random(f"{how['seed']}/{run}").sample(read(trees), how["train"] + how["test"])
    train, test = folder / f"{run}/train.mrg", folder / f"{run}/test.mrg"
    return write_trees(drawn[: how["train"]], train), write_trees(drawn[how["train"] :], test)


def train(trees: Path, model: str, depth: int | None, output: Path) -> Path:
    """A model's grammar: the PCFG, or fragments in a weighting."""
    weights = None if model == "PCFG" else model.removeprefix("DOP-")
    more = {"method": "dop", "weights": weights, "max_depth": depth} if weights else {}
    with redirect_stderr(io.StringIO()):
        mbrparse("train", trees, **more, output=output)
    return output


def parse(grammar: Path, test: Path, output: Path, **options: object) -> list[dict[str, Any]]:
    """Parse, and return the details; kernels are loaded, and memory taken, before sentences are timed."""
    details, longest = output.with_suffix(".jsonl"), output.with_suffix(".longest")
    write_trees(sorted(read(test), key=lambda tree: len(tree.leaves()))[-5:], longest)
    with redirect_stderr(io.StringIO()):
        for file in (longest, test):
            mbrparse("parse", file, grammar=grammar, **options, details=details, output=output)
    return list(map(json.loads, details.read_text("utf-8").splitlines()))


def one_split(trees: Path, folder: Path, model: str, how: How, run: int) -> dict[str, Any]:
    """For each decoder seconds a sentence, which sentences fell back, and the trees."""
    train_part, test = split(trees, folder / model, how, run)
    grammar = train(train_part, model, how["max_depth"], test.with_name("grammar.txt"))
    found = {}
    for decoder in list(DECODERS)[: 2 if model == "PCFG" else 3]:
        options = {"prune": None if model == "PCFG" else how["prune"], "objective": decoder}
        if decoder == "most-probable-tree":
            # All of the samples, however certain the leading tree is: their cost is measured.
            options |= {"max_samples": how["samples"], "max_error": 0, "seed": how["seed"]}
        output = test.with_name(f"{decoder}.mrg")
        details = parse(grammar, test, output, **options)
        found[decoder] = {
            "trees": output.read_text("utf-8").splitlines(),
            "seconds": [row["seconds"] for row in details],
            "fell_back": sum(row["status"] != "parsed" for row in details),
        }
    return {"gold": test.read_text("utf-8").splitlines(), "decoders": found}


def one_curve(trees: Path, folder: Path, model: str, how: How, run: int) -> dict[str, dict[str, list[float]]]:
    """Labelled tree and recall of Labelled Recall at each point of both curves of a split."""
    train_part, test = split(trees, folder / f"{model}-curves", how, run)
    sizes = sorted({size for step in range(5) if (size := how["train"] >> step)})
    places: dict[str, tuple[int, int | None]] = {f"sizes {size}": (size, how["max_depth"]) for size in sizes}
    if model != "PCFG":
        places |= {f"depths {depth}": (how["train"], depth) for depth in DEPTHS}
    found = {}
    for place, (size, depth) in places.items():
        part = write_trees(read(train_part)[:size], test.with_name("part.mrg"))
        grammar, output = (
            train(part, model, depth, test.with_name("grammar.txt")),
            test.with_name("parses.mrg"),
        )
        prune = None if model == "PCFG" else how["prune"]
        with redirect_stderr(io.StringIO()):
            mbrparse("parse", test, grammar=grammar, objective="labelled-recall", prune=prune, output=output)
        rates = mp.compare(read(test), mp.read_parses(output), resamples=0).frame.iloc[0]
        found[place] = [float(rates["labelled_tree"]), float(rates["labelled_recall"])]
    return found


Fragment = tuple[Any, ...]


def number_of_fragments(tree: mp.Tree, depth: float) -> int:
    """How many fragments of at most this depth begin at a node."""
    if not depth:
        return 0
    inner = (child for child in tree.children if child.children)
    return math.prod(1 + number_of_fragments(child, depth - 1) for child in inner)


def fragments(tree: mp.Tree, depth: float) -> list[Fragment]:
    """Those fragments: a label, then terminals, labels where a fragment ends, or parts where it goes on."""
    if not depth:
        return []
    ways: list[list[Any]] = [
        [child.label, *fragments(child, depth - 1)] if child.children else [f"'{child.label}'"]
        for child in tree.children
    ]
    return [(tree.label, *chosen) for chosen in itertools.product(*ways)]


def inner_nodes(tree: mp.Tree) -> Iterator[mp.Tree]:
    """All nodes but the terminals."""
    stack = [tree]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(child for child in node.children if child.children)


def write_fragments(trees: Sequence[mp.Tree], depth: float, shared: bool, path: Path) -> int:
    """The grammar of all fragments, each different one once with its share of those under its label.

    Every node inside a fragment is a symbol with one rule, of probability one, that no other fragment has
    (with ``shared`` equal parts have one symbol, which Bod's chart has not). Return the number of rules.
    """
    counts: Counter[Fragment] = Counter()
    for tree in trees:
        for node in inner_nodes(tree):
            counts.update(fragments(node, depth))
    numbers: dict[Fragment, int] = {}
    rules: dict[str, int] = {}
    parts = itertools.count(1)
    for root, count in counts.items():
        stack = [(root[0], root, count)]
        while stack:
            parent, (_, *children), number = stack.pop()
            names = []
            for child in children:
                if isinstance(child, str):
                    names.append(child)
                    continue
                part = numbers.setdefault(child, len(numbers)) if shared else next(parts)
                names.append(f"{child[0]}~{part}")
                stack.append((names[-1], child, 1))
            rules[f"{parent} -> {' '.join(names)}"] = number
    starts = Counter(tree.label for tree in trees)
    # Counts, from which probabilities (-) are computed.
    lines = [f"start {label} - {n}" for label, n in starts.items()]
    lines += [f"rules {len(rules)}", *(f"- {count} {rule}" for rule, count in rules.items()), "end"]
    path.write_text("\n".join(["mbrparse-grammar 1", "terminals tags", *lines]) + "\n", "utf-8")
    return len(rules)


def speed(trees: Path, folder: Path, how: How, most: int, sentences: int) -> dict[str, Any]:
    """Seconds a sentence for chart and Labelled Recall, and for chart and samples, by grammar."""
    train_part, test = split(trees, folder / "speed", how, 1)
    known, nodes = read(train_part), [node for tree in read(train_part) for node in inner_nodes(tree)]
    depth = math.inf
    if sum(number_of_fragments(node, depth) for node in nodes) > most:
        depth = 1
        while sum(number_of_fragments(node, depth + 1) for node in nodes) <= most:
            depth += 1
    # The trees' PCFG parses what all others do.
    model = mp.Parser(mp.train(known), "labelled-tree")
    short = [tree for tree in read(test) if len(tree.leaves()) <= LONGEST]
    short = [tree for tree in short if model.parse([tree])[0].reason is None][:sentences]
    if not short:
        raise click.ClickException("no short test sentence has a parse: give --no-speed")
    write_trees(short, test)
    limit = None if depth == math.inf else int(depth)
    paths = {name: test.with_name(f"{name}.txt") for name in ("explicit", "shared", "addressed", "written")}
    rules = {name: write_fragments(known, depth, name == "shared", paths[name]) for name in list(paths)[:2]}
    train(train_part, "DOP-plain", limit, paths["addressed"])
    rules["addressed"] = paths["addressed"].read_text("utf-8").count("\n")
    lexicon = test.with_name("lexicon.txt")
    with redirect_stderr(io.StringIO()):
        convert = "grammar convert"
        rule_file = test.with_name("rules.txt")
        mbrparse(convert, paths["addressed"], to="bitpar", lexicon_output=lexicon, output=rule_file)
        bitpar = {"lexicon": lexicon, "output": paths["written"]}
        mbrparse(convert, rule_file, **{"from": "bitpar", "to": "mbrparse"}, **bitpar)
    rules["written"] = paths["written"].read_text("utf-8").count(" -> ")
    log_probs, rows = [], {}
    for name, path in paths.items():
        recall = parse(path, test, test.with_name("recall.mrg"), objective="labelled-recall")
        more: How = {"objective": "labelled-tree", "samples": how["samples"]}
        if name == "addressed":
            more = {"objective": "most-probable-tree", "max_samples": how["samples"], "max_error": 0}
        sampled = parse(path, test, test.with_name("samples.mrg"), seed=how["seed"], **more)
        log_probs.append([row["log_probability"] for row in recall])
        means = [float(np.mean([row["seconds"] for row in details])) for details in (recall, sampled)]
        rows[name] = [rules[name], *means]
    number = sum(number_of_fragments(node, depth) for node in nodes)
    difference = float(np.ptp(log_probs, axis=0).max())
    return {"rows": rows, "fragments": number, "depth": limit, "difference": difference, "n": len(short)}


def part_size(text: str, trees: int) -> int:
    """A number of trees, or a share of them (as text, exactly)."""
    try:
        number = Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise click.ClickException(f"{text!r} is no number of trees, and no share of them") from None
    return int(number) if number >= 1 and "." not in text else math.floor(number * trees)


@paper
@click.option("--runs", default=10, help="Random splits.")
@click.option("--train", "train_size", default="700", help="Sentences trained on, or their share.")
@click.option("--test", "test_size", default="88", help="Sentences parsed, or their share.")
@click.option("--max-length", default=30, help="Leave out longer sentences.")
@click.option("--weights", "weightings", type=click.Choice(WEIGHTINGS), multiple=True, default=WEIGHTINGS)
@click.option("--max-depth", type=int, help="The greatest depth of fragments, except along that curve.")
@click.option("--prune", default=0.0, help="Prune the charts of DOP, as parse does.")
@click.option("--samples", default=1000, help="Samples of each sentence.")
@click.option("--curves/--no-curves", default=True, help="Learning curves.")
@click.option("--speed/--no-speed", "with_speed", default=True, help="Bod's chart, on one split.")
@click.option("--fragments", "most", default=100_000, help="Fragments in Bod's chart at most.")
@click.option("--sentences", default=50, help="Sentences for Bod's chart at most.")
@click.option("--resamples", default=10_000, help="Resamples for significance.")
@click.option("--seed", default=0, help="Seed of splits and samples.")
def main(
    steps: Steps, corpus: str, runs: int, train_size: str, test_size: str, max_length: int, curves: bool,
    weightings: tuple[str, ...], with_speed: bool, most: int, sentences: int, resamples: int, **how: Any,
) -> None:  # fmt: skip
    """Compare DOP by each decoder and weighting with the treebank's PCFG."""
    trees = steps.path("trees.mrg")
    steps.mbrparse("binarize", corpus, max_length=max_length, on_error="skip", no_ids=True, output=trees)
    number = len(read(trees))
    how |= {"train": part_size(train_size, number), "test": part_size(test_size, number)}
    if how["train"] + how["test"] > number or not how["train"] or not how["test"]:
        raise click.ClickException(f"there are {number} sentences: change --train or --test")
    models = ["PCFG", *(f"DOP-{name}" for name in weightings)]
    calls = {
        f"{m}/split-{run:02}": (trees, steps.folder, m, how, run)
        for m in models
        for run in range(1, runs + 1)
    }
    title = f"{corpus}: {runs} splits of {how['train']} and {how['test']} sentences"
    report(steps, steps.values(one_split, calls), title, {"resamples": resamples, "seed": how["seed"]})
    if curves:
        calls = {name.replace("/", "-curves/"): call for name, call in calls.items()}
        report_curves(steps, steps.values(one_curve, calls), models, title)
    if with_speed:
        found = steps.values(speed, {"speed": (trees, steps.folder, how, most, sentences)})["speed"]
        report_speed(steps, found, how["samples"])


def report(steps: Steps, found: dict[str, Any], title: str, tests: dict[str, Any]) -> None:
    """Rates of all splits together with letters of significance, and paired t-tests over the splits."""
    names = dict.fromkeys(name.partition("/")[0] for name in found)
    rows: dict[str, list[list[mp.Tree]]] = {}
    costs: dict[str, list[float]] = {}
    for model in names:
        of_model = [result for name, result in found.items() if name.partition("/")[0] == model]
        gold = [list(map(mp.read_tree, result["gold"])) for result in of_model]
        for decoder in of_model[0]["decoders"]:
            row = f"{model}, {DECODERS[decoder]}"
            of_row = [result["decoders"][decoder] for result in of_model]
            rows[row] = [list(map(mp.read_tree, one["trees"])) for one in of_row]
            seconds = np.concatenate([one["seconds"] for one in of_row])
            costs[row] = [1e3 * seconds.mean(), sum(one["fell_back"] for one in of_row) / len(seconds)]
    chained = {row: list(itertools.chain(*parts)) for row, parts in rows.items()}
    together = mp.compare(list(itertools.chain(*gold)), chained, criteria=list(CRITERIA), **tests)
    cost = pd.DataFrame(costs, index=["measured ms a sentence", "fell back"]).T
    together.frame.join(cost).to_csv(steps.path("models.csv"))
    cost["fell back"] *= 100
    steps.text("models", f"{title}\n\n{together}\n\n{cost.round(2).to_string()}\n")
    splits = {
        (row, run): mp.compare(gold[run], {row: parts[run]}, resamples=0).frame.loc[row, list(CRITERIA)]
        for row, parts in rows.items()
        for run in range(len(parts))
    }
    by_split = pd.DataFrame(splits).T.astype(float).rename_axis(["row", "split"])
    by_split.to_csv(steps.path("splits.csv"))
    lines = {}
    first = next(iter(rows))
    for row in rows:
        model, _, decoder = row.partition(", ")
        if model == "PCFG":
            continue
        recall = f"{model}, {DECODERS['labelled-recall']}"
        one, other, rest = (row, first, "PCFG") if row == recall else (recall, row, decoder)
        difference = by_split.loc[one] - by_split.loc[other]
        lines[f"{one} - {rest}"] = [paired(difference[criterion]) for criterion in CRITERIA]
    tested = pd.DataFrame(lines, index=list(CRITERIA.values())).T
    steps.table("tests", tested, "Paired t-tests over the splits: difference in per cent, and p")


def paired(differences: pd.Series[float]) -> str:
    """The mean difference and the p of the paired t-test; none where the splits do not differ."""
    spread = differences.max() - differences.min()
    p = ttest_1samp(differences, 0.0).pvalue if len(differences) > 1 and spread > 1e-12 else math.nan
    return f"{100 * differences.mean():+.2f} ({'-' if math.isnan(p) else f'{p:.4f}'})"


def report_curves(steps: Steps, found: dict[str, Any], models: Sequence[str], title: str) -> None:
    """Labelled tree and recall of Labelled Recall, means over the splits; a plot of the recall."""
    points = pd.DataFrame(
        (name.partition("-curves/")[0], *place.split(), *rates)
        for name, result in found.items()
        for place, rates in result.items()
    )
    points.columns = ["model", "curve", "place", "labelled tree", "labelled recall"]
    points["place"] = points["place"].astype(int)
    means = points.groupby(["curve", "place", "model"]).mean()
    means.to_csv(steps.path("curves.csv"))
    text = per_cent(means, 1)
    shown = (text["labelled tree"] + " / " + text["labelled recall"]).unstack()[list(models)]
    steps.text(
        "curves", f"Labelled Recall: labelled tree / labelled recall, means over the splits\n\n{shown}\n"
    )
    with steps.plot("curves", 2, title) as axes:
        recall = 100 * means["labelled recall"].unstack()[list(models)]
        recall.loc["sizes"].plot(ax=axes[0], logx=True, marker=".", xlabel="training sentences")
        depths = recall.loc["depths"].copy()
        depths["PCFG"] = recall.loc["sizes"]["PCFG"].iloc[-1]
        depths.plot(ax=axes[1], marker=".", xlabel="depth of fragments", legend=False)
        axes[0].set_ylabel("labelled recall, per cent")


def report_speed(steps: Steps, found: dict[str, Any], samples: int) -> None:
    """Bod's chart beside the reduction."""
    columns = ["rules", "labelled recall", f"{samples} samples"]
    table = pd.DataFrame(found["rows"], index=columns).T.rename_axis("measured seconds a sentence")
    ratio = table.loc["explicit", columns[2]] / table.loc[["written", "addressed"], columns[1]]
    depth = "of any depth" if found["depth"] is None else f"up to a depth of {found['depth']}"
    title = (
        f"Bod's chart beside the reduction: {found['fragments']} fragments ({depth}), {found['n']} sentences "
        f"of up to {LONGEST} tags; log probabilities differ by {found['difference']:.1e}.\n"
        f"Explicit fragments and {samples} samples take {ratio['written']:.1f} times as long as the "
        f"reduction and Labelled Recall in the same code, {ratio['addressed']:.1f} times as long as the "
        "addressed treebank."
    )
    shown = table.round(5).astype({"rules": int}).astype(str)
    published = {"explicit, times the reduction's labelled recall": ("-", "-", "500 times")}
    shown = with_published(shown, "Goodman (1996), ATIS, two programs", published)
    steps.table("speed", table, title, shown)


if __name__ == "__main__":
    main()
