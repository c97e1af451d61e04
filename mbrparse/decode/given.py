"""Decoding posteriors from elsewhere: a file of them and the sentences in, a tree for each objective out.

There is no grammar: what a parser knows from one (the usual root, labels, tags) is taken from the file.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mbrparse.decode.details import Details
from mbrparse.decode.fallback import LabelledSpans, fallback_spans
from mbrparse.decode.free.free_decoder import UNLABELLED, best_preterminals, free_spans
from mbrparse.decode.objectives import Item, Objective, Space
from mbrparse.decode.parser_options import Parse, ParserOptions
from mbrparse.decode.posteriors.posteriors_file import GivenPosteriors
from mbrparse.decode.posteriors.span_posteriors import NO_LABEL, Posteriors
from mbrparse.decode.run import Lines, lines_of, numbered
from mbrparse.decode.sentences import Chunk, Sentence, sentences_of
from mbrparse.decode.trees import build_tree, tagged
from mbrparse.errors import InputMismatchError
from mbrparse.grammar.charts.span_summary import cell_of
from mbrparse.grammar.pcfg import UNKNOWN_TERMINAL
from mbrparse.treebank.binarize import debinarize
from mbrparse.treebank.labels import unescape
from mbrparse.treebank.tree import Tree

# Two tables of scores and one of splits over all spans, in 2 GB as the charts of a parser.
_SPAN_BYTES = 30
LONGEST = math.isqrt((2 << 30) // _SPAN_BYTES)

_REMEDY = (
    "the input must hold the sentences of the posteriors, all of them and in their order (an empty line of "
    "tokens is a sentence too, traces are no words)"
)


@dataclass(frozen=True)
class GivenJob:
    """Posteriors and how to decode them.

    Of the options those that speak of charts mean nothing here; all objectives must be ``decodable``.
    """

    posteriors: GivenPosteriors
    options: ParserOptions
    details: bool = False


def decodable(objective: Objective) -> bool:
    """Whether an objective looks at nothing but posteriors of spans, and searches all binary trees."""
    items = {item for item, weight in objective.gains if weight}
    return objective.space is Space.FREE and items <= {Item.LABELLED_SPAN, Item.SPAN}


def decode_all(job: GivenJob, chunks: Iterable[Chunk]) -> Iterator[Lines]:
    """Decode chunks of sentences and yield their lines in order.

    Raises InputMismatchError where the input's sentences are not those of the posteriors: before any
    line of the chunk, and at the end for sentences that the input lacks.
    """
    return numbered(_decode(job, chunks))


def _decode(job: GivenJob, chunks: Iterable[Chunk]) -> Iterator[Lines]:
    decoder = GivenDecoder(job.posteriors, job.options)
    details = Details(None, job.options.objectives) if job.details else None
    given = job.posteriors
    done, source = 0, ""
    for chunk in chunks:
        source = chunk.source
        sentences = list(sentences_of(chunk))
        for number, sentence in enumerate(sentences, start=done + 1):
            _check_sentence(given, number, sentence, source)
        for index, sentence in enumerate(sentences, start=done):
            # Trees have tags; tokens may want some.
            yield lines_of(decoder.parse(index, sentence, chunk.form == "tokens"), details)
        done += len(sentences)
    if done < len(given.lengths):
        raise InputMismatchError(
            f"there are {len(given.lengths)} sentences here, but {source} ends after sentence {done}",
            source=given.source,
            remedy=_REMEDY,
        )


def _check_sentence(given: GivenPosteriors, number: int, sentence: Sentence, source: str) -> None:
    if number > len(given.lengths):
        raise InputMismatchError(
            f"there are {len(given.lengths)} sentences here, but {source} goes on with sentence {number}",
            source=given.source,
            remedy=_REMEDY,
        )
    length = int(given.lengths[number - 1])
    if len(sentence) != length:
        raise InputMismatchError(
            f"sentence {number} has {length} words here, but {len(sentence)} in {source}",
            source=given.source,
            remedy=_REMEDY,
        )


class GivenDecoder:
    """Turns the sentences of a file of posteriors into trees."""

    def __init__(self, posteriors: GivenPosteriors, options: ParserOptions) -> None:
        self._given = posteriors
        self._options = options
        self._known = frozenset(posteriors.labels)
        self._root = posteriors.usual_root() or UNLABELLED
        # The root's label is put on roots that have none, so it needs an id, though maybe no posterior.
        self._labels = posteriors.labels if self._root in self._known else (*posteriors.labels, self._root)
        self._root_id = self._labels.index(self._root)
        self._max_length = options.max_length or LONGEST

    def parse(self, index: int, sentence: Sentence, tag: bool = False) -> Parse:
        """Decode the sentence at a position of the file.

        With ``tag`` its words get the best of the tags that the file has for them; else it keeps its own.
        """
        began = time.perf_counter()
        parse = self._parse(index, sentence, tag)
        return replace(parse, seconds=time.perf_counter() - began)

    def _parse(self, index: int, sentence: Sentence, tag: bool) -> Parse:
        if not sentence:
            return self._fall_back(sentence, "empty sentence")
        if len(sentence) > self._max_length:
            return self._fall_back(sentence, f"longer than {self._max_length} terminals")
        posteriors = self._posteriors(index)
        leaves = _with_tags(sentence, best_preterminals(posteriors)) if tag else sentence
        entries = self._given.entries(index)
        # One word needs no posterior: there is but one tree.
        if len(sentence) > 1 and not (entries.ends - entries.starts > 1).any():
            return self._fall_back(leaves, "no posteriors")
        summary = posteriors.spans
        root = cell_of(len(sentence), 0, len(sentence))
        if len(sentence) > 1 and summary.label[root] == NO_LABEL:
            summary.label[root] = self._root_id
        trees: list[Tree | None] = []
        all_spans: list[LabelledSpans] = []
        for objective in self._options.objectives:
            plain = self._options.unlabelled and not objective.labels_matter
            spans = free_spans(objective, posteriors, self._given.tie, self._root if plain else None)
            # As over any single terminal, the root is written but counts as no constituent.
            trees.append(self._tree(spans or [(0, 1, self._root)], leaves))
            all_spans.append(spans)
        return self._made(len(sentence), trees, all_spans, posteriors=posteriors)

    def _posteriors(self, index: int) -> Posteriors:
        length = int(self._given.lengths[index])
        return Posteriors.of_entries(length, self._labels, self._given.entries(index), self._given.tie)

    def _fall_back(self, leaves: Sentence, reason: str) -> Parse:
        spans = fallback_spans(len(leaves), self._options.fallback, self._root, self._known)
        count = len(self._options.objectives)
        tree = None if spans is None else self._tree(spans, leaves)
        return self._made(len(leaves), [tree] * count, [spans or []] * count, reason)

    def _made(
        self,
        length: int,
        trees: list[Tree | None],
        spans: list[LabelledSpans],
        reason: str | None = None,
        posteriors: Posteriors | None = None,
    ) -> Parse:
        # Without a grammar no terminal has an id.
        terminal_ids = np.full(length, UNKNOWN_TERMINAL, np.int32)
        return Parse(terminal_ids, tuple(trees), tuple(spans), reason, posteriors=posteriors)

    def _tree(self, spans: LabelledSpans, leaves: Sentence) -> Tree:
        tree = build_tree(spans, leaves)
        return debinarize(tree) if self._options.debinarized else tree


def _with_tags(sentence: Sentence, tags: Sequence[str | None]) -> Sentence:
    """The words under their tags; a sentence that is one of tags stays as it is."""
    words = [leaf.label if leaf.word is None else leaf.word for leaf in sentence]
    if all(tag is None or unescape(tag) == word for tag, word in zip(tags, words, strict=True)):
        return sentence
    return tagged(sentence, tags)
