"""The parser: one tree for each objective and sentence; a sentence that fails falls back alone."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from mbrparse import arguments
from mbrparse.decode import answers, span_posteriors
from mbrparse.decode.objectives import ALIASES, OBJECTIVES, Kind, Objective, objective
from mbrparse.decode.parser import sources
from mbrparse.decode.parser.sentences import Line, Sentence, bracketed_lines, sentences_from
from mbrparse.decode.tree_probability import share
from mbrparse.decode.trees import Decoded, LabelledSpans, TreeForm, fallback_spans
from mbrparse.errors import ObjectiveError, OptionsError
from mbrparse.grammar.pcfg import Grammar, IntArray
from mbrparse.treebank.brackets import AnyTree
from mbrparse.treebank.tree import Tree

if TYPE_CHECKING:
    from mbrparse.decode.candidates.candidate_trees import Candidate
    from mbrparse.decode.posteriors.given_posteriors import GivenPosteriors
    from mbrparse.decode.tree_probability import Probability


class ScoredTree(NamedTuple):
    """A candidate as it is written (None: the empty parse), and the natural logarithm of its probability."""

    log_prob: float
    tree: Tree | None


@dataclass(frozen=True, repr=False, eq=False)
class Parse:
    """The result of one sentence.

    ``trees`` as they are written (None: the empty parse), their ``spans`` (start, end, projected label) in
    preorder, and ``decoded``, the results of the search (None: the tree is a fall-back), are parallel to the
    ``objectives``. ``reason`` is that of a fall-back (None: no tree is one). ``chart`` is None where the
    grammar has no parse, ``posteriors`` are those of projected constituents. ``candidates``, if asked for,
    are the different trees among the k best derivations or samples, the most probable first; without a chart
    the fall-back, with a log probability of -inf. ``seconds`` is the time that the sentence took.
    ``log_share`` is the words' part in the probabilities of the chart, which are of classes of words.
    """

    objectives: tuple[Objective, ...]
    terminal_ids: IntArray
    trees: tuple[Tree | None, ...]
    spans: tuple[LabelledSpans, ...]
    decoded: tuple[Decoded | None, ...]
    reason: str | None = None
    chart: span_posteriors.SentenceChart | None = None
    posteriors: span_posteriors.Posteriors | None = None
    seconds: float = 0.0
    candidates: tuple[ScoredTree, ...] = ()
    log_share: float = 0.0

    @property
    def tree(self) -> Tree | None:
        """The first objective's tree."""
        return self.trees[0]

    @property
    def length(self) -> int:
        """The number of terminals."""
        return len(self.terminal_ids)

    @property
    def log_prob(self) -> float:
        """The natural logarithm of the sentence's probability, -inf where it has no chart."""
        return -math.inf if self.chart is None else self.chart.log_prob + self.log_share

    @property
    def expected_scores(self) -> dict[str, float | None]:
        """The expected score of each objective's tree (None: a fall-back).

        For the recalls it is the expected number of matching constituents or brackets, for other objectives
        the sum of their gains, for the most probable derivation its probability given the sentence.
        """
        scores = dict[str, float | None]()
        for row, found in zip(self.objectives, self.decoded, strict=True):
            score = None if found is None else found.score
            if found is not None and found.log_prob is not None and self.chart is not None:
                score = share(found.log_prob, self.chart.log_prob)
            scores[row.name] = score
        return scores

    def __repr__(self) -> str:
        reason = "" if self.reason is None else f" ({self.reason})"
        return f"<parse {self.tree}{reason}>"

    def _repr_svg_(self) -> str | None:
        return None if self.tree is None else self.tree._repr_svg_()


class Parses(Sequence[Parse]):
    """The parses of several sentences, in their order, and the grammar that they are of, if they are.

    ``probability`` makes what knows the probability of trees, if anything does.
    """

    def __init__(
        self,
        objectives: tuple[Objective, ...],
        parses: Sequence[Parse],
        grammar: Grammar | None = None,
        probability: Callable[[], Probability | None] = lambda: None,
    ) -> None:
        self.objectives = objectives
        self.grammar, self.probability = grammar, probability
        self._parses = tuple(parses)

    def __len__(self) -> int:
        return len(self._parses)

    @overload
    def __getitem__(self, index: int) -> Parse: ...

    @overload
    def __getitem__(self, index: slice) -> Parses: ...

    def __getitem__(self, index: int | slice) -> Parse | Parses:
        if isinstance(index, slice):
            return Parses(self.objectives, self._parses[index], self.grammar, self.probability)
        return self._parses[index]

    def trees(self, objective: str | None = None) -> list[Tree | None]:
        """One tree a sentence (None: the empty parse), by default the first objective's.

        Raises ObjectiveError for an objective that was not asked for.
        """
        names, objective = [row.name for row in self.objectives], ALIASES.get(str(objective), objective)
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


def source_of(origin: Any, options: answers.ParserOptions) -> sources.Source:
    """The source of a grammar, of several, or of given posteriors; raises OptionsError."""
    kind = getattr(origin, "kind", None)
    if kind == "dop":
        from mbrparse.decode.parser.dop_source import DopSource

        return DopSource(origin, options)
    if kind == "several":
        from mbrparse.decode.parser.mixed_source import MixedSource

        return MixedSource(origin, options, source_of)
    if kind == "pcfg" and options.constrain:
        from mbrparse.decode.parser.constrained_source import ConstrainedSource

        return ConstrainedSource(origin, options)
    return (sources.GrammarSource if kind == "pcfg" else sources.PosteriorsSource)(origin, options)


@arguments.checked
class Parser:
    """Parses for one objective or several, with a grammar or with another model's posteriors.

    Charts are computed once for all objectives.

    Parameters
    ----------
    source
        A grammar (``train``, ``read_grammar``), several (``Grammars``), or posteriors (``read_posteriors``).
    objectives
        Names of the table (``OBJECTIVES``) or rows of one's own, such as ``objective`` makes (default:
        Labelled Recall, of posteriors of n-ary trees Labelled F); where a grammar has unary rules, names of
        recalls stand for n-ary trees (``Objective.for_unaries``).
    options
        Objectives and settings together, instead of them.
    settings
        ``fallback`` ("right-branching", "flat", "empty"), ``unlabelled``, ``debinarized``, ``max_length``,
        ``items`` ("projected", "symbol"), ``best_first``, ``expectations``, ``prune``, ``constrain``; for
        candidates ``k_best``, ``samples``, ``seed`` and ``risk``; for DOP grammars ``max_samples``,
        ``max_error`` and ``sampled_posteriors``. ``ParserOptions`` says what they mean.

    Raises
    ------
    ObjectiveError, OptionsError
        For what has no meaning, or no answer from the source (decode.answers).

    >>> from mbrparse.training.methods import train
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
        options: answers.ParserOptions | None = None,
        **settings: Any,
    ) -> None:
        if options is None:
            grammar = source if isinstance(source, Grammar) else None
            unaries = grammar is not None and not settings.get("unlabelled") and grammar.pcfg.has_unaries
            usual, names = getattr(source, "objective", "labelled-recall"), tuple(OBJECTIVES)
            if kind := getattr(source, "kind", None):
                names = tuple(answers.served(kind, **getattr(source, "known", {})))
            rows = tuple(objective(name, unaries=unaries, served=names) for name in objectives or (usual,))
            options = answers.ParserOptions(rows, **settings)
        elif objectives or settings:
            raise OptionsError("options hold the objectives and all settings: give no others beside them")
        self.options = options
        self._origin = source
        self.source = source_of(source, options)
        root, bare = self.source.root, self.source.bare
        # Trees of n-ary objectives are written un-binarized, fall-backs too.
        nary = {Kind.NARY, Kind.EXACT_F, *([Kind.DERIVATION] if self.source.nary else [])}
        self._forms = [
            TreeForm(root, row.kind in nary or options.debinarized, bare) for row in options.objectives
        ]
        self._candidate_form = TreeForm(root, options.debinarized, bare) if options.has_candidates else None

    def parse(self, sentences: AnyTree | Iterable[AnyTree | Sequence[str | Tree]]) -> Parses:
        """Parse sentences: trees (whose terminals are parsed), strings of words, or lists of words.

        A tree may be an ``nltk.Tree`` or a string of brackets. The results are in their order, and none
        depends on other sentences. With ``constrain`` trees' constituents, and brackets in strings, are those
        that parses must have. Raises InputMismatchError where given posteriors are of others than all of
        these; BracketError, LabelError for brackets that cannot be read, or whose label no constituent has.
        """
        if self.options.constrain:
            lines = list(bracketed_lines(sentences))
        else:
            listed, tokens = sentences_from(sentences)
            lines = [Line(one, place, tokens, "<sentences>") for place, one in enumerate(listed)]
        self.source.check_end(len(lines), "<sentences>")
        grammar = self._origin if isinstance(self._origin, Grammar) else None
        parses = list(map(self.parse_one, lines))
        return Parses(self.options.objectives, parses, grammar, self.source.probability)

    def parse_one(self, line: Line) -> Parse:
        """Parse one sentence; one that cannot be parsed falls back.

        Raises InputMismatchError where given posteriors are of another sentence than that of its place.
        """
        began = time.perf_counter()
        evidence = self.evidence(line)
        try:
            return self._parse(evidence, began)
        except sources.FAILURES as error:
            return self._parse(self._refused(line.sentence, error), began)

    def evidence(self, line: Line) -> sources.Evidence:
        """The chart of a sentence and its posteriors, or the reason why it has none; as ``parse_one``."""
        try:
            return self.source.evidence(line)
        except sources.FAILURES as error:
            return self._refused(line.sentence, error)

    def _refused(self, sentence: Sentence, error: Exception) -> sources.Evidence:
        if isinstance(error, MemoryError):
            # A kernel may have left its arrays half-way.
            self.source = source_of(self._origin, self.options)
        return self.source.refused(sentence, sources.failure(error))

    def fallen_back(self, sentence: Sentence, reason: str) -> Parse:
        """Return the fall-back of a sentence."""
        return self._parse(self.source.refused(sentence, reason), time.perf_counter())

    def _parse(self, evidence: sources.Evidence, began: float) -> Parse:
        """A tree for each objective, and candidates; without posteriors fall-backs."""
        objectives, source, reason = self.options.objectives, self.source, evidence.reason
        decoded: list[Decoded | None] = [None] * len(objectives)
        candidates: Sequence[Candidate] = ()
        if evidence.posteriors is not None:
            for decoder, places in source.decoders:
                found = decoder.decode(evidence.chart, evidence.posteriors)
                for place, one in zip(places, found, strict=True):
                    decoded[place] = one
            if None in decoded:
                reason = f"no tree for {objectives[decoded.index(None)].name}"
            if source.candidates is not None and evidence.chart is not None:
                candidates = source.candidates.of_sentence(evidence.chart.terminal_ids)
        fallback: LabelledSpans | None = None
        leaves = evidence.sentence
        if reason is not None:
            leaves = source.fallback_leaves(evidence)
            spans = fallback_spans(len(leaves), self.options.fallback, source.root, source.labels)
            fallback = None if spans is None else tuple(spans)
        # Objectives often have the same tree, which is built once.
        built: dict[object, Tree | None] = {}

        def tree(found: Decoded | Candidate | None, form: TreeForm) -> Tree | None:
            spans = fallback if found is None else tuple(found.spans)
            tags = tuple(found.preterminals) if found is not None and source.retags else None
            key = form.nary, found is None, spans, tags
            if spans is not None and key not in built:
                built[key] = form.tree(spans, leaves if found is None else evidence.sentence, tags)
            return built.get(key)

        listed: list[ScoredTree] = []
        if self._candidate_form is not None:
            form, share = self._candidate_form, evidence.log_share
            listed = [ScoredTree(one.log_prob + share, tree(one, form)) for one in candidates]
            listed = listed or [ScoredTree(-math.inf, tree(None, form))]
        return Parse(
            objectives,
            evidence.terminal_ids,
            tuple(map(tree, decoded, self._forms)),
            tuple(list((fallback or ()) if one is None else one.spans) for one in decoded),
            tuple(decoded),
            reason,
            evidence.chart,
            evidence.posteriors,
            time.perf_counter() - began,
            tuple(listed),
            evidence.log_share,
        )
