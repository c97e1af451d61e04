"""``mbrparse cite``: what to cite for a table, and how its figures were made."""

from __future__ import annotations

import click

from mbrparse.cli.options import output_option


@click.command()
@click.argument("signature", metavar="SIGNATURE|DIR")
@output_option()
def cite(signature: str, output: str) -> None:
    """Print what to cite for a table, in BibTeX, and a paragraph on how its figures were made.

    SIGNATURE is the last line of a table (in quotes), DIR the folder of reproduce or of an experiment.
    """
    from mbrparse.evaluate.citation import citation, signatures
    from mbrparse.files import open_output

    text = citation(signatures(signature))
    with open_output(output) as stream:
        stream.write(text)
