"""``mbrparse parse --work FOLDER``, ``--resume``, ``--shard I/N``: finished blocks are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from mbrparse.cli.objective_options import combinations_checked
from mbrparse.cli.options import note

if TYPE_CHECKING:
    from mbrparse.decode.lines import Lines
    from mbrparse.decode.run import Job
    from mbrparse.run.manifest import Shard
    from mbrparse.run.work_folder import WorkFolder

Command = TypeVar("Command", bound=Callable[..., Any])


def work_options(command: Command) -> Command:
    """``--work``, ``--resume`` and ``--shard``."""
    for option in (
        click.option(
            "--resume",
            is_flag=True,
            help="Go on with the work in the --work folder, if there is any; the output is the same.",
        ),
        click.option(
            "--work",
            metavar="FOLDER",
            help="Keep finished sentences there, so that a run that was killed can be resumed.",
        ),
        click.option(
            "--shard",
            metavar="I/N",
            help="Parse the I-th of N parts of the input, and leave the results in the --work folder: "
            "mbrparse merge writes --output and the other files when all parts are there.",
        ),
    ):
        command = option(command)
    return command


def chosen_shard(shard: str | None, work: str | None, resume: bool, pooled: bool) -> Shard | None:
    """The shard, if one is asked for; a usage error for options that lack others."""
    for option, given in (("--shard", shard is not None), ("--resume", resume)):
        if given and work is None:
            raise click.UsageError(f"{option} needs --work FOLDER.")
    if shard is None:
        return None
    if pooled:
        raise click.UsageError(
            "--pooled looks at all sentences, of which a --shard has some: give the --objective and the "
            "--node-cost that a run with --pooled over some of the input names."
        )
    from mbrparse.run.manifest import Shard

    with combinations_checked():
        return Shard.parse(shard)


@contextmanager
def opened(
    work: str | None, resume: bool, shard: Shard | None, job: Job, candidates: bool
) -> Iterator[WorkFolder[Lines] | None]:
    """The work folder, if one is asked for; an interruption says what it keeps."""
    if work is None:
        yield None
        return
    from mbrparse.decode.stored_lines import CODEC, CODEC_WITHOUT_CANDIDATES, settings_of
    from mbrparse.run.manifest import WHOLE, Manifest
    from mbrparse.run.work_folder import work_folder

    manifest = Manifest(settings_of(job, candidates), shard or WHOLE)
    codec = CODEC if candidates else CODEC_WITHOUT_CANDIDATES
    with work_folder(work, manifest, codec, resume, note) as folder:
        try:
            yield folder
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                f"after {folder.sentences} sentences: {work} keeps them, --resume goes on"
            ) from None
