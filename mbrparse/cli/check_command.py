"""``mbrparse check``: what is malformed or suspicious in a treebank."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import click

from mbrparse.cli.commands import option_group
from mbrparse.cli.messages import note, with_progress
from mbrparse.cli.options import CorpusOptions, check_outputs, option, output_option
from mbrparse.errors import visible
from mbrparse.files import open_output


@click.command()
@click.argument("treebanks", nargs=-1, required=True, metavar="TREEBANK...")
@option("--format", choices=["text", "json"], default="text", help="json: an object a line.")
@option_group("reading", CorpusOptions)
@output_option()
def check(treebanks: tuple[str, ...], format: Any, reading: CorpusOptions, output: str) -> None:
    """Name every malformed tree of a treebank, and count what is suspicious, or removed, as it is read.

    TREEBANK is what binarize takes: a file, "-", a folder, a zip, a glob, or a name that corpora lists. What
    is suspicious can be read, but likely means something else; its first place is printed, and its number
    in brackets. The exit status is 1 if any tree is malformed.
    """
    from pathlib import Path

    from mbrparse.treebank.corpora.treebank_statistics import check_treebank, likely_reader

    check_outputs([("--output", output)], [("TREEBANK", path) for path in treebanks])
    malformed = 0
    with open_output(output) as stream:
        for spec in treebanks:
            for found in check_treebank(spec, reading, partial(with_progress, title="checking")):
                malformed += found.kind == "malformed"
                if format == "json":
                    stream.write(json.dumps(found._asdict(), ensure_ascii=False) + "\n")
                    continue
                place = f"{found.source}:{found.line}" if found.line else found.source
                kind = "" if found.kind == "malformed" else f"{found.kind} ({found.number:,}): "
                stream.write(visible(f"{place}: {kind}{found.what}") + "\n")
            if Path(spec).exists() and (reader := likely_reader(spec, reading)) != spec:
                note(f"{spec} looks like another style: name its reader, {reader}")
    note(f"malformed trees: {malformed:,}")
    if malformed:
        raise click.exceptions.Exit(1)
