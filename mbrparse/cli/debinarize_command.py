"""``mbrparse debinarize``: turn binarized trees back into n-ary ones."""

from __future__ import annotations

import click

from mbrparse.cli.file_options import label_marks, label_marks_options
from mbrparse.cli.options import check_outputs, encoding_option, output_option, with_progress


@click.command()
@click.argument("input", default="-")
@output_option()
@label_marks_options
@encoding_option()
def debinarize(input: str, output: str, joiner: str | None, continuation: str | None, encoding: str) -> None:
    """Turn binarized trees (or a parser's output) back into n-ary ones.

    Continuations are spliced out, annotations dropped, joined chains expanded; empty parses stay.
    """
    from mbrparse.errors import CorpusError, LabelError
    from mbrparse.files import open_output, source_name
    from mbrparse.treebank.binarize import debinarize as undo
    from mbrparse.treebank.brackets import read_parse_file, write_tree
    from mbrparse.treebank.labels import translated

    check_outputs([("--output", output)], rewritten=[("INPUT", input)])
    marks = label_marks(joiner, continuation)
    source, line = source_name(input), 0
    with open_output(output) as stream:
        for line, tree in with_progress(read_parse_file(input, encoding), "debinarizing"):
            try:
                ours = tree if tree is None or marks is None else translated(tree, marks)
                write_tree(None if ours is None else undo(ours), stream)
            except LabelError as error:
                remedy = (
                    "for another program's labels, give --joiner with what joins its chains ('' for nothing)"
                )
                raise LabelError(error.message, source=source, line=line, remedy=remedy) from None
        if line == 0:
            raise CorpusError("no trees in the input", source=source)
