"""The Penn-Helsinki style: the parsed corpora of historical English, IcePaHC, and similar ones.

A token of the text is a wrapper around its tree and ``(ID ...)``. Codes of the edition and comments
(``(CODE <P_12>)``, ``(CODE {COM:...})``, ``(CODE *XXX*)``) may be anywhere in the tree. Empty elements
have ordinary labels: ``0``, ``*``, ``*-1``, ``*T*-1``, ``*ICH*-2``, ``*con*``, ``*pro*`` ... A leaf of
IcePaHC is ``word-lemma``; the deep format writes ``(N (ORTHO word) (LEMMA lemma))``. The two halves of a
split word end and begin with ``$``, and stay so.

How trees of a corpus are written: a row of conventions for each style, and what a user adds to it.

From trees as they are written to those of text alone, by a reading's conventions; what goes is counted.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, get_args

from mbrparse.arguments import checked
from mbrparse.errors import MbrparseError
from mbrparse.treebank.brackets import ReadTree, read_trees
from mbrparse.treebank.clean import PENN_CATEGORIES, WRAPPERS, LabelMap
from mbrparse.treebank.tree import Tree

#: What is no part of the text, whole: numbers of tokens, codes, line breaks, descriptions of the file.
NO_TEXT = ("CODE", "CODING", "COMMENT", "LB", "METADATA", "VERSION", "FORMAT")
#: *T*-1, *con*-D, *ICH*-2, *-1, *; 0, and 0-0 but for numbers. An asterisk that begins a word (a conjecture)
#: is none of them.
EMPTY = re.compile(r"[^ ]+ (?:\*[A-Za-z]*\*[-=\w]*|\*(?:[-=]\d+)?|0)|(?!NUM)[^ ]+ 0-0")

# Codes in the place of a word, or inside one: <P_12>, {COM:sic}, <heading>, </paren>.
_CODE = re.compile(r"\{[A-Za-z]+:[^{}]*\}|<[A-Z]+_[^<>]*>|</?(?:heading|font|paren|note|i|b|sup|sub)>")
# Characters by their names, <dash>, <dash/> or </dash>.
_TEXT_OF_CODE = {
    "dash": "-",
    "slash": "/",
    "lparen": "-LRB-",
    "rparen": "-RRB-",
    "equal": "=",
    "apostrophe": "'",
    "asterisk": "*",
}
_NAMED = re.compile(rf"</?({'|'.join(_TEXT_OF_CODE)})/?>")
_COMMENT_BEGINS, _COMMENT_ENDS = ("/*", "/~*"), ("*/", "*~/")


def split_lemma(token: str) -> tuple[str, str]:
    """Word and lemma of a leaf, the same twice where there is but one.

    Of several hyphens the middle one parts them, so that both have as many; of an even number, the last.

    >>> split_lemma("var-vera"), split_lemma(",-,"), split_lemma("-"), split_lemma("---")
    (('var', 'vera'), (',', ','), ('-', '-'), ('-', '-'))
    """
    hyphens = [place for place, letter in enumerate(token) if letter == "-"]
    if not hyphens:
        return token, token
    place = hyphens[len(hyphens) // 2] if len(hyphens) % 2 else hyphens[-1]
    word, lemma = token[:place], token[place + 1 :]
    return (word, lemma) if word and lemma else (token, token)


def without_comments(lines: Iterable[str]) -> Iterator[str]:
    """Lines in which those of CorpusSearch's comments are empty: from /* or /~* to */ or *~/."""
    inside = False
    for line in lines:
        text = line.strip()
        if inside or text.startswith(_COMMENT_BEGINS):
            inside = not text.endswith(_COMMENT_ENDS)
            yield "\n"
        else:
            yield line


def without_codes(token: str) -> tuple[str, str]:
    """A word without codes, empty where nothing else is there, and what was taken out of it, if anything."""
    text = _CODE.sub("", token)
    if text == token:
        return text, ""
    return (text, "code inside a word") if text.strip("-$") else ("", "code in the place of a word")


def named_characters(text: str) -> str:
    """A word with the characters that it names: a/b for a<slash>b."""
    return _NAMED.sub(lambda match: _TEXT_OF_CODE[match[1]], text)


ErrorHandler = Callable[[MbrparseError], None] | None

#: What leaves hold where a corpus gives lemmas: the word, its lemma, or both with a hyphen between.
Leaves = Literal["word", "lemma", "both"]

_LABELS = re.compile(r"(?:[^\s(),]+(?:,[^\s(),]+)*)?")
_BELOW = re.compile(r"(?:[^\s(),=]+=?[^\s(),=]*|=[^\s(),=]+)?")


@checked
@dataclass(frozen=True)
class CorpusReading:
    """What a user says of a corpus; labels have commas between, and wildcards as in a label map.

    ``encoding`` is that of its files, or several, of which each file has the first that all of it fits.
    ``leaves`` is what they hold where there are lemmas; None: what is usual. Constituents and tags labelled
    ``drop`` are no text, roots labelled ``roots`` wrappers, and ``ids`` the names of trees.
    ``terminals_below`` is LEMMA=FORM, the labels of both below a tag; without FORM the form has none.

    Raises MbrparseError for what means nothing.
    """

    encoding: str = "utf-8"
    leaves: Leaves | None = None
    drop: str = ""
    roots: str = ""
    ids: str = ""
    terminals_below: str = ""

    def __post_init__(self) -> None:
        if self.leaves is not None and self.leaves not in get_args(Leaves):
            raise MbrparseError(f"leaves is one of {', '.join(get_args(Leaves))}, not {self.leaves!r}")
        for text in (self.drop, self.roots, self.ids):
            if not _LABELS.fullmatch(text):
                raise MbrparseError(f"{text!r} is no list of labels such as META,CODE*")
        if not _BELOW.fullmatch(self.terminals_below):
            remedy = "lemma=form reads (NN (form dogs) (lemma dog)), lemma= reads (NN dogs (lemma dog))"
            raise MbrparseError(f"{self.terminals_below!r} is not LEMMA=FORM", remedy=remedy)

    def unmatched(self, removed: Iterable[str]) -> list[str]:
        """The labels to drop that nothing had of what was removed."""
        seen = [what[1 : what.index(")")] for what in removed if what.startswith("(")]
        return [label for label in _labels(self.drop) if not any(map(fitting([label]), seen))]


AS_USUAL = CorpusReading()


def _labels(text: str) -> list[str]:
    return text.split(",") if text else []


def fitting(patterns: Sequence[str]) -> Callable[[str], bool]:
    """Whether a label, as it stands or up to its first - or =, is one of these, which may have wildcards.

    >>> [fitting(["CODE", "N?"])(label) for label in ("CODE-1", "NP", "NPR")]
    [True, True, False]
    """
    table = LabelMap(f"{pattern} x" for pattern in patterns if pattern)

    @functools.cache
    def fits(label: str) -> bool:
        return label in patterns or any(map(table.find, (label, PENN_CATEGORIES.category(label))))

    return fits


class Removals(Counter[str]):
    """What was taken from trees, counted by kind, and where each kind was ``first``: source and line.

    Readers keep ``place`` up to date, with the last line that was read.
    """

    def __init__(self, *arguments: Any) -> None:
        self.place = ("", 0)
        self.first: dict[str, tuple[str, int]] = {}
        super().__init__(*arguments)

    def __missing__(self, kind: str) -> int:
        self.first.setdefault(kind, self.place)
        return 0


@dataclass(slots=True)
class Reading:
    """How a corpus is read, and what was taken from its trees on the way.

    ``on_error`` is called with malformed trees, which raise MbrparseError without it; ``on_empty`` with the
    source and line of each empty parse. ``removed`` counts by kind; labels that go are ``dropped``.
    """

    conventions: Conventions
    on_error: ErrorHandler = None
    on_empty: Callable[[str, int], None] | None = None
    removed: Removals = field(default_factory=Removals)
    dropped: Callable[[str], bool] = field(init=False)

    def __post_init__(self) -> None:
        self.dropped = fitting((*self.conventions.drop, *self.conventions.ids))

    def bad_lines(self) -> list[int] | None:
        """A list for a file's lines that are no text (``decode_lines``); None where these end the reading."""
        return None if self.on_error is None else []

    def passes(self, labels: Sequence[str | None]) -> bool:
        """Whether a constituent without children is no error, by the labels above and its own; counts it."""
        if not self.conventions.codes and not any(label and self.dropped(label) for label in labels):
            return False
        self.removed[f"({labels[-1]}) without a word"] += 1
        return True


def read_brackets(lines: Iterable[str], source: str, reading: Reading) -> Iterator[ReadTree]:
    """Yield the trees as they are written."""
    how = reading.conventions
    lines = without_comments(lines) if how.codes else lines
    lines = map(how.respell, lines) if how.respell else lines
    return read_trees(lines, source, reading.on_error, childless=reading.passes)


@dataclass(frozen=True, slots=True)
class Conventions:
    """How the trees of a corpus are written.

    ``read`` makes trees of a file's lines, each of which ``respell`` changes. For ``drop``, ``roots`` and
    ``ids`` see CorpusReading. ``lemmas`` are second below a tag, or behind the word and a hyphen, or known to
    ``read``; or ``lemma`` and ``form`` are their labels. ``empty`` fits empty elements: tag, blank and word.
    ``codes``: there are those of editions, comments and words that are missing (``penn_historical``).
    """

    read: Callable[[Iterable[str], str, Reading], Iterator[ReadTree]] = read_brackets
    respell: Callable[[str], str] | None = None
    drop: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    lemmas: Literal["", "second", "hyphen", "read"] = ""
    lemma: str = ""
    form: str = ""
    leaves: Leaves | None = None
    empty: re.Pattern[str] | None = None
    codes: bool = False

    @property
    def has_lemmas(self) -> bool:
        """Whether leaves may be words or lemmas."""
        return bool(self.lemmas or self.lemma)

    def joined(self, own: CorpusReading) -> Conventions:
        """These with what a user says."""
        lemma, _, form = (own.terminals_below or f"{self.lemma}={self.form}").partition("=")
        return replace(
            self,
            drop=(*self.drop, *_labels(own.drop)),
            roots=(*self.roots, *WRAPPERS, *_labels(own.roots)) if own.roots else self.roots,
            ids=(*self.ids, *_labels(own.ids)),
            lemma=lemma,
            form=form,
            leaves=own.leaves or self.leaves,
        )


def leaf_word(word: str, lemma: str | None, leaves: Leaves | None) -> str:
    """What a leaf holds of a word and its lemma; where there is none, the word."""
    if leaves == "both" and lemma:
        return f"{word}-{lemma}"
    return lemma if leaves == "lemma" and lemma else word


#: The label of a wrapper around several trees.
ROOT = "ROOT"
_KIND = re.compile(r"\*[^*]*\*|[*0]")
_TAKEN = {"word": "lemma", "lemma": "word", "both": "space before a lemma"}


def conformed(lines: Iterable[str], source: str, reading: Reading) -> Iterator[ReadTree]:
    """Yield the trees of a file by the conventions of its reading; those without text are left out."""
    how, removed = reading.conventions, reading.removed
    trees = how.read(lines, source, reading)
    labels = how.drop or how.roots or how.ids or how.lemma or how.form
    if not (labels or how.empty or how.codes or how.lemmas == "second"):
        yield from trees
        return
    is_name, is_root = fitting(how.ids), fitting(how.roots)
    leaf, inner = partial(_leaf, reading), partial(_inner, reading)
    for line, tree, name in trees:
        found = None if tree is None else tree.fold(leaf, inner)
        if tree is None or found is None:
            removed["token without text"] += 1
            continue
        while len(found.children) == 1 and is_root(found.label):
            removed[f"wrapper {found.label}".rstrip()] += 1
            found = found.children[0]
        if not found.label and is_root(""):
            removed["wrapper around several trees (now ROOT)"] += 1
            found = Tree(ROOT, found.children)
        # A tree's name is below its root, or one constituent further down.
        nodes = (node for child in tree.children for node in (child, *child.children) if not _is_bare(node))
        names = (" ".join(node.words()) for node in nodes if is_name(node.label))
        yield ReadTree(line, found, name or next(names, ""))


def _leaf(reading: Reading, node: Tree) -> Tree | None:
    """A leaf's text; None where it is none."""
    how, removed = reading.conventions, reading.removed
    if node.word is not None and reading.dropped(node.label):
        removed[f"({node.label})"] += 1
        return None
    token = text = node.label if node.word is None else node.word
    if how.empty is not None and how.empty.fullmatch(f"{node.label} {token}"):
        removed[_KIND.findall(token)[0]] += 1
        return None
    if how.codes:
        text, code = without_codes(token)
        if code:
            removed[code] += 1
        if not text:
            return None
    if how.lemmas == "hyphen" and how.leaves in ("word", "lemma"):
        text = split_lemma(text)[how.leaves == "lemma"]
    text = named_characters(text) if how.codes else text
    if text == token:
        return node
    return Tree(text) if node.word is None else Tree(node.label, word=text)


def _inner(reading: Reading, node: Tree, children: list[Tree | None]) -> Tree | None:
    """A constituent, or a tag and its word; None where nothing of it is left."""
    if reading.dropped(node.label):
        reading.removed[f"({node.label})"] += 1
        return None
    kept = [child for child in children if child is not None]
    terminal, leaves = _terminal(reading, kept), reading.conventions.leaves or "word"
    if terminal is not None:
        word, lemma = terminal
        if lemma:
            reading.removed[_TAKEN[leaves]] += 1
        return Tree(node.label, word=leaf_word(word, lemma, leaves))
    if not kept and node.label:
        reading.removed["constituent left empty"] += 1
    return Tree(node.label, kept) if kept else None


def _terminal(reading: Reading, children: list[Tree]) -> tuple[str, str] | None:
    """Word and lemma of the tag with these children; None where they are constituents or words."""
    how = reading.conventions
    if how.lemmas == "second" and len(children) == 2 and all(map(_is_bare, children)):
        return children[0].label, children[1].label
    parts = [child for child in children if child.label in (how.lemma, how.form) and not _is_bare(child)]
    words = {part.label: part.words() for part in parts if all(map(_is_bare, part.children))}
    rest = [child for child in children if child not in parts]
    if len(words) < max(1, len(parts)) or bool(rest) == (how.form in words) or not all(map(_is_bare, rest)):
        return None  # neither of them, one twice, or what is no word
    form = words.get(how.form) or tuple(leaf.label for leaf in rest)
    if len(form) > 1:
        reading.removed["blank inside a word (now _)"] += 1
    return "_".join(form), "_".join(words.get(how.lemma, ()))


def _is_bare(node: Tree) -> bool:
    return node.is_leaf and node.word is None
