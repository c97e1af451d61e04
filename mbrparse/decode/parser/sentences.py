"""The sentences to parse: terminals of trees, lines of tokens, or plain text, which is cut into words."""

from __future__ import annotations

import itertools
import re
from bisect import bisect
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal, NamedTuple

from mbrparse import arguments, log
from mbrparse.decode import trees
from mbrparse.errors import BracketError, CorpusError, InputMismatchError, LabelError, shortened
from mbrparse.files import read_lines, source_name
from mbrparse.grammar.pcfg import PCFG, UNKNOWN_TERMINAL
from mbrparse.treebank import brackets, clean, labels, outlines
from mbrparse.treebank.tree import Tree, bracket_free

InputForm = Literal["trees", "tokens", "text", "tagged", "brackets"]
Sentence = trees.Sentence

# Marks that NLTK's tokenizer leaves alone.
_CURLY = str.maketrans({"\u201c": "``", "\u201d": "''", "\u2018": "`", "\u2019": "'"})
# How the tokenizer's tokens may be written.
_WRITTEN: dict[str, Sequence[str]] = {"``": ('"', "''"), "''": '"', "-LRB-": "(", "-RRB-": ")"}
_WRITTEN |= {"-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}
_WORD = re.compile(r"[^ \t\r\n]+")


class Line(NamedTuple):
    """One sentence of a file: its place among the others (from 0), and whether its leaves are bare words.

    ``text`` is the line as it was written, if it held no tree, and ``cut`` says whether ``tokenize`` cut it.
    Where they matter, ``brackets`` are its constituents, the ``number`` its line in the file (0: unknown).
    """

    sentence: Sentence
    place: int
    tokens: bool
    source: str
    text: str = ""
    cut: bool = False
    brackets: Sequence[outlines.Constituent] = ()
    number: int = 0

    @property
    def written(self) -> list[WrittenToken]:
        """Where its tokens stand in the text."""
        return written_tokens(self.text, [leaf.label for leaf in self.sentence])


class GivenTree(NamedTuple):
    """A tree (None: an empty parse) and its sentence's place (from 0), file and line (from 1; 0: none).

    A sentence without a tree may have ``words``.
    """

    tree: Tree | None
    place: int = 0
    source: str = "<trees>"
    line: int = 0
    words: Sentence = ()

    @property
    def tokens(self) -> bool:
        """Whether there are bare words, and no tree."""
        return bool(self.words)

    @property
    def sentence(self) -> Sentence:
        """Its leaves."""
        return self.words if self.tree is None else self.tree.leaves()

    def projected(self, label: str) -> str:
        """A label of a binarized tree without its annotations; raises LabelError for one that is none."""
        try:
            return labels.project(label)
        except LabelError as error:
            remedy = "is this tree binarized? For others say `form=original`"
            line = self.line or None
            raise LabelError(error.message, source=self.source, line=line, remedy=remedy) from None

    def error(self, message: str, remedy: str) -> InputMismatchError:
        """An error that names the tree's place."""
        return InputMismatchError(message, source=self.source, line=self.line or None, remedy=remedy)


def sentences_from(
    sentences: brackets.AnyTree | Iterable[brackets.AnyTree | Sequence[str | Tree]],
) -> tuple[list[Sentence], bool]:
    """Sentences as a program has them: trees (of which the terminals are taken), strings of words, or lists.

    A single tree, or a string with one sentence a line, will do too. Trees are of any kind (``any_tree``): a
    string that begins with a bracket is one. Also returns whether all are bare words, which may need tags.

    >>> [len(sentence) for sentence in sentences_from(["the dog barks", "it sleeps"])[0]]
    [3, 2]
    """
    if isinstance(sentences, str) and not brackets.is_tree(sentences):
        sentences = sentences.removesuffix("\n").split("\n") if sentences else []
    listed = ["" if one is None else one for one in brackets.any_trees(sentences, "<sentences>", words=True)]
    if len(listed) > 1 and all(isinstance(one, str) and len(brackets.tokens_of(one)) == 1 for one in listed):
        log.warn(
            f"these are {len(listed)} sentences of one word each; if they are the words of one, give a "
            "string of them, or a list in a list"
        )
    found = [trees.sentence_of(one) for one in listed]
    has_trees = any(isinstance(one, Tree) for one in listed) or any(
        isinstance(part, Tree) for one in listed if not isinstance(one, str) for part in one
    )
    return found, bool(listed) and not has_trees


def _tagged(token: str, source: str, line: int) -> Tree:
    """A leaf of word/TAG or word_TAG, whichever mark comes last."""
    match = re.fullmatch("(.+)[/_](.+)", token)
    if match is None:
        what = f"{shortened(token)} has no tag"
        raise CorpusError(what, source=source, line=line, remedy="tagged text reads word/TAG or word_TAG")
    return Tree(match[2], word=match[1])


#: The label of a bracket that may have any.
ANY = "*"
_BRACKETED = "brackets hold words or brackets, and close on their line; as words they are -LRB- and -RRB-"


def bracketed_line(given: str | Tree, place: int, source: str, number: int = 0) -> Line:
    """A sentence of which some constituents are given: words and brackets, or a tree.

    Raises BracketError where the brackets are none.

    >>> line = bracketed_line("I (NP saw (* the dog) )", 0, "<text>")
    >>> [leaf.label for leaf in line.sentence], list(map(tuple, line.brackets))
    (['I', 'saw', 'the', 'dog'], [(1, 4, 'NP'), (2, 4, '*')])
    """
    tree: Tree | None = Tree(ANY, [given]) if isinstance(given, Tree) else None
    if isinstance(given, str) and given.strip(brackets.WHITE) not in ("", brackets.EMPTY_PARSE):
        try:
            depths = accumulate((one == "(") - (one == ")") for one in given)
            if min(depths, default=0) < 0:
                raise BracketError("closing bracket without an opening one")
            read = list(brackets.read_trees([f"({ANY} {given})"], source, first_line=number or 1))
        except BracketError as error:
            line = number or None
            raise BracketError(error.message, source=source, line=line, remedy=_BRACKETED) from None
        tree = read[0].tree
    if tree is not None:
        # What is called as traces are is a word, where it has no brackets.
        bare = isinstance(given, str)
        tree = clean.without_traces(
            tree, lambda leaf: clean.is_trace(leaf) and not (bare and leaf.word is None)
        )
    if tree is None:
        return Line((), place, True, source, number=number)
    if len(tree.children) == 1:
        tree = Tree(ANY, [clean.unwrap(tree.children[0])])
    leaves = [Tree(leaf.word) if leaf.word and leaf.label == ANY else leaf for leaf in tree.leaves()]
    words, asked = tuple(map(trees.untagged, leaves)), outlines.constituents(tree)[1:]
    return Line(words, place, all(leaf.word is None for leaf in words), source, "", False, asked, number)


def bracketed_lines(
    sentences: brackets.AnyTree | Iterable[brackets.AnyTree | Sequence[str | Tree]],
) -> Iterator[Line]:
    """Sentences as a program has them (``sentences_from``), with their brackets."""
    listed: Any = sentences
    if isinstance(sentences, str):
        listed = sentences.removesuffix("\n").split("\n")
    elif brackets.is_tree(sentences):
        listed = [sentences]
    for place, one in enumerate(listed):
        if isinstance(one, str) or one is None or brackets.is_tree(one):
            given = one or "" if isinstance(one, str | None) else brackets.any_tree(one)
            yield bracketed_line(given, place, "<sentences>", place + 1)
        else:
            yield Line(trees.sentence_of(one), place, True, "<sentences>", number=place + 1)


def read_input(
    paths: Iterable[str | Path], form: InputForm | None = None, encoding: str = "utf-8"
) -> Iterator[Line]:
    """Yield the sentences of files, one after the other, trees without their traces.

    Without ``form``, the first character of a file that is not white space tells: a bracket begins trees,
    before which comments may stand, any other one lines of tokens. An empty line and an empty parse are
    sentences without terminals. Raises BracketError, and CorpusError for a file without sentences.
    """
    places = itertools.count()
    for path in paths:
        source, (lines, here) = source_name(path), _lines_of(path, form, encoding)
        if here == "trees":
            for one in brackets.read_trees(lines, source):
                leaves = () if one.tree is None else trees.sentence_of(one.tree)
                yield Line(leaves, next(places), False, source)
        elif here == "tagged":
            for number, line in enumerate(lines, start=1):
                words = brackets.tokens_of(bracket_free(line))
                yield Line(tuple(_tagged(one, source, number) for one in words), next(places), False, source)
        elif here == "brackets":
            for number, line in enumerate(lines, start=1):
                yield bracketed_line(line.rstrip("\r\n"), next(places), source, number)
        else:
            for line in lines:
                yield line_of(line.rstrip("\n"), next(places), here == "text", source)


def line_of(text: str, place: int, plain: bool, source: str) -> Line:
    """The sentence of a line of tokens, or with ``plain`` of text that is cut into words."""
    words = tokenize(text) if plain else brackets.tokens_of(bracket_free(text))
    return Line(tuple(map(Tree, words)), place, True, source, text, plain)


def _lines_of(path: str | Path, form: InputForm | None, encoding: str) -> tuple[Iterator[str], InputForm]:
    """The lines of a file and its form; raises CorpusError where there is no sentence."""
    lines, trees = brackets.look_ahead(read_lines(path, encoding), form in (None, "trees"))
    if trees is None:  # comments at most
        head = list(lines)
        if form == "trees" or not any(line.strip(brackets.WHITE) for line in head):
            raise CorpusError("no sentences in the input", source=source_name(path))
        lines = iter(head)
    return lines, form or ("trees" if trees else "tokens")


def sentence_of_line(
    path: str | Path, number: int, form: InputForm | None = None, encoding: str = "utf-8"
) -> Line:
    """The sentence of this number, from 1; raises CorpusError where there is none."""
    count = 0
    for line in read_input([path], form, encoding):
        count = line.place + 1
        if count == number:
            return line
    raise CorpusError(f"there is no sentence {number}: the input holds {count}", source=source_name(path))


@arguments.checked
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


def other_case(grammar: PCFG, word: str) -> str:
    """What to say behind a word that a grammar lacks: which of other capitals it has, if it does."""
    forms = (word.lower(), word.capitalize(), word.upper())
    known = (form for form in forms if grammar.encode([form])[0] != UNKNOWN_TERMINAL)
    return "".join(f" (the grammar has {shortened(form)})" for form in itertools.islice(known, 1))


class WrittenToken(NamedTuple):
    """The number of a token's word (from 1), that word, and the token's place in the text."""

    word_number: int
    written: str
    start: int
    end: int


def written_tokens(text: str, tokens: Sequence[str]) -> list[WrittenToken]:
    """Where the tokens of a text stand, which ``tokenize`` or blanks have cut it into.

    >>> for one in written_tokens("The (old) barn can\u2019t.", "The -LRB- old -RRB- barn ca n't .".split()):
    ...     print(*one)
    1 The 0 3
    2 (old) 4 5
    2 (old) 5 8
    2 (old) 8 9
    3 barn 10 14
    4 can\u2019t. 15 17
    4 can\u2019t. 17 20
    4 can\u2019t. 20 21
    """
    words = list(_WORD.finditer(text))
    if len(words) == len(tokens):
        return [WrittenToken(place, one[0], *one.span()) for place, one in enumerate(words, start=1)]
    pieces = [character.translate(_CURLY) for character in text]
    plain, origin = "".join(pieces), [place for place, piece in enumerate(pieces) for _ in piece]
    starts, found, at = [word.start() for word in words], list[WrittenToken](), 0
    for token in tokens:
        at += len(plain[at:]) - len(plain[at:].lstrip())
        source = next((one for one in (token, *_WRITTEN.get(token, ())) if plain.startswith(one, at)), "")
        start = origin[at] if at < len(plain) else len(text)
        at += len(source)
        word = words[max(bisect(starts, start), 1) - 1][0] if words else token
        found.append(
            WrittenToken(bisect(starts, start), word, start, origin[at - 1] + 1 if source else start)
        )
    return found


def untokenized(grammar: PCFG, sentences: Iterable[Iterable[Tree]]) -> str | None:
    """What to tell where a grammar of words does not know a word of tokens, but the mark that it ends in.

    Or what is before that mark.

    Full stops count at the end of a sentence only: elsewhere they are those of abbreviations.
    """
    known = frozenset(map(bracket_free, grammar.terminals if grammar.terminal_kind == "words" else ()))
    for sentence in sentences:
        words = [leaf.label for leaf in sentence if leaf.word is None]
        for place, word in enumerate(words, start=1):
            mark = word[-1:]
            if len(word) == 1 or mark.isalnum() or (mark == "." and place < len(words)):
                continue
            if word not in known and (parts := [part for part in (mark, word[:-1]) if part in known]):
                what = f"the grammar does not know {shortened(word)}, but {shortened(parts[0])}"
                return f"{what}; if the input is plain text, give `tokenize`"
    return None
