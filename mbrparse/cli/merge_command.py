"""``mbrparse merge``: the results of shards, as the files that one run would have written."""

from __future__ import annotations

import click

from mbrparse.cli.options import check_outputs, note, output_option, with_progress


@click.command()
@click.argument("parts", metavar="PART...", nargs=-1, required=True)
@output_option("Where to write; with several objectives a pattern such as build/{objective}.mrg.")
@click.option("--details", metavar="FILE", help="Write the details, if parse had --details.")
@click.option(
    "--write-posteriors", metavar="FILE.npz", help="Write the posteriors, if parse had --write-posteriors."
)
@click.option("--candidates", metavar="FILE", help="Write the candidates, if parse had --candidates.")
def merge(
    parts: tuple[str, ...],
    output: str,
    details: str | None,
    write_posteriors: str | None,
    candidates: str | None,
) -> None:
    """Merge the shards of a run of parse into the files that one run would have written.

    PARTs are the folders of mbrparse parse --shard I/N --work FOLDER, for each I from 1 to N, in any order.
    They are checked first: none may be missing, given twice, unfinished or damaged, and all must have been
    parsed by one version with the same grammar, input and options.
    """
    from mbrparse.cli.file_options import output_paths
    from mbrparse.decode.parser.parse_files import write_parses
    from mbrparse.decode.parser.parse_input import numbered
    from mbrparse.decode.parser.stored_lines import CODEC, writer_of
    from mbrparse.run.manifest import NAME
    from mbrparse.run.shard_folders import ShardFolders
    from mbrparse.run.work_folder import BLOCKS

    merged = ShardFolders(parts, CODEC, with_progress)
    writer = writer_of(merged.manifest)
    paths = output_paths(output, merged.manifest.objectives)
    kept = {
        "--details": (details, merged.manifest.settings["details"]),
        "--write-posteriors": (write_posteriors, writer is not None),
        "--candidates": (candidates, merged.manifest.settings["candidates"]),
    }
    for option, (path, there) in kept.items():
        if path is not None and not there:
            raise click.UsageError(f"{option}: the parts have none: parse was run without {option}.")
    check_outputs(
        [*(("--output", path) for path in paths), *((option, path) for option, (path, _) in kept.items())],
        [("PART", f"{part}/{name}") for part in parts for name in (NAME, BLOCKS)],
    )
    collected = None if writer is None or write_posteriors is None else (writer, write_posteriors)
    results = with_progress(numbered(merged.lines()), "merging", merged.sentences)
    account = write_parses(results, paths, details, collected, candidates=candidates)
    for option, (path, there) in kept.items():
        if there and path is None:
            note(f"not written, though the parts have it: {option} FILE")
    note(str(account))
