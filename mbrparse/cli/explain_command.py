"""``mbrparse explain``: a page of one sentence, its chart, readings and objectives."""

from __future__ import annotations

import click

from mbrparse.cli.messages import compilation_noted, note
from mbrparse.cli.model_options import (
    ObjectiveChoice,
    combinations_checked,
    grammar_option,
    normalize_option,
    tokenize_option,
)
from mbrparse.cli.options import (
    InputFile,
    check_outputs,
    count_option,
    encoding_option,
    option,
    output_option,
)
from mbrparse.decode.objectives import OBJECTIVES


@click.command()
@click.argument("words", metavar="[SENTENCE]...", nargs=-1)
@grammar_option(required=True)
@normalize_option()
@option("--file", "input", type=InputFile(), help="Instead of SENTENCE: trees or lines of tokens.")
@count_option("--line", help="The number of the sentence in --file, from 1.", default=1)
@option(
    "--objective",
    "objectives",
    type=ObjectiveChoice([name for name in OBJECTIVES if name != "minimum-risk"]),
    metavar="NAME",
    multiple=True,
    help="Whose tree is shown (repeatable).  [default: labelled-tree, labelled-recall, bracketed-recall, "
    "general-recall, labelled-f]",
)
@count_option("--readings", default=20, help="The number of most probable trees to draw.")
@tokenize_option()
@encoding_option()
@output_option("Where to write the page (default: standard output).")
def explain(
    words: tuple[str, ...],
    grammar: str,
    normalize: bool,
    input: str | None,
    line: int,
    objectives: tuple[str, ...],
    readings: int,
    tokenize: bool,
    encoding: str,
    output: str,
) -> None:
    """Write an HTML page of one sentence: its chart, its readings, and each objective's tree with its gains.

    A browser opens it without a server: mbrparse explain -g toy.nltk "she saw the dog" -o page.html
    """
    from mbrparse.decode.explain.explanation import explain as explained
    from mbrparse.decode.parser.sentences import sentence_of_line, sentences_from, untokenized
    from mbrparse.decode.parser.sentences import tokenize as read_words
    from mbrparse.grammar.grammar_files import read_any_grammar

    if bool(words) == (input is not None):
        raise click.UsageError("Give either a SENTENCE or --file.")
    check_outputs([("--output", output)], [("--file", input), ("--grammar", grammar)])
    text = " ".join(words)
    known = read_any_grammar(grammar, normalize=normalize, log=note)
    if input is None:
        [[sentence], _] = sentences_from([read_words(text) if tokenize else text])
    else:
        sentence = sentence_of_line(input, line, "text" if tokenize else None, encoding).sentence
    if not tokenize and (remark := untokenized(known.pcfg, [sentence])):
        note(remark)
    with combinations_checked(), compilation_noted():
        found = explained(known, sentence, *dict.fromkeys(objectives), readings=readings)
    found.write(output)
