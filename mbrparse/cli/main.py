"""The ``mbrparse`` command: finds its subcommands, and turns errors into one line and an exit code."""

from __future__ import annotations

import errno
import os
import signal
import sys
from contextlib import suppress
from typing import NoReturn

import click

from mbrparse.aside import left_running
from mbrparse.cli import signals, streams
from mbrparse.cli.interrupts import interruptible
from mbrparse.cli.lazy import LazyGroup
from mbrparse.cli.options import note
from mbrparse.errors import FileError, MbrparseError, visible
from mbrparse.replacements import unwritable
from mbrparse.version import __version__

# name of the command (and of its function, with _ for -; its module ends in _command): its line in the help
COMMANDS = {
    "corpora": "List the treebanks that are known, and where they are.",
    "binarize": "Clean and binarize a treebank.",
    "debinarize": "Turn binarized trees back into n-ary ones.",
    "split": "Split trees into a training and a test part.",
    "train": "Train a grammar: by counting trees, or inside-outside from bracketed text.",
    "grammar": "Show, or convert, a grammar.",
    "sample": "Sample trees from a grammar.",
    "parse": "Parse sentences for one objective or several.",
    "score": "Score given trees: log probabilities and expectations.",
    "posteriors": "Show a sentence's chart: the posteriors of its spans.",
    "evaluate": "Compare parses with gold trees: a table of criteria.",
    "experiment": "Run an experiment: a paper's, or a check of the parser.",
    "show": "Draw trees in the terminal, or as SVG.",
}


@click.command(
    cls=LazyGroup,
    package="mbrparse.cli",
    lines=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, "--version", message="mbrparse %(version)s")
def cli() -> None:
    """Parse a sentence for the measure it will be judged by.

    The way through: binarize, split, train, parse, evaluate. In all commands "-" is standard input
    or output.
    """


_OUT_OF_MEMORY = MbrparseError(
    "out of memory",
    remedy="give it less at a time (shorter sentences, a smaller grammar or file, fewer --jobs)",
)

# What a full disk, a closed stream and a broken device answer.
_UNWRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EBADF, errno.EIO)


def main() -> NoReturn:
    """Run the command line; the only place where errors become exit codes."""
    streams.stand_in_for_closed()
    with signals.as_interrupts() as received, interruptible():
        code, failure = _run(received)
        lost = streams.flush_output()
    if isinstance(lost, BrokenPipeError):
        failure = None
    elif lost is not None and failure is None:
        failure, code = unwritable("<stdout>", lost), code or 1
    if failure is not None:
        note(str(failure))
        streams.flush_output()
    if code > 128 and left_running():
        # What the command waited for when it was interrupted goes on in a thread; nobody waits for its end.
        os._exit(code)
    sys.exit(code)


def _run(received: list[int]) -> tuple[int, Exception | None]:
    """Run a command; its exit code, and what there is to say."""
    try:
        with cli.make_context("mbrparse", sys.argv[1:]) as context:
            cli.invoke(context)
    except click.exceptions.Exit as leave:
        return leave.exit_code, None
    except click.ClickException as error:
        _show(error)
        return error.exit_code, None
    except (MbrparseError, MemoryError) as error:
        return 1, error if isinstance(error, MbrparseError) else _OUT_OF_MEMORY
    except (click.Abort, KeyboardInterrupt) as interruption:
        # 130 for Ctrl-C, 143 for SIGTERM, as shells have it.
        number = received[0] if received else signal.SIGINT
        by = f" ({signal.Signals(number).name})" if received else ""
        note(" ".join((f"interrupted{by}", *map(str, interruption.args))))
        return 128 + number, None
    except BrokenPipeError:
        # The reader of our output has left (| head): it has what it wanted, and there is nothing to say.
        # Where files were to be written besides, FileError says that they are not (``together``).
        return 0, None
    except OSError as error:
        # What is opened by name says so itself: here it is what is printed, or what nobody has thought of.
        if error.filename is None and error.errno in _UNWRITTEN:
            return 1, unwritable("<stdout>", error)
        return 1, FileError(f"failed ({error.strerror or error})", source=error.filename)
    return 0, None


def _show(error: click.ClickException) -> None:
    if not isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.__dict__["message"] = visible(error.message)  # which click calls final
    with suppress(OSError):
        error.show()
