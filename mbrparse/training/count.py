"""A grammar counted from binarized trees: rules, the model of unknown words, statistics.

Probabilities are relative frequencies without smoothing (Goodman 1996, section 5).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from mbrparse.arguments import checked
from mbrparse.errors import GrammarError
from mbrparse.grammar.dop_grammar import AddressedTreebank, Weighting, address_trees
from mbrparse.grammar.rules import (
    Rule,
    RuleSet,
    TerminalKind,
    binary_rules,
    checked_children,
    quote,
    relative_frequencies,
    rule_name,
)
from mbrparse.grammar.tagger import Tagger
from mbrparse.grammar.unknown_words import MODELS, Collins, UnknownKind, UnknownWords
from mbrparse.log import Log, Progress, counted, no_log, no_progress
from mbrparse.treebank.corpora.reading import SourceTree
from mbrparse.treebank.labels import escape

if TYPE_CHECKING:
    from mbrparse.training.tag_statistics import Statistics


def induce(trees: Iterable[SourceTree], terminal_kind: TerminalKind, nary: bool = True) -> RuleSet:
    """Count the rules of trees: of binarized ones, or with ``nary`` of those with any number of children.

    With terminals ``tags`` the tags are the terminals; with ``words`` they are preterminals over their
    words. A node with one child counts as a unary rule; where that child is a terminal, its tag becomes a
    preterminal over it: ``NP -> PRP`` and ``PRP -> 'PRP'``, since an NP that were rewritten as the
    terminal itself would be a preterminal, and no constituent. Raises GrammarError for other trees, or none.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> tree = SourceTree("", 1, read_tree("(NP (DT the) (NN dog))"))
    >>> [str(rule) for rule in induce([tree], "words").rules]
    ['NP -> DT NN', "DT -> 'the'", "NN -> 'dog'"]
    >>> tree = SourceTree("", 1, read_tree("(S (NP (PRP he)) (VBZ is))"))
    >>> [str(rule) for rule in induce([tree], "tags").rules]
    ["S -> NP 'VBZ'", 'NP -> PRP', "PRP -> 'PRP'"]
    """
    start: Counter[str] = Counter()
    # Plain tuples, since a Rule for each node would take twice the time.
    inner: Counter[tuple[str, ...]] = Counter()
    lexical: Counter[tuple[str, str]] = Counter()
    words = terminal_kind == "words"

    for source in trees:
        start[source.tree.label] += 1
        stack = [source.tree]
        while stack:
            node = stack.pop()
            children = checked_children(node, source, nary)
            names = [rule_name(child, words, len(children)) for child in children]
            inner[(node.label, *names)] += 1
            if len(children) == 1 and not children[0].children:
                tag, word = (children[0].label, children[0].word) if words else (children[0].tag, None)
                lexical[tag, tag if word is None else word] += 1
                continue
            for child in children:
                if child.children:
                    stack.append(child)
                elif words and child.word is not None:
                    lexical[child.label, child.word] += 1
    if not start:
        raise GrammarError("no trees to train on", remedy="give binarized trees: mbrparse binarize")
    counts: dict[Rule, float] = {
        Rule(parent, tuple(children)): count for (parent, *children), count in inner.items()
    }
    for (tag, terminal), count in lexical.items():
        counts[Rule(escape(tag), (quote(terminal),))] = count
    return relative_frequencies(terminal_kind, dict(start), counts)


class Counted(NamedTuple):
    """A counted grammar; statistics only where asked for."""

    rules: RuleSet
    statistics: Statistics | None


def train_by_counting(
    trees: Iterable[SourceTree],
    terminals: TerminalKind,
    unknown: UnknownKind | None = None,
    rare: int | None = None,
    statistics: bool = False,
    log: Log = no_log,
    progress: Progress = no_progress,
) -> Counted:
    """Relative frequencies of trees; with ``unknown``, rare words represent unknown ones.

    Rules of three children or more are binarized: the same trees have the same probabilities.

    Words seen fewer than ``rare`` times are rare (None: the model's own threshold); Collins's model gets
    its tagger. Trees are kept in memory only where they are read twice. Raises GrammarError
    without trees, for ``unknown`` where terminals are tags, and with ``statistics`` for n-ary trees.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> tree = SourceTree("", 1, read_tree("(NP (DT the) (NN dog))"))
    >>> [str(rule) for rule in train_by_counting([tree], "words", "signature").rules.rules]
    ['NP -> DT NN', "DT -> '(UNKNOWN)'", "NN -> '(UNKNOWN)'"]
    """
    if unknown is not None and terminals != "words":
        raise GrammarError("among tags there are no unknown words", remedy="train with words as terminals")
    trees = progress(trees, "reading")
    if unknown is None and not statistics:
        return Counted(binary_rules(induce(trees, terminals), log), None)
    originals, model = list(trees), None
    replaced = originals
    if unknown is not None:
        replaced, model = replace_unknown(originals, unknown, rare)
    rules = induce(progress(replaced, "counting", len(replaced)), terminals, nary=not statistics)
    if model is not None:
        rules = replace(rules, unknown=with_trained_tagger(model, originals, log))
    if not statistics:
        return Counted(binary_rules(rules, log), None)
    # Imported here since its module loads the kernels of charts.
    from mbrparse.training.tag_statistics import count_statistics

    return Counted(rules, count_statistics(replaced, terminals))


@checked
def train_dop(
    trees: Iterable[SourceTree],
    terminals: TerminalKind,
    unknown: UnknownKind | None = None,
    rare: int | None = None,
    weights: Weighting | None = None,
    max_depth: int | None = None,
    log: Log = no_log,
) -> AddressedTreebank:
    """All fragments of binarized trees; with ``unknown``, rare words represent unknown ones."""
    replaced = originals = list(trees)
    model = None
    if unknown is not None:
        replaced, found = replace_unknown(originals, unknown, rare)
        model = with_trained_tagger(found, originals, log)
    return replace(address_trees(replaced, terminals, weights or "plain", max_depth), unknown=model)


def replace_unknown(
    trees: Sequence[SourceTree], unknown: UnknownKind, rare: int | None = None
) -> tuple[list[SourceTree], UnknownWords]:
    """Trees whose rare words are replaced by the terminals of unknown words, and the model of these."""
    kind = MODELS[unknown]
    return kind.learn(trees, kind.default_rare if rare is None else rare)


def with_trained_tagger(model: UnknownWords, trees: Sequence[SourceTree], log: Log = no_log) -> UnknownWords:
    """The model, with a tagger of these trees if it needs one."""
    if not isinstance(model, Collins):
        return model
    log(f"training the tagger on {counted(len(trees), 'sentence')} ...")
    return model.with_tagger(Tagger.train(tree for _, _, tree, _ in trees))
