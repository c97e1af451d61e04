"""``mbrparse completion``: what a shell reads to complete mbrparse's commands and options."""

from __future__ import annotations

import click

from mbrparse.cli.completions import SHELLS, script
from mbrparse.cli.options import NearestChoice


@click.command()
@click.argument("shell", type=NearestChoice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print what SHELL (bash, zsh, fish) reads to complete commands, options and their values.

    bash: eval "$(mbrparse completion bash)" in ~/.bashrc. zsh: the same with zsh, in ~/.zshrc behind
    compinit. fish: mbrparse completion fish > ~/.config/fish/completions/mbrparse.fish
    """
    click.echo(script(shell, context.find_root().command))
