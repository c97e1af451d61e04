"""A grammar as the source of evidence: charts of sentences, and the decoders for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mbrparse.charts.factory import default_max_length
from mbrparse.decode.parser.grammar_decoders import GrammarDecoders
from mbrparse.decode.parser.sentences import Evidence, Sentence
from mbrparse.decode.parser_options import ParserOptions
from mbrparse.errors import InputMismatchError, shortened
from mbrparse.grammar.pcfg import PCFG, UNKNOWN_TERMINAL, Grammar
from mbrparse.grammar.rules import is_terminal, unquote
from mbrparse.treebank.labels import split_tag, unescape
from mbrparse.treebank.tree import Tree


def decoders_of(grammar: Grammar) -> type[GrammarDecoders]:
    """The decoders that serve a kind of grammar."""
    if grammar.kind == "pcfg":
        return GrammarDecoders
    from mbrparse.decode.parser.dop_decoders import DopDecoders

    return DopDecoders


class GrammarSource:
    """Makes charts of sentences, and maps their words to terminals and tags."""

    def __init__(self, source: Grammar, options: ParserOptions) -> None:
        self.grammar = grammar = source.pcfg
        decoders = decoders_of(source)
        decoders.check(options)
        self._decoders = decoders(source, options)
        self.charts: Any = self._decoders.charts
        self.slots = self._decoders.slots
        #: The candidates of its charts' sentences, where some are asked for.
        self.candidates = self._decoders.candidates
        self.root = grammar.start_label
        self.labels = frozenset(grammar.labels)
        self._max_length = options.max_length or default_max_length(grammar)
        #: Whether trees assign tags to words; ``bare`` terminals stand in rules themselves, and have none.
        self.retags = grammar.terminal_kind == "words"
        self.bare = frozenset(unquote(name) for name in grammar.symbols if is_terminal(name))

    @property
    def members(self) -> Sequence[GrammarSource]:
        """The sources of several grammars; here itself."""
        return (self,)

    def terminals(self, sentence: Sentence) -> list[str]:
        """The terminals of a sentence: its tags, or its words with unknown ones mapped."""
        return terminals_of(self.grammar, sentence)

    def check_fit(self, sentences: Sequence[Sentence]) -> None:
        """Raise InputMismatchError where no sentence holds a single terminal that the grammar knows."""
        check_fit(self.grammar, sentences)

    def evidence(
        self, sentence: Sentence, place: int = 0, tokens: bool = False, source: str = ""
    ) -> Evidence:
        """What is known of a sentence; nothing but its words matters.

        Raises ChartOverflowError, NumberRangeError.
        """
        terminals = self.terminals(sentence)
        ids = self.grammar.encode(terminals)
        reason = self._refusal(terminals, ids.tolist())
        if reason is not None:
            return Evidence(sentence, ids, reason=reason)
        [chart] = self.charts.charts([ids])
        if not chart.has_parse:
            return Evidence(sentence, ids, reason=chart.failure)
        return Evidence(sentence, ids, self._decoders.posteriors(chart), chart)

    def refused(self, sentence: Sentence, reason: str) -> Evidence:
        """Evidence of a sentence that falls back for this reason."""
        return Evidence(sentence, self.grammar.encode(self.terminals(sentence)), reason=reason)

    def _refusal(self, terminals: Sequence[str], ids: Sequence[int]) -> str | None:
        if not terminals:
            return "empty sentence"
        if len(terminals) > self._max_length:
            return f"longer than {self._max_length} terminals"
        if UNKNOWN_TERMINAL in ids:
            return f"unknown terminal {shortened(terminals[ids.index(UNKNOWN_TERMINAL)])}"
        return None

    def fallback_leaves(self, evidence: Evidence) -> Sentence:
        """The leaves of a fall-back.

        A word without a tag gets its most frequent one, an unknown word itself: readers of trees over words
        expect tags.
        """
        if not self.retags:
            return evidence.sentence
        return tuple(
            Tree(self._usual_tag(leaf.label, terminal_id), word=leaf.label)
            if leaf.word is None and leaf.label not in self.bare
            else leaf
            for leaf, terminal_id in zip(evidence.sentence, evidence.terminal_ids.tolist(), strict=True)
        )

    def _usual_tag(self, word: str, terminal_id: int) -> str:
        known = terminal_id != UNKNOWN_TERMINAL and bool(self.grammar.usual_tags)
        usual = self.grammar.usual_tags[terminal_id] if known else None
        return word if usual is None else split_tag(unescape(usual))[1]


def terminals_of(grammar: PCFG, sentence: Sentence) -> list[str]:
    """The terminals of a sentence: its tags, or its words with unknown ones mapped."""
    if grammar.terminal_kind == "tags":
        return [leaf.tag for leaf in sentence]
    return grammar.terminals_of([leaf.label if leaf.word is None else leaf.word for leaf in sentence])


def check_fit(grammar: PCFG, sentences: Sequence[Sentence]) -> None:
    """Raise InputMismatchError where no sentence holds a single terminal that the grammar knows."""
    known = frozenset(grammar.terminals)
    if not sentences or any(known.intersection(terminals_of(grammar, sentence)) for sentence in sentences):
        return
    raise InputMismatchError(
        f"grammar and input do not fit: the grammar's terminals are {grammar.terminal_kind} (such as "
        f"{', '.join(grammar.terminals[:3])}), and none of the first {len(sentences)} sentences "
        f"holds one (they begin with {terminals_of(grammar, sentences[0])[0]!r})",
        remedy="train with the other --terminals, or give the other input",
    )
