"""Given trees under a grammar or given posteriors: their form, probability and expected accuracy.

Trees come in two forms. *Binarized* ones have the labels of a grammar, with continuations; *original* ones
have any number of children, and labels in which nothing is reserved.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from mbrparse import arguments, files
from mbrparse.charts.spans import cell_of
from mbrparse.decode import answers, objectives, tree_probability
from mbrparse.decode.parser import sources
from mbrparse.decode.parser.sentences import GivenTree, Line
from mbrparse.decode.posteriors.given_posteriors import GivenPosteriors
from mbrparse.decode.span_posteriors import Posteriors
from mbrparse.decode.trees import LabelledSpans
from mbrparse.grammar import pcfg, rules
from mbrparse.log import Progress, no_log, no_progress, warn
from mbrparse.treebank import binarize, brackets, clean, labels
from mbrparse.treebank.corpora.reading import SourceTree, no_trees
from mbrparse.treebank.formats import formats
from mbrparse.treebank.outlines import constituents
from mbrparse.treebank.tree import Tree, bracket_free

if TYPE_CHECKING:
    import pandas as pd

    from mbrparse.charts.chart import Chart
    from mbrparse.decode.derivations.forest_decoder import ExpectedItems


Form = Literal["binarized", "original"]


def read_given_trees(
    path: str, marks: labels.LabelMarks, form: Form | None, lines: Iterable[str]
) -> Iterator[GivenTree]:
    """Yield the trees of a parser's output, those with ``marks`` translated; unless binarized debinarized.

    ``lines`` are those of the file; lines of tokens are sentences without trees.
    """
    name, file = formats.format_path(path)
    source = files.source_name(file)
    if not name:
        name, lines = formats.looked_at(lines, tokens=True)
    if name == "tokens":
        for place, line in enumerate(lines):
            words = map(Tree, brackets.tokens_of(bracket_free(line)))
            yield GivenTree(None, place, source, place + 1, tuple(words))
        return
    trees = formats.read_tree_lines(lines, source, name, parses=True)
    read = binarize.translated_trees(trees, marks, form != "binarized")
    for place, one in enumerate(read):
        yield GivenTree(one.tree, place, source, one.line)


def look_at(trees: Iterable[GivenTree], source: str, form: Form | None, *, tokens: bool = False) -> FoundForm:
    """The form of the trees of an input, as ``find_form``; warns of labels of another program's.

    Raises CorpusError where there are no trees, nor ``tokens``.
    """
    spoken = (one for one in trees if one.sentence)
    if (first := next(spoken, None)) is None or (first.tokens and not tokens):
        raise no_trees(source)
    if first.tokens:
        return FoundForm(form or "binarized", TOKENS)
    there = itertools.chain([first], spoken)
    return find_form(binarize.watched(there, lambda one: binarize.phrase_labels(one.tree), source), form)


def told(
    trees: Iterable[GivenTree], known: object, items: bool, consistent: bool, most: float | None = None
) -> Iterator[GivenTree]:
    """Yield the trees, and warn before the first that takes long with a grammar for what is asked.

    Sentences of more than ``most`` words are skipped.
    """
    asked = " and ".join(["`items`"] * items + ["`consistent`"] * consistent)
    for one in trees:
        n = len(one.sentence)
        if (
            asked
            and isinstance(known, pcfg.PCFG)
            and len(known.left) * n**3 > _LONG_PASS
            and n <= (most or n)
        ):
            warn(
                f"line {one.line} has {n} words: {asked} may take a minute and 5 GB for so many, or not fit; "
                "`max_length` skips longer sentences"
            )
            asked = ""
        yield one


class FoundForm(NamedTuple):
    """The form of some trees, and how it was recognized."""

    form: Form
    because: str


def find_form(trees: Iterable[GivenTree], wanted: Form | None = None) -> FoundForm:
    """Recognize the form of the trees of one file; ``wanted`` is the form that the user named.

    One continuation anywhere makes them binarized; otherwise one node of three children or more makes them
    original. Raises InputMismatchError where they cannot be of the wanted form.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> find_form([GivenTree(read_tree("(S a b c)"), line=1)])
    FoundForm(form='original', because='S has 3 children on line 1')
    """
    nary: tuple[GivenTree, Tree] | None = None
    for given in trees:
        for node in () if given.tree is None else given.tree.preorder():
            if node.children and labels.is_continuation_label(node.label):
                if wanted == "original":
                    raise given.error(
                        f"a binarized tree (label {node.label!r}), where original ones are wanted",
                        "debinarize it (mbrparse debinarize), or leave `form` out",
                    )
                return FoundForm("binarized", f"{node.label} is a continuation, on line {given.line}")
            if len(node.children) > 2 and nary is None:
                nary = given, node
    if nary is None:
        return FoundForm(wanted or "binarized", "no node has more than two children")
    given, node = nary
    what = f"{node.label} has {len(node.children)} children on line {given.line}"
    if wanted == "binarized":
        raise given.error(
            f"not binarized: {what}, and there is no continuation anywhere",
            "binarize the trees (mbrparse binarize), or say `form=original`",
        )
    return FoundForm("original", what)


Row = dict[str, Any]

#: The columns of a row, in order; ``nodes`` comes last, and is not in tables.
COLUMNS = (
    "sentence",
    "length",
    "reason",
    "log_probability",
    "tree_log_probability",
    "tree_reason",
    "posterior",
    "constituents",
    "tree_constituents",
    *(
        f"expected_{name}{what}"
        for what in ("", "_recall", "_precision", "_f")
        for name in ("labelled", "bracketed")
    ),
    "expected_consistent",
    "expected_consistent_recall",
    "expected_parent_child",
    "expected_productions",
    "expected_split_productions",
    *(f"least_expected_{what}" for what in ("start", "end", "label", "posterior")),
    "never_seen",
)
_TEXTS = ("tree_reason", "least_expected_label", "never_seen")
NO_TREE = "no tree"
#: How the form of lines of tokens is recognized.
TOKENS = "there are lines of tokens, without trees"
# Without a chart, an n-ary node of more words might take longer than one would have.
_LONG = 100
# Forests take seconds for so many binary rules times splits.
_LONG_PASS = 5e9


class Scorer:
    """Scores trees of one form with one grammar, or with given posteriors, which have no probabilities.

    With ``items`` rows of binarized trees have the expected numbers of pairs of parent and child and of
    productions, too; this needs forests, which take longer than charts. With ``consistent`` a grammar's rows
    have the expected number of constituents that cross none, which takes longest. A sentence that is longer
    than ``max_length`` has a row with the reason.
    """

    def __init__(
        self,
        known: pcfg.PCFG | GivenPosteriors,
        form: Form,
        items: bool = False,
        max_length: int | None = None,
        consistent: bool = False,
    ) -> None:
        forests = items and form == "binarized" and isinstance(known, pcfg.PCFG)
        asked = objectives.OBJECTIVES["productions" if forests else "labelled-recall"]
        options = answers.ParserOptions((asked,), max_length=max_length, expectations=True)
        self.source: sources.Source
        self._form = form
        self._probability: tree_probability.TreeProbability | None = None
        self._items: ExpectedItems | None = None
        self._lengths: list[int] = []
        if not isinstance(known, pcfg.PCFG):
            self.source = sources.PosteriorsSource(known, options)
            self._unaries = bool(known.phrase[known.ends - known.starts == 1].any())
            self._joined, self._crossing = True, known.consistent is not None
            self._lengths = known.lengths.tolist()
            return
        self.source = sources.GrammarSource(known, options)
        self._unaries, self._joined, self._crossing = known.has_unaries, not known.has_unaries, consistent
        self._probability = tree_probability.TreeProbability(known)
        self._words = known.terminal_kind == "words"
        # As trees show them; what is written alike is a treebank's label first, which binarizing escapes.
        self._tags = {labels.unescape(label): label for label in sorted(known.labels, reverse=True)}
        if forests:
            from mbrparse.decode.derivations.forest_decoder import ExpectedItems

            self._items = ExpectedItems(self.source.charts)

    def check_fit(self, trees: Sequence[GivenTree]) -> None:
        """Raise InputMismatchError where the grammar knows no terminal of the trees.

        Or where given posteriors are of more sentences than these, which are all, a tree of each.
        """
        sentences = [one.sentence for one in trees if one.sentence]
        self.source.check_beginning(sentences[: sources.FIRST], False, no_log)
        self.source.check_end(len(trees), trees[0].source if trees else "")

    def rows(self, trees: Sequence[GivenTree]) -> list[Row]:
        """A row for each of a sentence's trees, one or several.

        Raises InputMismatchError and LabelError for a tree that is not of the form.
        """
        first = trees[0]
        spans = list(map(self._spans, trees))
        sentence = next((one.sentence for one in trees if one.sentence), ())
        if not sentence and first.place < len(self._lengths):
            # Given posteriors know how long a sentence without a tree is.
            sentence = (Tree("x"),) * self._lengths[first.place]
        try:
            evidence = self.source.evidence(Line(sentence, first.place, False, first.source))
        except sources.FAILURES as error:
            evidence = self.source.refused(sentence, sources.failure(error))
        rows = (self._row(evidence, one.tree, found) for one, found in zip(trees, spans, strict=True))
        return [{"sentence": first.place + 1, **row} for row in rows]

    def _spans(self, given: GivenTree) -> LabelledSpans | None:
        """The constituents of a tree in preorder, with labels as charts have them.

        A wrapper (treebank.outlines) whose label the source does not know is left out. Raises
        InputMismatchError for a tree with traces, LabelError for a label that no binarizing wrote.
        """
        if given.tree is None:
            return None
        tree, known = clean.unwrap(given.tree, clean.WRAPPERS - self.source.labels), self.source.labels
        if any(leaf.label == clean.TRACE for leaf in tree.leaves()):
            remedy = "clean it: mbrparse binarize, and for original trees mbrparse debinarize after it"
            raise given.error("a tree with traces", remedy)
        found = constituents(tree)
        if len(tree.leaves()) == 1 and not self._unaries:
            return []  # a single terminal is no constituent, whatever is written over it
        if self._form == "binarized":
            return [(start, end, given.projected(label)) for start, end, label in found]
        # Labels as binarizing writes them; chains of unary nodes joined (--unary join) where that is a label.
        spans: list[tuple[int, int, str]] = []
        for (start, end), chain in itertools.groupby(found, key=lambda one: one[:2]):
            names = tuple(one.label for one in chain)
            whole = labels.join_chain(names)
            joined = self._joined and len(names) > 1 and whole in known
            spans += [(start, end, one) for one in ([whole] if joined else map(labels.escape, names))]
        return spans

    def _row(self, evidence: sources.Evidence, tree: Tree | None, spans: LabelledSpans | None) -> Row:
        row: Row = dict.fromkeys(COLUMNS[1:])
        row |= {"length": len(evidence.sentence), "nodes": None, "reason": evidence.reason}
        if spans is None or tree is None:
            if evidence.chart is not None:
                row["log_probability"] = evidence.chart.log_prob + evidence.log_share
                return row | {"tree_reason": NO_TREE}
            return row | {"reason": (evidence.sentence and evidence.reason) or NO_TREE}
        row["tree_constituents"] = len(spans)
        nary, log_prob = self._form == "original", -math.inf
        probability, chart = self._probability, evidence.chart
        short = evidence.posteriors is not None or not nary or len(evidence.sentence) <= _LONG
        if probability is not None and short and (probability.serves_nary or not nary):
            given = spans, evidence.terminal_ids
            log_prob = probability.log_prob(*given, nary)
            row["never_seen"] = probability.lacking(*given, tree.leaves(), nary)
        if evidence.posteriors is None:
            return row
        try:
            scores = self._scores(evidence, evidence.posteriors, tree, spans)
        except sources.FAILURES as error:
            return row | {"reason": sources.failure(error)}
        if probability is not None and nary and not probability.serves_nary:
            row["tree_reason"] = "the grammar has unary rules of continuations"
        elif chart is not None and math.isfinite(log_prob):
            row["tree_log_probability"] = log_prob + evidence.log_share
            row["posterior"] = tree_probability.share(log_prob, chart.log_prob)
        elif chart is not None:
            row |= {"tree_reason": self._lack(spans), "posterior": 0.0}
        return row | scores

    def _lack(self, spans: LabelledSpans) -> str:
        """Why the grammar has no derivation of a tree."""
        unaries = [one for one, other in itertools.pairwise(spans) if one[:2] == other[:2]]
        unaries += [span for span in spans if span[1] - span[0] == 1]
        unknown = [label for _, _, label in spans if label not in self.source.labels]
        if unknown:
            return f"the grammar has no label {unknown[0]}"
        if unaries and not self._unaries:
            return "a unary node, but the grammar has no unary rules"
        return "no derivation of the grammar"

    def _scores(
        self, evidence: sources.Evidence, posteriors: Posteriors, tree: Tree, spans: LabelledSpans
    ) -> Row:
        nary, constituents, chart = self._form == "original", float(posteriors.length - 1), evidence.chart
        if nary or self._unaries or self._probability is None:
            constituents = posteriors.expected_constituents(nary)
        row: Row = {
            "log_probability": None if chart is None else chart.log_prob + evidence.log_share,
            "constituents": constituents,
            **posteriors.expected_recalls(spans, constituents, nary),
        }
        for name in ("expected_labelled", "expected_bracketed"):
            row[f"{name}_precision"] = row[name] / len(spans) if spans else 0.0
            both = len(spans) + constituents
            row[f"{name}_f"] = 2 * row[name] / both if both else 1.0
        if self._crossing:
            cells = [cell_of(posteriors.length, *span[:2]) for span in spans]
            consistent = float(posteriors.consistent[cells].sum())
            row["expected_consistent"] = consistent
            row["expected_consistent_recall"] = consistent / len(spans) if spans else 0.0
        if self._items is not None:
            # The labels over the terminals, where the grammar's terminals are words under them.
            tags = [
                self._tags.get(one.label, one.label) if self._words and one.word is not None else None
                for one in tree.leaves()
            ]
            found = self._items.expected(cast("Chart", evidence.chart), spans, tags) or {}
            row |= {f"expected_{name}": mass for name, mass in found.items()}
        row["nodes"] = nodes = [[*span, g] for span, g in zip(spans, posteriors.of_each(spans), strict=True)]
        if nodes:
            least = min(nodes, key=itemgetter(-1))
            row |= dict(zip((name for name in COLUMNS if name.startswith("least")), least, strict=True))
        return row


def jackknife_parts(
    trees: Iterable[GivenTree], most: int, terminals: rules.TerminalKind, progress: Progress = no_progress
) -> tuple[Sequence[pcfg.PCFG], Sequence[int]]:
    """At ``most`` this many parts of consecutive binarized trees: for each the grammar of all others.

    Also returns the lines on which the parts but the first begin. Grammars are counted, as ``train`` does;
    none is without a tree. Raises GrammarError for trees that are not binary.
    """
    from mbrparse.training.count import train_by_counting

    kept = [SourceTree(one.source, one.line, one.tree) for one in trees if one.tree is not None]
    parts = min(most, len(kept))
    borders = [kept[len(kept) * part // parts].line for part in range(1, parts)]
    grammars = []
    for part in progress(range(parts), "training", parts):
        rest = (one for one in kept if bisect_right(borders, one.line) != part)
        counted = train_by_counting(rest, terminals, "signature" if terminals == "words" else None)
        grammars.append(pcfg.PCFG.from_rules(counted.rules))
    return grammars, borders


class ScoreWorker:
    """Scores trees; the results are rows."""

    def __init__(
        self,
        known: Sequence[pcfg.PCFG | GivenPosteriors],
        borders: Sequence[int],
        form: Form,
        options: Mapping[str, Any],
    ) -> None:
        """``known`` are what the parts of an input are scored with, as ``jackknife_parts`` has them.

        ``options`` are those of a ``Scorer``.
        """
        # Of one part at a time.
        self._scorer = lru_cache(1)(lambda part: Scorer(known[part], form, **options))
        self._borders = borders
        self.source: sources.Source = self._scorer(0).source

    def __call__(self, trees: Sequence[GivenTree], /) -> list[Row]:
        """The row of each tree."""
        rows = []
        for one in trees:
            [row] = self._scorer(bisect_right(self._borders, one.line)).rows([one])
            rows.append({**row, "line": one.line})
        return rows

    def fallen_back(self, one: GivenTree, reason: str) -> Row:
        """The row of a tree that cannot be scored."""
        row = {**dict.fromkeys(COLUMNS), "nodes": None, "reason": reason, "sentence": one.place + 1}
        return {**row, "length": len(one.sentence), "line": one.line}


@arguments.checked
def score(
    grammar: pcfg.PCFG | GivenPosteriors,
    trees: brackets.AnyTree | Iterable[brackets.AnyTree | None],
    *,
    form: Form | None = None,
    items: bool = False,
    consistent: bool = False,
) -> pd.DataFrame:
    """Score given trees with a grammar as ``mbrparse score`` does, a row each, in their order.

    Parameters
    ----------
    grammar
        ``train`` or ``read_grammar`` make one. Or posteriors (``read_posteriors``) of as many
        sentences, which tell no probabilities of trees.
    trees
        Binarized trees (``read_trees``, a parser's), or original ones of any number of children.
    form
        "binarized" or "original" (default: inferred from the trees).
    items
        Whether to compute expected pairs of parent and child, and productions (they take longer).
    consistent
        Whether a grammar computes how many constituents cross none (this takes longest).

    Returns
    -------
    pandas.DataFrame
        The columns of docs/formats.md; missing values are NaN.

    Raises
    ------
    InputMismatchError
        A tree is not of the form or has traces, or the grammar knows none of the words.
    LabelError
        A label that no binarizing wrote.

    >>> from mbrparse.training.methods import train
    >>> from mbrparse.treebank.brackets import read_tree
    >>> known, other = read_tree("(S (NP DT NN) VB)"), read_tree("(S DT (S_Cont NN VB))")
    >>> found = score(train([known, known, other]), [known, other])
    >>> found[["posterior", "expected_labelled_recall"]].round(3).to_dict("list")
    {'posterior': [0.667, 0.333], 'expected_labelled_recall': [0.833, 0.667]}
    """
    import pandas as pd

    given = [GivenTree(tree, place, line=place + 1) for place, tree in enumerate(brackets.any_trees(trees))]
    scorer = Scorer(grammar, find_form(given, form).form, items, None, consistent)
    scorer.check_fit(given)
    rows = [row for one in told(given, grammar, items, consistent) for row in scorer.rows([one])]
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    return table.set_index("sentence").astype({name: "float64" for name in COLUMNS[3:] if name not in _TEXTS})
