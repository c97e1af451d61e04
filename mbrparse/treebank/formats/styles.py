"""The styles of corpora (Penn, Penn-Helsinki, CESS-ECE, Floresta ...), and corpora that only NLTK reads.

Alpino's style (Dutch): XML of dependency trees whose nodes say which words they cover.

Words are put in the order of the sentence. A constituent may then have gaps; what is beyond one is
**raised**: of a constituent's contiguous parts the one with its head (``rel="hd"``; else the longest, of
equals the first) stays, the children in other parts become its parent's, and so on up, until nothing
crosses. Punctuation, all of which hangs from the top, would make gaps of its own: it is put back into the
lowest constituent with words on both sides of it. A node with an index and no word refers to another
constituent, and is left out.
"""

from __future__ import annotations

import bisect
import contextlib
import io
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, count, pairwise
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from mbrparse.errors import BracketError, CorpusError
from mbrparse.treebank.brackets import ReadTree, read_trees
from mbrparse.treebank.formats.conventions import EMPTY, NO_TEXT, Conventions, Reading, leaf_word
from mbrparse.treebank.tree import Tree

if TYPE_CHECKING:
    from xml.etree import ElementTree

HEAD = "hd"
LOWERED = "mark of punctuation put lower"
PUNCTUATION = "punct"
RAISED = "constituent raised out of one with a gap"
COINDEXED = "coindexed node without a word"
_BEGINS, _ENDS = re.compile(r"<alpino_ds\b"), "</alpino_ds>"
_BRACKETS = str.maketrans({"(": "-LRB-", ")": "-RRB-"})


class _Piece(NamedTuple):
    """A tree over words (0-based, half-open), and whether it is its parent's head."""

    begin: int
    end: int
    tree: Tree
    is_head: bool


def read_alpino(lines: Iterable[str], source: str, reading: Reading) -> Iterator[ReadTree]:
    """Yield the trees of a file of ``<alpino_ds>`` elements, one at a time."""
    from xml.etree import ElementTree

    sentence: list[str] = []
    began = 0
    for number, line in enumerate(lines, start=1):
        if not sentence and not _BEGINS.search(line):
            continue
        began = began if sentence else number
        sentence.append(line)
        if _ENDS in line:
            try:
                yield ReadTree(began, _tree("".join(sentence), reading))
            except (ElementTree.ParseError, ValueError, KeyError, RecursionError) as error:
                malformed = BracketError(f"no tree of Alpino's ({error})", source=source, line=began)
                if reading.on_error is None:
                    raise malformed from None
                reading.on_error(malformed)
            sentence.clear()


def _tree(text: str, reading: Reading) -> Tree:
    from xml.etree import ElementTree

    root = ElementTree.fromstring(text).find("node")
    if root is None or "word" in root.attrib:
        raise ValueError("no constituent")
    leaves = {int(node.attrib["begin"]): node for node in root.iter("node") if "word" in node.attrib}
    if len(leaves) < sum("word" in node.attrib for node in root.iter("node")):
        raise ValueError("two words in one place")
    marks = [node for node in root if node.get("pos") == PUNCTUATION]
    if len(marks) == len(leaves):
        marks = []
    for mark in marks:
        root.remove(mark)
    begins = [int(mark.attrib["begin"]) for mark in marks]
    words = sorted(leaves.keys() - begins)
    pieces = _pieces(root, {begin: place for place, begin in enumerate(words)}, reading)
    if len(pieces) != 1:
        raise ValueError("no words")
    between: dict[int, list[Tree]] = {}
    for begin, mark in sorted(zip(begins, marks, strict=True), key=lambda pair: pair[0]):
        between.setdefault(bisect.bisect(words, begin), []).append(_leaf(mark, reading))
    return _with_marks(pieces[0].tree, between, len(words), reading)


def _with_marks(tree: Tree, between: dict[int, list[Tree]], words: int, reading: Reading) -> Tree:
    """The tree with marks of punctuation, given by the number of words before them."""
    places = count(1)

    def leaf(node: Tree) -> tuple[int, Tree]:
        return next(places), node

    def inner(node: Tree, children: list[tuple[int, Tree]]) -> tuple[int, Tree]:
        """The node, and the number of words before its end."""
        found = [children[0][1]]
        for (end, _), (_, child) in pairwise(children):
            marks = between.pop(end, [])
            found += [*marks, child]
            if marks and node is not tree:
                reading.removed[LOWERED] += len(marks)
        return children[-1][0], Tree(node.label, found)

    _, whole = tree.fold(leaf, inner)
    return Tree(whole.label, [*between.get(0, []), *whole.children, *between.get(words, [])])


def _pieces(node: ElementTree.Element, places: dict[int, int], reading: Reading) -> list[_Piece]:
    """The node's own tree, and those that were raised out of it."""
    is_head = node.get("rel") == HEAD
    if "word" in node.attrib:
        place = places[int(node.attrib["begin"])]
        return [_Piece(place, place + 1, _leaf(node, reading), is_head)]
    found = (piece for child in node for piece in _pieces(child, places, reading))
    inside = sorted(found, key=lambda piece: piece.begin)
    if not inside:
        reading.removed[COINDEXED] += 1
        return []
    parts: list[list[_Piece]] = []
    for piece in inside:
        if parts and parts[-1][-1].end == piece.begin:
            parts[-1].append(piece)
        else:
            parts.append([piece])
    own = max(parts, key=lambda part: (any(piece.is_head for piece in part), part[-1].end - part[0].begin))
    raised = [piece._replace(is_head=False) for part in parts if part is not own for piece in part]
    if raised:
        reading.removed[RAISED] += len(raised)
    tree = Tree(node.attrib["cat"], [piece.tree for piece in own])
    return [_Piece(own[0].begin, own[-1].end, tree, is_head), *raised]


def _leaf(node: ElementTree.Element, reading: Reading) -> Tree:
    word = node.attrib["word"]
    chosen = leaf_word(word, node.get("root", word), reading.conventions.leaves)
    return Tree(node.attrib["pos"], word=chosen.translate(_BRACKETS).replace(" ", "_"))


COMMENT = "#"
#: What is cut from labels, by the name under which it is counted.
PART = "mark of a part of a constituent with a gap"
INDEX = "index of an attachment"

_OPENING, _CLOSING = re.compile(r"\(\(\)"), re.compile(r"\(\)\)")
_CHILDLESS = re.compile(r"\(([^\s()]+)\)")
_LABEL = re.compile(r"\((-?)([^\s()]*?)(\[[+-]\d+\])?(\+[^\s()]*[^\s()-])(-?)(?=\s)")


def read_floresta(lines: Iterable[str], source: str, reading: Reading) -> Iterator[ReadTree]:
    """Yield the trees of a file in Floresta's style (Portuguese): labels are function and form.

    ``(UTT+np (>N+art Um) (H+n dia) (.))``: punctuation is ``(,)``, its own tag, and so are brackets: ``(()``
    and ``())``. A constituent with a gap has parts ``(P+vp- ...)`` and ``(-P+vp ...)``; ``(N<[+1]+pp ...)``
    tells how far away it belongs. Lines that begin with # are comments, and each sentence is below its
    own: a tree that is not closed ends there. NLTK's reader knows punctuation of one character alone, and no
    brackets.
    """

    def label(match: re.Match[str]) -> str:
        first, function, index, form, last = match.groups()
        if first or last:
            reading.removed[PART] += 1
        if index:
            reading.removed[INDEX] += 1
        return f"({function}{form}"

    def with_tags(line: str) -> str:
        line = _CLOSING.sub("(-RRB- -RRB-)", _OPENING.sub("(-LRB- -LRB-)", line))
        return _LABEL.sub(label, _CHILDLESS.sub(r"(\1 \1)", line))

    sentence: list[str] = []
    for number, line in enumerate(chain(lines, [COMMENT]), start=1):
        if line.startswith(COMMENT):
            yield from read_trees(sentence, source, reading.on_error, number - len(sentence))
            sentence.clear()
        else:
            sentence.append(with_tags(line))


def nltk_corpus(spec: str) -> Any:
    """NLTK's reader of nltk:NAME; raises CorpusError where there is none, or its data are not installed."""
    import nltk.corpus

    name = spec.removeprefix("nltk:")
    corpus: Any = getattr(nltk.corpus, name, None)
    try:
        parsed = getattr(corpus, "parsed_sents", None)
    except LookupError:
        remedy = f"fetch it with: {sys.executable} -m nltk.downloader {name}"
        raise CorpusError(f"NLTK corpus {name!r} is not installed", remedy=remedy) from None
    if parsed is None:
        raise CorpusError(f"NLTK has no treebank {name!r}", remedy="see nltk.org/nltk_data for its names")
    return corpus


def nltk_files(spec: str) -> Iterator[tuple[str, str, BinaryIO]]:
    """Yield the name of each file of a corpus, its encoding as its reader says, and its bytes."""
    corpus = nltk_corpus(spec)
    for file in corpus.fileids():
        with corpus.abspath(file).open() as stream:
            yield file, corpus.encoding(file) or "utf-8", io.BytesIO(stream.read())


def is_plain(corpus: Any) -> bool:
    """Whether an NLTK reader does nothing that our own, far faster one would not."""
    from nltk.corpus.reader import BracketParseCorpusReader

    kind = type(corpus)
    return (
        issubclass(kind, BracketParseCorpusReader)
        and kind._normalize is BracketParseCorpusReader._normalize
        and kind._read_block is BracketParseCorpusReader._read_block
        and getattr(corpus, "_comment_char", None) is None
    )


def nltk_trees(_: Iterable[str], spec: str, reading: Reading) -> Iterator[ReadTree]:
    """Yield the trees that NLTK's reader gives, numbered from 1.

    Where it says that it could not read one, or guesses at it, the tree is malformed here. Raises
    CorpusError where they are no phrase-structure trees.
    """
    import nltk

    sentences = iter(nltk_corpus(spec).parsed_sents())
    for number in count(1):
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            sentence = next(sentences, None)
        if sentence is None:
            return
        if not isinstance(sentence, nltk.Tree):
            raise CorpusError(f"NLTK corpus {spec.partition(':')[2]!r} holds no phrase-structure trees")
        try:
            if said.getvalue() or not all(isinstance(leaf, str) for leaf in sentence.leaves()):
                raise ValueError("NLTK's reader cannot read this tree")
            yield ReadTree(number, Tree.from_nltk(sentence))
        except ValueError as error:
            malformed = BracketError(
                str(error), source=spec, line=number, remedy="leave such trees out with: `on_error=skip`"
            )
            if reading.on_error is None:
                raise malformed from None
            reading.on_error(malformed)


_HISTORICAL = Conventions(
    drop=NO_TEXT,
    roots=("",),
    ids=("ID",),
    lemma="LEMMA",
    form="ORTHO",
    lemmas="hyphen",
    empty=EMPTY,
    codes=True,
)

#: How each style is written.
STYLES: dict[str, Conventions] = {
    "penn": Conventions(),
    "nltk": Conventions(read=nltk_trees),
    "penn-historical": _HISTORICAL,
    "icepahc": replace(_HISTORICAL, leaves="word"),
    # A leaf is (tag word lemma), of which NLTK's reader makes two words; *0* is a subject that is not spoken.
    "cess": Conventions(
        lemmas="second",
        empty=re.compile(r"[^ ]+ \*0\*"),
        respell=lambda line: line.replace("-Fpa-", "-LRB-").replace("-Fpt-", "-RRB-"),
    ),
    # A leaf is (tag word (lemma lemma)), with notes such as (exp_seg ...); brackets are \( and \).
    "greynir": Conventions(
        drop=("META", "exp_*"),
        roots=("", "S0"),
        ids=("ID-LOCAL",),
        lemma="lemma",
        respell=lambda line: line.replace("\\(", "-LRB-").replace("\\)", "-RRB-"),
    ),
    "floresta": Conventions(read=read_floresta),
    "alpino": Conventions(read=read_alpino, lemmas="read"),
}
