"""Reading text of a style, without files."""

from collections.abc import Callable

from mbrparse.errors import MbrparseError
from mbrparse.treebank.brackets import ReadTree
from mbrparse.treebank.formats.conventions import (
    AS_USUAL,
    CorpusReading,
    Reading,
    Removals,
    conformed,
)
from mbrparse.treebank.formats.formats import FORMATS
from mbrparse.treebank.formats.styles import STYLES


def read_style(
    style: str,
    text: str,
    own: CorpusReading = AS_USUAL,
    on_error: Callable[[MbrparseError], None] | None = None,
) -> tuple[list[ReadTree], Removals]:
    """The trees of a file called a.psd, and what was removed."""
    reading = Reading(STYLES[style].joined(own), own, on_error)
    trees = FORMATS[reading.conventions.format or "brackets"].read(
        text.splitlines(keepends=True), "a.psd", reading
    )
    return list(conformed(trees, reading)), reading.removed
