"""Reading text of a style, without files."""

from mbrparse.treebank.brackets import ReadTree
from mbrparse.treebank.formats.conventions import (
    AS_USUAL,
    CorpusReading,
    ErrorHandler,
    Reading,
    Removals,
    conformed,
)
from mbrparse.treebank.formats.styles import STYLES


def read_style(
    style: str, text: str, own: CorpusReading = AS_USUAL, on_error: ErrorHandler = None
) -> tuple[list[ReadTree], Removals]:
    """The trees of a file called a.psd, and what was removed."""
    reading = Reading(STYLES[style].joined(own), on_error)
    return list(conformed(text.splitlines(keepends=True), "a.psd", reading)), reading.removed
