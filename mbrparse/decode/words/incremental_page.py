"""A sentence word by word: the analyses after each, what becomes of them, and the page that shows it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mbrparse.arguments import checked
from mbrparse.decode.parser.explanation import Page, explained_words, rendered
from mbrparse.decode.parser.sources import check_fit
from mbrparse.decode.words.surprisal import WordProbabilities
from mbrparse.decode.words.written_words import Row
from mbrparse.errors import MbrparseError, shortened, visible
from mbrparse.grammar.pcfg import Grammar
from mbrparse.treebank.brackets import read_tree
from mbrparse.treebank.drawing import draw_tree
from mbrparse.treebank.tree import Tree


@dataclass(frozen=True, repr=False)
class IncrementalExplanation(Page):
    """The words of a sentence, as a page that one steps through, which notebooks show.

    ``rows`` are those of the words and of the end, as far as there is an analysis (``surprisal``),
    ``analyses`` those of each (``analyses``).
    """

    words: tuple[str, ...]
    rows: Sequence[Row]
    analyses: Sequence[Sequence[Row]]

    def html(self) -> str:
        steps = list[dict[str, Any]]()
        for row, listed in zip(self.rows, self.analyses, strict=True):
            died = [one for one in steps[-1]["analyses"] if one["dies"]] if steps else []
            shown = [
                {
                    **one,
                    "dies": one["continued"] == 0,
                    "goes_on": one["continued"] > 0,
                    "image": draw_tree(read_tree(one["analysis"])),
                }
                for one in listed
            ]
            others = 1 - math.fsum(one["probability"] for one in listed)
            steps.append({**row, "analyses": shown, "died": died, "others": others})
        words = list(map(visible, self.words))
        return rendered(__package__, "incremental", words, steps=steps, most=max(map(len, self.analyses)))

    def __repr__(self) -> str:
        return f"<analyses of {' '.join(self.words)!r}, word by word>"


@checked
def explain_incremental(
    grammar: Grammar, sentence: str | Tree | Sequence[str | Tree], analyses: int = 10
) -> IncrementalExplanation:
    """Explain a sentence word by word: the most probable analyses after each, and which of them die.

    Parameters
    ----------
    grammar
        A PCFG.
    sentence
        A string of words, a list of them, or a tree, whose terminals are read.
    analyses
        How many are listed after each word.

    Raises
    ------
    MbrparseError
        Where no sentence of the grammar begins so, or there are more words than a page shows.

    >>> import mbrparse as mp
    >>> found = explain_incremental(mp.train(["(S (NP DT NN) VB)", "(S DT VP)"]), "DT NN VB")
    >>> [len(one) for one in found.analyses]
    [2, 1, 1, 1]
    """
    pcfg, leaves, words = explained_words(grammar, sentence)
    check_fit(pcfg, [leaves])
    [found] = WordProbabilities(pcfg, analyses=analyses).surprisals([leaves])
    count = sum(map(bool, found.analyses))
    if not count:
        raise MbrparseError(
            f"no sentence of the grammar begins so: {shortened(' '.join(words), 200)} ({found.reason})",
            remedy="add a rule, or try another sentence",
        )
    return IncrementalExplanation(words, found.rows(1)[:count], found.analyses[:count])
