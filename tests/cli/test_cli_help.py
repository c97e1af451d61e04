"""``mbrparse`` itself: its help, its version, and what it says to a misspelt word."""

import pytest
from children import loaded
from commandline import Command

from mbrparse import __version__

FINISHED = ["binarize", "debinarize", "split", "train", "grammar", "sample"]


def test_help_lists_the_commands(command: Command) -> None:
    outcome = command("--help")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("Usage: mbrparse [OPTIONS] COMMAND [ARGS]...\n")
    for name in FINISHED:
        assert f"\n  {name}  " in outcome.out
    assert command("-h") == outcome


@pytest.mark.parametrize("words", [[], ["experiment"], ["grammar"]], ids=" ".join)
def test_without_a_command_the_help_comes_as_it_is(command: Command, words: list[str]) -> None:
    outcome = command(*words)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == command(*words, "--help").out


def test_version(command: Command) -> None:
    outcome = command("--version")
    assert (outcome.code, outcome.out, outcome.err) == (0, f"mbrparse {__version__}\n", "")


@pytest.mark.parametrize(
    "words", [[name] for name in FINISHED] + [["grammar", "info"], ["grammar", "convert"]], ids=" ".join
)
def test_help_of_each_command(words: list[str], command: Command) -> None:
    outcome = command(*words, "--help")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith(f"Usage: mbrparse {' '.join(words)} ")
    assert "--help" in outcome.out


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]], ids=" ".join)
def test_help_loads_no_library(arguments: list[str]) -> None:
    assert loaded({"numba", "numpy", "pandas", "nltk", "rich", "click"}, *arguments) == (0, ["click"])


@pytest.mark.parametrize("name", ["train", "parse"])
def test_help_of_a_command_loads_no_heavy_library(name: str) -> None:
    assert loaded({"numba", "pandas", "nltk"}, name, "--help") == (0, [])


@pytest.mark.parametrize(
    ("arguments", "suggestion"),
    [
        (["binarise"], "No such command 'binarise'. Did you mean 'binarize'?"),
        (["--hepl"], "Did you mean '--help'?"),
        (["binarize", "x", "--unari", "top"], "'--unari'. Did you mean '--unary'?"),
        (["binarize", "x", "--unary", "botom"], "Did you mean 'bottom'?"),
        (["binarize", "x", "--direction", "rigth"], "Did you mean 'right'?"),
        (["binarize", "x", "--on-error", "skipp"], "Did you mean 'skip'?"),
        (["debinarize", "--encodin", "x"], "Did you mean '--encoding'?"),
        (["split", "x", "--test-fracton", "0.1"], "'--test-fraction'"),
        (["train", "x", "--terminals", "word"], "Did you mean 'words'?"),
        (["sample", "x", "--sed", "1"], "Did you mean '--seed'?"),
        (["grammar", "convert", "x", "--to", "bitbar"], "Did you mean 'bitpar'?"),
        (["grammar", "convrt"], "Did you mean 'convert'?"),
    ],
    ids=" ".join,
)
def test_misspelt_words_exit_2_and_suggest_the_nearest(
    arguments: list[str], suggestion: str, command: Command
) -> None:
    outcome = command(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("Usage: mbrparse")
    assert suggestion in outcome.err.splitlines()[-1]


def test_help_of_parse_has_sections_and_the_fields_words(command: Command) -> None:
    text = command("parse", "--help").out
    assert "minimum Bayes risk" in text
    assert "Viterbi" in text
    for section in ("Grammar and input", "Objective", "Output", "Limits", "Candidates", "Best-first search"):
        assert f"\n{section}:\n" in text
