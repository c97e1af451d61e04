"""The models of unknown words by name, and what grammar files say of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from mbrparse.grammar.words.collins import Collins
from mbrparse.grammar.words.signatures import Signatures

UnknownWords = Signatures | Collins
UnknownKind = Literal["signature", "collins"]
MODELS: dict[UnknownKind, type[Signatures] | type[Collins]] = {"signature": Signatures, "collins": Collins}


def read_fields(fields: Sequence[str]) -> UnknownWords | None:
    """The model that ``fields`` wrote; None if they name none.

    >>> read_fields(["signature", "2"])
    Signatures(rare=2)
    """
    match fields:
        case [Signatures.kind, rare] if _is_threshold(rare):
            return Signatures(int(rare))
        case [Collins.kind, rare, digest] if _is_threshold(rare):
            return Collins(int(rare), digest)
    return None


def _is_threshold(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 10 and int(text) >= 2
