"""A file of another model's posteriors as the source of evidence, for the free and the n-ary decoder.

There is no grammar: its start symbol, labels and tags are taken from the file.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from mbrparse.charts.spans import NO_LABEL, cell_of
from mbrparse.decode.answers import DecoderName, ParserOptions, SourceKind, check
from mbrparse.decode.free import UNLABELLED, FreeDecoder, best_preterminals
from mbrparse.decode.nary import NaryDecoder
from mbrparse.decode.objectives import Objective
from mbrparse.decode.parser.sentences import Sentence
from mbrparse.decode.parser.sources import Evidence, Maker, slots_of
from mbrparse.decode.posteriors.given_posteriors import GivenPosteriors
from mbrparse.decode.span_posteriors import Posteriors
from mbrparse.decode.trees import tagged
from mbrparse.errors import InputMismatchError, OptionsError
from mbrparse.grammar.pcfg import UNKNOWN_TERMINAL, IntArray
from mbrparse.treebank.labels import unescape

# Two tables of scores and one of splits over all spans, in 2 GB as the charts of a parser.
_SPAN_BYTES = 30
LONGEST = math.isqrt((2 << 30) // _SPAN_BYTES)

_REMEDY = (
    "the input must hold the sentences of the posteriors, all of them and in their order (an empty line of "
    "tokens is a sentence too, traces are no words)"
)


class PosteriorsSource:
    """The sentences of a file of posteriors."""

    kind: SourceKind = "posteriors"

    def __init__(self, given: GivenPosteriors, options: ParserOptions) -> None:
        """Raises OptionsError for objectives and options that need a grammar."""
        if not isinstance(given, GivenPosteriors):
            raise OptionsError(
                f"a parser needs a grammar or posteriors, not a {type(given).__name__}",
                remedy="grammar, train or read_grammar make the one, posteriors or read_posteriors the other",
            )
        check(self.kind, options, given.consistent is not None)
        #: Posteriors know no derivations.
        self.candidates = None
        # Words keep their tags.
        self.retags, self.bare = False, frozenset[str]()
        self._given = given
        self.labels = frozenset(given.labels)
        self.root = given.usual_root() or UNLABELLED
        # Roots without a label get the root's, which needs an id even without a posterior.
        self._labels = given.labels if self.root in self.labels else (*given.labels, self.root)
        self._root_id = self._labels.index(self.root)
        self._max_length = options.max_length or LONGEST
        self._unlabelled = options.unlabelled
        makers: dict[DecoderName, Maker] = {"free": self._free, "nary": self._nary}
        self.slots = slots_of(self.kind, options, makers)

    def _free(self, objectives: list[Objective]) -> FreeDecoder:
        return FreeDecoder(objectives, self._given.tie, self.root if self._unlabelled else None)

    def _nary(self, objectives: list[Objective]) -> NaryDecoder:
        return NaryDecoder(objectives, self._given.tie, self.root, order=self._given.order)

    def refused(self, sentence: Sentence, reason: str) -> Evidence:
        """Evidence of a sentence that falls back for this reason."""
        return Evidence(sentence, _no_ids(sentence), reason=reason)

    def evidence(
        self, sentence: Sentence, place: int = 0, tokens: bool = False, source: str = "<sentences>"
    ) -> Evidence:
        """What is known of the sentence of this place (from 0) in ``source``.

        Raises InputMismatchError for a sentence that is not of its length, or has a place beyond the last.
        """
        self.check_sentence(place, sentence, source)
        if not sentence:
            return self.refused(sentence, "empty sentence")
        if len(sentence) > self._max_length:
            return self.refused(sentence, f"longer than {self._max_length} terminals")
        length, entries = len(sentence), self._given.entries(place)
        posteriors = Posteriors.of_entries(
            length, self._labels, entries, self._given.tie, self._given.consistent_spans(place)
        )
        # Tokens get the most probable tags.
        leaves = _with_tags(sentence, best_preterminals(posteriors)) if tokens else sentence
        # One word has only one tree, whatever the posteriors.
        constituents = (entries.ends - entries.starts > 1) | (entries.g > entries.lexical)
        if length > 1 and not constituents.any():
            return self.refused(leaves, "no posteriors")
        summary = posteriors.spans
        whole = cell_of(length, 0, length)
        if length > 1 and summary.label[whole] == NO_LABEL:
            summary.label[whole] = self._root_id
        return Evidence(leaves, _no_ids(leaves), posteriors)

    def fallback_leaves(self, evidence: Evidence) -> Sentence:
        """The sentence's own: its words have their tags already."""
        return evidence.sentence

    def check_end(self, done: int, source: str) -> None:
        """Raise InputMismatchError where an input ends before the file's last sentence."""
        if done < len(self._given.lengths):
            there = len(self._given.lengths)
            raise self._mismatch(f"there are {there} sentences here, but {source} ends after sentence {done}")

    def check_sentence(self, place: int, sentence: Sentence, source: str) -> None:
        """Raise InputMismatchError where the sentence at this place has another length."""
        lengths, number = self._given.lengths, place + 1
        if number > len(lengths):
            raise self._mismatch(
                f"there are {len(lengths)} sentences here, but {source} goes on with sentence {number}"
            )
        if len(sentence) != lengths[place]:
            raise self._mismatch(
                f"sentence {number} has {lengths[place]} words here, but {len(sentence)} in {source}"
            )

    def _mismatch(self, message: str) -> InputMismatchError:
        return InputMismatchError(message, source=self._given.source, remedy=_REMEDY)


def _no_ids(sentence: Sentence) -> IntArray:
    """Without a grammar no terminal has an id."""
    return np.full(len(sentence), UNKNOWN_TERMINAL, np.int32)


def _with_tags(sentence: Sentence, tags: Sequence[str | None]) -> Sentence:
    """The words under their tags; a sentence of tags is returned as it is."""
    words = [leaf.label if leaf.word is None else leaf.word for leaf in sentence]
    if all(tag is None or unescape(tag) == word for tag, word in zip(tags, words, strict=True)):
        return sentence
    return tagged(sentence, tags)
