"""Which of an input's blocks a run parses."""

from __future__ import annotations

import re
from typing import NamedTuple

from mbrparse.errors import OptionsError

_WRITTEN = re.compile(r"([1-9][0-9]{0,6})/([1-9][0-9]{0,6})")


class Shard(NamedTuple):
    """The ``number``-th, from 1, ``of`` so many: blocks go round, so that nobody need know how many come.

    >>> [number for number in range(8) if Shard(2, 3).has(number)]
    [1, 4, 7]
    """

    number: int = 1
    of: int = 1

    @classmethod
    def parse(cls, text: str) -> Shard:
        """The shard that is written so; raises OptionsError.

        >>> Shard.parse("3/10")
        Shard(number=3, of=10)
        """
        found = _WRITTEN.fullmatch(text)
        if found is None or int(found[1]) > int(found[2]):
            raise OptionsError(f"--shard is I/N, the I-th of N from 1/N to N/N, not {text!r}")
        return cls(int(found[1]), int(found[2]))

    def has(self, block: int) -> bool:
        """Whether a block, by its number from 0, is this shard's."""
        return block % self.of == self.number - 1

    def blocks(self, total: int) -> range:
        """The numbers of its blocks, of so many in all."""
        return range(self.number - 1, total, self.of)

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


WHOLE = Shard()
"""The input as one shard."""
