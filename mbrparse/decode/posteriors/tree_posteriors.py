"""Posteriors of the constituents of weighted trees: several parsers' trees, or one parser's candidates.

g(i, X, j) is the share of the weights of a sentence's trees that have the constituent: of k parsers with
equal weights the share of votes (Henderson and Brill 1999; Sagae and Lavie 2006), of candidates with their
probabilities the posterior (Choe, McClosky and Charniak 2015).

The labels of a chain over one span are independent items. A label that a tree has k times on one span is
there as k items, each of its own row: the posteriors that it is there once at least, twice, and so on.
Constituents over one word are phrases; the tags of words are tags. Wrappers (treebank.outlines) are none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt

from mbrparse.charts.exhaustive.factory import TIE
from mbrparse.charts.spans import begins, cell_of
from mbrparse.decode.label_order import LabelOrder
from mbrparse.decode.posteriors.given_posteriors import GivenPosteriors
from mbrparse.errors import InputMismatchError, LabelError, OptionsError
from mbrparse.grammar.pcfg import FloatArray
from mbrparse.treebank.labels import escape, project
from mbrparse.treebank.outlines import first_difference, outline, yields_agree
from mbrparse.treebank.tree import Tree

Ints = npt.NDArray[np.int64]


class SentenceTree(NamedTuple):
    """A tree of a sentence, which has this number (from 0); None: no parse. Its file and line (from 1)."""

    sentence: int
    tree: Tree | None
    source: str = "<trees>"
    line: int = 0


@dataclass(frozen=True, eq=False)
class TreeItems:
    """The constituents and tags of trees, one row each.

    ``leaves`` are those of each sentence's first tree (none: no parse at all), ``labels`` in text order as
    binarized trees have them; tree and label numbers are positions in ``sentence`` and ``labels``.

    sentence             int64 [trees]
    parsed               bool [trees]
    tree, start, end     int64 [items], and label
    phrase               bool [items]: no tag
    occurrence           int64 [items]: 0 for the topmost of equal labels on one span, 1 for the next
    """

    source: str
    leaves: tuple[tuple[Tree, ...], ...]
    labels: tuple[str, ...]
    sentence: Ints
    parsed: npt.NDArray[np.bool_]
    tree: Ints
    start: Ints
    end: Ints
    label: Ints
    phrase: npt.NDArray[np.bool_]
    occurrence: Ints

    @classmethod
    def of_trees(cls, trees: Iterable[SentenceTree], source: str, binarized: bool = False) -> TreeItems:
        """List the items of trees, which come in any order; every sentence has a tree, or None, at least.

        Labels of ``binarized`` trees lose their annotations. Raises InputMismatchError for trees of other
        words, LabelError for a label that no binarizing wrote.
        """
        shown = project if binarized else escape
        first: dict[int, SentenceTree] = {}
        yields: dict[int, list[Tree]] = {}
        sentence, sizes, lengths, starts_ends = [], [], [], list[tuple[int, int]]()
        names, tags = list[str](), list[str]()
        for one in trees:
            sentence.append(one.sentence)
            sizes.append(0)
            lengths.append(0)
            if one.tree is None:
                continue
            found = outline(one.tree)
            known = yields.setdefault(one.sentence, found.leaves)
            here = first.setdefault(one.sentence, one)
            if known is not found.leaves and not yields_agree(known, found.leaves):
                _refuse(one, first_difference(known, found.leaves, f"{here.source}:{here.line}"))
            starts_ends += found.spans
            try:
                names += map(shown, found.labels)
            except LabelError as error:
                raise LabelError(
                    error.message,
                    source=one.source,
                    line=one.line or None,
                    remedy="is this tree binarized? For others say `form=original`",
                ) from None
            tags += ["" if leaf.word is None else leaf.label for leaf in found.leaves]
            sizes[-1], lengths[-1] = len(found.labels), len(found.leaves)
        labels = tuple(sorted({*names, *map(escape, set(tags) - {""})}))
        rank = {label: number for number, label in enumerate(labels)}
        tag_rank = {tag: rank[escape(tag)] for tag in set(tags) - {""}}
        spans = np.array(starts_ends, np.int64).reshape(-1, 2)
        tree, word_tree = (np.repeat(np.arange(len(sizes)), counts) for counts in (sizes, lengths))
        label = np.array([rank[name] for name in names], np.int64)
        tag = np.array([tag_rank[name] for name in tags if name], np.int64)
        word = np.arange(len(tags)) - np.repeat(np.cumsum([0, *lengths])[:-1], lengths)
        tagged = np.array([name != "" for name in tags], np.bool_)
        none = np.zeros(np.count_nonzero(tagged), np.int64)
        return cls(
            source,
            tuple(tuple(yields.get(number, ())) for number in range(max(sentence, default=-1) + 1)),
            labels,
            np.array(sentence, np.int64),
            np.array(lengths, np.int64) > 0,
            np.concatenate([tree, word_tree[tagged]]),
            np.concatenate([spans[:, 0], word[tagged]]),
            np.concatenate([spans[:, 1], word[tagged] + 1]),
            np.concatenate([label, tag]),
            np.concatenate([np.ones(len(tree), np.bool_), none > 0]),
            np.concatenate([_occurrences(tree, spans, label), none]),
        )

    def shares(self, weights: FloatArray) -> FloatArray:
        """The weights [trees], normalized over the trees of each sentence; those without a parse have none.

        Where all of a sentence are zero its trees have equal shares. Raises OptionsError for a weight that is
        negative or no number.
        """
        weights = np.asarray(weights, np.float64)
        if weights.shape != self.sentence.shape or not (np.isfinite(weights) & (weights >= 0)).all():
            raise OptionsError(
                "weights must be finite and not negative, one for each tree", remedy="0.5 and 2 are such"
            )
        weights = np.where(self.parsed, weights, 0.0)
        total = np.bincount(self.sentence, weights, len(self.leaves))[self.sentence]
        weights = np.where(total > 0, weights, self.parsed)
        total = np.bincount(self.sentence, weights, len(self.leaves))[self.sentence]
        shares: FloatArray = weights / np.where(total > 0, total, 1.0)
        return shares

    @property
    def lengths(self) -> Ints:
        """How many words each sentence has."""
        return np.array([len(leaves) for leaves in self.leaves], np.int64)

    def keys(self) -> Ints:
        """A number for each item: the same for equal ones of a sentence, by start, end, label, tags first."""
        lengths, sentence = self.lengths, self.sentence[self.tree]
        cells = np.cumsum([0, *(lengths * (lengths + 1) // 2)])[:-1]
        deepest = int(self.occurrence.max(initial=0)) + 1
        key = cells[sentence] + cell_of(cast("int", lengths[sentence]), self.start, self.end)
        # It has place in 63 bits.
        found: Ints = ((key * len(self.labels) + self.label) * 2 + self.phrase) * deepest + self.occurrence
        return found

    def posteriors(self, weights: FloatArray, item_weights: FloatArray | None = None) -> GivenPosteriors:
        """g of all sentences, from the weights of trees [trees]; raises OptionsError as ``shares`` does.

        ``item_weights`` [items] multiply them for single items, by label for instance; g is one at most.
        """
        mass = self.shares(weights)[self.tree]
        mass = mass if item_weights is None else mass * item_weights
        _, place, number = np.unique(self.keys(), return_index=True, return_inverse=True)
        sentence = self.sentence[self.tree]
        g = np.minimum(np.bincount(number, mass, len(place)), 1.0)
        place, g = place[g > 0], g[g > 0]
        return GivenPosteriors(
            source=self.source,
            lengths=self.lengths,
            labels=self.labels,
            first=np.searchsorted(sentence[place], np.arange(len(self.leaves) + 1)),
            starts=self.start[place].astype(np.int32),
            ends=self.end[place].astype(np.int32),
            label_ids=self.label[place].astype(np.int32),
            phrase=self.phrase[place],
            g=g,
            tie=TIE,
            order=self.label_order(weights),
        )

    def label_order(self, weights: FloatArray) -> LabelOrder | None:
        """The order of labels over one span in all sentences; None where no tree has a chain."""
        rows = np.flatnonzero(self.phrase)
        chain = np.cumsum(begins(self.tree[rows], self.start[rows], self.end[rows])) - 1
        shares = self.shares(weights)[self.tree[rows]]
        inside = np.bincount(chain)[chain] > 1
        ids, chain, shares = self.label[rows][inside], chain[inside], shares[inside]
        above: Counter[tuple[str, str]] = Counter()
        for apart in range(1, int(np.bincount(chain).max(initial=0))):
            same = chain[apart:] == chain[:-apart]
            pairs, number = np.unique(
                np.column_stack([ids[:-apart][same], ids[apart:][same]]), axis=0, return_inverse=True
            )
            sums = np.bincount(number.reshape(-1), shares[apart:][same], len(pairs))
            for (over, under), often in zip(pairs.tolist(), sums.tolist(), strict=True):
                above[self.labels[over], self.labels[under]] += often
        return LabelOrder(above, {}) if above else None


def _occurrences(tree: Ints, spans: Ints, label: Ints) -> Ints:
    """Of each constituent in preorder how many equal ones are above it."""
    chain = np.cumsum(begins(tree, *spans.T)) - 1
    order = np.lexsort((label, chain))
    begin = np.flatnonzero(begins(chain[order], label[order]))
    found = np.zeros(len(tree), np.int64)
    found[order] = np.arange(len(tree)) - np.repeat(begin, np.diff([*begin, len(tree)]))
    return found


def _refuse(one: SentenceTree, message: str) -> None:
    raise InputMismatchError(
        f"other words than another tree of sentence {one.sentence + 1} has: {message}",
        source=one.source,
        line=one.line or None,
        remedy="all trees of a sentence have its words, and all files the same sentences",
    )
