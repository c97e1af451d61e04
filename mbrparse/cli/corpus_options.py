"""How treebanks are read, and what is written beside their trees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import mbrparse as mp
from mbrparse.cli import commands, options
from mbrparse.files import sidecar
from mbrparse.treebank.clean import categories


def on_error(help: str) -> Any:
    """``--on-error stop|skip`` of commands that read treebanks."""
    return commands.option(choices=["stop", "skip"], default="stop", help=help)


def no_ids() -> Any:
    """``--no-ids`` of commands that write prepared trees."""
    what = "Write no PATH.places, the file with each tree's file, line and ID in the corpus."
    return commands.option(is_flag=True, help=what)


def functions() -> Any:
    """``--functions``: how categories are cut from a corpus's labels."""
    return options.checked(
        "strip|keep|after:CHARS|before:CHARS",
        categories,
        default="strip",
        help="Cut labels to categories, or keep them whole. strip follows the corpus; in files it cuts at "
        "the first - or =, as after:-= does (before:+ cuts UTT+np to np).",
    )


def _reading(name: str, metavar: str, help: str) -> Any:
    def check(text: str) -> None:
        mp.CorpusReading(**{name: text})  # type: ignore[arg-type]

    return options.checked(metavar, check, default="", show_default=False, help=help)


@dataclass(frozen=True)
class CorpusOptions(mp.CorpusReading):
    """How a treebank is read."""

    encoding: str = commands.option(
        type=commands.Text(),
        default="utf-8",
        help="Encoding of the input. Of a list (utf-8,latin-1) each file has the first that fits.",
    )
    leaves: Any = commands.option(
        choices=["word", "lemma", "both"],
        help="What leaves are, where the corpus has lemmas (both: word-lemma).",
    )
    drop: str = _reading(
        "drop", "LABEL,...", "Remove constituents and tags labelled so (* and ? are wildcards)."
    )
    roots: str = _reading(
        "roots", "LABEL,...", "Remove roots labelled so over one constituent, as TOP, ROOT and S1 are."
    )
    ids: str = _reading("ids", "LABEL,...", "Labels of the names of trees, such as ID; they are removed.")
    terminals_below: str = _reading(
        "terminals_below",
        "LEMMA=FORM",
        "Labels below a tag: lemma=form reads (NN (form dogs) (lemma dog)), lemma= (NN dogs (lemma dog)).",
    )
    empty: str = _reading("empty", "REGEX", "Remove leaves whose word matches, as empty elements: '\\*.*'.")
    leaf: str = _reading(
        "leaf",
        "REGEX",
        "How leaves are written, with groups word, tag, id: '(?P<word>.+)/(?P<tag>.+)' reads dog/NN; "
        "'(word)' reads (NN (dog)).",
    )
    field: str = _reading("field", "NAME", "The field of the trees, in JSON lines and in tables.")
    column: int | None = commands.count_option(
        help="The column of the bracket parts, in files of columns (default: the first that fits)."
    )
    discontinuous: Any = commands.option(
        choices=["raise", "refuse"],
        default="raise",
        help="Raise what lies beyond a gap out of its constituent, or refuse such trees as malformed.",
    )


def with_places(outputs: Mapping[str, str | None], no_ids: bool = False) -> dict[str, str | None]:
    """Outputs that are files of trees, and the sidecars that are written with them."""
    beside = {f"the places of {name}": sidecar(path) for name, path in outputs.items() if path is not None}
    return {**outputs, **({} if no_ids else beside)}
