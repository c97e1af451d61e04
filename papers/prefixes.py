"""Perplexities of a grammar and of n-gram models: of the next word, and of a masked one.

Of samples of a grammar no model has lower perplexities than the grammar itself, in expectation (Jumelet &
Zuidema 2023). The n-gram models are interpolated Kneser-Ney's (1995): the model of order n has raw counts of
n-grams; a shorter one counts the different words before it or, at the beginning of a sentence, where there
are none, how often it occurs. Every length has one discount, n1 / (n1 + 2 n2) of what was counted once and
twice (Ney, Essen & Kneser 1994). Unigrams are interpolated with the uniform distribution.

    python papers/prefixes.py embedded:flights -o build/prefixes
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import click
import numpy as np
import numpy.typing as npt
import pandas as pd
from steps import Steps, mbrparse, paper, read

import mbrparse as mp

Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Ids = Longs | Sequence[int]
#: Longer sentences are not tested: the charts of some samples are large.
LONGEST = 150
KINDS = ("causal", "masked")
_NO_KEY = np.iinfo(np.int64).max  # after all that were seen: the id -1 is its place


def _shares(count: Longs, context: Longs, discount: float | None) -> tuple[Floats, Floats]:
    """By id: n-grams' relative frequencies, discounted, and the weight of shorter ones in each context."""
    once, twice = (int((count == seen).sum()) for seen in (1, 2))
    if discount is None:
        discount = once / (once + 2 * twice) if once and twice else 0.5
    total = np.bincount(context, count)
    frequency = np.maximum(count - discount, 0) / total[context]
    return np.append(frequency, 0.0), np.append(discount * np.bincount(context) / total, 1.0)


class KneserNey:
    """The models of all orders up to one; ``end`` is above all ids of words; each length has its discount."""

    def __init__(self, sentences: Iterable[Ids], end: int, order: int, discount: float | None = None) -> None:
        self.order, self.end, self._base = order, end, end + 2
        rows = np.concatenate([self.windows(sentence) for sentence in sentences])
        context, contexts = np.zeros(len(rows), np.int64), np.zeros(1, np.int64)
        self._levels = []
        for length in range(1, order + 1):
            if length > 1:
                rows, context = rows[kept := rows[:, -length] >= 0], context[kept]
                contexts, context = np.unique(context * self._base + rows[:, -length], return_inverse=True)
            keys = context * self._base + rows[:, -1]
            grams, gram, count = np.unique(keys, return_inverse=True, return_counts=True)
            kinds = count
            if length < order:
                # Where no word is before, each occurrence counts.
                before, most = rows[:, -1 - length], self._base + len(rows)
                before = np.where(before < 0, self._base + np.arange(len(rows)), before)
                kinds = np.bincount(np.unique(gram * most + before) // most)
            shares = [_shares(one, grams // self._base, discount) for one in (count, kinds)]
            self._levels.append((np.append(contexts, _NO_KEY), np.append(grams, _NO_KEY), shares))

    def windows(self, sentence: Ids) -> Longs:
        """Each word and the end after what is before them, [n + 1, order]; -1 stands before the beginning."""
        before = np.full(self.order - 1, -1)
        before[-1:] = self.end + 1
        return np.lib.stride_tricks.sliding_window_view(np.r_[before, sentence, self.end], self.order)

    def probabilities(self, columns: Sequence[Longs] | Longs) -> list[Floats]:
        """Of the last column's words, given those before them, by each order; columns may broadcast."""
        found, context, shorter = [], np.zeros(1, np.int64), np.full(1, 1 / (self.end + 1))
        for place, (contexts, grams, shares) in enumerate(self._levels):
            if place:
                context = self._find(contexts, context, columns[-1 - place])
            gram = self._find(grams, context, columns[-1])
            # Raw counts are of the longest n-grams only.
            longest, shorter = (often[gram] + rest[context] * shorter for often, rest in shares)
            found.append(longest)
        return found

    def _find(self, keys: Longs, context: Longs, word: Longs) -> Longs:
        wanted = context * self._base + word
        place = np.searchsorted(keys, wanted)
        return np.where((keys[place] == wanted) & (context >= 0) & (word >= 0), place, -1)

    def log_probs(self, sentences: Iterable[Ids]) -> Iterator[Floats]:
        """Of each sentence, words and end, by each order: [order], natural."""
        for sentence in sentences:
            yield np.log(self.probabilities(self.windows(sentence).T)).sum(axis=1)

    def masked_log_probs(self, sentences: Iterable[Ids]) -> Iterator[Floats]:
        """Of each sentence's words given all others, from the n-grams that hold them: [order], natural."""
        for sentence in sentences:
            rows, n = self.windows(sentence), len(sentence)
            joint = np.ones((self.order, n, self.end))
            for later in range(min(self.order, n + 1)):
                columns = [*rows[later : later + n].T[:, :, None]]
                columns[-1 - later] = np.arange(self.end)[None]
                # Lower orders do not look back so far.
                for order, found in enumerate(self.probabilities(columns)[later:], start=later):
                    joint[order, : n + 1 - later] *= found
            yield np.log(joint[:, range(n), sentence] / joint.sum(axis=2)).sum(axis=1)


def points(samples: int, trees: int) -> list[tuple[str, int]]:
    """Texts and how many sentences to train on: all samples, a tenth ... of a hundred or more; all trees, a
    half ... a 16th. Of samples 0 is the grammar itself."""
    tenths = {samples} | {size for step in range(9) if (size := samples // 10**step) >= 100}
    halves = {trees >> step for step in range(5)} - {0}
    return [*product(["samples"], [0, *sorted(tenths)]), *product(["held-out"], sorted(halves))]


def one_point(train: Path, held_out: Path, folder: Path, how: dict[str, Any], text: str, size: int) -> Any:
    """The perplexities of the grammar and of each order on one text, and how many sentences were tested."""
    words = how["terminals"] == "words"
    trees = read(train)[: size if text == "held-out" else None]
    grammar = mp.train(trees, how["terminals"])
    path = folder / f"{text}-{size}.txt"
    mp.write_grammar(grammar, path)
    if text == "samples":
        parts = []
        for seed, count in enumerate((how["sentences"], size), start=2 * how["seed"]):
            mbrparse("sample", path, n=count, seed=seed, output=path.with_suffix(".mrg"))
            parts.append(read(path.with_suffix(".mrg")) if count else [])
    else:
        parts = [read(held_out), trees]
        parts[0] = parts[0][:: max(1, len(parts[0]) // how["sentences"])][: how["sentences"]]
    leaves: list[list[Any]] = [[tree.words() if words else tree.tags() for tree in part] for part in parts]
    if words:
        leaves = [list(map(grammar.terminals_of, part)) for part in leaves]
    test = [one for one in leaves[0] if len(one) <= LONGEST]
    asked, found = len(test), {kind: [np.nan] * (1 + how["order"]) for kind in KINDS}
    if text == "held-out" or not size:
        table = mp.surprisal(grammar, [*map(list, test)]).groupby("sentence")["log_prefix"].last()
        test = [one for one, log_prob in zip(test, table, strict=True) if log_prob > -np.inf]
        found["causal"][:1] = perplexities(table[table > -np.inf], test, 1)
        found["masked"][:1] = perplexities(masked(path, test), test, 0)
    if size and test:
        ids: Any = [grammar.encode(one) for one in test]
        strings: Any = [grammar.encode(one) for one in leaves[1]]
        model = KneserNey(strings, len(grammar.terminals), how["order"])
        found["causal"][1:] = perplexities(model.log_probs(ids), test, 1)
        found["masked"][1:] = perplexities(model.masked_log_probs(ids), test, 0)
    return {"tested": len(test), "unparsed": asked - len(test), "terminals": len(grammar.terminals), **found}


def masked(grammar: Path, sentences: Sequence[Sequence[str]]) -> Iterator[float]:
    """The log probability of each sentence's words given all others."""
    tokens, file = grammar.with_suffix(".tokens"), grammar.with_suffix(".npz")
    tokens.write_text("".join(" ".join(sentence) + "\n" for sentence in sentences), "utf-8")
    if sentences:
        mbrparse("masked", tokens, grammar=grammar, input="tokens", output=file)
        arrays = np.load(file)
        each = np.log(arrays["probabilities"][np.arange(len(arrays["word"])), arrays["word"]])
        yield from np.add.reduceat(each, np.r_[0, arrays["lengths"].cumsum()[:-1]])


def perplexities(log_probs: Iterable[Any], sentences: Sequence[Ids], ends: int) -> list[float]:
    """By model, from the log probabilities of each sentence, which has so many ends beside its words."""
    tokens = sum(len(sentence) + ends for sentence in sentences)
    return list(np.exp(-sum(log_probs, np.zeros(1)) / tokens).tolist()) if tokens else [np.nan]


@paper
@click.option("--terminals", type=click.Choice(["tags", "words"]), default="tags", help="As for train.")
@click.option("--unary", type=click.Choice(["top", "keep"]), default="top", help="As for binarize.")
@click.option("--samples", default=10_000, help="Samples to train on; also a tenth ... a hundred.")
@click.option("--sentences", default=1000, help="Sentences tested at most, sampled and held out.")
@click.option("--order", default=5, help="The longest n-grams.")
@click.option("--test-fraction", default="0.1", help="The last part, to hold out.")
@click.option("--max-length", default=40, help="Leave longer out of CORPUS.")
@click.option("--seed", default=0, help="Seed of the samples.")
def main(
    steps: Steps, corpus: str, unary: str, test_fraction: str, max_length: int, samples: int, **how: Any
) -> None:
    """Compare a grammar's perplexities with those of n-gram models."""
    trees, train, test = map(steps.path, ("trees.mrg", "train.mrg", "test.mrg"))
    reading = {"max_length": max_length, "unary": unary, "on_error": "skip", "no_ids": True}
    steps.mbrparse("binarize", corpus, **reading, output=trees)
    steps.mbrparse("split", trees, test_fraction=test_fraction, train_output=train, test_output=test)
    asked = points(samples, len(read(train)))
    calls = {f"{text}-{size}": (train, test, steps.folder, how, text, size) for text, size in asked}
    found = steps.values(one_point, calls)
    models = ["grammar", *(f"{order}-gram" for order in range(1, how["order"] + 1))]
    rows = []
    for kind, (text, size) in product(KINDS, asked):
        result = found[f"{text}-{size}"]
        of_grammar = found["samples-0"] if text == "samples" else result
        if size:
            counts = [result[name] for name in ("tested", "unparsed", "terminals")]
            rows.append([kind, text, size, *counts, of_grammar[kind][0], *result[kind][1:]])
    names = ["kind", "text", "trained on", "tested", "unparsed", "terminals"]
    table = pd.DataFrame(rows, columns=[*names, *models]).set_index(names[:3])
    shown = table.copy()
    shown[models] = table[models].map("{:.2f}".format).replace("nan", "-")
    steps.table("perplexities", table, f"{corpus}: perplexities", shown)
    with steps.plot("perplexities", 4, corpus) as axes:
        groups = table.reset_index("trained on").groupby(["kind", "text"], sort=False)
        for panel, (title, part) in zip(axes, groups, strict=True):
            style = ["k--", *[".-"] * how["order"]]
            lines: Any = part.plot
            lines("trained on", models, ax=panel, title=", ".join(map(str, title)), style=style, logx=True)
        axes[0].set_ylabel("perplexity")


if __name__ == "__main__":
    main()
