"""The ``mbrparse`` command: finds its subcommands, and turns errors into one line and an exit code."""

from __future__ import annotations

import errno
import gc
import os
import signal
import sys
import threading
from contextlib import suppress
from typing import NoReturn

import click

from mbrparse.cli.commands import LazyGroup
from mbrparse.cli.messages import note
from mbrparse.errors import FileError, MbrparseError, visible
from mbrparse.files import UNWRITTEN, unwritable
from mbrparse.version import __version__

# name of the command (and of its function, with _ for -; its module is in _MODULES, or ends in _command):
# its line in the help
COMMANDS = {
    "corpora": "List the known treebanks, and where they are.",
    "stats": "Count what is in a treebank: words, labels, rules, chains, lengths.",
    "check": "List malformed trees, and count suspicious ones.",
    "binarize": "Clean and binarize a treebank.",
    "debinarize": "Turn binarized trees back into n-ary ones.",
    "split": "Split trees into a training and a test part.",
    "train": "Train a grammar: by counting, inside-outside, split-merge or DOP.",
    "grammar": "Show or convert a grammar.",
    "sample": "Sample trees from a grammar.",
    "parse": "Parse sentences by minimum Bayes risk, or Viterbi.",
    "rerank": "Choose among candidates: of each sentence the best expected tree.",
    "combine": "Combine the trees of several parsers, or of one parser's list, by votes.",
    "score": "Score trees: log probabilities and expected matches.",
    "posteriors": "Show the posteriors of a sentence's spans as a chart.",
    "surprisal": "Print the surprisal of each word, given the words before.",
    "next": "Print what may come next in a sentence, with probabilities.",
    "masked": "Print what each word may be, given all the others.",
    "explain": "Write a page of one sentence: its chart, readings and objectives.",
    "baseline": "Write baseline trees: left, right, random or balanced.",
    "evaluate": "Compare parses with gold trees in a table of criteria.",
    "report": "Write an HTML page with the table, the sentences and their trees.",
    "cite": "Print what to cite for a table, and how it was made.",
    "reproduce": "Make Goodman's table from a treebank, in one command.",
    "grid": "Train and evaluate a parser for every combination of options.",
    "show": "Draw trees in the terminal, or as SVG or LaTeX.",
}


_MODULES = {
    "debinarize": "binarize_command",
    "reproduce": "grid_command",
    **dict.fromkeys(("corpora", "split", "baseline", "sample"), "treebank_commands"),
    **dict.fromkeys(("surprisal", "next", "masked"), "prefix_commands"),
}

#: Files with options, in the folder where a command is called (``config_file``).
CONFIG_FILES = ("mbrparse.toml", "pyproject.toml")


@click.command(
    cls=LazyGroup,
    lines=COMMANDS,
    modules=_MODULES,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, "--version", message="mbrparse %(version)s")
@click.option(
    "--config",
    metavar="FILE",
    help="Read options from this file (default: ./mbrparse.toml, which sets no outputs; docs/formats.md).",
)
@click.option("--no-config", is_flag=True, help="Read options from no file.")
@click.pass_context
def cli(context: click.Context, config: str | None, no_config: bool) -> None:
    """Parse sentences by minimum Bayes risk: for the criterion that the trees are evaluated by.

    The usual order of commands: binarize, split, train, parse, evaluate. In all commands "-" is standard
    input or output.
    """
    if config is not None and no_config:
        raise click.UsageError("Give --config or --no-config, not both.")
    if not no_config and (config is not None or any(map(os.path.lexists, CONFIG_FILES))):
        _configure(context, config)


def _configure(context: click.Context, config: str | None) -> None:
    """Use the options of a file as defaults, and print that."""
    from pathlib import Path

    from mbrparse.cli.config_file import config_in, defaults_of, read_config

    found = config_in(Path()) if config is None else (config, read_config(config))
    name = context.invoked_subcommand
    if found is None or name is None:
        return
    source, tables = found
    assert isinstance(context.command, click.Group)
    context.default_map = defaults_of(
        context.command, context, tables, name, source, named=config is not None
    )
    if context.default_map.get(name):
        note(f"options of {name} from {source} (--no-config ignores them)")


_OUT_OF_MEMORY = MbrparseError(
    "out of memory",
    remedy="use shorter sentences, a smaller grammar or file, or fewer --jobs",
)


def main(at_first: object = None) -> NoReturn:
    """Run the command line; the only place where errors become exit codes.

    SIGINT, SIGTERM and SIGHUP raise KeyboardInterrupt, unless they are ignored (``nohup``) or have another
    handler than Python's own or the one that was there ``at_first``.
    """
    stand_in_for_closed()
    # The threads of numpy's BLAS cost more to start than the few products of matrices gain by them.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Trees have no cycles: to look for some each few hundred objects doubles the time of reading them.
    gc.set_threshold(100_000, 50, 100)
    lost: OSError | None = None
    try:
        if signal.getsignal(signal.SIGINT) is at_first:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, _terminate)
        code, failure = _run()
        lost = flush_output()
    except KeyboardInterrupt as interruption:  # before the command began, or after its end
        code, failure = _interrupted(interruption), None
    if isinstance(lost, BrokenPipeError):
        failure = None
    elif lost is not None and failure is None:
        failure, code = unwritable("<stdout>", lost), code or 1
    if failure is not None:
        note(str(failure))
        flush_output()
    if code > 128 and any(not thread.daemon for thread in threading.enumerate()[1:]):
        # Threads that were interrupted at their work would be waited for.
        os._exit(code)
    sys.exit(code)


def _terminate(number: int, _: object) -> NoReturn:
    for other in (signal.SIGTERM, signal.SIGHUP):
        # A closing terminal, or a manager of services, sends both: once is enough to leave.
        signal.signal(other, signal.SIG_IGN)
    raise KeyboardInterrupt(signal.Signals(number))


def _run() -> tuple[int, Exception | None]:
    """Run a command; return its exit code, and the error to print."""
    try:
        if "_MBRPARSE_COMPLETE" in os.environ:  # a shell asks for completions
            cli.main(prog_name="mbrparse")
        with cli.make_context("mbrparse", sys.argv[1:]) as context:
            cli.invoke(context)
    except click.exceptions.Exit as leave:
        return leave.exit_code, None
    except click.ClickException as error:
        _show(error)
        return error.exit_code, None
    except MbrparseError as error:
        return 1, error
    except MemoryError:
        return 1, _OUT_OF_MEMORY
    except OSError as error:
        return _of_system(error)
    except KeyboardInterrupt as interruption:
        return _interrupted(interruption), None
    return 0, None


def _of_system(error: OSError) -> tuple[int, Exception | None]:
    """The exit code for an OSError that is none of a file that was opened, and what to print."""
    if error.errno == errno.ENOMEM:
        return 1, _OUT_OF_MEMORY
    if isinstance(error, BrokenPipeError):
        # The reader of our output has left (| head): nothing is printed.
        # If files were to be written too, FileError says that they are not (``atomic_outputs``).
        return 0, None
    if error.filename is None and error.errno in UNWRITTEN:
        return 1, unwritable("<stdout>", error)
    remedy = None if error.filename is None else "is it there, and may you read and write it and its folder?"
    return 1, FileError(f"failed ({error.strerror or error})", source=error.filename, remedy=remedy)


def _interrupted(interruption: KeyboardInterrupt) -> int:
    """Print that; return the exit code, as shells have it: 130 for Ctrl-C, 143 for SIGTERM."""
    numbers = [one for one in interruption.args if isinstance(one, signal.Signals)]
    by = [f"({number.name})" for number in numbers]
    note(" ".join(("interrupted", *by, *(str(one) for one in interruption.args if one not in numbers))))
    return 128 + next(iter(numbers), signal.SIGINT)


def _show(error: click.ClickException) -> None:
    if not isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.__dict__["message"] = visible(error.message)  # which click calls final
    with suppress(OSError):
        error.show()


def stand_in_for_closed() -> None:
    """Put something in the place of closed standard streams (``<&-``, ``>&-``, ``2>&-``).

    A file that is opened later would get the number of the closed one, and what is meant for the stream.
    To read or write a stand-in is the error that it is on a closed stream; messages to one are lost.
    """
    if sys.stdin is None:
        sys.stdin = open(os.open(os.devnull, os.O_WRONLY), encoding="utf-8")
    if sys.stdout is None:
        sys.stdout = open(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8", errors="backslashreplace")


def flush_output() -> OSError | None:
    """Write what standard output still holds; the error, where it cannot be written.

    Nothing is tried again when the interpreter ends, which would complain, and change the exit code.
    """
    with suppress(OSError):
        _flush(sys.stderr)
    try:
        _flush(sys.stdout)
    except OSError as error:
        return error
    return None


def _flush(stream: object) -> None:
    try:
        stream.flush()  # type: ignore[attr-defined]
    except OSError:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # type: ignore[attr-defined]
        raise
