"""The parser: one tree for each objective and sentence; a sentence that fails falls back alone."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Unpack, cast, overload

from mbrparse.charts.chart import TOO_LARGE
from mbrparse.decode.answers import ParserOptions, ParserSettings, objective_of
from mbrparse.decode.decoders import Decoded
from mbrparse.decode.objectives import Objective
from mbrparse.decode.parser.sentences import Sentence, sentences_from
from mbrparse.decode.parser.sources import Evidence, GrammarSource
from mbrparse.decode.span_posteriors import Posteriors, SentenceChart
from mbrparse.decode.trees import LabelledSpans, TreeForm, TreeParts, fallback_spans
from mbrparse.errors import ChartOverflowError, NumberRangeError, ObjectiveError, OptionsError
from mbrparse.grammar.pcfg import Grammar, IntArray
from mbrparse.treebank.brackets import AnyTree
from mbrparse.treebank.tree import Tree

if TYPE_CHECKING:
    from mbrparse.decode.candidates.candidate_trees import Candidate
    from mbrparse.decode.parser.posteriors_source import PosteriorsSource
    from mbrparse.decode.posteriors.given_posteriors import GivenPosteriors


class ScoredTree(NamedTuple):
    """A candidate as it is written (None: the empty parse), and the natural logarithm of its probability."""

    log_prob: float
    tree: Tree | None


@dataclass(frozen=True, repr=False, eq=False)
class Parse:
    """The result of one sentence.

    ``parts`` and ``decoded`` are parallel to the ``objectives``: the parts of the tree (None: the empty
    parse), and the result of the search (None: the tree is a fall-back). ``reason`` is that of a fall-back
    (None: no tree is one). ``chart`` is None where the grammar has no parse, ``posteriors`` are those of
    projected constituents. ``candidates``, if asked for, are the different trees among the k best derivations
    or samples, the most probable first; without a chart the fall-back, with a log probability of -inf.
    ``seconds`` is the time that the sentence took.
    """

    objectives: tuple[Objective, ...]
    terminal_ids: IntArray
    parts: tuple[TreeParts | None, ...]
    decoded: tuple[Decoded | None, ...]
    fallback: LabelledSpans
    reason: str | None = None
    chart: SentenceChart | None = None
    posteriors: Posteriors | None = None
    seconds: float = 0.0
    candidates: tuple[ScoredTree, ...] = ()

    @property
    def tree(self) -> Tree | None:
        """The first objective's tree."""
        return self.trees[0]

    @cached_property
    def trees(self) -> tuple[Tree | None, ...]:
        """The tree of each objective as it is written (None: the empty parse), built on first access."""
        # Objectives often have the same tree, which is built once.
        built: dict[object, Tree] = {}
        trees: list[Tree | None] = []
        for parts in self.parts:
            if parts is None:
                trees.append(None)
                continue
            listed = parts.listed()
            key = listed.form, id(listed.leaves), listed.spans, listed.tags
            if key not in built:
                built[key] = listed.build()
            trees.append(built[key])
        return tuple(trees)

    @property
    def length(self) -> int:
        """The number of terminals."""
        return len(self.terminal_ids)

    @property
    def log_prob(self) -> float:
        """The natural logarithm of the sentence's probability, -inf where it has no chart."""
        return -math.inf if self.chart is None else self.chart.log_prob

    @property
    def spans(self) -> tuple[LabelledSpans, ...]:
        """The constituents of each tree: (start, end, projected label) in preorder."""
        return tuple(self.fallback if found is None else list(found.spans) for found in self.decoded)

    @property
    def expected_scores(self) -> dict[str, float | None]:
        """The expected score of each objective's tree (None: a fall-back).

        For the recalls it is the expected number of matching constituents or brackets, for other objectives
        the sum of their gains, for the most probable derivation its probability given the sentence.
        """
        scores = dict[str, float | None]()
        for objective, found in zip(self.objectives, self.decoded, strict=True):
            scores[objective.name] = None if found is None else found.score
            if found is not None and found.log_prob is not None:
                scores[objective.name] = math.exp(found.log_prob - self.log_prob)
        return scores

    def __repr__(self) -> str:
        reason = "" if self.reason is None else f" ({self.reason})"
        return f"<parse {self.tree}{reason}>"

    def _repr_svg_(self) -> str | None:
        return None if self.tree is None else self.tree._repr_svg_()


class Parses(Sequence[Parse]):
    """The parses of several sentences, in their order."""

    def __init__(self, objectives: tuple[Objective, ...], parses: Sequence[Parse]) -> None:
        self.objectives = objectives
        self._parses = tuple(parses)

    def __len__(self) -> int:
        return len(self._parses)

    @overload
    def __getitem__(self, index: int) -> Parse: ...

    @overload
    def __getitem__(self, index: slice) -> Parses: ...

    def __getitem__(self, index: int | slice) -> Parse | Parses:
        if isinstance(index, slice):
            return Parses(self.objectives, self._parses[index])
        return self._parses[index]

    def trees(self, objective: str | None = None) -> list[Tree | None]:
        """One tree a sentence (None: the empty parse), by default the first objective's.

        Raises ObjectiveError for an objective that was not asked for.
        """
        names = [row.name for row in self.objectives]
        if objective is not None and objective not in names:
            raise ObjectiveError(
                f"{objective!r} was not among the objectives", remedy=f"they were {', '.join(names)}"
            )
        place = 0 if objective is None else names.index(objective)
        return [parse.trees[place] for parse in self._parses]

    def by_objective(self) -> Mapping[str, Sequence[Tree | None]]:
        """The trees of each objective, for ``compare``."""
        return {objective.name: self.trees(objective.name) for objective in self.objectives}

    def fell_back(self) -> Mapping[str, Sequence[bool]]:
        """For each objective and sentence, whether its tree is a fall-back."""
        return {
            objective.name: [parse.decoded[place] is None for parse in self._parses]
            for place, objective in enumerate(self.objectives)
        }

    def __repr__(self) -> str:
        names = ", ".join(objective.name for objective in self.objectives)
        fell_back = sum(parse.reason is not None for parse in self._parses)
        return f"<{len(self)} parses for {names}; {fell_back} fell back>"


def source_of(origin: Grammar | GivenPosteriors, options: ParserOptions) -> GrammarSource | PosteriorsSource:
    """The source of a grammar, of several, or of given posteriors; raises OptionsError."""
    kind = getattr(origin, "kind", None)
    if kind == "pcfg":
        return GrammarSource(cast("Grammar", origin), options)
    if kind == "dop":
        from mbrparse.decode.parser.dop_source import DopSource

        return DopSource(cast("Grammar", origin), options)
    if kind == "several":
        from mbrparse.decode.parser.mixed_source import Grammars, MixedSource

        def member(one: Grammar) -> GrammarSource:
            return cast("GrammarSource", source_of(one, options))

        return MixedSource(cast("Grammars", origin), options, member)
    from mbrparse.decode.parser.posteriors_source import PosteriorsSource

    return PosteriorsSource(cast("GivenPosteriors", origin), options)


class Parser:
    """Parses for one objective or several, with a grammar or with another model's posteriors.

    Charts are computed once for all objectives.

    Parameters
    ----------
    source
        A grammar (``train``, ``read_grammar``), several (``Grammars``), or posteriors (``read_posteriors``).
    objectives
        Names of the table (``OBJECTIVES``) or rows of one's own (default: Labelled Recall); where a grammar
        has unary rules, names of recalls stand for n-ary trees (``Objective.for_unaries``).
    options
        Objectives and settings together, instead of them.
    settings
        ``fallback`` ("right-branching", "flat", "empty"), ``unlabelled``, ``debinarized``, ``max_length``,
        ``items`` ("projected", "symbol"), ``best_first``, ``expectations``, ``prune``; for candidates
        ``k_best``, ``samples``, ``seed`` and ``risk``; for DOP grammars ``max_samples``, ``max_error`` and
        ``sampled_posteriors``. ``ParserOptions`` says what they mean.

    Raises
    ------
    ObjectiveError, OptionsError
        For what has no meaning, or no answer from the source (decode.answers).

    >>> from mbrparse.training.count import train
    >>> from mbrparse.treebank.brackets import read_tree
    >>> texts = "(S (NP DT NN) VB)", "(S (NP DT NN) VB)", "(S DT (S_Cont NN VB))"
    >>> grammar = train([read_tree(text) for text in texts])
    >>> print(Parser(grammar, "labelled-recall", debinarized=True).parse("DT NN VB")[0].tree)
    (S (NP DT NN) VB)
    """

    def __init__(
        self,
        source: Grammar | GivenPosteriors,
        *objectives: str | Objective,
        options: ParserOptions | None = None,
        **settings: Unpack[ParserSettings],
    ) -> None:
        if options is None:
            free = settings.get("unlabelled", False) or not isinstance(source, Grammar)
            unaries = not free and cast("Grammar", source).pcfg.has_unaries
            rows = tuple(objective_of(name, unaries) for name in objectives or ("labelled-recall",))
            options = ParserOptions(rows, **settings)
        elif objectives or settings:
            raise OptionsError("options hold the objectives and all settings: give no others beside them")
        self.options = options
        self._origin = source
        self.source = source_of(self._origin, self.options)
        nary = {position for slot in self.source.slots if slot.nary for position in slot.positions}
        # Trees of n-ary objectives are written un-binarized, fall-backs too.
        self._forms = [
            TreeForm(self.source.root, position in nary or options.debinarized, self.source.bare)
            for position in range(len(options.objectives))
        ]

    def parse(self, sentences: AnyTree | Iterable[AnyTree | Sequence[str | Tree]]) -> Parses:
        """Parse sentences: trees (whose terminals are parsed), strings of words, or lists of words.

        A tree may be an ``nltk.Tree`` or a string of brackets. The results are in their order, and none
        depends on other sentences.
        """
        listed, tokens = sentences_from(sentences)
        parses = [self.parse_one(one, place, tokens) for place, one in enumerate(listed)]
        return Parses(self.options.objectives, parses)

    def parse_one(
        self, sentence: Sentence, place: int = 0, tokens: bool = False, source: str = "<sentences>"
    ) -> Parse:
        """Parse one sentence, given by its leaves; one that cannot be parsed falls back.

        Parameters
        ----------
        sentence
            Its leaves.
        place
            Its number among the sentences, from 0: given posteriors are those of the sentence there.
        tokens
            Whether the leaves are bare words, which may need tags.
        source
            The name of the file that it was read from, for errors.

        Raises
        ------
        InputMismatchError
            Where given posteriors are of another sentence.
        """
        began = time.perf_counter()
        evidence = self.evidence(sentence, place, tokens, source)
        try:
            decoded, candidates = self._decode(evidence)
        except (ChartOverflowError, MemoryError, NumberRangeError) as error:
            evidence = self._refused(sentence, error)
            decoded, candidates = self._decode(evidence)
        return self._parse(evidence, decoded, candidates, time.perf_counter() - began)

    def evidence(
        self, sentence: Sentence, place: int = 0, tokens: bool = False, source: str = ""
    ) -> Evidence:
        """The chart of a sentence and its posteriors, or the reason why it has none; as ``parse_one``."""
        try:
            return self.source.evidence(sentence, place, tokens, source)
        except (ChartOverflowError, MemoryError, NumberRangeError) as error:
            return self._refused(sentence, error)

    def _refused(self, sentence: Sentence, error: Exception) -> Evidence:
        reason = error.message if isinstance(error, NumberRangeError) else TOO_LARGE
        if isinstance(error, MemoryError):
            # A kernel may have left its arrays half-way.
            self.source = source_of(self._origin, self.options)
        return self.source.refused(sentence, reason)

    def fallen_back(self, sentence: Sentence, reason: str) -> Parse:
        """Return the fall-back of a sentence."""
        evidence = self.source.refused(sentence, reason)
        return self._parse(evidence, *self._decode(evidence), 0.0)

    def _decode(self, evidence: Evidence) -> tuple[list[Decoded | None], list[Candidate]]:
        """A tree for each objective (None: no tree), and candidates; nothing without posteriors."""
        decoded: list[Decoded | None] = [None] * len(self._forms)
        if evidence.posteriors is None:
            return decoded, []
        for decoder, positions, _ in self.source.slots:
            found = decoder.decode(evidence.chart, evidence.posteriors)
            for position, tree in zip(positions, found, strict=True):
                decoded[position] = tree
        if self.source.candidates is None or evidence.chart is None:
            return decoded, []
        return decoded, self.source.candidates.of_sentence(evidence.chart.terminal_ids)

    def _parse(
        self,
        evidence: Evidence,
        decoded: Sequence[Decoded | None],
        candidates: Sequence[Candidate],
        seconds: float,
    ) -> Parse:
        objectives, source, reason = self.options.objectives, self.source, evidence.reason
        if evidence.posteriors is not None and None in decoded:
            reason = f"no tree for {objectives[decoded.index(None)].name}"
        fallback = None if reason is None else self._fallback(evidence)
        leaves = evidence.sentence if reason is None else source.fallback_leaves(evidence)
        parts: list[TreeParts | None] = []
        for one, form in zip(decoded, self._forms, strict=True):
            if one is not None:
                parts.append(self._parts(evidence, one, form))
            else:
                parts.append(None if fallback is None else TreeParts(fallback, leaves, None, form))
        return Parse(
            objectives,
            evidence.terminal_ids,
            tuple(parts),
            tuple(decoded),
            fallback or [],
            reason,
            evidence.chart,
            evidence.posteriors,
            seconds,
            self._candidates(evidence, candidates) if self.options.has_candidates else (),
        )

    def _parts(self, evidence: Evidence, found: Decoded | Candidate, form: TreeForm) -> TreeParts:
        tags = found.preterminals if self.source.retags else None
        return TreeParts(found.spans, evidence.sentence, tags, form)

    def _fallback(self, evidence: Evidence) -> LabelledSpans | None:
        source = self.source
        return fallback_spans(len(evidence.sentence), self.options.fallback, source.root, source.labels)

    def _candidates(self, evidence: Evidence, found: Sequence[Candidate]) -> tuple[ScoredTree, ...]:
        """The candidates as they are written; the fall-back if there are none."""
        form = TreeForm(self.source.root, self.options.debinarized, self.source.bare)
        if found:
            return tuple(ScoredTree(one.log_prob, self._parts(evidence, one, form).build()) for one in found)
        spans, leaves = self._fallback(evidence), self.source.fallback_leaves(evidence)
        tree = None if spans is None else TreeParts(spans, leaves, None, form).build()
        return (ScoredTree(-math.inf, tree),)
