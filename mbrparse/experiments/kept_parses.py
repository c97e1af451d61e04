"""Parses of an experiment, which keeps finished blocks of sentences while it parses."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from mbrparse.decode.parser.parse_files import ParseAccount, write_parses
from mbrparse.decode.parser.parse_input import Job, parse_all
from mbrparse.decode.parser.sentences import read_files
from mbrparse.decode.parser.stored_lines import BLOCK, CODEC_WITHOUT_CANDIDATES, settings_of
from mbrparse.decode.posteriors.posteriors_file import PosteriorsWriter
from mbrparse.log import Log, Progress
from mbrparse.run.jobs import Jobs
from mbrparse.run.manifest import WHOLE, Manifest
from mbrparse.run.work_folder import work_folder


def parse_kept(
    job: Job,
    gold: Path,
    trees: Sequence[Path],
    jobs: Jobs,
    log: Log,
    progress: Progress,
    details: Path | None = None,
    posteriors: tuple[PosteriorsWriter, Path] | None = None,
) -> ParseAccount:
    """Parse the sentences of ``gold`` into a file for each objective.

    Until all are there, finished blocks of sentences are in a folder beside the first file, named after it;
    the next call goes on with them. Raises InputMismatchError where they are of other sentences or settings.
    """
    work = trees[0].with_suffix(".work")
    with work_folder(
        work, Manifest(settings_of(job, False), WHOLE), CODEC_WITHOUT_CANDIDATES, True, log
    ) as kept:
        chunks = kept.wanted(read_files([gold], "trees", size=BLOCK))
        with gold.open(encoding="utf-8") as lines:
            total = sum(1 for _ in lines)
        results = progress(parse_all(job, chunks, jobs, log, kept=kept.kept), "parsing", total)
        account = write_parses(results, trees, details, posteriors)
    shutil.rmtree(work)
    return account
