"""How the trees of a corpus are written: a style's conventions, and what a user adds to them.

From trees as they are written to those of text alone, by a reading's conventions; what goes is counted.

The Penn-Helsinki style: the parsed corpora of historical English, IcePaHC, and similar ones.

A token of the text is a wrapper around its tree and ``(ID ...)``. Codes of the edition and comments
(``(CODE <P_12>)``, ``(CODE {COM:...})``, ``(CODE *XXX*)``) may be anywhere in the tree. Empty elements
have ordinary labels: ``0``, ``*``, ``*-1``, ``*T*-1``, ``*ICH*-2``, ``*con*``, ``*pro*`` ... A leaf of
IcePaHC is ``word-lemma``; the deep format writes ``(N (ORTHO word) (LEMMA lemma))``. The two halves of a
split word end and begin with ``$``, and stay so.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

from mbrparse.arguments import checked
from mbrparse.errors import BracketError, MbrparseError
from mbrparse.treebank import brackets, clean
from mbrparse.treebank.tree import Tree

#: What leaves hold where a corpus gives lemmas: the word, its lemma, or both with a hyphen between.
Leaves = Literal["word", "lemma", "both"]

#: The pattern of leaves that are words in brackets of their own.
BRACKETED = "(word)"
_BRACKETED = re.compile(r"\(([^\s()]+)\s+\(([^()]*[^\s()])\s*\)\s*\)")
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
    ``empty`` is a regular expression of words that are none. ``leaf`` is one of leaves as they are written,
    with groups named ``word``, ``tag`` and ``id``; or ``(word)``: words have brackets of their own. ``field``
    is that of a tree in JSON lines and tables, ``column`` the number of that with bracket parts. A
    ``discontinuous`` tree is made continuous by raising, or refused.

    Raises MbrparseError for what means nothing.
    """

    encoding: str = "utf-8"
    leaves: Leaves | None = None
    drop: str = ""
    roots: str = ""
    ids: str = ""
    terminals_below: str = ""
    empty: str = ""
    leaf: str = ""
    field: str = ""
    column: int | None = None
    discontinuous: Literal["raise", "refuse"] = "raise"

    def __post_init__(self) -> None:
        for text in (self.drop, self.roots, self.ids):
            if not _LABELS.fullmatch(text):
                raise MbrparseError(f"{text!r} is no list of labels such as META,CODE*")
        if not _BELOW.fullmatch(self.terminals_below):
            remedy = "lemma=form reads (NN (form dogs) (lemma dog)), lemma= reads (NN dogs (lemma dog))"
            raise MbrparseError(f"{self.terminals_below!r} is not LEMMA=FORM", remedy=remedy)
        if self.column is not None and self.column < 1:
            raise MbrparseError(f"`column={self.column}`: columns are counted from 1")
        for text in (self.empty, self.leaf):
            try:
                named = re.compile(text).groupindex
            except (re.error, RecursionError, OverflowError) as error:
                raise MbrparseError(f"{text!r} is no regular expression ({error})") from None
        if self.leaf not in ("", BRACKETED) and not (
            "word" in named and named.keys() <= {"word", "tag", "id"}
        ):
            raise MbrparseError(
                f"leaf {self.leaf!r} does not say what is the word",
                remedy="dog/NN is read by (?P<word>.+)/(?P<tag>.+); (NN (dog)) by (word)",
            )

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
    table = clean.LabelMap(f"{pattern} x" for pattern in patterns if pattern)

    @functools.cache
    def fits(label: str) -> bool:
        return label in patterns or any(map(table.find, (label, clean.PENN_CATEGORIES.category(label))))

    return fits


def _kind(empty: str) -> str:
    """The kind of an empty element."""
    found = re.search(r"\*[^*]*\*|[*0]", empty)
    return found[0] if found else f"empty word {empty}"


class Removals(Counter[str]):
    """What was taken from trees, counted by kind, and where each kind was ``first``: source and line.

    Readers keep ``place`` up to date, with the last line that was read.
    """

    def __init__(self, *arguments: Any) -> None:
        self.place = ("", 0)
        self.first: dict[str, tuple[str, int]] = {}
        super().__init__(*arguments)

    def __setitem__(self, kind: str, number: int) -> None:
        if number:
            self.first.setdefault(kind, self.place)
            super().__setitem__(kind, number)
        else:
            self.pop(kind, None)


@dataclass(slots=True)
class Reading:
    """How a corpus is read, and what was taken from its trees on the way.

    ``own`` is what the user says, which ``conventions`` have already. ``on_error`` is called with malformed
    trees, which raise MbrparseError without it; ``on_empty`` with the source and line of each empty parse.
    ``removed`` counts by kind; labels that go are ``dropped``. ``leaves`` are those that were read.
    """

    conventions: Conventions
    own: CorpusReading = AS_USUAL
    on_error: Callable[[MbrparseError], None] | None = None
    on_empty: Callable[[str, int], None] | None = None
    removed: Removals = field(default_factory=Removals)
    leaves: dict[tuple[str, str], Tree] = field(default_factory=dict)
    dropped: Callable[[str], bool] = field(init=False)

    def __post_init__(self) -> None:
        self.dropped = fitting((*self.conventions.drop, *self.conventions.ids))

    @contextmanager
    def refusing(self, what: str, source: str, line: int, remedy: str = brackets.LEAVE_OUT) -> Iterator[None]:
        """What fails within is a malformed tree: BracketError, raised or passed to ``on_error``."""
        try:
            yield
        except MbrparseError:
            raise
        except (ValueError, KeyError, RecursionError, SyntaxError) as error:  # SyntaxError: of XML
            why = f"{error} is missing" if isinstance(error, KeyError) else error
            malformed = BracketError(f"{what} ({why})", source=source, line=line, remedy=remedy)
            if self.on_error is None:
                raise malformed from None
            self.on_error(malformed)

    def bad_lines(self) -> list[int] | None:
        """A list for a file's lines that are no text (``decode_lines``); None where these end the reading."""
        return None if self.on_error is None else []

    def passes(self, labels: Sequence[str | None]) -> bool:
        """Whether a constituent without children is no error, by the labels above and its own; counts it."""
        if not self.conventions.codes and not any(label and self.dropped(label) for label in labels):
            return False
        label, empty = labels[-1] or "", self.conventions.empty
        is_empty = empty and re.fullmatch(empty, f"{label} {label}")
        self.removed[_kind(label) if is_empty else f"({label}) without a word"] += 1
        return True


@dataclass(frozen=True, slots=True)
class Conventions:
    """How the trees of a corpus are written: its style.

    ``format`` is that of its files (``formats``), empty: what they look like. ``respell`` changes each line.
    For ``drop``, ``roots`` and ``ids`` see CorpusReading. ``lemmas`` are second below a tag, or behind the
    word and a hyphen, or known to the format's reader; or ``lemma`` and ``form`` are their labels. ``empty``
    fits empty elements: tag, blank and word; ``leaf`` is as in CorpusReading. ``codes``: there are those of
    editions, comments and words that are missing. ``marks`` says whether a text is in
    this style, by what no other one has.
    """

    format: str = ""
    respell: Callable[[str], str] | None = None
    drop: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    lemmas: Literal["", "second", "hyphen", "read"] = ""
    lemma: str = ""
    form: str = ""
    leaves: Leaves | None = None
    empty: str = ""
    leaf: str = ""
    codes: bool = False
    marks: Callable[[str], bool] | None = None

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
            roots=(*self.roots, *clean.WRAPPERS, *_labels(own.roots)) if own.roots else self.roots,
            ids=(*self.ids, *_labels(own.ids)),
            lemma=lemma,
            form=form,
            leaves=own.leaves or self.leaves,
            empty="|".join(filter(None, (self.empty, own.empty and f"[^ ]* (?:{own.empty})"))),
            leaf="" if own.leaf == BRACKETED else own.leaf or self.leaf,
            respell=without_own_brackets if own.leaf == BRACKETED else self.respell,
        )


def without_own_brackets(line: str) -> str:
    """A line with (NN dog) for (NN (dog)), and _ for a blank inside the word."""
    return _BRACKETED.sub(lambda match: f"({match[1]} {'_'.join(match[2].split())})", line)


def leaf_word(word: str, lemma: str | None, leaves: Leaves | None) -> str:
    """What a leaf holds of a word and its lemma; where there is none, the word."""
    if leaves == "both" and lemma:
        return f"{word}-{lemma}"
    return lemma if leaves == "lemma" and lemma else word


#: What is no part of the text, whole: numbers of tokens, codes, line breaks, descriptions of the file.
NO_TEXT = ("CODE", "CODING", "COMMENT", "LB", "METADATA", "VERSION", "FORMAT")
#: *T*-1, *con*-D, *が*, *2s*, *-1, *; 0, and 0-0 but for numbers. An asterisk that begins a word (a
#: conjecture) is none of them.
EMPTY = r"[^ ]+ (?:\*+[^ *]+\*+[-=\w]*|\*{2,}[-=\w]*|\*(?:[-=]\d+)?|0)|(?!NUM)[^ ]+ 0-0"

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


#: The label of a wrapper around several trees.
ROOT = "ROOT"
_TAKEN = {"word": "lemma", "lemma": "word", "both": "space before a lemma"}


def conformed(trees: Iterator[brackets.ReadTree], reading: Reading) -> Iterator[brackets.ReadTree]:
    """Yield the trees of a file by the conventions of its reading; those without text are left out."""
    how, removed = reading.conventions, reading.removed
    labels = how.drop or how.roots or how.ids or how.lemma or how.form
    if not (labels or how.empty or how.leaf or how.codes or how.lemmas == "second"):
        yield from trees
        return
    is_name, is_root = fitting(how.ids), fitting(how.roots)
    pattern, empty = re.compile(how.leaf) if how.leaf else None, re.compile(how.empty) if how.empty else None
    inner = partial(_inner, reading)
    known: dict[tuple[str, str | None], tuple[Tree | None, list[str]]] = {}

    def leaf(node: Tree) -> Tree | None:
        key = node.label, node.word
        if key not in known:
            taken = list[str]()
            known[key] = _leaf(reading, pattern, empty, node, taken), taken
        text, taken = known[key]
        for kind in taken:
            removed[kind] += 1
        return text

    for line, tree, name in trees:
        if tree is None:
            continue  # what is in it was counted
        found = tree.fold(leaf, inner)
        if found is None:
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
        yield brackets.ReadTree(line, found, name or next(names, ""))


def _leaf(
    reading: Reading,
    pattern: re.Pattern[str] | None,
    empty: re.Pattern[str] | None,
    node: Tree,
    taken: list[str],
) -> Tree | None:
    """A leaf's text, and where a leaf has a tag in it, below the node's label; None where it is no text.

    What is ``taken`` from it is added.
    """
    how = reading.conventions
    if node.word is not None and reading.dropped(node.label):
        taken.append(f"({node.label})")
        return None
    tag, token = ("", node.label) if node.word is None else (node.label, node.word)
    text, parts = token, {}
    if pattern is not None and (match := pattern.fullmatch(token)):
        parts = match.groupdict()
        text, tag = parts["word"] or "_", parts.get("tag") or tag
    if empty is not None and empty.fullmatch(f"{tag or text} {text}"):
        taken.append(_kind(text))
        return None
    if how.codes:
        text, code = without_codes(text)
        if code:
            taken.append(code)
        if not text:
            return None
    if how.lemmas == "hyphen" and how.leaves in ("word", "lemma"):
        text = split_lemma(text)[how.leaves == "lemma"]
    text = named_characters(text) if how.codes else text
    if text == token:
        return node
    written = Tree(tag, word=text) if tag else Tree(text)
    return Tree(node.label, [written]) if parts.get("tag") and node.word is not None else written


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
    names = (how.lemma, how.form)
    if not any(names):
        return None
    parts = [child for child in children if child.label and child.label in names and not _is_bare(child)]
    words = {part.label: part.words() for part in parts if all(map(_is_bare, part.children))}
    if not words:
        return None
    rest = [child for child in children if child not in parts]
    if len(words) < len(parts) or bool(rest) == (how.form in words) or not all(map(_is_bare, rest)):
        return None  # neither of them, one twice, or what is no word
    form = words.get(how.form) or tuple(leaf.label for leaf in rest)
    if len(form) > 1:
        reading.removed["blank inside a word (now _)"] += 1
    return "_".join(form), "_".join(words.get(how.lemma, ()))


def _is_bare(node: Tree) -> bool:
    return node.is_leaf and node.word is None
