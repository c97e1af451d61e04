"""A counted grammar from binarized trees, complete: rules, the model of unknown words, statistics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from mbrparse.errors import GrammarError
from mbrparse.grammar.induce import induce
from mbrparse.grammar.rules import RuleSet, TerminalKind
from mbrparse.grammar.words.collins import Collins
from mbrparse.grammar.words.tagger import Tagger
from mbrparse.grammar.words.unknown import MODELS, UnknownKind, UnknownWords
from mbrparse.reporting import Progress, Tell, say_nothing, show_nothing
from mbrparse.treebank.corpora import SourceTree

if TYPE_CHECKING:
    from mbrparse.grammar.statistics.gather import Statistics


class Counted(NamedTuple):
    """What was counted; statistics only where they were asked for."""

    rules: RuleSet
    statistics: Statistics | None


def train_by_counting(
    trees: Iterable[SourceTree],
    terminals: TerminalKind,
    unknown: UnknownKind | None = None,
    rare: int | None = None,
    statistics: bool = False,
    tell: Tell = say_nothing,
    progress: Progress = show_nothing,
) -> Counted:
    """Relative frequencies of binarized trees; with ``unknown``, rare words stand for unknown ones.

    Words seen fewer than ``rare`` times are rare (None: the model's own threshold); Collins's model gets
    its tagger. Trees are held in memory only where they are looked at twice. Raises GrammarError for trees
    that are not binary, without any, and for ``unknown`` where terminals are tags.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> tree = SourceTree("", 1, read_tree("(NP (DT the) (NN dog))"))
    >>> [str(rule) for rule in train_by_counting([tree], "words", "signature").rules.rules]
    ['NP -> DT NN', "DT -> '(UNKNOWN)'", "NN -> '(UNKNOWN)'"]
    """
    if unknown is not None and terminals != "words":
        raise GrammarError("among tags there are no unknown words", remedy="train with words as terminals")
    if unknown is None:
        trees = progress(trees, "reading")
        kept = list(trees) if statistics else None
        rules = induce(trees if kept is None else kept, terminals)
        return Counted(rules, None if kept is None else _statistics(kept, terminals))
    originals = list(progress(trees, "reading"))
    replaced, model = replace_unknown(originals, unknown, rare)
    rules = induce(progress(replaced, "counting", len(replaced)), terminals)
    counts = _statistics(replaced, terminals) if statistics else None
    return Counted(replace(rules, unknown=with_trained_tagger(model, originals, tell)), counts)


def replace_unknown(
    trees: Sequence[SourceTree], unknown: UnknownKind, rare: int | None = None
) -> tuple[list[SourceTree], UnknownWords]:
    """Trees in which rare words are replaced by what stands for unknown ones, and the model of them."""
    kind = MODELS[unknown]
    return kind.learn(trees, kind.default_rare if rare is None else rare)


def with_trained_tagger(
    model: UnknownWords, trees: Sequence[SourceTree], tell: Tell = say_nothing
) -> UnknownWords:
    """The model, with a tagger of these trees if it needs one."""
    if not isinstance(model, Collins):
        return model
    tell(f"training the tagger on {len(trees)} sentences ...")
    return model.with_tagger(Tagger.train(tree for _, _, tree in trees))


def _statistics(trees: Iterable[SourceTree], terminals: TerminalKind) -> Statistics:
    # Imported where it is asked for: its module knows charts, and kernels take a while to load.
    from mbrparse.grammar.statistics.gather import count_statistics

    return count_statistics(trees, terminals)
