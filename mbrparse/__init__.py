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

from mbrparse.version import __version__ as __version__

if TYPE_CHECKING:
    from mbrparse.decode.best_first.best_first import BestFirst as BestFirst
    from mbrparse.decode.best_first.best_first import Until as Until
    from mbrparse.decode.objectives import OBJECTIVES as OBJECTIVES
    from mbrparse.decode.objectives import Item as Item
    from mbrparse.decode.objectives import Objective as Objective
    from mbrparse.decode.objectives import Space as Space
    from mbrparse.decode.objectives import objective as objective
    from mbrparse.decode.parser.explanation import chart as chart
    from mbrparse.decode.parser.explanation import explain as explain
    from mbrparse.decode.parser.mixed_source import Grammars as Grammars
    from mbrparse.decode.parser.parser import Parser as Parser
    from mbrparse.decode.parser.reranking import rerank as rerank
    from mbrparse.decode.parser.score import score as score
    from mbrparse.decode.parser.sentences import tokenize as tokenize
    from mbrparse.decode.parser.votes import combine as combine
    from mbrparse.decode.posteriors.given_posteriors import mix_posteriors as mix_posteriors
    from mbrparse.decode.posteriors.posteriors_file import read_posteriors as read_posteriors
    from mbrparse.decode.posteriors.span_arrays import posteriors as posteriors
    from mbrparse.decode.posteriors.span_arrays import span_marginals as span_marginals
    from mbrparse.decode.posteriors.span_arrays import span_scores as span_scores
    from mbrparse.decode.span_posteriors import Posteriors as Posteriors
    from mbrparse.decode.words.conditioned import entropy as entropy
    from mbrparse.decode.words.conditioned import sample as sample
    from mbrparse.decode.words.incremental_page import explain_incremental as explain_incremental
    from mbrparse.decode.words.word_tables import analyses as analyses
    from mbrparse.decode.words.word_tables import masked_words as masked_words
    from mbrparse.decode.words.word_tables import next_words as next_words
    from mbrparse.decode.words.word_tables import surprisal as surprisal
    from mbrparse.errors import MbrparseError as MbrparseError
    from mbrparse.evaluate.compare.candidates import TreeRates as TreeRates
    from mbrparse.evaluate.compare.comparison import compare as compare
    from mbrparse.evaluate.compare.profiles import PROFILES as PROFILES
    from mbrparse.evaluate.report.pages import report as report
    from mbrparse.grammar.grammar_files import grammar as grammar
    from mbrparse.grammar.grammar_files import read_any_grammar as read_any_grammar
    from mbrparse.grammar.grammar_files import read_grammar as read_grammar
    from mbrparse.grammar.grammar_files import write_grammar as write_grammar
    from mbrparse.grammar.pcfg import PCFG as PCFG
    from mbrparse.grid.calibration import calibration as calibration
    from mbrparse.log import MbrparseWarning as MbrparseWarning
    from mbrparse.training.methods import train as train
    from mbrparse.training.tag_statistics import read_statistics as read_statistics
    from mbrparse.treebank.baselines import baseline_trees as baseline_trees
    from mbrparse.treebank.binarize import Binarization as Binarization
    from mbrparse.treebank.binarize import binarize as binarize
    from mbrparse.treebank.binarize import debinarize as debinarize
    from mbrparse.treebank.brackets import read_tree as read_tree
    from mbrparse.treebank.corpora.prepare import read_parses as read_parses
    from mbrparse.treebank.corpora.prepare import read_trees as read_trees
    from mbrparse.treebank.corpora.treebank_statistics import treebank_statistics as treebank_statistics
    from mbrparse.treebank.formats.conventions import CorpusReading as CorpusReading
    from mbrparse.treebank.labels import LabelMarks as LabelMarks
    from mbrparse.treebank.splits import split as split
    from mbrparse.treebank.tree import Tree as Tree

# The public names with their modules, each of which stands once, in the lines above.
with open(__file__, encoding="utf-8") as _source:
    _LINES = [line.split() for line in _source if line.startswith("    from mbrparse.")]
_MODULES = {name: module for _, module, _, name, *_ in _LINES} | {"grammar": f"{__name__}.grammar"}


if not TYPE_CHECKING:  # for a type checker there are the names above, and no others
    __all__ = ["__version__"]
    __all__ += list(_MODULES)

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(_MODULES[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(["__version__", *_MODULES])
