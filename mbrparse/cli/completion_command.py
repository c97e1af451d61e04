"""``mbrparse completion``: completion in bash, zsh and fish by click, of file names where click has none."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from mbrparse.cli.options import NearestChoice

if TYPE_CHECKING:
    from click.shell_completion import ShellComplete

SHELLS = ("bash", "zsh", "fish")
_PROGRAM = "mbrparse"
_VARIABLE = "_MBRPARSE_COMPLETE"


def answer(command: click.Command) -> int:
    """Print what a shell has asked for; the exit code."""
    shell, _, question = os.environ[_VARIABLE].partition("_")
    if shell not in SHELLS or question != "complete":
        return 1
    click.echo(_completion(shell, command).complete())
    return 0


def _completion(shell: str, command: click.Command) -> ShellComplete:
    from click.shell_completion import CompletionItem, get_completion_class

    known = get_completion_class(shell)
    assert known is not None

    class Completion(known):  # type: ignore[misc, valid-type]  # one of click's three
        """Most of what mbrparse takes is a file: where click knows nothing, the shell lists files."""

        def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
            found: list[CompletionItem] = super().get_completions(args, incomplete)
            return found or [CompletionItem(incomplete, type="file")]

        def source(self) -> str:
            # click would ask the bash that happens to be found for its version.
            return str(self.source_template % self.source_vars())

    return Completion(command, {}, _PROGRAM, _VARIABLE)


@click.command()
@click.argument("shell", type=NearestChoice(SHELLS))
def completion(shell: str) -> None:
    """Print what SHELL (bash, zsh, fish) reads to complete commands, options and their values.

    bash: eval "$(mbrparse completion bash)" in ~/.bashrc. zsh: the same with zsh, in ~/.zshrc behind
    compinit. fish: mbrparse completion fish > ~/.config/fish/completions/mbrparse.fish
    """
    click.echo(_completion(shell, click.get_current_context().find_root().command).source())
