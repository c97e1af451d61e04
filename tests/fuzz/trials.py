"""Hypothesis strategies: inputs, each a command with its files, some of them spoilt."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from typing import TypeVar

import click
from commands import COMMANDS, SLOW_COMMANDS, VALUES
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from mutations import NUMBERS, WORDS, mutated
from seeds import Files

from mbrparse.cli.main import cli

Drawn = TypeVar("Drawn")

#: They take some hundred times as long as others.
SLOW_SHARE = 0.004
#: Files of options that are read because they are there.
CONFIGS = ("mbrparse.toml", "pyproject.toml")
#: Their time or memory grows with the number, so that a large one in the range is no mistake of the program.
COSTLY = "count samples resamples iterations runs nonterminals jobs train test sentences"
#: They start processes, which takes as long as a hundred other inputs: drawn less often.
STARTING_PROCESSES = ("jobs", "max_seconds")
ENCODINGS = "utf-8 latin-1 utf-16 rot13 base64 idna unicode_escape none utf-7 cp037"
OUTPUTS = "out out2 - /dev/null /dev/full . none/out ./out out/ {objective} {seed} caf\udce9"
#: Options that name an output; --details may be given several times where it is read.
WRITTEN = (
    "curve",
    "svg",
    "png",
    "pdf",
    "latex",
    "details",
    "per_sentence",
    "candidates",
    "write_posteriors",
    "log",
)
ODD = "- . caf\udce9 /dev/zero none collins first-parse exhausted mass:0.5 mass:2 inf 0.5"


@dataclass
class Trial:
    """A command line and the files of its folder; ``stdin`` names the file that it reads, if any."""

    arguments: list[str]
    stdin: str = ""
    files: Files = field(default_factory=dict)

    @property
    def command(self) -> str:
        """The command's name, with that of its group."""
        last = called(self.arguments).name
        at = next((at for at, word in enumerate(self.arguments) if word == last), 0)
        return " ".join(self.arguments[at - (self.arguments[at - 1] == "grammar") : at + 1])

    def write(self, folder: Path) -> None:
        """Lay the files out in an empty folder."""
        for name, data in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


def trials(seeds: Files) -> st.SearchStrategy[Trial]:
    """Commands to try on these valid files."""
    for (
        _,
        line,
    ) in COMMANDS:  # hypothesis draws constants of the modules that are there: all are, from the first on
        called(line.split())
    return st.randoms(use_true_random=True).map(lambda rng: _trial(seeds, rng))


def drawn(strategy: st.SearchStrategy[Drawn], number: int, count: int) -> list[Drawn]:
    """What hypothesis draws first, the same each time for a number."""
    found: list[Drawn] = []

    @seed(number)
    @settings(
        max_examples=count,
        database=None,
        derandomize=False,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def draw(one: Drawn) -> None:
        found.append(one)

    draw()
    return found


def _trial(seeds: Files, rng: Random) -> Trial:
    commands = SLOW_COMMANDS if rng.random() < SLOW_SHARE else COMMANDS
    [line] = rng.choices([line for _, line in commands], [weight for weight, _ in commands])
    arguments = line.split()
    trial = Trial(arguments.copy(), files={name: seeds[name] for name in _needed(line, tuple(seeds))})
    if rng.random() < 0.02:
        name = rng.choice(CONFIGS)
        table = b"[" if name == "mbrparse.toml" else b"[tool.mbrparse."
        trial.files[name] = seeds["options.toml"].replace(b"[", table)
    if rng.random() < 0.4:
        command = called(arguments)
        for _ in range(rng.choice((1, 1, 2, 3, 6))):
            trial.arguments += _option(rng, command, sorted(trial.files))
    if rng.random() < 0.03:  # a file of another kind
        at, name = rng.choice(range(len(arguments))), rng.choice(sorted(seeds))
        if arguments[at] in trial.files:
            trial.arguments[at], trial.files[name] = name, seeds[name]
    names = sorted(name for name in trial.files if not name.endswith((".png", ".svg", ".tex")))
    spoilt = rng.choice((0, 1, 1, 1, 1, 2)) or len(trial.arguments) == len(arguments)
    for name in rng.sample(names, min(spoilt, len(names))):
        trial.files[name] = mutated(rng, name, trial.files[name], seeds[rng.choice(sorted(seeds))])
        if name.endswith(".tagger.json") and name.removesuffix(".tagger.json") in trial.files:
            _sign(trial.files, name)
    if rng.random() < 0.1 and (given := [name for name in names if name in trial.arguments]):
        trial.stdin = rng.choice(given)
        trial.arguments[trial.arguments.index(trial.stdin)] = "-"
    return trial


@cache
def _needed(line: str, names: tuple[str, ...]) -> list[str]:
    """The files that a command reads: those that it names, and what is beside or in what it names."""
    parts = {part for word in line.split() for part in re.split("[=,:]", word)}
    return [
        name
        for name in names
        if any(name == part or name.startswith((f"{part}.", f"{part}/")) for part in parts)
    ]


def called(arguments: list[str]) -> click.Command:
    """The command that arguments name, which its own arguments follow."""
    command: click.Command = cli
    for word in arguments:
        if isinstance(command, click.Group):
            command = command.get_command(click.Context(command), word) or command
    return command


def _sign(files: Files, name: str) -> None:
    """A grammar knows its tagger by a digest: the spoilt one passes for its own."""
    grammar = name.removesuffix(".tagger.json")
    digest = hashlib.sha256(files[name]).hexdigest()[:16].encode()
    files[grammar] = re.sub(rb"(unknown collins \d+) \w+", rb"\1 " + digest, files[grammar])


def _option(rng: Random, command: click.Command, files: list[str]) -> list[str]:
    """An option of the command, with a value that may fit or not."""
    options = [one for one in command.params if isinstance(one, click.Option)]
    if not options:
        return ["--help"]
    parameter = rng.choice(options)
    if parameter.name in STARTING_PROCESSES and rng.random() < 0.8:
        parameter = rng.choice(options)
    name = rng.choice([*parameter.opts, *parameter.secondary_opts])
    if parameter.is_flag:
        return [name]
    values = values_by_type(parameter)
    if not values:
        fitting = VALUES.get(parameter.opts[-1], "").split()
        odd = (*files, *ODD.split()) if rng.random() < 0.5 else (*NUMBERS, *WORDS)
        values = (*fitting,) if fitting and rng.random() < 0.6 else odd
    elif "out" in values:
        values = (*values, *files)
    # What the system's calls cannot take as an argument, no shell can hand over.
    return [name, rng.choice(values).replace("\0", "")]


def values_by_type(parameter: click.Option) -> tuple[str, ...]:
    """Values that fit, and others, where an option's type or name tells them; () where it does not."""
    kind, name = parameter.type, str(parameter.name)
    if parameter.is_flag:
        return ("",)
    if isinstance(kind, click.Choice):
        return (*kind.choices,) * 5 + ("x", "")
    if isinstance(kind, (click.IntRange, click.FloatRange)):
        beyond = ("-1", "x", "nan", "inf", "1e308", "²", "9" * 19, "9" * 20, "9" * 5000)
        if name in COSTLY.split():
            return ("0", "1", "2", "3", *beyond)
        ends = [str(end + step) for end in (kind.min or 0, kind.max or 0) for step in (-1, 0, 1)]
        return ("0", "1", "2", "3", "0.5", "5", "5e-324", *ends, *beyond, *NUMBERS)
    if name == "encoding":
        return (*ENCODINGS.split(), "")
    if "output" in name or (name in WRITTEN and not parameter.multiple):
        return (*OUTPUTS.split(), "x" * 250, "out\n2")
    return ()
