"""What ``mbrparse train --method inside-outside`` says on stderr as it goes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mbrparse.cli.options import note

if TYPE_CHECKING:
    from mbrparse.grammar.training.bracketings import BracketedSentence, Divided

# How many of the sentences that are left out are named.
NAMED = 5


def report_iteration(row: dict[str, Any]) -> None:
    """One line of an iteration's figures."""
    line = (
        f"iteration {row['iteration']:3}  log likelihood {row['log_likelihood']:.4f}  "
        f"cross-entropy {row['cross_entropy']:.4f} bits a terminal"
    )
    if "heldout_cross_entropy" in row:
        line += f"  held out {row['heldout_cross_entropy']:.4f}"
        if row["heldout_left_out"]:
            line += f" ({row['heldout_left_out']} sentences left out)"
    note(line)


def name_left_out(sentences: list[BracketedSentence]) -> None:
    """Where the sentences stand that the grammar cannot derive."""
    note(
        f"left out {len(sentences)} sentences, which the grammar cannot derive with their brackets: "
        f"{_places(sentences)}"
    )


def name_too_long(divided: Divided) -> None:
    """Where the sentences stand that are too long to be trained on."""
    sentences = divided.left_out
    note(f"left out {len(sentences)} sentences, {divided.reason} (--max-length): {_places(sentences)}")


def _places(sentences: list[BracketedSentence]) -> str:
    places = ", ".join(f"{sentence.source}:{sentence.line}" for sentence in sentences[:NAMED])
    return places + (", ..." if len(sentences) > NAMED else "")
