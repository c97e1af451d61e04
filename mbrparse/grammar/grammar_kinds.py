"""What a parser needs to know of a grammar: a PCFG, or one of another kind with a PCFG of the same trees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from mbrparse.grammar.pcfg import PCFG

#: Each kind has charts, decoders and options of its own.
Kind = Literal["pcfg", "dop", "several"]


@runtime_checkable
class Grammar(Protocol):
    """A grammar of any kind."""

    @property
    def kind(self) -> Kind:
        """Which one it is."""
        ...

    @property
    def pcfg(self) -> PCFG:
        """A PCFG with its labels, terminals and model of unknown words; a PCFG itself."""
        ...

    @property
    def content(self) -> Any:
        """What it was read from, as far as that is known."""
        ...
