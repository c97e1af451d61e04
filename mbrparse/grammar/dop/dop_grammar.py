"""A DOP grammar, as parsers hold it: an addressed treebank and the PCFG of the same trees."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from mbrparse.grammar.dop.addressed_treebank import AddressedTreebank
from mbrparse.grammar.dop.fragments import Fragments, fragments_of
from mbrparse.grammar.grammar_kinds import Kind
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.rules import Rule, is_terminal, relative_frequencies


@dataclass(frozen=True, eq=False)
class DopGrammar:
    """All fragments of a treebank's trees, weighed; it parses what the treebank's own PCFG parses.

    ``pcfg`` has the same labels, terminals and model of unknown words; its symbols are the labels of the
    treebank and, where terminals stand in trees by themselves, those.
    """

    treebank: AddressedTreebank
    pcfg: PCFG

    @classmethod
    def of_treebank(cls, treebank: AddressedTreebank) -> DopGrammar:
        """The grammar of a treebank.

        >>> from mbrparse.grammar.dop.addressed_treebank import address_trees
        >>> from mbrparse.treebank.brackets import read_tree
        >>> from mbrparse.treebank.corpora import SourceTree
        >>> tree = SourceTree("", 1, read_tree("(S (NP a b) (VP c (NP a b)))"))
        >>> DopGrammar.of_treebank(address_trees([tree], "tags"))
        <DOP grammar over tags: 1 trees, 4 nodes, 3 addresses>
        """
        return cls(treebank, PCFG.from_rules(replace(treebank.treebank_rules(), unknown=treebank.unknown)))

    @property
    def kind(self) -> Kind:
        """As every grammar tells it."""
        return "dop"

    @property
    def content(self) -> AddressedTreebank:
        """What it was made of."""
        return self.treebank

    @cached_property
    def fragments(self) -> Fragments:
        """What the fragments weigh, by address."""
        return fragments_of(self.treebank)

    @cached_property
    def filter(self) -> PCFG:
        """The PCFG with numbers for labels: nothing of them is projected away.

        A label's number is its place in ``treebank.labels``.
        """
        names = {label: f"{place:09}" for place, label in enumerate(self.treebank.labels)}

        def renamed(name: str) -> str:
            return name if is_terminal(name) else names[name]

        rules = self.treebank.treebank_rules()
        counts = {
            Rule(renamed(rule.parent), tuple(map(renamed, rule.children))): weight.count or 0.0
            for rule, weight in rules.rules.items()
        }
        start = {renamed(name): count for name, count in self.treebank.start.items()}
        return PCFG.from_rules(relative_frequencies(self.treebank.terminal_kind, start, counts))

    def __getstate__(self) -> dict[str, Any]:
        """Other processes make what follows from the treebank themselves."""
        return {"treebank": self.treebank, "pcfg": self.pcfg}

    def __repr__(self) -> str:
        treebank = self.treebank
        return (
            f"<DOP grammar over {treebank.terminal_kind}: {treebank.trees:g} trees, "
            f"{treebank.count.sum():g} nodes, {len(treebank.count)} addresses>"
        )
