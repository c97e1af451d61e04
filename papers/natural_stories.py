"""Which grammar predicts how long people read a word: Natural Stories (Futrell et al. 2021), self-paced.

Grammars and n-gram models are trained on one treebank and give each word of the stories its surprisal. As in
Goodkind & Bicknell (2018) and Wilcox et al. (2020), a model is worth what the surprisals of a word and of the
two before it add to the log-likelihood of a regression on their lengths, log frequencies and numbers of
tokens (the surprisal of punctuation counts to the word before it), and on the logarithm of the place in the
story. The regression is linear and ordinary. It predicts the mean over readers of a word's reading times,
cleaned as the corpus' authors do: 100 to 3000 ms, of readers with more than 4 of 6 questions right. Each
story is held out in turn; all values count from their means over the story.

    python papers/natural_stories.py nltk:treebank --stories naturalstories -o build/natural-stories
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
from prefixes import KneserNey
from scipy import stats
from split_merge import trained
from steps import Steps, paper, read

import mbrparse as mp

#: Counted grammars, by how they are binarized.
MARKOVIZED: Mapping[str, dict[str, object]] = {
    "counted": {},
    "h=1, v=2": {"hmarkov": 1, "vmarkov": 2},
    "h=2, v=1": {"hmarkov": 2},
    "h=2, v=2": {"hmarkov": 2, "vmarkov": 2},
    "h=2, v=3": {"hmarkov": 2, "vmarkov": 3},
}
#: Words before, whose values predict a word's reading time, too.
BEFORE = 2
KEYS = ["story", "number"]
#: The correlation of times with the next word's length from which on they lie one word early (there: 0.22).
EARLY = 0.1


def read_tokens(folder: Path) -> pd.DataFrame:
    """The tokens of the stories, in order: sentence, token, and the story and number of their word."""
    rows = []
    for sentence, tree in enumerate(mp.read_trees(folder / "parses/penn/all-parses-aligned.txt.penn")):
        for leaf in tree.words():
            token, _, code = leaf.rpartition("/")
            rows.append([sentence, token, *map(int, code.split(".")[:2])])
    return pd.DataFrame(rows, columns=["sentence", "token", *KEYS])


def read_words(folder: Path) -> pd.DataFrame:
    """The words of the stories, in order: mean reading time, length, and log frequency (Google Books).

    The corpus' means of October 2021 lie one word early, which its authors mended in another file in 2025.
    No reader knows the length of the next word: where the times do, they are put one word later.
    """
    names = ["code", "order", "token", "count", "before"]
    found, books = (
        pd.read_csv(folder / path, sep="\t", quoting=3, keep_default_na=False, names=columns)
        for path, columns in (
            ("naturalstories_RTS/processed_wordinfo.tsv", None),
            ("freqs/freqs-1.tsv", names),
        )
    )
    found = found.set_index(["item", "zone"]).rename_axis(KEYS).sort_index()
    books[[*KEYS, "part"]] = books["code"].str.split(".", expand=True)
    numbers = dict.fromkeys((*KEYS, "count"), int)
    counts = books[books["part"] == "word"].astype(numbers).set_index(KEYS)["count"]
    time, length = found["meanItemRT"], found["word"].str.len()
    if time.corr(length.groupby("story").shift(-1)) > EARLY:
        time = time.groupby("story").shift(1)
    columns = {"time": time, "length": length, "log_frequency": np.log1p(counts)}
    return pd.DataFrame(columns).reindex(found.index)


def of_grammar(grammar: Path, sentences: list[list[str]]) -> dict[str, Any]:
    """The surprisal in bits of each token and end, and whether it is a word that training never had."""
    table = mp.surprisal(grammar, sentences)
    return {"bits": table["surprisal"].tolist(), "unseen": (table["class"] == "unseen").tolist()}


def of_n_grams(train: Path, grammar: Path, sentences: list[list[str]], order: int) -> dict[str, list[float]]:
    """The surprisals of n-gram models over the terminals of a grammar; words share classes as there."""
    known = mp.read_grammar(grammar)
    strings: Any = [known.encode(known.terminals_of(tree.words())) for tree in read(train)]
    model = KneserNey(strings, len(known.terminals), order)
    found: list[list[float]] = [[] for _ in range(order)]
    for sentence in sentences:
        read_as = known.read_words(sentence)
        ids: Any = known.encode(read_as.names)
        shared = np.log2(np.append(read_as.shared, 1))
        for place, each in enumerate(model.probabilities(list(model.windows(ids).T))):
            found[place] += (shared - np.log2(each)).tolist()
    return {f"{length}-gram": bits for length, bits in enumerate(found, start=1)}


def with_words_before(columns: pd.DataFrame) -> pd.DataFrame:
    """The columns, and those of the words before it in its story."""
    by_story = columns.groupby("story")
    return pd.concat({back: by_story.shift(back) for back in range(BEFORE + 1)}, axis=1)


def log_likelihoods(words: pd.DataFrame, predictors: pd.DataFrame) -> pd.Series:
    """Of each word's time, in nats, under the regression on the other stories."""
    # The stubs of pandas have columns of any type.
    given: list[Any] = [words["time"], predictors]
    times, x = (found - found.groupby("story").transform("mean") for found in given)
    held_out = []
    for _, there in times.groupby("story"):
        others = times.index.difference(there.index)
        weights = np.linalg.lstsq(x.loc[others], times[others], rcond=None)[0]
        spread = (times[others] - x.loc[others] @ weights).std()
        held_out.append(
            pd.Series(stats.norm.logpdf(there, x.loc[there.index] @ weights, spread), there.index)
        )
    return pd.concat(held_out)


def interval(by_word: pd.Series) -> list[float]:
    """The mean of the stories' means, and its 95% interval over stories (Student's t)."""
    means: Any = by_word.groupby("story").mean()
    half = stats.t.ppf(0.975, len(means) - 1) * means.sem()
    return [means.mean(), means.mean() - half, means.mean() + half]


def compared(words: pd.DataFrame, bits: pd.DataFrame, n_grams: str) -> pd.DataFrame:
    """What each model adds to the baseline, and to the baseline with n-grams, in 1/1000 nat a word."""
    baseline, spilled = with_words_before(words.drop(columns="time")), with_words_before(bits)
    baseline["place", 0] = np.log(baseline.index.get_level_values("number"))
    finite: Any = np.isfinite(spilled)
    there = baseline.notna().all(axis=1) & finite.all(axis=1) & words["time"].notna()
    words, baseline, spilled = words[there], baseline[there], spilled[there]
    of_model = {model: spilled.xs(model, axis=1, level=1) for model in bits}
    without = [baseline, pd.concat([baseline, of_model[n_grams]], axis=1)]
    found = {}
    for model, own in of_model.items():
        row: list[float] = [len(words)]
        for less in without:
            more = pd.concat([less, own], axis=1)
            row += interval(1000 * (log_likelihoods(words, more) - log_likelihoods(words, less)))
        found[model] = row
    names = [f"{name}{end}" for name in ("gain", "beyond") for end in ("", "_low", "_high")]
    return pd.DataFrame.from_dict(found, "index", columns=["words", *names]).rename_axis("model")


@paper
@click.option("--stories", required=True, type=click.Path(path_type=Path), help="A copy of the corpus.")
@click.option("--cycles", default=5, help="Split-merge grammars of 0 to so many cycles.")
@click.option("--order", default=5, help="The longest n-grams.")
@click.option("--max-length", default=40, help="Leave longer sentences out of CORPUS.")
@click.option("--seed", default=1, help="Seed of the splits.")
def main(
    steps: Steps, corpus: str, stories: Path, cycles: int, order: int, max_length: int, seed: int
) -> None:
    """Compare what surprisals of grammars and n-grams say of reading times, beside perplexities."""
    tokens, words = read_tokens(stories), read_words(stories)
    words["tokens"] = tokens.groupby(KEYS).size()
    grammars = {}
    for name, binarization in MARKOVIZED.items():
        train, grammars[name] = steps.path(f"{name}.mrg"), steps.path(f"{name}.txt")
        reading = {"max_length": max_length, "unary": "keep", "on_error": "skip", "no_ids": True}
        steps.mbrparse("binarize", corpus, **reading, **binarization, output=train)
        steps.mbrparse("train", train, terminals="words", output=grammars[name])
    train = steps.path("counted.mrg")
    for cycle in range(cycles + 1):
        grammars[f"{cycle} cycles"] = trained(steps, train, cycle, seed)
    sentences = tokens.groupby("sentence")["token"].agg(list).tolist()
    calls = {name: (path, sentences) for name, path in grammars.items()}
    found = steps.values(of_grammar, calls)
    of_n = steps.values(of_n_grams, {"n-grams": (train, grammars["counted"], sentences, order)})["n-grams"]
    bits = pd.DataFrame(of_n | {name: one["bits"] for name, one in found.items()})
    unseen = pd.DataFrame({name: one["unseen"] for name, one in found.items()}).any(axis=1)
    finite: Any = np.isfinite(bits)
    known = finite.all(axis=1) & ~unseen
    # Each sentence has a row more than tokens.
    at_end = np.concatenate([[False] * len(sentence) + [True] for sentence in sentences])
    of_token = bits.where(known, np.inf)[~at_end].set_index(pd.MultiIndex.from_frame(tokens[KEYS]))
    by_word = of_token.groupby(KEYS).sum()
    table = compared(words.reindex(by_word.index), by_word, f"{order}-gram")
    table.insert(0, "perplexity", np.exp2(bits[known].mean()))
    parts = [
        f"{known.sum()} of {len(known)} tokens and ends",
        f"{table.pop('words').iloc[0]} of {len(words)} words",
    ]
    title = f"{corpus}: {', '.join(parts)}; gains in thousandths of a nat a word"
    steps.table("gains", table, title, table.round(2))
    with steps.plot("gains", 2, f"{corpus}: reading times of Natural Stories") as axes:
        kinds = np.select(
            [table.index.str.endswith(end) for end in ("gram", "cycles")],
            ["n-grams", "split-merge"],
            "counted",
        )
        for panel, column in zip(axes, ("gain", "beyond"), strict=True):
            groups: Any = table.groupby(kinds)
            for kind, part in groups:
                bars = part[[f"{column}_low", f"{column}_high"]].sub(part[column], axis=0).abs()
                style = "o-" if kind == "split-merge" else "o"
                panel.errorbar(part["perplexity"], part[column], bars.T, fmt=style, capsize=3, label=kind)
            panel.axhline(0, color="grey", linewidth=0.5)
            panel.set(xlabel="perplexity", ylabel=f"{column}, 1/1000 nat a word")
        axes[0].legend()


if __name__ == "__main__":
    main()
