"""The tagger that tags unseen words: NLTK's averaged perceptron, trained here and kept as JSON.

NLTK is imported when the first sentence is tagged, or when a tagger is trained.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from mbrparse import errors, files
from mbrparse.treebank.labels import escape
from mbrparse.treebank.tree import Tree, bracket_free

_TOGETHER = "keep a grammar and its tagger together, or train again: mbrparse train --unknown collins"
_TAGGER_SEED = 0


class TaggerContent(msgspec.Struct):
    """What a tagger's file holds: NLTK's weights by feature and tag, and the words that have one tag."""

    version: Literal[1] = msgspec.field(name="mbrparse-tagger")
    tags: Annotated[list[str], msgspec.Meta(min_length=1)]
    known: dict[str, str]
    weights: dict[str, dict[str, float]]


@dataclass(frozen=True)
class Tagger:
    """A trained tagger; ``text`` is the JSON of its file, and all that is pickled."""

    text: str

    @classmethod
    def train(cls, trees: Iterable[Tree]) -> Tagger:
        """Train on the words and tags of trees; bare terminals are tagged with their own names.

        The result depends on the trees alone; Python's own random numbers are left alone.
        """
        from unittest.mock import patch

        from nltk.tag import perceptron

        tagger = perceptron.PerceptronTagger(load=False)
        sentences = ([_tagged(leaf) for leaf in tree.leaves()] for tree in trees)
        # NLTK shuffles the sentences with Python's own random numbers, of which other threads draw as well.
        with patch.object(perceptron, "random", random.Random(_TAGGER_SEED)):
            tagger.train([sentence for sentence in sentences if sentence])
        rows = ['"mbrparse-tagger": 1', f'"tags": {json.dumps(sorted(tagger.classes))}']
        weights = {feature: row for feature, row in tagger.model.weights.items() if row}
        for name, entries in (("known", tagger.tagdict), ("weights", weights)):
            lines = (
                f"{json.dumps(key)}: {json.dumps(entries[key], sort_keys=True)}" for key in sorted(entries)
            )
            rows.append(f'"{name}": {{\n' + ",\n".join(lines) + "\n}")
        return cls("{\n" + ",\n".join(rows) + "\n}\n")

    @classmethod
    def read(cls, grammar: str | Path, digest: str) -> Tagger:
        """Read the tagger beside a grammar's file, which names its digest; raises FileError, GrammarError."""
        if str(grammar) == files.STANDARD:
            raise errors.GrammarError(
                "a grammar on standard input has no tagger beside it", remedy="give the grammar's file"
            )
        path = tagger_path(grammar)
        wrong = partial(errors.GrammarError, source=str(path), remedy=_TOGETHER)
        try:
            tagger = cls("".join(files.read_lines(path)))
        except errors.FileError as error:
            message = f"the tagger of {grammar}: {error.message}"
            raise errors.FileError(message, source=str(path), remedy=_TOGETHER) from None
        if tagger.digest != digest:
            raise wrong(f"not the tagger that {grammar} was trained with, or it was changed since")
        try:
            tagger._content  # noqa: B018  # which is checked
        except (msgspec.MsgspecError, RecursionError) as error:
            raise wrong(f"not a tagger's file of this version: {error}") from None
        return tagger

    def write(self, grammar: str | Path) -> None:
        """Write the tagger beside its grammar's file, complete or absent; GrammarError for a device."""
        if not files.is_file(grammar):
            raise errors.GrammarError(
                "a tagger is written beside its grammar, which must be a file",
                source=str(grammar),
                remedy="give the name of a file",
            )
        with files.open_output(tagger_path(grammar)) as stream:
            stream.write(self.text)

    @cached_property
    def digest(self) -> str:
        """A short digest of the text, which a grammar's file names."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:16]

    @property
    def tags(self) -> list[str]:
        """All tags as in rules, in text order."""
        return self._content.tags

    def tag(self, words: Sequence[str], among: Collection[str] | None = None) -> list[str]:
        """The best tag of each word, as in rules; with ``among`` ambiguous words choose from these."""
        tagger = self._perceptron
        every = tagger.model.classes
        if among is not None:
            tagger.model.classes = set(among)
        try:
            return [tag for _, tag in tagger.tag(list(words))]
        finally:
            tagger.model.classes = every

    @cached_property
    def _content(self) -> TaggerContent:
        content = msgspec.json.decode(self.text, type=TaggerContent)
        if unlisted := set(content.known.values()).difference(content.tags):
            raise msgspec.ValidationError(f"{min(unlisted)!r} is none of its tags")
        return content

    @cached_property
    def _perceptron(self) -> Any:
        from nltk.tag.perceptron import PerceptronTagger

        tagger = PerceptronTagger(load=False)
        tagger.model.weights = self._content.weights
        tagger.tagdict = self._content.known
        tagger.classes = tagger.model.classes = set(self.tags)
        return tagger

    def __getstate__(self) -> dict[str, str]:
        """The rest is made from the text again when it is needed."""
        return {"text": self.text}


def tagger_path(grammar: str | Path) -> Path:
    """The path of a grammar file's tagger.

    >>> str(tagger_path("g.txt"))
    'g.txt.tagger.json'
    """
    return Path(f"{grammar}.tagger.json")


def _tagged(leaf: Tree) -> tuple[str, str]:
    """A word and its tag, escaped as in rules (NLTK takes an empty tag for none)."""
    word = leaf.label if leaf.word is None else bracket_free(leaf.word)
    return word, escape(leaf.tag)
