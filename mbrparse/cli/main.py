"""The ``mbrparse`` command: finds its subcommands, and turns errors into one line and an exit code."""

from __future__ import annotations

import difflib
import errno
import gc
import importlib
import os
import signal
import sys
import threading
from contextlib import suppress
from typing import NoReturn

import click

from mbrparse import files, one_run, version
from mbrparse.cli.messages import note, warnings_noted
from mbrparse.errors import FileError, MbrparseError, visible

# Each command and its line in the help; it is a function of its name, in _MODULES or NAME_command.
COMMANDS = {
    "corpora": "List the known treebanks, and where they are.",
    "stats": "Count what is in a treebank: words, labels, rules, chains, lengths.",
    "check": "List malformed trees, and count suspicious ones.",
    "search": "Print the sentences whose trees fit a pattern.",
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
    "cite": "Print how a table was made, and what to cite for it.",
    "verify": "Say which files agree with a table's signature.",
    "reproduce": "Make Goodman's table from a treebank, in one command.",
    "grid": "Train and evaluate a parser for every combination of options.",
    "show": "Draw trees in the terminal, or as SVG or LaTeX.",
}

_MODULES = {
    "debinarize": "binarize_command",
    **dict.fromkeys(("corpora", "stats", "check", "split", "baseline", "sample"), "treebank_commands"),
    **dict.fromkeys(("rerank", "combine"), "candidate_commands"),
    **dict.fromkeys(("posteriors", "explain"), "chart_commands"),
    **dict.fromkeys(("surprisal", "next", "masked"), "prefix_commands"),
    "report": "evaluate_command",
    "verify": "cite_command",
    "reproduce": "grid_command",
}


class _Commands(click.Group):
    """The commands, each imported when it is called; a misspelt name is answered with the nearest one."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module = importlib.import_module(f"mbrparse.cli.{_MODULES.get(name, f'{name}_command')}")
        command: click.Command = getattr(module, name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            ctx.fail(f"No such command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)


@click.command(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version.__version__, "--version", message="mbrparse %(version)s")
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
    if not no_config and (
        config is not None or any(map(os.path.lexists, ("mbrparse.toml", "pyproject.toml")))
    ):
        from mbrparse.cli.config_file import use_defaults

        use_defaults(context, config)


def main() -> NoReturn:
    """Run the command line; the only place where errors become exit codes.

    SIGINT, SIGTERM and SIGHUP raise KeyboardInterrupt, unless they are ignored (``nohup``) or have another
    handler than Python's own.
    """
    stand_in_for_closed()
    # The threads of numpy's BLAS cost more to start than the few products of matrices gain by them.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Trees have no cycles: to look for some each few hundred objects doubles the time of reading them.
    gc.set_threshold(100_000, 50, 100)
    failure: Exception | None = None
    sys.unraisablehook = _interrupt_later
    try:
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, _terminate)
        code, failure = _run()
    except KeyboardInterrupt as interruption:
        # The exit code is as shells have it: 130 for Ctrl-C, 143 for SIGTERM.
        numbers = [one for one in interruption.args if isinstance(one, signal.Signals)]
        parts = [f"({one.name})" if one in numbers else str(one) for one in interruption.args]
        note(" ".join(["interrupted", *parts]))
        code = 128 + next(iter(numbers), signal.SIGINT)
    lost = flush_output()
    if isinstance(lost, BrokenPipeError):
        failure = None
    elif lost is not None and failure is None:
        failure, code = one_run.unwritable("<stdout>", lost), code or 1
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


def _interrupt_later(ignored: sys.UnraisableHookArgs) -> None:
    """Repeat a signal that came where Python ignores exceptions, as in a callback of LLVM's."""
    if not isinstance(ignored.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(ignored)
        return
    number = next(iter(ignored.exc_value.args), signal.SIGINT)
    if number != signal.SIGINT:
        signal.signal(number, _terminate)
    # Late enough to find this function left, on a busy machine too.
    threading.Timer(0.2, os.kill, (os.getpid(), number)).start()


def _run() -> tuple[int, Exception | None]:
    """Run a command; return its exit code, and the error to print."""
    try:
        if "_MBRPARSE_COMPLETE" in os.environ:  # a shell asks for completions
            cli.main(prog_name="mbrparse")
        with warnings_noted(), cli.make_context("mbrparse", sys.argv[1:]) as context:
            cli.invoke(context)
    except click.exceptions.Exit as leave:
        return leave.exit_code, None
    except click.ClickException as error:
        if not isinstance(error, click.exceptions.NoArgsIsHelpError):
            error.__dict__["message"] = visible(error.message)  # which click calls final
        with suppress(OSError):
            error.show()
        return error.exit_code, None
    except MbrparseError as error:
        return 1, error
    except (MemoryError, OSError) as error:  # of no file that was opened
        if isinstance(error, MemoryError) or error.errno == errno.ENOMEM:
            return 1, MbrparseError(
                "out of memory", remedy="use shorter sentences, a smaller grammar or file, or fewer --jobs"
            )
        if isinstance(error, BrokenPipeError):
            # The reader of our output has left (| head): nothing is printed.
            # If files were to be written too, FileError says that they are not (``atomic_outputs``).
            return 0, None
        if error.filename is None and error.errno in files.UNWRITTEN:
            return 1, one_run.unwritable("<stdout>", error)
        remedy = None
        if error.filename is not None:
            remedy = "is it there, and may you read and write it and its folder?"
        return 1, FileError(f"failed ({error.strerror or error})", source=error.filename, remedy=remedy)
    return 0, None


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
    lost = None
    for stream in (sys.stderr, sys.stdout):
        try:
            stream.flush()
        except OSError as error:
            lost = error if stream is sys.stdout else None
            with suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return lost
