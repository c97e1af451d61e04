"""``mbrparse parse --work FOLDER``, ``--resume``, ``--shard I/N``: blocks are kept as they are finished."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from mbrparse.cli.objective_options import combinations_checked
from mbrparse.cli.options import note

if TYPE_CHECKING:
    from mbrparse.decode.run import Job
    from mbrparse.decode.work.shard import Shard
    from mbrparse.decode.work.work_folder import WorkFolder

Command = TypeVar("Command", bound=Callable[..., Any])


def work_options(command: Command) -> Command:
    """``--work``, ``--resume`` and ``--shard``."""
    for option in (
        click.option(
            "--resume",
            is_flag=True,
            help="Go on with what is in the --work folder, if anything is, to the same output.",
        ),
        click.option(
            "--work",
            metavar="FOLDER",
            help="Keep there what is finished, so that a run that was killed can be resumed.",
        ),
        click.option(
            "--shard",
            metavar="I/N",
            help="Parse the I-th of N parts of the input, and leave what is found in the --work folder: "
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
    from mbrparse.decode.work.shard import Shard

    with combinations_checked():
        return Shard.parse(shard)


@contextmanager
def opened(
    work: str | None, resume: bool, shard: Shard | None, job: Job, candidates: bool
) -> Iterator[WorkFolder | None]:
    """The work folder, if one is asked for; who interrupts the run is told what it keeps."""
    if work is None:
        yield None
        return
    from mbrparse.decode.work.manifest import Manifest
    from mbrparse.decode.work.shard import WHOLE
    from mbrparse.decode.work.work_folder import work_folder

    with work_folder(work, Manifest.of(job, candidates, shard or WHOLE), resume, note) as folder:
        try:
            yield folder
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                f"after {folder.sentences} sentences: {work} keeps them, --resume goes on"
            ) from None
