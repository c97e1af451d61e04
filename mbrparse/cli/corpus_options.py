"""Options of the commands that read a treebank: its encoding, and conventions of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click

from mbrparse.cli.option_types import Text
from mbrparse.cli.options import option, with_dashes
from mbrparse.errors import MbrparseError
from mbrparse.treebank.formats.conventions import CorpusReading


def _text(name: str, metavar: str, help: str) -> Any:
    def checked(text: str) -> str:
        try:
            CorpusReading(**{name: text})  # type: ignore[arg-type]
        except MbrparseError as error:
            raise click.BadParameter(with_dashes(error)) from None
        return text

    return option(type=Text(metavar, checked), default="", show_default=False, help=help)


@dataclass(frozen=True)
class CorpusOptions(CorpusReading):
    """How a treebank is read."""

    encoding: str = option(
        type=Text(),
        default="utf-8",
        help="Encoding of the input; of several (utf-8,latin-1) the first that all of a file fits.",
    )
    leaves: Any = option(
        choices=["word", "lemma", "both"],
        help="The leaves, where the corpus gives lemmas (both: word-lemma).",
    )
    drop: str = _text(
        "drop", "LABEL,...", "Remove constituents and tags labelled so (* and ? are wildcards)."
    )
    roots: str = _text(
        "roots", "LABEL,...", "Remove roots labelled so over one constituent, as TOP, ROOT and S1 are."
    )
    ids: str = _text("ids", "LABEL,...", "Labels of the names of trees, such as ID; they are removed.")
    terminals_below: str = _text(
        "terminals_below",
        "LEMMA=FORM",
        "Labels below a tag: lemma=form reads (NN (form dogs) (lemma dog)), lemma= (NN dogs (lemma dog)).",
    )
