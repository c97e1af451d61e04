"""What is wrong with what a command did: nothing, or a kind of failure under which its like are kept."""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

import click
from trials import CONFIGS, Trial

from mbrparse.cli.parse_command import parse

_FRAME = re.compile(r'File ".*?/mbrparse/([\w/]+\.py)", line \d+,? in (\S+)')
_RAISED = re.compile(r"^([A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit|Pool|Warning)?)(?::|$)")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
_TOKEN = re.compile(r"\(|\)|[^() ]+")
#: Where a line of output is a file's, not a place where nothing can be read.
_NOWHERE = ("/dev/null", "/dev/full")


@dataclass(frozen=True)
class Result:
    """How a command ended: its exit code (-1: by an exception; stderr has the traceback), what it left."""

    code: int
    out: str
    err: str
    left: tuple[str, ...] = ()


def failure(trial: Trial, result: Result, folder: Path) -> str | None:
    """The kind of failure, which names an exception and where it was raised; None where all is well."""
    err = result.err
    if "Traceback (most recent" in err:
        names = [found[1] for line in err.splitlines() if (found := _RAISED.match(line))]
        return f"{names[-1] if names else 'Exception'}{_where(err)}"
    if "Warning:" in err or "Exception ignored" in err:
        return f"warning {trial.command}: {_first_of(err, 'Warning:', 'Exception ignored')}"
    if result.code not in ((0, 1, 2, 3) if "--strict" in trial.arguments else (0, 1, 2)):
        return f"exit code {result.code} {trial.command}"
    if result.left:
        return f"left over {trial.command}"
    return _of_streams(trial, result) or _of_output(trial, result, folder)


def _where(err: str) -> str:
    """The innermost frames in the package of a traceback."""
    frames = [f"{path.rpartition('/')[2]}:{name}" for path, name in _FRAME.findall(err)]
    frames = [frame for frame in frames if not frame.endswith(":<module>")]
    return f" at {' > '.join(frames[-2:])}" if frames else ""


def _first_of(err: str, *marks: str) -> str:
    line = next(line for line in err.splitlines() if any(mark in line for mark in marks))
    return re.sub(r"\d+", "N", line[-80:])


def _of_streams(trial: Trial, outcome: Result) -> str | None:
    """One line for an error; nothing in it that a terminal would obey."""
    command = trial.command
    if _CONTROL.search(outcome.err):
        return f"control characters on stderr {command}"
    lines = outcome.err.splitlines()
    if outcome.code == 1 and "--strict" not in trial.arguments:
        if not lines or not lines[-1].startswith("mbrparse: "):
            return f"no message {command}"
        # EVALB's own messages begin as EVALB's.
        as_evalb = {"--evalb", "evalb", "spmrl"} & set(trial.arguments)
        if not as_evalb and not all(line.startswith("mbrparse: ") for line in lines):
            return f"message of several lines {command}"
    if outcome.code == 2 and "Error: " not in outcome.err:
        return f"no usage error {command}"
    return None


def _of_output(trial: Trial, outcome: Result, folder: Path) -> str | None:
    command = trial.command
    if outcome.code != 0 or {"--help", "-h"} & set(trial.arguments):
        return None
    configured = "--config" in trial.arguments or trial.files.keys() & set(CONFIGS)
    if command == "parse":
        return None if configured else _of_parses(trial, outcome, folder)
    if command == "evaluate" and not {"-o", "--output"} & set(trial.arguments):
        forms = [trial.arguments[at + 1] for at, word in enumerate(trial.arguments) if word == "--format"]
        text = outcome.out
        try:
            if forms[-1:] == ["json"]:
                _check_json(text)
            if forms[-1:] == ["csv"]:
                rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
                if len({len(row) for row in rows}) != 1:
                    return f"ragged csv {command}"
        except (ValueError, csv.Error) as error:
            return f"not {forms[-1]} {command}: {_without_numbers(error)}"
    return None


def _check_json(text: str) -> None:
    """Raise ValueError for a text that is no JSON, such as one with NaN."""

    def refuse(name: str) -> NoReturn:
        raise ValueError(f"{name} is no JSON")

    json.loads(text, parse_constant=refuse)


def _without_numbers(error: Exception) -> str:
    return re.sub(r"[0-9]+", "N", str(error))[:60]


def _of_parses(trial: Trial, outcome: Result, folder: Path) -> str | None:
    """A line for each sentence in each file, its words as they came."""
    options = _options(trial.arguments[1:])
    [*inputs] = options["inputs"]
    data = trial.files.get(trial.stdin if inputs == ["-"] else inputs[0])
    if data is None or len(inputs) > 1 or options["encoding"] not in ("utf-8", "utf8"):
        return None
    text = _decoded(data)
    # U+001E and others are no white space; a form feed may stand before a comment.
    lines = (line for line in text.split("\n") if not line.lstrip(" \t\r\v\f").startswith("#"))
    first = next((line for line in lines if line.strip(" \t\r")), "").lstrip(" \t\r")
    cut = options["tokenize"]  # words are not those between blanks
    guessed = options["form"] is None and not cut and not options["constrain"]
    trees = options["form"] == "trees" or (guessed and first.startswith("("))
    count = _count_trees(text) if trees else text.count("\n") + (not text.endswith("\n"))
    number, parts = map(int, (options["shard"] or "1/1").split("/"))
    shard = range(count * (number - 1) // parts, count * number // parts)
    paths = [
        options["output"].replace("{objective}", name) for name in options["names"] or ("labelled-recall",)
    ]
    for path in dict.fromkeys([*paths, options["details"]]):
        if path is None or path in _NOWHERE:
            continue
        found = outcome.out.encode() if path == "-" else (folder / path).read_bytes()
        if found.count(b"\n") != len(shard):
            what = "details" if path == options["details"] else "parses"
            return f"lost line parse: {what} of {'trees' if trees else 'tokens'}"
        written = found.decode("utf-8").split("\n")[:-1]
        if path == options["details"]:
            try:
                for line in written:
                    _check_json(line)
            except ValueError as error:
                return f"details are no JSON: {_without_numbers(error)}"
        elif not trees and not cut and options["fallback"] != "empty":
            words = text.removesuffix("\n").split("\n")[shard.start : shard.stop]
            # With --constrain, brackets have labels that are no words.
            skipped = "(" if options["constrain"] else "\n"
            pairs = zip(written, words, strict=True)
            if any(skipped not in pair[1] and not _agree(*pair) for pair in pairs):
                return "words changed parse"
    return None


def _decoded(data: bytes) -> str:
    """The text of an input: UTF-8, if no mark at its beginning says otherwise."""
    if data.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return data.decode("utf-32")
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16")
    return data.decode("utf-8-sig")


def _options(arguments: list[str]) -> dict[str, Any]:
    """What the command line's own reader makes of the arguments."""
    with click.Context(parse) as outer:
        return parse.make_context("parse", list(arguments), outer).params


def _count_trees(text: str) -> int:
    """Outermost pairs of brackets (parentheses in words are written otherwise), comments left out."""
    depth = count = 0
    for line in text.split("\n"):
        if depth or not line.lstrip().startswith("#"):
            for bracket in re.findall("[()]", line):
                depth += 1 if bracket == "(" else -1
                count += depth == 0
    return count


def _agree(parse: str, line: str) -> bool:
    """Whether a parse has a line's words; a carriage return may be white space, or part of a word."""
    written, words = _leaves(parse), _words(line)
    if "\r" in line:
        return "".join(written).replace("\r", "") == "".join(words).replace("\r", "")
    return written == words


def _words(line: str) -> list[str]:
    # Carriage returns at the edges of words and of brackets are white space; within a word they stay.
    line = re.sub(r"(^|(?<=[ \t()]))\r+|\r+(?=[ \t()]|$)", " ", line).replace("\t", " ")
    return [word.replace("(", "-LRB-").replace(")", "-RRB-") for word in line.split(" ") if word]


def _leaves(line: str) -> list[str]:
    tokens = ["", *_TOKEN.findall(line)]
    return [word for before, word in pairwise(tokens) if before != "(" and word not in "()"]
