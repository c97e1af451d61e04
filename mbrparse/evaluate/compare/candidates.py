"""The scores of one sentence's candidates: against each other, and against the gold (the oracle)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mbrparse import arguments, errors, files
from mbrparse.evaluate import align, criteria
from mbrparse.evaluate.counts import Brackets, Comparison, GoldSentence, Matches, compared_labels, trees_in
from mbrparse.treebank import brackets, candidate_files, outlines
from mbrparse.treebank.tree import Tree

FloatArray = npt.NDArray[np.float64]
ReadCandidates = Callable[[], Iterator[list[candidate_files.CandidateLine]]]

_CRITERIA = {criterion.name: criterion for criterion in criteria.PAPER + criteria.MORE}

_PLACE = align.Place("the trees compared", 1, "sentence")


@arguments.checked
class TreeRates:
    """The rates that trees have by a criterion if another one is the correct one, tree by tree.

    Trees are compared in a form, as ``evaluate`` compares them. Raises MbrparseError for a criterion that
    there is not.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> trees = [read_tree("(S a (A b c))"), read_tree("(S (A a b) c)")]
    >>> [rates.tolist() for rates in TreeRates("labelled_f")(trees)]
    [[1.0, 0.5], [0.5, 1.0]]
    """

    def __init__(self, criterion: str, form: align.Form = "binarized") -> None:
        name = criteria.criterion_name(criterion)
        if name not in _CRITERIA:
            raise errors.MbrparseError(
                f"no criterion is called {criterion!r}", remedy=f"one of {', '.join(_CRITERIA)}"
            )
        self._criterion = _CRITERIA[name]
        self.form = form
        self._how = Comparison(form, unaries=form == "binarized")

    def __repr__(self) -> str:
        return f"TreeRates({self._criterion.name!r}, {self.form!r})"

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self._criterion.name, self.form)

    def __call__(self, trees: Sequence[Tree]) -> Iterator[FloatArray]:
        """Yield the rates of each tree [correct], 0 to 1; 1 where there is nothing to count.

        Raises InputMismatchError where the trees are not all of one sentence.
        """
        places = [align.Place(_PLACE.source, number, _PLACE.unit) for number in range(1, len(trees) + 1)]
        correct = [GoldSentence(tree, self._how, _PLACE) for tree in trees]
        guessed = self._read(trees, places, trees[0], places[0])
        return (self._rates(correct, [one]) for one in guessed)

    def against(
        self, correct: Tree, here: align.Place, guessed: Sequence[Tree], places: Sequence[align.Place]
    ) -> FloatArray:
        """The rates of trees of one sentence, whose correct tree this is; places are for messages."""
        gold = GoldSentence(correct, self._how, _PLACE)
        return self._rates([gold], self._read(guessed, places, correct, here))

    def _read(
        self, trees: Sequence[Tree], places: Sequence[align.Place], correct: Tree, here: align.Place
    ) -> list[Brackets]:
        leaves, found = correct.leaves(), []
        for tree, place in zip(trees, places, strict=True):
            read = outlines.outline(tree)
            if not outlines.yields_agree(leaves, read.leaves):
                raise place.error(
                    errors.InputMismatchError,
                    f"not the sentence of {here}: {outlines.first_difference(leaves, read.leaves)}",
                    "all candidates of a sentence have its words",
                )
            found.append(Brackets(read.spans, compared_labels(read, self.form, place)))
        return found

    def _rates(self, correct: Sequence[GoldSentence], guessed: Sequence[Brackets]) -> FloatArray:
        """The rate of each guess, by each correct tree."""
        rows = [
            (1, len(gold.brackets.spans), len(one.spans), *gold.matches(one))
            for gold in correct
            for one in guessed
        ]
        counts = dict(zip(("parsed", "gold", "guess", *Matches._fields), np.array(rows).T, strict=True))
        rates = criteria.quotients(*criteria.sides(self._criterion, counts, "pooled"))
        return np.where(np.isnan(rates), 1.0, rates)


def sources_of(
    paths: Sequence[str | Path],
    gold: str | Path,
    criterion: str | None,
    form: align.Form,
    encoding: str = "utf-8",
) -> list[align.TreeSource]:
    """Parse files as they are; of a file of candidates the first ones, and then the best by a criterion.

    That is labelled F unless the criterion is one of counts. Raises MbrparseError for a gold file that cannot
    be read once for the choice and once for the comparison.
    """
    rates = TreeRates(criterion if criterion in _CRITERIA else "labelled_f", form)
    sources: list[align.TreeSource] = []
    for source, path in zip(align.parse_files(paths, encoding), paths, strict=True):
        if not candidate_files.is_candidate_file(path, encoding):
            sources.append(source)
            continue
        files.refuse_stream(gold)  # for the best of the candidates, and to compare them
        candidates = partial(candidate_files.read_candidates, path, encoding)
        correct = align.gold_file(gold, encoding)
        first, best = partial(_first, candidates), partial(_best, source, candidates, correct, rates)
        for name, trees in ((source.name, first), (f"{source.name}:oracle", best)):
            sources.append(replace(source, name=name, trees=trees, file_lines=None, chosen=True))
    return sources


def _first(read: ReadCandidates) -> Iterator[brackets.ReadTree]:
    """The first candidate of each sentence."""
    return (brackets.ReadTree(candidates[0].line, candidates[0].tree) for candidates in read())


def _best(
    source: align.TreeSource, read: ReadCandidates, gold: align.TreeSource, rates: TreeRates
) -> Iterator[brackets.ReadTree]:
    """Of each sentence the candidate with the best rate; of equal ones the first.

    Trees are compared in a form, as everywhere in an evaluation. Raises BracketError, CorpusError, FileError,
    InputMismatchError and LabelError.
    """
    everything = replace(
        source,
        trees=lambda: (brackets.ReadTree(one.line, one.tree) for candidates in read() for one in candidates),
    )
    correct, compared = map(trees_in(rates.form), (gold, everything))
    for candidates in read():
        line, right, _ = next(correct, brackets.ReadTree(0, None))
        trees = [next(compared).tree for _ in candidates]
        best = candidates[0]
        there = [(one, tree) for one, tree in zip(candidates, trees, strict=True) if tree is not None]
        if right is not None and there:
            places = [source.place(one.line) for one, _ in there]
            found = rates.against(right, gold.place(line), [tree for _, tree in there], places)
            best = there[int(found.argmax())][0]
        yield brackets.ReadTree(best.line, best.tree)
