"""The steps of one parser: gold, grammar, parses. Each is done once and kept in the parser's folder."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from mbrparse.decode.answers import ParserOptions
from mbrparse.decode.parser.parse_files import write_parses
from mbrparse.decode.parser.parse_input import Job, parse_all
from mbrparse.decode.parser.parser import Parser
from mbrparse.decode.parser.sentences import read_chunks, read_sentences
from mbrparse.errors import CorpusError
from mbrparse.experiments.simaan.parser_kinds import ALGORITHMS, ParserKind, Parts, objectives
from mbrparse.files import make_folder
from mbrparse.grammar.grammar_files import read_grammar, write_rules
from mbrparse.grammar.tagger import tagger_path
from mbrparse.grammar.unknown_words import UnknownKind
from mbrparse.log import Log, counted
from mbrparse.run.jobs import Jobs
from mbrparse.run.results import clear_left_overs, read_json, write_json
from mbrparse.state_files import mapping, number, record, whole
from mbrparse.training.count import train_by_counting
from mbrparse.treebank.binarize import debinarize
from mbrparse.treebank.brackets import read_tree
from mbrparse.treebank.corpora.places import write_trees
from mbrparse.treebank.corpora.prepare import PreparationStatistics, prepare
from mbrparse.treebank.corpora.reading import SourceTree
from mbrparse.treebank.labels import project
from mbrparse.treebank.tree import Tree

#: Sentences that a process gets at a time.
CHUNK = 20
UNKNOWN = "unknown terminal"

_PARSING = record(
    {
        "sentences": whole(1),
        "words": whole(),
        "unknown": whole(),
        "fallbacks": mapping(whole()),
        "seconds": number(1e-9),
        "jobs": whole(),
    }
)


@dataclass(frozen=True)
class Parsing:
    """What the parsing of the test sentences said of itself.

    Of the ``words``, ``unknown`` are no terminals of the grammar: unseen, or rare in training.
    ``fallbacks`` counts the reasons; ``seconds`` are those of the clock, the loading of kernels and
    grammar apart; ``jobs`` is 0 where a cluster did it.
    """

    sentences: int
    words: int
    unknown: int
    fallbacks: dict[str, int]
    seconds: float
    jobs: int

    @property
    def fell_back(self) -> int:
        """The number of sentences without a parse."""
        return sum(self.fallbacks.values())


class Steps:
    """What is done for one parser, in its ``folder``; ``log`` is called after each step.

    ``gold`` has the trees that parses are compared with; their words are parsed. ``parses`` are a file for
    each algorithm. The ``report`` of the parsing is written last: where it is, all parses are complete.
    """

    def __init__(
        self,
        kind: ParserKind,
        folder: Path,
        parts: Parts,
        unknown: UnknownKind | None,
        rare: int | None,
        node_cost: float,
        log: Log,
    ) -> None:
        self.kind, self.parts, self.log = kind, parts, log
        self.unknown, self.rare, self.node_cost = unknown, rare, node_cost
        self.folder = folder
        self.gold, self.grammar = folder / "gold.mrg", folder / "grammar.txt"
        self.report = folder / "parsing.json"
        self.parses = tuple(folder / f"{name}.mrg" for name in ALGORITHMS)

    def run(self, jobs: Jobs) -> Parsing:
        """Do what is not done yet."""
        make_folder(self.folder)
        files = self.gold, self.grammar, tagger_path(self.grammar), *self.parses, self.report
        clear_left_overs(self.folder, {path.name for path in files})
        if not self.gold.exists():
            form = debinarize if self.kind.debinarized else _projected
            test = self._prepared(self.parts.test, "test")
            gold = (one._replace(tree=_bracketed(form(one.tree))) for one in test)
            write_trees(gold, self.gold, self.log)
        if not self.grammar.exists():
            train = list(self._prepared(self.parts.train, "training"))
            rules, _ = train_by_counting(train, "words", self.unknown, self.rare)
            write_rules(rules, self.grammar)
            self.log(f"{self.kind.name}: {len(rules.rules)} rules")
        if self.report.exists():
            return Parsing(**read_json(self.report, _PARSING))
        return self._parse(jobs)

    def _prepared(self, trees: Sequence[SourceTree], part: str) -> Iterator[SourceTree]:
        statistics = PreparationStatistics()
        yield from prepare(trees, self.kind.preparation, statistics)
        self.log(f"{self.kind.name}, {part} part: {statistics}")
        if not statistics.kept:
            raise CorpusError(f"the {part} part has no tree left", remedy="give a larger treebank")

    def _parse(self, jobs: Jobs) -> Parsing:
        options = ParserOptions(objectives(self.node_cost), debinarized=self.kind.debinarized, items="symbol")
        grammar = read_grammar(self.grammar)
        sentences = list(read_sentences(self.gold))
        known = frozenset(grammar.terminals)
        words = [leaf.word or leaf.label for sentence in sentences for leaf in sentence]
        # Kernels are loaded before the clock runs.
        Parser(grammar, options=options).parse(sorted(sentences, key=len)[:3])
        began = time.perf_counter()
        lines = parse_all(
            Job(grammar, options),
            read_chunks(self.gold, "trees", first_size=CHUNK, size=CHUNK),
            jobs,
            self.log,
        )
        account = write_parses(lines, self.parses, form=lambda line: str(_bracketed(read_tree(line))))
        seconds = time.perf_counter() - began
        # Each unknown word is a reason of its own, which are one here.
        kinds: Counter[str] = Counter()
        for reason, count in account.reasons.items():
            kinds[UNKNOWN if reason.startswith(UNKNOWN) else reason] += count
        parsing = Parsing(
            account.sentences,
            words=len(words),
            unknown=sum(word not in known for word in words),
            fallbacks=dict(kinds.most_common()),
            seconds=seconds,
            jobs=jobs if isinstance(jobs, int) else 0,
        )
        write_json(self.report, asdict(parsing))
        self.log(
            f"{self.kind.name}: {counted(parsing.sentences, 'sentence')} parsed in {parsing.seconds:.1f} s"
        )
        return parsing


def _projected(tree: Tree) -> Tree:
    return tree.fold(lambda leaf: leaf, lambda node, children: Tree(project(node.label), children))


def _bracketed(tree: Tree) -> Tree:
    """The tree as EVALB can read it: a word that is its own tag has brackets too, ``(. .)``."""
    return tree.fold(
        lambda leaf: Tree(leaf.label, word=leaf.label) if leaf.word is None else leaf,
        lambda node, children: Tree(node.label, children),
    )
