"""Tables of the words of sentences, as data frames: surprisals, analyses, and other words in their places."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import pandas as pd

from mbrparse import arguments, errors, log
from mbrparse.decode.parser import sentences as reading
from mbrparse.decode.parser import sources
from mbrparse.decode.parser.sentences import Line, Sentence
from mbrparse.decode.words import experiment_items, written_words
from mbrparse.decode.words.surprisal import (
    COLUMNS,
    OTHER_COLUMNS,
    Distributions,
    WordProbabilities,
    more_columns,
)
from mbrparse.grammar import grammar_files, pcfg, rules
from mbrparse.treebank.brackets import AnyTree, is_tree
from mbrparse.treebank.tree import Tree

Sentences = AnyTree | Iterable[AnyTree | Sequence[str | Tree]]


@arguments.checked
def surprisal(
    grammar: pcfg.PCFG | str | Path,
    sentences: Sentences = (),
    by: rules.TerminalKind | None = None,
    *,
    items: str | Path | pd.DataFrame | None = None,
    tokenize: bool = False,
    per: written_words.Per = "token",
    spillover: int = 0,
    fold_case: bool = False,
    end: bool = True,
    entropies: bool = False,
    analyses: int = 0,
) -> pd.DataFrame:
    """The surprisal of each word of a sentence, or of several, and of its end.

    Args:
        grammar: ``train`` or ``read_grammar`` make one; or a grammar's file.
        sentences: A string of words (tags for a grammar of tags), a tree, or a list of sentences of any kind.
        by: "tags" for those of a grammar of words (default: the grammar's terminals).
        items: Instead of sentences, the items of an experiment (docs/for-psycholinguists.md): a table's file,
            or a data frame. Their sentences have no row for their end.
        tokenize: Strings are plain text, to be cut into words as the Penn Treebank's are.
        per: "word" for sums over the tokens of each word between blanks, "region" over those of each region
            of items.
        spillover: Repeat surprisal, length and log frequency of so many rows before.
        fold_case: Read words in the other case where the grammar knows them in that alone.
        end: Whether the sentences end.
        entropies: Add the columns of ``--entropies``.
        analyses: Add those of ``--analyses``, for so many of each prefix (``analyses`` lists them).

    Returns:
        The columns of ``mbrparse surprisal`` (docs/formats.md). Surprisals and entropies are in bits.

    Raises:
        CorpusError: The table of items lacks a column, or a row is not as it should be.
        InputMismatchError: The grammar knows none of the terminals.
        GrammarError: Left recursion is never left.

    >>> from mbrparse.training.methods import train
    >>> known = train(["(S (NP DT NN) VB)", "(S NN VB)"])
    >>> surprisal(known, "DT NN VB")[["word", "surprisal", "entropy"]].round(3).to_dict("list")
    {'word': ['DT', 'NN', 'VB', '</s>'], 'surprisal': [1.0, 0.0, 0.0, 0.0], 'entropy': [1.0, 0.0, 0.0, 0.0]}
    """
    if not 0 <= spillover <= written_words.MOST_SPILLED:
        raise errors.ArgumentError(f"`spillover` is from 0 to {written_words.MOST_SPILLED}, not {spillover}")
    if (items is None) == (sentences == ()) or (items is None and per == "region"):
        raise errors.ArgumentError("give either sentences or `items`; `per=region` is of items")
    names = [
        *(COLUMNS if per == "token" else written_words.JOINED_COLUMNS),
        *more_columns(entropies, analyses),
    ]
    names += written_words.spilled_columns(spillover)
    given = None if items is None else experiment_items.read_items(items, taken=names)
    words = WordProbabilities(_grammar(grammar), by, fold_case, end and given is None, entropies, analyses)
    rows = list[written_words.Row]()
    lines = _listed(sentences, tokenize) if given is None else list(given.lines(tokenize))
    found = words.surprisals(line.sentence for line in _fitting(words, lines, tokenize))
    for line, one in zip(lines, found, strict=True):
        mine = one.rows(line.place + 1, line.text)
        if given is not None:
            mine = given.rows(line.place, mine, per)
        elif per == "word":
            mine = written_words.joined(mine, line.text)
        written_words.spill(mine, spillover)
        rows += mine
    return pd.DataFrame(rows, columns=[*(given.names if given else ()), *names])


@arguments.checked
def analyses(
    grammar: pcfg.PCFG | str | Path,
    sentences: Sentences,
    most: int = 10,
    *,
    tokenize: bool = False,
    fold_case: bool = False,
    end: bool = True,
) -> pd.DataFrame:
    """The ``most`` most probable analyses after each word of sentences, and at their ends.

    Arguments are those of ``surprisal``, columns those of ``--analyses-output`` (docs/formats.md).

    >>> import mbrparse as mp
    >>> found = analyses(mp.train(["(S (NP DT NN) VB)", "(S DT VP)"]), "DT NN VB")
    >>> found[["word", "probability", "continued", "analysis"]].round(9).values.tolist()[:2]
    [['DT', 0.5, 0.0, '(S DT (VP ...))'], ['DT', 0.5, 1.0, '(S (NP DT (NN ...)) (VB ...))']]
    """
    words = WordProbabilities(_grammar(grammar), None, fold_case, end, analyses=most)
    lines = _lines(words, sentences, tokenize)
    found = zip(lines, words.surprisals(line.sentence for line in lines), strict=True)
    rows = [row for line, one in found for row in one.analysis_rows(line.place + 1)]
    return pd.DataFrame(rows, columns=list(written_words.OF_ANALYSES))


@arguments.checked
def next_words(
    grammar: pcfg.PCFG | str | Path,
    sentences: Sentences,
    by: rules.TerminalKind | None = None,
    *,
    top: int = 5,
    tokenize: bool = False,
    fold_case: bool = False,
    end: bool = True,
) -> pd.DataFrame:
    """The ``top`` most probable words in each place of sentences, given the words before, and at their ends.

    Arguments are those of ``surprisal``, columns those of ``mbrparse next`` (docs/formats.md).

    >>> import mbrparse as mp
    >>> found = next_words(mp.train(["(S (NP DT NN) VB)", "(S NN VB)"]), "NN")
    >>> found[["position", "word", "candidate_rank", "candidate", "candidate_probability"]].values.tolist()
    [[1, 'NN', 1, 'DT', 0.5], [1, 'NN', 2, 'NN', 0.5], [2, '</s>', 1, 'VB', 1.0]]
    """
    words = WordProbabilities(_grammar(grammar), by, fold_case, end)
    return _others(words, words.next_words, _lines(words, sentences, tokenize), top)


@arguments.checked
def masked_words(
    grammar: pcfg.PCFG | str | Path,
    sentences: Sentences,
    by: rules.TerminalKind | None = None,
    *,
    top: int = 5,
    tokenize: bool = False,
    fold_case: bool = False,
) -> pd.DataFrame:
    """The ``top`` most probable words in each place of sentences, given all others; as ``next_words``."""
    words = WordProbabilities(_grammar(grammar), by, fold_case)
    return _others(words, words.masked_words, _lines(words, sentences, tokenize), top)


def _others(
    words: WordProbabilities,
    find: Callable[[Iterable[Sentence]], Iterator[Distributions]],
    lines: Sequence[Line],
    top: int,
) -> pd.DataFrame:
    if top < 1:
        raise errors.ArgumentError(f"`top` is one or more, not {top}")
    found = enumerate(find(line.sentence for line in lines), start=1)
    rows = [row for number, one in found for row in words.other_words(number, one, top)]
    return pd.DataFrame(rows, columns=list(OTHER_COLUMNS))


def _grammar(given: pcfg.PCFG | str | Path) -> pcfg.PCFG:
    return given if isinstance(given, pcfg.PCFG) else grammar_files.read_grammar(given)


def _lines(words: WordProbabilities, sentences: Sentences, tokenize: bool) -> list[Line]:
    """The sentences, which the grammar must fit."""
    return _fitting(words, _listed(sentences, tokenize), tokenize)


def _listed(sentences: Sentences, tokenize: bool) -> list[Line]:
    """The sentences; empty lines at the end of a text are none."""
    if isinstance(sentences, str) and (tokenize or not is_tree(sentences)):
        sentences = sentences.rstrip().split("\n") if sentences else []
    texts, cut = None, sentences
    if isinstance(sentences, Iterable) and not is_tree(sentences):
        listed = list(sentences)
        texts = [one if isinstance(one, str) and (tokenize or not is_tree(one)) else "" for one in listed]
        cut = [reading.tokenize(one) if tokenize and isinstance(one, str) else one for one in listed]
    given, tokens = reading.sentences_from(cut)
    rows = enumerate(zip(given, texts or [""] * len(given), strict=True))
    return [Line(one, place, tokens, "<sentences>", text) for place, (one, text) in rows]


def _fitting(words: WordProbabilities, lines: list[Line], tokenize: bool) -> list[Line]:
    """The lines, which the grammar must fit; warns of untokenized text."""
    spoken = [line.sentence for line in lines if line.sentence]
    sources.check_fit(words.grammar, spoken)
    if lines and lines[0].tokens and not tokenize and (remark := reading.untokenized(words.grammar, spoken)):
        log.warn(remark)
    return lines
