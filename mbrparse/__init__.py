"""mbrparse: minimum Bayes risk parsing, for the criterion that trees are evaluated by.

From a treebank to a table, in a notebook::

    import mbrparse as mp

    trees = mp.read_trees("nltk:treebank")
    train, test = mp.split(trees, 0.1)
    grammar = mp.train(train)
    parses = mp.Parser(grammar, "labelled-recall", "labelled-tree").parse(test)
    mp.compare(test, parses)

Names are imported on first use, so that importing the package loads no library.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from mbrparse.version import __version__

if TYPE_CHECKING:
    from mbrparse.decode.best_first.best_first import BestFirst, Until
    from mbrparse.decode.explain.explanation import explain
    from mbrparse.decode.objectives import OBJECTIVES, Item, Objective, Space
    from mbrparse.decode.parser.mixed_source import Grammars
    from mbrparse.decode.parser.parser import Parser
    from mbrparse.decode.parser.score import score
    from mbrparse.decode.parser.sentences import tokenize
    from mbrparse.decode.parser.votes import combine, rerank
    from mbrparse.decode.posteriors.given_posteriors import mix_posteriors
    from mbrparse.decode.posteriors.posteriors_arrays import posteriors, span_marginals
    from mbrparse.decode.posteriors.posteriors_file import read_posteriors
    from mbrparse.decode.span_posteriors import Posteriors
    from mbrparse.decode.words.surprisal import surprisal
    from mbrparse.errors import MbrparseError
    from mbrparse.evaluate.compare.candidates import TreeRates
    from mbrparse.evaluate.compare.comparison import compare
    from mbrparse.evaluate.compare.profiles import PROFILES
    from mbrparse.evaluate.report.pages import report
    from mbrparse.grammar.grammar_files import grammar, read_grammar, write_grammar
    from mbrparse.grammar.pcfg import PCFG
    from mbrparse.training.count import train
    from mbrparse.training.tag_statistics import read_statistics
    from mbrparse.treebank.baselines import baseline_trees
    from mbrparse.treebank.binarize import Binarization, binarize, debinarize
    from mbrparse.treebank.brackets import read_tree
    from mbrparse.treebank.corpora.prepare import read_parses, read_trees
    from mbrparse.treebank.corpora.treebank_statistics import treebank_statistics
    from mbrparse.treebank.formats.conventions import CorpusReading
    from mbrparse.treebank.labels import LabelMarks
    from mbrparse.treebank.splits import split
    from mbrparse.treebank.tree import Tree

__all__ = [
    "OBJECTIVES",
    "PCFG",
    "PROFILES",
    "BestFirst",
    "Binarization",
    "CorpusReading",
    "Grammars",
    "Item",
    "LabelMarks",
    "MbrparseError",
    "Objective",
    "Parser",
    "Posteriors",
    "Space",
    "Tree",
    "TreeRates",
    "Until",
    "__version__",
    "baseline_trees",
    "binarize",
    "combine",
    "compare",
    "debinarize",
    "explain",
    "grammar",
    "mix_posteriors",
    "posteriors",
    "read_grammar",
    "read_parses",
    "read_posteriors",
    "read_statistics",
    "read_tree",
    "read_trees",
    "report",
    "rerank",
    "score",
    "span_marginals",
    "split",
    "surprisal",
    "tokenize",
    "train",
    "treebank_statistics",
    "write_grammar",
]

_MODULES = {
    "OBJECTIVES": "decode.objectives",
    "PCFG": "grammar.pcfg",
    "PROFILES": "evaluate.compare.profiles",
    "BestFirst": "decode.best_first.best_first",
    "Binarization": "treebank.binarize",
    "Grammars": "decode.parser.mixed_source",
    "Item": "decode.objectives",
    "CorpusReading": "treebank.formats.conventions",
    "LabelMarks": "treebank.labels",
    "MbrparseError": "errors",
    "Objective": "decode.objectives",
    "Parser": "decode.parser.parser",
    "Posteriors": "decode.span_posteriors",
    "Space": "decode.objectives",
    "Tree": "treebank.tree",
    "Until": "decode.best_first.best_first",
    "TreeRates": "evaluate.compare.candidates",
    "baseline_trees": "treebank.baselines",
    "binarize": "treebank.binarize",
    "combine": "decode.parser.votes",
    "compare": "evaluate.compare.comparison",
    "debinarize": "treebank.binarize",
    "grammar": "grammar",
    "explain": "decode.explain.explanation",
    "mix_posteriors": "decode.posteriors.given_posteriors",
    "posteriors": "decode.posteriors.posteriors_arrays",
    "read_grammar": "grammar.grammar_files",
    "read_posteriors": "decode.posteriors.posteriors_file",
    "read_statistics": "training.tag_statistics",
    "read_tree": "treebank.brackets",
    "read_parses": "treebank.corpora.prepare",
    "read_trees": "treebank.corpora.prepare",
    "report": "evaluate.report.pages",
    "rerank": "decode.parser.votes",
    "score": "decode.parser.score",
    "span_marginals": "decode.posteriors.posteriors_arrays",
    "split": "treebank.splits",
    "surprisal": "decode.words.surprisal",
    "tokenize": "decode.parser.sentences",
    "train": "training.count",
    "treebank_statistics": "treebank.corpora.treebank_statistics",
    "write_grammar": "grammar.grammar_files",
}


if not TYPE_CHECKING:  # for a type checker there are the names above, and no others

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
