"""Perplexities of a grammar and of n-gram models: of samples of the grammar, and of held-out sentences.

Of its samples no model has a lower one than the grammar, in expectation (Jumelet & Zuidema 2023).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mbrparse.decode.words.prefixes import Prefixes
from mbrparse.evaluate.criteria import DASH
from mbrparse.experiments.old_tables import grid_of
from mbrparse.experiments.prefixes.kneser_ney import Ids, KneserNey
from mbrparse.experiments.trial_runs import Tables, panels
from mbrparse.files import atomic_outputs
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.rules import TerminalKind
from mbrparse.grammar.sample import Sampler
from mbrparse.log import Log, no_log
from mbrparse.run.jobs import Jobs
from mbrparse.run.results import Result, fingerprint, run_all
from mbrparse.state_files import Schema, listed, number, record, whole
from mbrparse.training.count import train_by_counting
from mbrparse.treebank.corpora.reading import SourceTree
from mbrparse.treebank.tree import Tree

#: Longer sentences are not tested: the charts of some samples are large.
LONGEST = 150
KINDS = ("causal", "masked")
COUNTS = ("tested", "unparsed", "terminals")


@dataclass(frozen=True, eq=False)
class PerplexityTrial:
    """A run is a text to test on, and how many sentences to train on (samples: the grammar itself with 0)."""

    train: Sequence[SourceTree]
    held_out: Sequence[SourceTree]
    terminals: TerminalKind
    samples: int
    sentences: int
    order: int
    seed: int

    @property
    def points(self) -> list[tuple[str, int]]:
        """All samples, a tenth ... of a hundred or more; all trees, a half ... a 16th."""
        tenths = {self.samples} | {size for step in range(9) if (size := self.samples // 10**step) >= 100}
        halves = {len(self.train) >> step for step in range(5)} - {0}
        return [*product(["samples"], [0, *sorted(tenths)]), *product(["held-out"], sorted(halves))]

    @property
    def schema(self) -> Schema:
        """What a result is: perplexities of the grammar and of each order, NaN where there are none."""
        kinds = dict.fromkeys(KINDS, listed(number(undefined=True), self.order + 1))
        return record({**dict.fromkeys(COUNTS, whole()), **kinds})

    def __call__(self, run: int) -> Result:
        """All models on the sentences that the grammar has."""
        text, size = self.points[run - 1]
        trees = self.train[: size if text == "held-out" else None]
        words = self.terminals == "words"
        rules = train_by_counting(trees, self.terminals, "signature" if words else None).rules
        grammar, read = PCFG.from_rules(rules), Tree.words if words else Tree.tags
        if text == "samples":
            draws = enumerate((self.sentences, size), start=2 * self.seed)
            texts: Any = (map(read, Sampler(rules, seed).trees(count)) for seed, count in draws)
        else:
            spread = self.held_out[:: max(1, len(self.held_out) // self.sentences)][: self.sentences]
            texts = ((grammar.terminals_of(read(one.tree)) for one in part) for part in (spread, trees))
        test, strings = (list(map(grammar.encode, part)) for part in texts)
        test = [one for one in test if len(one) <= LONGEST]
        asked = len(test)
        causal, masked = ([np.nan] * (1 + self.order) for _ in KINDS)
        if text == "held-out" or not size:
            prefixes = Prefixes(grammar)
            found = [values.log_prob for values in prefixes.read(test)]
            test = [one for one, log_prob in zip(test, found, strict=True) if log_prob > -np.inf]
            causal[:1] = _perplexities((one for one in found if one > -np.inf), test, 1)
            gaps = zip(prefixes.masked(test), test, strict=True)
            each = (np.log(gap.distributions[range(len(one)), one]).sum() for gap, one in gaps)
            masked[:1] = _perplexities(each, test, 0)
        if size and test:
            grams = KneserNey(strings, len(grammar.terminals), self.order)
            causal[1:] = _perplexities(grams.log_probs(test), test, 1)
            masked[1:] = _perplexities(grams.masked_log_probs(test), test, 0)
        counts = len(test), asked - len(test), len(grammar.terminals)
        return dict(zip((*COUNTS, *KINDS), (*counts, causal, masked), strict=True))


def _perplexities(log_probs: Iterable[Any], sentences: Sequence[Ids], ends: int) -> list[float]:
    """By model, from the log probabilities of each sentence, which has so many ends beside its words."""
    tokens = sum(len(sentence) + ends for sentence in sentences)
    return list(np.exp(-sum(log_probs, np.zeros(1)) / tokens).tolist()) if tokens else [np.nan]


def compare_perplexities(
    trial: PerplexityTrial, about: dict[str, Any], folder: Path, jobs: Jobs = 1, log: Log = no_log
) -> str:
    """Run what the folder does not hold yet; return the table, which is also written with a plot."""
    parts = [fingerprint([one.tree for one in part]) for part in (trial.train, trial.held_out)]
    about, points, results = {**about, "trees": parts}, trial.points, dict[int, Result]()
    for run, results[run] in run_all(trial, folder, len(points), about, jobs, log):
        log(f"{len(results)} of {len(points)}: {' '.join(map(str, points[run - 1]))}")
    rows: list[list[Any]] = []
    for kind, (run, (text, size)) in product(KINDS, enumerate(points, start=1)):
        grammar = results[1 if text == "samples" else run][kind][0]
        if size:
            rows.append([kind, text, size, *map(results[run].get, COUNTS), grammar, *results[run][kind][1:]])
    models = ["grammar", *(f"{order}-gram" for order in range(1, trial.order + 1))]
    frame: Any = pd.DataFrame(rows, columns=["kind", "text", "trained on", *COUNTS, *models])
    grid, style = [[*frame][2:]], ["k--", *[".-"] * trial.order]
    with atomic_outputs(), panels(folder, "perplexities", 4, (15, 4), about["input"]) as (_, axes):
        for panel, (names, part) in zip(axes, frame.groupby(["kind", "text"], sort=False), strict=True):
            title, legend = ", ".join(names), panel is axes[1]
            part.plot("trained on", models, ax=panel, title=title, style=style, logx=True, legend=legend)
            panel.set_xticks(part["trained on"], part["trained on"])
            panel.minorticks_off()
            grid.append([title])
            for row in part.itertuples(index=False):
                grid.append([*row[2:6], *(f"{figure:.2f}".replace("nan", DASH) for figure in row[6:])])
        axes[0].set_ylabel("perplexity")
        tables = Tables(folder, {"experiment": "prefixes", "run": about})
        return tables.write("perplexities", grid_of(grid), grid_of([[*frame], *rows]))
