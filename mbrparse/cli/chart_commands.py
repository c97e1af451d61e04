"""``mbrparse posteriors`` and ``explain``: one sentence's chart, as a table, as pictures and as a page."""

from __future__ import annotations

import os
import shutil
import sys
from functools import partial
from typing import Any

import click

import mbrparse as mp
from mbrparse import errors, files
from mbrparse.cli import messages, model_options, objective_options, options
from mbrparse.cli.commands import Finite, InputFile, argument, command, count_option, group, option
from mbrparse.decode.objectives import OBJECTIVES

#: Cells of more words than these make a table of more than 100 MB.
_WIDEST = 2000


@command
def posteriors(
    input: str | None = argument(required=False),
    source: model_options.InputOptions = group(model_options.InputOptions),
    line: int = count_option(help="The number of the sentence, from 1.", default=1),
    threshold: float = option(
        type=Finite(min=0, max=1), default=0.01, help="Leave out less probable constituents."
    ),
    layout: str = option(
        "--format",
        choices=["table", "tsv"],
        default="table",
        help="A triangle of cells, or a tab-separated line for each span and label.",
    ),
    images: options.ImageOptions = group(options.ImageOptions),
    prune: float = options.prune(),
    output: str = options.output(),
) -> None:
    """Show a sentence's chart: the most probable constituent over each span, with its posterior in per cent.

    Rows are first words, columns last words. INPUT holds trees or lines of tokens (default: standard input);
    --line chooses one. With --posteriors, INPUT may be left out: words are then shown by their numbers.
    """
    from mbrparse.decode.chart_picture import cells, draw_cells, heat_table, listing
    from mbrparse.decode.parser import sentences
    from mbrparse.decode.parser.sources import LONGEST

    text = files.STANDARD if not source.posteriors and input is None else input
    source.check()
    options.check_outputs({"--output": output, **images.files}, {"INPUT": text, **source.files})
    known: Any = source.read_grammars() if source.grammars else source.given()
    parser: Any = mp.Parser(known, "labelled-recall", expectations=True, prune=prune)
    if text is None:
        # The words' numbers stand for them.
        if line > len(known.lengths):
            message = f"there is no sentence {line}: the file holds {len(known.lengths)}"
            raise errors.CorpusError(message, source=known.source)
        length = int(known.lengths[line - 1])
        if length > LONGEST:
            message = f"sentence {line} has {length:,} words, of {LONGEST:,} at most"
            raise errors.CorpusError(message, source=known.source)
        numbers = tuple(mp.Tree(str(place)) for place in range(length))
        read = sentences.Line(numbers, line - 1, False, known.source)
    else:
        read = sentences.sentence_of_line(text, line, source.read_form, source.encoding)
        plain = source.grammars and not source.tokenize
        if plain and (remark := sentences.untokenized(parser.source.grammar, [read.sentence])):
            messages.note(remark)
    with messages.compilation_noted():
        answer = parser.evidence(read)
    found = answer.posteriors
    if found is None:
        raise mp.MbrparseError(
            f"sentence {line} has no chart: {answer.reason}",
            source=read.source,
            remedy="choose another sentence: --line N",
        )
    words = [leaf.label if leaf.word is None else leaf.word for leaf in read.sentence]
    shown = cells(found, threshold)
    if len(words) > _WIDEST and (layout == "table" or images.files):
        raise mp.MbrparseError(
            f"sentence {line} has {len(words):,} words: a table or picture holds {_WIDEST:,} at most",
            source=read.source,
            remedy="--format tsv lists the spans",
        )
    with files.atomic_outputs():
        with files.open_output(output) as stream:
            if layout == "tsv":
                places = read.written if read.cut else ()
                stream.writelines(listing(cells(found, threshold, every_label=True), words, places))
            else:
                onto_terminal = output == files.STANDARD and sys.stdout.isatty()
                width = shutil.get_terminal_size().columns if onto_terminal else None
                colours = onto_terminal and "NO_COLOR" not in os.environ
                stream.write(heat_table(shown, words, width, colours))
        images.write(partial(draw_cells, shown, words))


@command
def explain(
    words: tuple[str, ...] = argument(metavar="[SENTENCE]...", nargs=-1),
    grammar: str = model_options.grammar_option(required=True),
    normalize: bool = model_options.normalize_option(),
    start: str | None = model_options.start_option(),
    input: str | None = option(
        "--file", type=InputFile(), help="Instead of SENTENCE: trees or lines of tokens."
    ),
    line: int = count_option(help="The number of the sentence in --file, from 1.", default=1),
    objectives: tuple[str, ...] = objective_options.objective_option(
        [name for name in OBJECTIVES if name != "minimum-risk"],
        help="Whose tree is shown (repeatable).  [default: labelled-tree, labelled-recall, "
        "bracketed-recall, general-recall, labelled-f]",
    ),
    readings: int = count_option(default=20, most=1000, help="The number of most probable trees to draw."),
    incremental: bool = option(
        is_flag=True,
        help="Go word by word instead: draw so many partial trees after each, and which of them die.",
    ),
    tokenize: bool = model_options.tokenize_option(),
    encoding: str = options.encoding(),
    output: str = options.output("Where to write the page (default: standard output)."),
) -> None:
    """Write an HTML page of one sentence: its chart, its readings, and each objective's tree with its gains.

    A browser opens it without a server: mbrparse explain -g toy.nltk "she saw the dog" -o page.html
    """
    from mbrparse.decode.parser import sentences
    from mbrparse.grammar.grammar_files import read_any_grammar

    if bool(words) == (input is not None):
        raise click.UsageError("Give either a SENTENCE or --file.")
    if incremental:
        options.refuse(["objectives"], "no --incremental")
    options.check_outputs({"--output": output}, {"--file": input, "--grammar": grammar})
    text = " ".join(words)
    known = read_any_grammar(grammar, normalize=normalize, start=start, log=messages.note)
    if input is None:
        [[sentence], _] = sentences.sentences_from([mp.tokenize(text) if tokenize else text])
    else:
        sentence = sentences.sentence_of_line(input, line, "text" if tokenize else None, encoding).sentence
    if not tokenize and (remark := sentences.untokenized(known.pcfg, [sentence])):
        messages.note(remark)
    with messages.compilation_noted():
        page: Any
        if incremental:
            page = mp.explain_incremental(known, sentence, readings)
        else:
            page = mp.explain(known, sentence, *objectives, readings=readings)
    page.write(output)
