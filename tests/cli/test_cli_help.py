"""``mbrparse`` itself: its help, its version, and what it loads."""

import click
import pytest
from children import loaded
from commandline import Command

from mbrparse import __version__
from mbrparse.cli.main import cli


@pytest.mark.parametrize("words", ["", "grammar"])
def test_without_a_command_the_help_comes_as_it_is(command: Command, words: str) -> None:
    outcome = command(words)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == command(f"{words} --help").output == command(f"{words} -h").output


def test_version(command: Command) -> None:
    outcome = command("--version")
    assert (outcome.output, outcome.err) == (f"mbrparse {__version__}\n", "")


def test_help_of_each_command(command: Command) -> None:
    listed = command("--help").output
    assert listed.startswith("Usage: mbrparse [OPTIONS] COMMAND [ARGS]...\n")
    grouped = ["grammar info", "grammar convert"]
    for name in [*cli.list_commands(click.Context(cli)), *grouped]:
        assert " " in name or f"\n  {name}  " in listed
        outcome = command(f"{name} --help")
        assert outcome.output.startswith(f"Usage: mbrparse {name} ")
        assert ("--help" in outcome.out, outcome.err) == (True, "")


def test_help_of_parse_has_sections_and_the_fields_words(command: Command) -> None:
    text = command("parse --help").output
    assert "minimum Bayes risk" in text
    assert "Viterbi" in text
    for section in ("Grammar and input", "Objective", "Output", "Limits", "Candidates", "Best-first search"):
        assert f"\n{section}:\n" in text


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_loads_no_library(option: str) -> None:
    assert loaded({"numba", "numpy", "pandas", "nltk", "rich", "click"}, option) == (0, ["click"])


@pytest.mark.parametrize("name", ["train", "parse"])
def test_help_of_a_command_loads_no_heavy_library(name: str) -> None:
    assert loaded({"numba", "pandas", "nltk"}, f"{name} --help") == (0, [])
