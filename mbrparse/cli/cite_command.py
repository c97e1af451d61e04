"""``mbrparse cite`` and ``verify``: what a table's signature says, and whether files agree with it."""

from __future__ import annotations

from typing import Any

import click

from mbrparse.cli import options
from mbrparse.cli.commands import InputFile, argument, command, option
from mbrparse.errors import MbrparseError
from mbrparse.files import open_output


@command
def cite(
    signature: str = argument(metavar="SIGNATURE|FILE|DIR"),
    format: Any = option(
        choices=["text", "markdown", "latex"],
        default="text",
        help="LaTeX is a document to compile, with its bibliography.",
    ),
    output: str = options.output(),
) -> None:
    """Print how a table's figures were made, what to cite for them, and the commands that make it again.

    SIGNATURE is the last line of a table (in quotes), FILE a file of a table, DIR the folder of reproduce, of
    a grid or of an experiment.
    """
    from mbrparse.evaluate.citation import citation, signatures

    text = citation(signatures(signature), format)
    with open_output(output) as stream:
        stream.write(text)


@command
def verify(
    signature: str = argument(metavar="SIGNATURE|FILE"),
    paths: tuple[str, ...] = argument(nargs=-1, required=True, type=InputFile(), metavar="DIR|FILE..."),
) -> None:
    """Say which files agree with a table's signature: gold, parses, all that they were made from, cells.

    SIGNATURE is the last line of a table (in quotes), FILE a file of a table. Files are known by their names;
    those of a folder are looked at, but not those in folders below. Exits with 1 where one differs, or none
    is there.
    """
    from mbrparse.evaluate.citation import signatures
    from mbrparse.grid.verification import verified

    found = verified(signatures(signature), paths)
    for state, name, text in found:
        click.echo(f"{state:8}  {name}  {text}")
    states = [state for state, *_ in found]
    if "differs" in states:
        raise MbrparseError(f"{states.count('differs')} of {len(states)} differ from the signature")
    if "agrees" not in states:
        raise MbrparseError(
            "nothing that the signature names is here", remedy="give the files or their folders"
        )
