"""One input: a command with its files, spoilt as a seed says."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import click
from mutations import NUMBERS, WORDS, mutated
from seeds import COMMANDS, SLOW_COMMANDS, Files

from mbrparse.cli.main import cli

SLOW_SHARE = 0.002
#: Their time or memory grows with the number, so that a large one is no mistake of the program.
COSTLY = "count samples resamples iterations runs nonterminals jobs train test sentences"
ENCODINGS = "utf-8 latin-1 utf-16 rot13 base64 idna unicode_escape none utf-7 cp037"
OUTPUTS = "out out2 - /dev/null /dev/full . none/out ./out {objective}"
#: Options that name an output; --details may be given several times where it is read.
WRITTEN = ("curve", "svg", "png", "details", "per_sentence", "candidates")
STREAMS = ("", "stdin closed", "stdout closed", "stderr closed", "stdout full", "stderr full", "ascii")
ODD = "- . none collins first-parse exhausted mass:0.5 mass:2 inf 0.5"


@dataclass
class Trial:
    """A command line and the files of its folder; ``stdin`` names the file that it reads, if any."""

    arguments: list[str]
    stdin: str = ""
    streams: str = ""
    files: Files = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Lay the files out in an empty folder."""
        for name, data in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


def make_trial(seeds: Files, seed: str) -> Trial:
    """The input that a seed stands for."""
    rng = Random(seed)
    commands = SLOW_COMMANDS if rng.random() < SLOW_SHARE else COMMANDS
    [line] = rng.choices([line for _, line in commands], [weight for weight, _ in commands])
    arguments = line.split()
    trial = Trial(
        arguments.copy(), files={name: data for name, data in seeds.items() if _needed(name, arguments)}
    )
    if rng.random() < 0.35:
        for _ in range(rng.choice((1, 1, 2, 3))):
            trial.arguments += _option(rng, arguments, sorted(trial.files))
    names = sorted(name for name in trial.files if not name.endswith((".png", ".svg", ".tex")))
    spoilt = rng.choice((0, 1, 1, 1, 1, 2)) or len(trial.arguments) == len(arguments)
    for name in rng.sample(names, min(spoilt, len(names))):
        trial.files[name] = mutated(rng, name, trial.files[name], seeds[rng.choice(sorted(seeds))])
        if name.endswith(".tagger.json"):
            _sign(trial.files, name)
    if rng.random() < 0.1 and (given := [name for name in names if name in trial.arguments]):
        trial.stdin = rng.choice(given)
        trial.arguments[trial.arguments.index(trial.stdin)] = "-"
    if rng.random() < 0.03:
        trial.streams = rng.choice(STREAMS)
    return trial


def _needed(name: str, arguments: list[str]) -> bool:
    """Whether the command reads this file: it is named, or beside or in what is named."""
    return any(name == part or name.startswith((f"{part}.", f"{part}/")) for part in arguments)


def _sign(files: Files, name: str) -> None:
    """A grammar knows its tagger by a digest: the spoilt one passes for its own."""
    grammar = name.removesuffix(".tagger.json")
    digest = hashlib.sha256(files[name]).hexdigest()[:16].encode()
    files[grammar] = re.sub(rb"(unknown collins \d+) \w+", rb"\1 " + digest, files[grammar])


def _option(rng: Random, arguments: list[str], files: list[str]) -> list[str]:
    """An option of the command, with a value that may fit or not."""
    group: click.Command = cli
    for word in arguments[:2]:
        if isinstance(group, click.Group):
            group = group.get_command(click.Context(group), word) or group
    options = [one for one in group.params if isinstance(one, click.Option)]
    if not options:
        return ["--help"]
    parameter = rng.choice(options)
    name = rng.choice([*parameter.opts, *parameter.secondary_opts])
    if parameter.is_flag:
        return [name]
    kind = parameter.type
    values: tuple[str, ...] = (*NUMBERS, *WORDS)
    if isinstance(kind, click.Choice):
        values = (*kind.choices,) * 5 + ("x", "")
    elif isinstance(kind, (click.IntRange, click.FloatRange)) or kind in (click.INT, click.FLOAT):
        values = ("0", "1", "2", "3", "0.5", "5", "-1", "x", "nan", "²", "9" * 5000, *NUMBERS)
        if parameter.name in COSTLY.split():
            values = ("0", "1", "2", "3", "-1", "x", "²")
    elif parameter.name == "encoding":
        values = (*ENCODINGS.split(), "")
    elif "output" in str(parameter.name) or (parameter.name in WRITTEN and not parameter.multiple):
        values = (*OUTPUTS.split(), "x" * 250, "out\n2", *files)
    elif rng.random() < 0.5:
        values = (*files, *ODD.split())
    # What the system's calls cannot take as an argument, no shell can hand over.
    return [name, rng.choice(values).replace("\0", "")]
