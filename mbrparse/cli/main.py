"""The ``mbrparse`` command: finds its subcommands, and turns errors into one line and an exit code."""

from __future__ import annotations

import os
import sys
from typing import Any, NoReturn

import click

from mbrparse.cli.lazy import LazyGroup
from mbrparse.errors import MbrparseError
from mbrparse.version import __version__

# name of the command (and of its function, with _ for -; its module ends in _command): its line in the help
COMMANDS = {
    "binarize": "Clean and binarize a treebank.",
    "debinarize": "Turn binarized trees back into n-ary ones.",
    "split": "Split trees into a training and a test part.",
    "train": "Train a grammar: by counting trees, or inside-outside from bracketed text.",
    "grammar": "Show, or convert, a grammar.",
    "sample": "Sample trees from a grammar.",
    "parse": "Parse sentences for one objective or several.",
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


def main() -> NoReturn:
    """Run the command line; the only place where errors become exit codes."""
    try:
        cli.main(prog_name="mbrparse", standalone_mode=False)
        code: Any = 0
    except click.exceptions.Exit as leave:
        code = leave.exit_code
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except MbrparseError as error:
        click.echo(f"mbrparse: {error}", err=True)
        code = 1
    except MemoryError:
        click.echo(
            "mbrparse: out of memory; give it less at a time (shorter sentences, a smaller grammar or file, "
            "fewer --jobs), or more memory",
            err=True,
        )
        code = 1
    except (click.Abort, KeyboardInterrupt):
        click.echo("mbrparse: interrupted", err=True)
        code = 130
    except BrokenPipeError:
        # The reader of our output has left (| head): nothing to say.
        code = 0
    try:
        sys.stdout.flush()
    except OSError:
        # Nothing more can be written (a closed pipe, a full disk): do not try again on leaving.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)
