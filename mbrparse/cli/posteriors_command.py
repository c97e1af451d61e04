"""``mbrparse posteriors``: one sentence's chart, as a table and as pictures."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING, Any

import click

from mbrparse.cli.commands import option_group
from mbrparse.cli.messages import compilation_noted, note
from mbrparse.cli.model_options import InputOptions, combinations_checked
from mbrparse.cli.options import (
    Finite,
    check_outputs,
    count_option,
    option,
    output_option,
    prune_option,
)
from mbrparse.files import STANDARD, atomic_outputs, open_output, open_output_bytes

if TYPE_CHECKING:
    from mbrparse.decode.parser.sentences import Line


#: Cells of more words than these make a table of more than 100 MB.
_WIDEST = 2000


@click.command()
@click.argument("input", required=False)
@option_group("source", InputOptions)
@count_option("--line", help="The number of the sentence, from 1.", default=1)
@option("--threshold", type=Finite(min=0, max=1), default=0.01, help="Leave out less probable constituents.")
@option(
    "--format",
    "layout",
    choices=["table", "tsv"],
    default="table",
    help="A triangle of cells, or a tab-separated line for each span and label.",
)
@option("--svg", metavar="PATH", help="Draw the chart here, as an SVG image.")
@option("--png", metavar="PATH", help="Draw the chart here, as a PNG image.")
@option("--pdf", metavar="PATH", help="Draw the chart here, as a PDF page.")
@prune_option()
@output_option()
def posteriors(
    input: str | None,
    source: InputOptions,
    line: int,
    threshold: float,
    layout: str,
    prune: float,
    output: str,
    **images: str | None,
) -> None:
    """Show a sentence's chart: the most probable constituent over each span, with its posterior in per cent.

    Rows are first words, columns last words. INPUT holds trees or lines of tokens (default: standard input);
    --line chooses one. With --posteriors, INPUT may be left out: words are then shown by their numbers.
    """
    from mbrparse.decode.chart_picture import cells, draw_cells, heat_table, listing
    from mbrparse.errors import MbrparseError

    if (not source.grammars) == (not source.posteriors):
        raise click.UsageError("Give either --grammar or --posteriors.")
    if not source.posteriors:
        source.check_mix()
    text = STANDARD if not source.posteriors and input is None else input
    check_outputs(
        [("--output", output), *((f"--{form}", path) for form, path in images.items())],
        [("INPUT", text), *source.files],
    )
    read, reason, found = _of_sentence(text, source, line, prune)
    if found is None:
        raise MbrparseError(
            f"sentence {line} has no chart: {reason}",
            source=read.source,
            remedy="choose another sentence: --line N",
        )
    words = [leaf.label if leaf.word is None else leaf.word for leaf in read.sentence]
    shown = cells(found, threshold)
    if len(words) > _WIDEST and (layout == "table" or any(images.values())):
        raise MbrparseError(
            f"sentence {line} has {len(words):,} words: a table or picture holds {_WIDEST:,} at most",
            source=read.source,
            remedy="--format tsv lists the spans",
        )
    with atomic_outputs():
        with open_output(output) as stream:
            if layout == "tsv":
                stream.writelines(listing(cells(found, threshold, every_label=True), words))
            else:
                onto_terminal = output == STANDARD and sys.stdout.isatty()
                width = shutil.get_terminal_size().columns if onto_terminal else None
                colours = onto_terminal and "NO_COLOR" not in os.environ
                stream.write(heat_table(shown, words, width, colours))
        for form, path in images.items():
            if path is not None:
                with open_output_bytes(path) as image:
                    image.write(draw_cells(shown, words, form))


def _of_sentence(
    input: str | None, given: InputOptions, line: int, prune: float
) -> tuple[Line, str | None, Any]:
    """The sentence, why it has no chart, and its posteriors."""
    from mbrparse.decode.parser.parser import Parser
    from mbrparse.decode.parser.sentences import Line, sentence_of_line, untokenized
    from mbrparse.decode.parser.sources import LONGEST
    from mbrparse.errors import CorpusError
    from mbrparse.treebank.tree import Tree

    known: Any = given.read_grammars() if given.grammars else given.given()
    with combinations_checked():
        parser: Any = Parser(known, "labelled-recall", expectations=True, prune=prune)
    if input is not None:
        read = sentence_of_line(input, line, given.read_form, given.encoding)
        remark = untokenized(parser.source.grammar, [read.sentence]) if given.grammars else None
        if remark and not given.tokenize:
            note(remark)
    else:
        if line > len(known.lengths):
            raise CorpusError(
                f"there is no sentence {line}: the file holds {len(known.lengths)}", source=known.source
            )
        length = int(known.lengths[line - 1])
        if length > LONGEST:
            raise CorpusError(
                f"sentence {line} has {length:,} words, of {LONGEST:,} at most", source=known.source
            )
        numbers = tuple(Tree(str(place)) for place in range(length))
        read = Line(numbers, line - 1, False, known.source)
    with compilation_noted():
        found = parser.evidence(read)
    return read, found.reason, found.posteriors
