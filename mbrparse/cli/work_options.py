"""The options of ``mbrparse parse`` for long runs: jobs, shards, resuming, a log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from mbrparse.cli.commands import option_group
from mbrparse.cli.objective_options import combinations_checked
from mbrparse.cli.options import jobs_option, note
from mbrparse.cli.watching import log_option

if TYPE_CHECKING:
    from mbrparse.decode.parser.parse_files import Lines
    from mbrparse.decode.parser.parse_input import Job
    from mbrparse.run.manifest import Shard
    from mbrparse.run.work_folder import WorkFolder

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True)
class WorkOptions:
    """Who does the work, and what is kept of it on the way."""

    jobs: Any
    log: str | None
    work: str | None
    resume: bool
    shard: str | None

    def part(self, pooled: bool) -> Shard | None:
        """The shard, if one is asked for; a usage error for options that lack others."""
        for option, given in (("--shard", self.shard is not None), ("--resume", self.resume)):
            if given and self.work is None:
                raise click.UsageError(f"{option} needs --work FOLDER.")
        if self.shard is None:
            return None
        if pooled:
            raise click.UsageError(
                "--pooled looks at all sentences, of which a --shard has some: give the --objective and the "
                "--node-cost that a run with --pooled over some of the input names."
            )
        from mbrparse.run.manifest import Shard

        with combinations_checked():
            return Shard.parse(self.shard)

    @contextmanager
    def folder(self, part: Shard | None, job: Job, candidates: bool) -> Iterator[WorkFolder[Lines] | None]:
        """The work folder, if one is asked for; an interruption says what the folder keeps."""
        if self.work is None:
            yield None
            return
        from mbrparse.decode.parser.stored_lines import CODEC, CODEC_WITHOUT_CANDIDATES, settings_of
        from mbrparse.run.manifest import WHOLE, Manifest
        from mbrparse.run.work_folder import work_folder

        manifest = Manifest(settings_of(job, candidates), part or WHOLE)
        codec = CODEC if candidates else CODEC_WITHOUT_CANDIDATES
        with work_folder(self.work, manifest, codec, self.resume, note) as folder:
            try:
                yield folder
            except KeyboardInterrupt:
                raise KeyboardInterrupt(
                    f"after {folder.sentences} sentences: {self.work} keeps them, --resume goes on"
                ) from None


def work_options() -> Callable[[Command], Command]:
    """The group ``machines``."""
    return option_group(
        "machines",
        WorkOptions,
        "Long runs and many machines",
        jobs_option(),
        log_option(),
        click.option(
            "--work",
            metavar="FOLDER",
            help="Keep finished sentences there, so that a run that was killed can be resumed.",
        ),
        click.option(
            "--resume",
            is_flag=True,
            help="Go on with what is in the --work folder, if anything is, to the same output.",
        ),
        click.option(
            "--shard",
            metavar="I/N",
            help="Parse the I-th of N parts of the input into the --work folder; when all parts are there, "
            "mbrparse merge writes --output and the other files.",
        ),
    )
