"""Words of plain text, and a remark on text that should have been cut into words."""

from __future__ import annotations

from collections.abc import Iterable

from mbrparse.errors import shortened
from mbrparse.grammar.pcfg import PCFG
from mbrparse.treebank.tree import Tree

# NLTK's tokenizer leaves them alone.
_CURLY = str.maketrans({"\u201c": "``", "\u201d": "''", "\u2018": "`", "\u2019": "'"})


def tokenize(line: str) -> list[str]:
    """The words of a sentence of plain text as the Penn Treebank writes them, by NLTK's tokenizer.

    Straight and curly quotation marks become `` and '', and brackets -LRB-, -RRB- and the like. Only the last
    full stop is taken off its word: a line is one sentence.

    >>> tokenize('He said (so): "We can\u2019t."')
    ['He', 'said', '-LRB-', 'so', '-RRB-', ':', '``', 'We', 'ca', "n't", '.', "''"]
    """
    from nltk.tokenize.treebank import TreebankWordTokenizer  # NLTK takes a second to load

    words: list[str] = TreebankWordTokenizer().tokenize(line.translate(_CURLY), convert_parentheses=True)
    return words


def untokenized(grammar: PCFG, sentences: Iterable[Iterable[Tree]]) -> str | None:
    """What to tell where a grammar of words does not know a word of tokens, but the mark that it ends in.

    Full stops count at the end of a sentence only: elsewhere they are those of abbreviations.
    """
    known = frozenset(grammar.terminals) if grammar.terminal_kind == "words" else frozenset()
    for sentence in sentences:
        words = [leaf.label for leaf in sentence if leaf.word is None]
        for place, word in enumerate(words, start=1):
            mark = word[-1:]
            if len(word) == 1 or mark.isalnum() or (mark == "." and place < len(words)):
                continue
            if mark in known and word not in known:
                return (
                    f"the grammar does not know {shortened(word)}, but {mark}; if the input is plain text, "
                    "give --tokenize"
                )
    return None
