"""From a corpus to binarized trees, with an account of what was left out and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import get_args

from mbrparse.errors import BracketError, CorpusError, MbrparseError
from mbrparse.treebank.binarize import RIGHT_LINEAR, Binarization, binarize
from mbrparse.treebank.clean import FunctionPolicy, UnaryPolicy, simplify, without_traces
from mbrparse.treebank.corpora import SourceTree
from mbrparse.treebank.head_choices import choose_heads
from mbrparse.treebank.tree import Tree


@dataclass(frozen=True, slots=True)
class Preparation:
    """What is done to each tree of a corpus; ``max_length`` counts the cleaned tree's terminals.

    ``unary="keep"`` keeps chains in the binarized tree too, whatever ``binarization`` says of them.
    """

    unary: UnaryPolicy = "top"
    functions: FunctionPolicy = "strip"
    binarization: Binarization = RIGHT_LINEAR
    max_length: int | None = None

    def __post_init__(self) -> None:
        for name, value, known in (
            ("unary", self.unary, get_args(UnaryPolicy)),
            ("functions", self.functions, get_args(FunctionPolicy)),
        ):
            if value not in known:
                raise MbrparseError(f"{name} is one of {', '.join(known)}, not {value!r}")


@dataclass(slots=True)
class Account:
    """How many trees were read and kept, and why the others were dropped."""

    kept: int = 0
    fragments: int = 0  #: trees that were read, likely pieces of malformed ones
    source: str | None = None  #: what messages call the input
    dropped: Counter[str] = field(default_factory=Counter)
    first_error: MbrparseError | None = None

    @property
    def read(self) -> int:
        return self.kept + self.dropped.total()

    def skip(self, error: MbrparseError) -> None:
        """Count a malformed tree (an error handler for the readers)."""
        self.first_error = self.first_error or error
        self.dropped["malformed"] += 1
        self.fragments += error.fragments if isinstance(error, BracketError) else 0

    def check(self) -> None:
        """Raise CorpusError if nothing was there to read."""
        if self.read == 0:
            raise CorpusError(
                "no trees in the input",
                source=self.source,
                remedy="trees are written in brackets: (S (NP ...) ...)",
            )

    def __str__(self) -> str:
        """One line for people.

        >>> str(Account(kept=3, dropped=Counter({"longer than 40": 2})))
        'read 5 trees, kept 3, dropped 2 (longer than 40: 2)'
        """
        text = f"read {self.read} trees, kept {self.kept}, dropped {self.dropped.total()}"
        if self.dropped:
            text += " (" + ", ".join(f"{why}: {count}" for why, count in self.dropped.items()) + ")"
        if self.fragments:
            text += f"; {self.fragments} more are likely pieces of malformed ones"
        return text if self.first_error is None else f"{text}; first: {self.first_error.args[0]}"


def prepare(trees: Iterable[SourceTree], how: Preparation, account: Account) -> Iterator[Tree]:
    """Clean and binarize trees one by one, filling ``account`` as they pass.

    Heads are chosen before function tags and unary productions go. Raises CorpusError if nothing was
    there to read.
    """
    binarization = how.binarization
    if how.unary == "keep":
        binarization = replace(binarization, chains="keep")
    for _, _, tree in trees:
        bare = without_traces(tree)
        if bare is None:
            account.dropped["empty"] += 1
            continue
        cleaned = simplify(bare, how.unary, how.functions)
        if cleaned.is_leaf:
            account.dropped["single terminal"] += 1
        elif how.max_length is not None and len(cleaned.leaves()) > how.max_length:
            account.dropped[f"longer than {how.max_length}"] += 1
        else:
            account.kept += 1
            heads = binarization.heads
            yield binarize(cleaned, binarization, None if heads is None else choose_heads(bare, heads.rules))
    account.check()
