"""The steps of one parser: gold, grammar, parses. Each is done once and kept in the parser's folder."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from mbrparse.cli.experiments.simaan_corpus import Parts
from mbrparse.cli.experiments.simaan_parsers import ALGORITHMS, ParserKind, objectives
from mbrparse.decode.parser import Parser
from mbrparse.decode.parser_options import ParserOptions
from mbrparse.decode.run import Job, Lines, parse_all
from mbrparse.decode.sentences import read_chunks, read_sentences
from mbrparse.errors import CorpusError, FileError
from mbrparse.files import open_output
from mbrparse.grammar.grammar_file import read_with_tagger, write_grammar
from mbrparse.grammar.induce import induce
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.rules import RuleSet
from mbrparse.grammar.words.collins import Collins
from mbrparse.grammar.words.tagger import Tagger
from mbrparse.grammar.words.unknown import MODELS, UnknownKind
from mbrparse.treebank.binarize import debinarize
from mbrparse.treebank.brackets import read_tree, write_tree
from mbrparse.treebank.corpora import SourceTree
from mbrparse.treebank.labels import project
from mbrparse.treebank.prepare import Account, prepare
from mbrparse.treebank.tree import Tree

#: Sentences that a process gets at a time.
CHUNK = 20
UNKNOWN = "unknown terminal"
#: A file that an interrupted run was writing (see ``open_output``), where the run could not remove it.
LEFT_OVER = re.compile(r"\..+\.[a-z0-9_]{8}")


@dataclass(frozen=True)
class Parsing:
    """What the parsing of the test sentences said of itself.

    Of the ``words``, ``unknown`` are no terminals of the grammar: unseen, or rare in training.
    ``fallbacks`` counts the reasons; ``seconds`` are those of the clock, the loading of kernels and
    grammar apart.
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

    @property
    def speed(self) -> float:
        """Sentences a second, for all algorithms together."""
        return self.sentences / self.seconds


@dataclass(frozen=True)
class Steps:
    """What is done for one parser, in its ``folder``; ``tell`` is told of each step that is done."""

    kind: ParserKind
    folder: Path
    parts: Parts
    unknown: UnknownKind | None
    rare: int | None
    node_cost: float
    tell: Callable[[str], None]

    @property
    def gold(self) -> Path:
        """The trees that parses are compared with; their words are parsed."""
        return self.folder / "gold.mrg"

    @property
    def grammar(self) -> Path:
        """The grammar file."""
        return self.folder / "grammar.txt"

    @property
    def parses(self) -> tuple[Path, ...]:
        """A file for each algorithm."""
        return tuple(self.folder / f"{name}.mrg" for name in ALGORITHMS)

    def run(self, jobs: int) -> Parsing:
        """Do what is not done yet."""
        self.folder.mkdir(exist_ok=True)
        for path in self.folder.iterdir():
            if LEFT_OVER.fullmatch(path.name):
                path.unlink()
        if not self.gold.exists():
            with open_output(self.gold) as stream:
                for tree in self._prepared(self.parts.test, "test"):
                    gold = debinarize(tree) if self.kind.debinarized else _projected(tree)
                    write_tree(_bracketed(gold), stream)
        if not self.grammar.exists():
            train = [
                SourceTree("training", number, tree)
                for number, tree in enumerate(self._prepared(self.parts.train, "training"), start=1)
            ]
            rules = count_words(train, self.unknown, self.rare)
            write_grammar(rules, self.grammar)
            self.tell(f"{self.kind.name}: {len(rules.rules)} rules")
        return self._parsed(jobs)

    def _prepared(self, trees: Sequence[SourceTree], part: str) -> Iterator[Tree]:
        account = Account()
        yield from prepare(trees, self.kind.preparation, account)
        self.tell(f"{self.kind.name}, {part} part: {account}")
        if not account.kept:
            raise CorpusError(f"the {part} part has no tree left", remedy="give a larger treebank")

    def _parsed(self, jobs: int) -> Parsing:
        # Written last: where it stands, all parses do.
        path = self.folder / "parsing.json"
        if path.exists():
            return _read_parsing(path)
        options = ParserOptions(objectives(self.node_cost), debinarized=self.kind.debinarized, items="symbol")
        grammar = PCFG.from_rules(read_with_tagger(self.grammar))
        job = Job(grammar, options)
        sentences = list(read_sentences(self.gold))
        known = frozenset(grammar.terminals)
        words = [leaf.word or leaf.label for sentence in sentences for leaf in sentence]
        unknown = sum(word not in known for word in words)
        Parser(grammar, options=options).parse(sorted(sentences, key=len)[:3])
        began = time.perf_counter()
        lines = parse_all(job, read_chunks(self.gold, "trees", first_size=CHUNK, size=CHUNK), jobs)
        reasons, count = self._write(lines)
        seconds = time.perf_counter() - began
        parsing = Parsing(count, len(words), unknown, dict(reasons.most_common()), seconds, jobs)
        with open_output(path) as stream:
            json.dump(asdict(parsing), stream, indent=2)
            stream.write("\n")
        self.tell(f"{self.kind.name}: {count} sentences parsed in {parsing.seconds:.1f} s")
        return parsing

    def _write(self, results: Iterator[Lines]) -> tuple[Counter[str], int]:
        reasons: Counter[str] = Counter()
        count = 0
        with ExitStack() as stack:
            streams = [stack.enter_context(open_output(path)) for path in self.parses]
            for lines in results:
                for stream, line in zip(streams, lines.trees, strict=True):
                    write_tree(_bracketed(read_tree(line)), stream)
                count += 1
                if lines.reason is not None:
                    # Each unknown word is a reason of its own.
                    unknown = lines.reason.startswith(UNKNOWN)
                    reasons[UNKNOWN if unknown else lines.reason] += 1
        return reasons, count


def count_words(trees: list[SourceTree], unknown: UnknownKind | None, rare: int | None) -> RuleSet:
    """Relative frequencies over words, rare ones standing for the unknown; as ``mbrparse train`` has it."""
    if unknown is None:
        return induce(trees, "words")
    model = MODELS[unknown]
    replaced, learned = model.learn(trees, model.default_rare if rare is None else rare)
    rules = induce(replaced, "words")
    if isinstance(learned, Collins):
        learned = learned.with_tagger(Tagger.train(tree for _, _, tree in trees))
    return replace(rules, unknown=learned)


def _projected(tree: Tree) -> Tree:
    return tree.fold(lambda leaf: leaf, lambda node, children: Tree(project(node.label), children))


def _bracketed(tree: Tree) -> Tree:
    """The tree as EVALB can read it: a word that is its own tag has brackets too, ``(. .)``."""
    return tree.fold(
        lambda leaf: Tree(leaf.label, word=leaf.label) if leaf.word is None else leaf,
        lambda node, children: Tree(node.label, children),
    )


def _read_parsing(path: Path) -> Parsing:
    try:
        return Parsing(**json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        raise FileError("not a report of this experiment", source=str(path), remedy="remove it") from None
