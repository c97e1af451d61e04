"""Grammar files: mbrparse's own format, and whole grammars in files of any kind.

mbrparse's own files are plain text, versioned, one rule a line, in a fixed order::

    mbrparse-grammar 1
    terminals tags
    start S 0.75 3
    start NP 0.25 1
    rules 2
    0.5 2 NP -> 'DT' 'NN'
    - 2 NP -> 'DT' NP_Cont
    end

Fields are separated by blanks: probability, count, parent, ``->``, children. Either of the two numbers
may be ``-``: a missing count is unknown, a missing probability is the count's share among the rules
of its parent, which then must all have counts. Equal rules are added up. Empty lines and lines that begin
with ``#`` are skipped.

A header line ``unknown signature 2`` or ``unknown collins 6 DIGEST`` names a model of unknown words (see
grammar.unknown_words); the latter's tagger is a separate file beside the grammar's. Lines
``word WORD TERMINAL`` list the rare words of training with the terminal that each shares with others; with
signatures it is the word itself where its place in a sentence tells its class.
"""

from __future__ import annotations

import io
import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, cast

from mbrparse import arguments, files
from mbrparse.errors import GrammarError
from mbrparse.grammar import pcfg
from mbrparse.grammar.fields import DOP_MAGIC, HeaderReader, fields_of, format_number
from mbrparse.grammar.grammar_formats import is_nltk, read_nltk, rules_of_nltk
from mbrparse.grammar.rules import SUM_TOLERANCE, Rule, RuleSet, Weight, binary_rules, is_terminal, unquote
from mbrparse.grammar.tagger import Tagger
from mbrparse.grammar.unknown_words import Collins, UnknownWords, is_unknown, model_lines
from mbrparse.log import Log, no_log

if TYPE_CHECKING:
    import nltk

    from mbrparse.grammar.dop_grammar import AddressedTreebank, DopGrammar

MAGIC = "mbrparse-grammar"
VERSION = 1
#: A rule, its probability and its count; those that are not known are NaN.
_Row = tuple[Rule, float, float]


@arguments.checked
def read_grammar(
    path: str | Path, *, normalize: bool = False, start: str | None = None, log: Log = no_log
) -> pcfg.PCFG:
    """Read a grammar file, with the tagger beside it if it has one (``-``: standard input).

    The file is mbrparse's, or a grammar in NLTK's format (``S -> NP VP [1.0]``), whose longer rules are
    binarized.

    Parameters
    ----------
    path
        The file's name.
    normalize
        Divide the probabilities of each left-hand side by their sum.
    start
        The symbol that trees start with, instead of the file's.
    log
        Gets a line for what was changed.

    Raises
    ------
    FileError
        The file cannot be read.
    GrammarError
        It is no grammar, or one that charts cannot be computed with; with file, line and remedy.
    """
    return _pcfg(_rules("".join(files.read_lines(path)), path, normalize, start, log), path, log)


@arguments.checked
def grammar(
    source: str | Path | nltk.CFG | nltk.PCFG, *, normalize: bool = False, start: str | None = None
) -> pcfg.PCFG:
    """A grammar of a text of rules, of a file, or of an ``nltk.PCFG`` or ``nltk.CFG``.

    A text is in NLTK's format or in mbrparse's; rules of three children or more are binarized. ``normalize``
    and ``start`` are those of ``read_grammar``. Raises GrammarError, FileError.

    >>> grammar("S -> NP V [1.0]\\nNP -> 'she' [0.5] | 'it' [0.5]\\nV -> 'works' [1.0]")
    <grammar over words: 3 symbols, 4 rules>
    """
    place = "<grammar>"
    if isinstance(source, str) and ("\n" in source or is_nltk(source)):
        return _pcfg(_rules(source, place, normalize, start, no_log), place, no_log)
    if isinstance(source, (str, Path)):
        return read_grammar(source, normalize=normalize, start=start)
    if hasattr(source, "productions"):
        rules = rules_of_nltk(source, normalize=normalize)
        return _pcfg(rules if start is None else rules.starting_with(start), place, no_log)
    remedy = "give a text of rules, a path, or an nltk.PCFG"
    raise GrammarError(f"a {type(source).__name__}, not a grammar", remedy=remedy)


@arguments.checked
def read_any_grammar(
    path: str | Path, *, normalize: bool = False, start: str | None = None, log: Log = no_log
) -> pcfg.Grammar:
    """Read a grammar file of any kind, a PCFG's or a DOP grammar's; raises as ``read_grammar``."""
    content = _content("".join(files.read_lines(path)), path, normalize, start, log)
    if isinstance(content, RuleSet):
        return _pcfg(content, path, log)
    from mbrparse.grammar.dop_grammar import DopGrammar

    model = _with_tagger(content.unknown, path)
    _note_unlisted(model, content.terminals, path, log)
    return DopGrammar.of_treebank(replace(content, unknown=model))


def read_rules(
    path: str | Path,
    *,
    normalize: bool = False,
    start: str | None = None,
    tagger: bool = False,
    log: Log = no_log,
) -> RuleSet:
    """The rules of a PCFG's file, in mbrparse's format or in NLTK's; with the ``tagger`` beside it if asked.

    Raises as ``read_grammar``.
    """
    rules = _rules("".join(files.read_lines(path)), path, normalize, start, log)
    return replace(rules, unknown=_with_tagger(rules.unknown, path)) if tagger else rules


def read_rules_or_treebank(
    path: str | Path, *, normalize: bool = False, start: str | None = None, log: Log = no_log
) -> RuleSet | AddressedTreebank:
    """What a grammar file of any kind holds; raises as ``read_grammar``."""
    return _content("".join(files.read_lines(path)), path, normalize, start, log)


def _content(
    text: str, path: str | Path, normalize: bool, start: str | None, log: Log
) -> RuleSet | AddressedTreebank:
    """What the text of a grammar file holds, checked."""
    first = next(filter(fields_of, io.StringIO(text)), "")
    begin, source = fields_of(first), files.source_name(path)
    if begin[:1] == [DOP_MAGIC]:
        from mbrparse.grammar.dop_grammar import read_treebank

        if start is not None:
            raise GrammarError("a DOP grammar starts as its trees do: leave `start` out", source=source)
        return read_treebank(io.StringIO(text), path)
    nltk = is_nltk(first) or (Path(path).suffix in (".nltk", ".pcfg") and begin[:1] != [MAGIC])
    if nltk:
        rules = read_nltk(io.StringIO(text), source, normalize=normalize, log=log)
    else:
        rules = _GrammarReader(source, "rules").read(text)
        rules = rules.normalized(source, log) if normalize else rules
        rules.check(source)
    if start is not None:
        return rules.starting_with(start)
    if nltk and (unreached := rules.unreached):
        shown = ", ".join(unreached[:10]) + (", ..." if len(unreached) > 10 else "")
        start = ", ".join(rules.start)
        log(f"{source}: trees start with {start}, which never leads to {shown} (`start` names another)")
    return rules


def _rules(text: str, path: str | Path, normalize: bool, start: str | None, log: Log) -> RuleSet:
    content = _content(text, path, normalize, start, log)
    if not isinstance(content, RuleSet):
        raise GrammarError(
            "a DOP grammar, whose rules are not written out; this needs a PCFG",
            source=files.source_name(path),
            line=1,
            remedy="mbrparse train --method counting makes one; parse, posteriors, grammar info and "
            "grammar convert --to bitpar take DOP grammars",
        )
    return content


def _pcfg(rules: RuleSet, path: str | Path, log: Log) -> pcfg.PCFG:
    if rules.unknown is not None:
        rules = replace(rules, unknown=_with_tagger(rules.unknown, path))
        _note_unlisted(rules.unknown, map(unquote, filter(is_terminal, rules.table.names)), path, log)
    return pcfg.PCFG.from_rules(binary_rules(rules, log))


def _with_tagger(unknown: UnknownWords | None, path: str | Path) -> UnknownWords | None:
    """A model of unknown words with the tagger that it needs, which is read from beside the grammar."""
    if not isinstance(unknown, Collins):
        return unknown
    return unknown.with_tagger(Tagger.read(path, unknown.digest))


def _note_unlisted(model: UnknownWords | None, terminals: Iterable[str], path: str | Path, log: Log) -> None:
    """Tell of a grammar that was written when the rare words of training were not listed."""
    if model is not None and not model.words and any(map(is_unknown, terminals)):
        log(
            f"{files.source_name(path)}: it does not list its rare words, so each has the probability of its "
            "whole class: train again"
        )


def write_rules(rules: RuleSet, path: str | Path) -> None:
    """Write a grammar file (``-``: standard output), complete or not at all.

    Its tagger, if any, is written beside it, and first, so that no grammar file lacks its tagger.
    """
    with files.atomic_outputs():
        if isinstance(rules.unknown, Collins) and rules.unknown.tagger is not None:
            rules.unknown.tagger.write(path)
        with files.open_output(path) as stream:
            stream.write(f"{MAGIC} {VERSION}\nterminals {rules.terminal_kind}\n")
            if rules.unknown is not None:
                stream.writelines(model_lines(rules.unknown))
            for name, weight in sorted(rules.start.items()):
                stream.write(f"start {name} {_numbers(weight)}\n")
            stream.write(f"rules {len(rules.rules)}\n")
            for rule, weight in sorted(rules.rules.items()):
                stream.write(f"{_numbers(weight)} {rule}\n")
            stream.write("end\n")


def _numbers(weight: Weight) -> str:
    written = "-" if weight.count is None else format_number(weight.count)
    return f"{format_number(weight.probability)} {written}"


class _GrammarReader(HeaderReader):
    """Reads a grammar in mbrparse's format."""

    def read(self, text: str) -> RuleSet:
        """The rules of a text."""
        rows = self.rows(io.StringIO(text))
        if next(rows, []) != [MAGIC, str(VERSION)]:
            others = "mbrparse grammar convert reads other formats, and a newer mbrparse its own"
            raise self.error(
                f"not a grammar file (its first line is not '{MAGIC} {VERSION}')",
                "mbrparse train makes one of trees" if text.lstrip().startswith("(") else others,
            )
        starts: list[_Row] = []
        rules: list[_Row] = []
        for fields in rows:
            if len(fields) > 4 and fields[3] == "->":
                mass, number, parent, _, *children = fields
                rules.append((Rule(parent, tuple(children)), self._number(mass), self._number(number)))
            elif len(fields) == 4 and fields[0] == "start":
                _, name, mass, number = fields
                starts.append((Rule("", (name,)), self._number(mass), self._number(number)))
            elif not self.reads(fields):
                raise self.error(
                    "not a line of a grammar file", "rules read: PROBABILITY COUNT PARENT -> CHILDREN"
                )
            else:
                continue
            if mass == number == "-":
                raise self.error("neither a probability nor a count")
        kind, unknown = self.header(len(rules), start=starts)
        start = {rule.children[0]: weight for rule, weight in self._completed(starts).items()}
        return RuleSet(kind, start, self._completed(rules), unknown)

    def _number(self, text: str) -> float:
        """A number of 0 or more, NaN for ``-``."""
        return math.nan if text == "-" else self.number(text)

    def _completed(self, rows: list[_Row]) -> dict[Rule, Weight]:
        """Compute missing probabilities from counts, and add equal rules up."""
        totals: defaultdict[str, float] = defaultdict(float)
        for (parent, _), _, number in rows:
            totals[parent] += number
        completed: dict[Rule, Weight] = {}
        for rule, mass, number in rows:
            probability, known = mass, None
            if not math.isnan(number):
                known = number
                total = totals[rule.parent]  # not a number where a count of the parent is unknown
                share = number / total if total else math.nan
                probability = share if math.isnan(mass) else mass
                if math.isnan(probability) or abs(share - probability) > SUM_TOLERANCE:
                    above = f"the rules of {rule.parent}" if rule.parent else "the start distribution"
                    if math.isnan(probability):
                        raise self.error(f"{above} give neither all probabilities nor all counts")
                    raise self.error(
                        f"{above} have counts and probabilities that disagree: "
                        f"{str(rule).removeprefix(' -> ')} has {mass:.6g}, but {number:g} of {total:g}",
                        "write - for those that are to be computed",
                    )
            weight = Weight(probability, known)
            if (equal := completed.setdefault(rule, weight)) is not weight:
                known = None if known is None or equal.count is None else known + equal.count
                completed[rule] = Weight(probability + equal.probability, known)
        return completed


def known_rules(grammar: pcfg.Grammar) -> RuleSet:
    """The rules that a PCFG was made of; raises GrammarError for a grammar that was made of none."""
    if not isinstance(grammar, pcfg.PCFG) or grammar.rules is None:
        raise GrammarError("the rules of this grammar are not known", remedy="train it, or read it, here")
    return grammar.rules


@arguments.checked
def write_grammar(grammar: pcfg.Grammar, path: str | Path) -> None:
    """Write a grammar file (``-``: standard output), complete or not at all, with its tagger beside it.

    Raises FileError, and GrammarError for a grammar that was not made of rules.

    >>> write_grammar(grammar("S -> NP 'c' [1.0]\\nNP -> 'a' 'b' [1.0]"), "-")
    mbrparse-grammar 1
    terminals tags
    start S 1 -
    rules 2
    1 - NP -> 'a' 'b'
    1 - S -> NP 'c'
    end
    """
    if grammar.kind == "dop":
        from mbrparse.grammar.dop_grammar import write_treebank

        write_treebank(cast("DopGrammar", grammar).treebank, path)
    else:
        write_rules(known_rules(grammar), path)


def describe(rules: RuleSet) -> dict[str, str]:
    """Name each figure that ``mbrparse grammar info`` prints.

    Symbols are what rules rewrite or combine: nonterminals, and tags that stand in binary rules.
    """
    arity = Counter(_kind(rule.children) for rule in rules.rules)
    terminals = {child for rule in rules.rules for child in rule.children if is_terminal(child)}
    nonterminals = {rule.parent for rule in rules.rules} | rules.start.keys()
    combined = {child for rule in rules.rules if len(rule.children) > 1 for child in rule.children}
    start = sorted(rules.start.items(), key=lambda item: (-item[1].probability, item[0]))
    return {
        "terminals": f"{rules.terminal_kind}, {len(terminals)}",
        **({"unknown words": _unknown(rules.unknown)} if rules.terminal_kind == "words" else {}),
        "nonterminals": str(len(nonterminals)),
        "symbols": str(len(nonterminals | combined)),
        "rules": str(len(rules.rules)),
        **{f"  {kind}": str(count) for kind, count in sorted(arity.items())},
        "start": ", ".join(f"{name} {weight.probability:.4f}" for name, weight in start),
        **({"never reached": ", ".join(unreached)} if (unreached := rules.unreached) else {}),
    }


def describe_treebank(treebank: AddressedTreebank) -> dict[str, str]:
    """The same of a DOP grammar.

    Fragments are counted at every node that has them; the reduction's rules are those of ``grammar convert``.
    """
    from mbrparse.grammar.dop_grammar import DopGrammar, number_of_fragments, reduced_rules

    fragments = number_of_fragments(treebank)
    start = sorted(treebank.start.items(), key=lambda item: (-item[1], item[0]))
    return {
        "method": "dop",
        "weights": treebank.weighting,
        "depth of fragments": "any" if treebank.max_depth is None else f"at most {treebank.max_depth}",
        "terminals": f"{treebank.terminal_kind}, {len(treebank.terminals)}",
        **({"unknown words": _unknown(treebank.unknown)} if treebank.terminal_kind == "words" else {}),
        "labels": str(len(treebank.labels)),
        "trees": format_number(treebank.trees),
        "nodes": format_number(float(treebank.count.sum())),
        "addresses": str(len(treebank.count)),
        "fragments": str(fragments) if fragments < 10**15 else f"{Decimal(fragments):.3e}",
        "rules of the reduction": str(sum(1 for _ in reduced_rules(DopGrammar.of_treebank(treebank)))),
        "start": ", ".join(f"{name} {count / treebank.trees:.4f}" for name, count in start),
    }


def _unknown(model: UnknownWords | None) -> str:
    return "none" if model is None else f"{model.kind}, of words seen fewer than {model.rare} times"


def _kind(children: tuple[str, ...]) -> str:
    if len(children) == 1:
        return "lexical" if is_terminal(children[0]) else "unary"
    return "binary" if len(children) == 2 else "longer"
