"""What to cite for figures, how they were made, and the commands that make them again: what signatures say.

The rows of ``data/references.bib`` and ``data/methods.txt`` begin with what in a signature calls for them, a
regular expression whose groups a sentence may repeat. In sentences ``[@KEY]`` cites an entry.
"""

from __future__ import annotations

import html
import os
import re
import shlex
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Literal

from mbrparse import errors, files, provenance
from mbrparse.evaluate.criteria import PAPER
from mbrparse.latex import latex
from mbrparse.treebank.corpora.known_corpora import CORPORA

TextFormat = Literal["text", "markdown", "latex"]

_ROW = re.compile(r"^%% (.*)\n((?:.+\n)+)", re.MULTILINE)
_SIGNATURE = re.compile(r"(?:criteria|table):.*\|version:mbrparse-[^\s`<\"]*")
_CITED = re.compile(r"\[@([\w-]+)\]")
_LISTED = re.compile(r",(?=\S)")
_WIDTH = 100


def signatures(given: str) -> list[str]:
    """A signature, or those of a table's file or of the tables in a folder; raises MbrparseError without."""
    lines: Iterable[str] = [given]
    if os.path.isdir(given):
        tables = sorted(path for path in Path(given).glob("*.txt") if path.name != "grammar.txt")
        lines = [line for path in tables for line in files.read_lines(path)]
    elif os.path.isfile(given):
        lines = map(html.unescape if given.endswith(".html") else str, files.read_lines(given))
    found = [errors.visible(match[0]) for line in lines if (match := _SIGNATURE.search(line))]
    if not found:
        remedy = "give the last line of a table, in quotes, its file, or the folder of an experiment"
        raise errors.MbrparseError("no signature of a table", remedy=remedy)
    return list(dict.fromkeys(found))


def citation(found: Sequence[str], format: TextFormat = "text") -> str:
    """A paragraph on methods, BibTeX of all that it cites, and the commands; LaTeX is a whole document."""
    text = f"|{'|'.join(found)}|"
    entries = [entry for pattern, entry in _rows("references.bib") if re.search(pattern, text)]
    for corpus in CORPORA:
        name = f"{corpus.name}:" if corpus.takes_path else rf"{re.escape(corpus.name)}\b"
        if corpus.name in _OTHERWISE and re.search(rf"[=,; :]{name}", text):
            note = latex(f"{corpus.title}: {corpus.citation}")
            entries.append(f"@misc{{{corpus.name.replace(':', '-')},\n  note = {{{note}}}\n}}\n")
    said = [match.expand(row) for pattern, row in _rows("methods.txt") if (match := re.search(pattern, text))]
    methods, bibtex = _LISTED.sub(", ", " ".join(" ".join(said).split())), "\n".join(entries)
    commands = "".join(f"{_wrapped(command)}\n" for command in _commands(found))
    if format == "markdown":
        return "\n".join([methods, "", "```bash", f"{commands}```", "", "```bibtex", f"{bibtex}```", ""])
    if format == "text":
        told = ["The commands, in this order:\n", textwrap.indent(commands, "    ")] if commands else []
        return "\n".join([bibtex, _filled(methods, _WIDTH), "", *told])
    cited = "".join(
        rf"\cite{{{part}}}" if place % 2 else latex(part) for place, part in enumerate(_CITED.split(methods))
    )
    return _DOCUMENT.format(bibtex, _filled(cited, _WIDTH), commands)


#: Breaks lines at blanks alone.
_filled = partial(textwrap.fill, break_long_words=False, break_on_hyphens=False)
_DOCUMENT = r"""\begin{{filecontents*}}[overwrite]{{mbrparse.bib}}
{}\end{{filecontents*}}
\documentclass{{article}}
\usepackage[T1]{{fontenc}}
\begin{{document}}
\sloppy
{}
\nocite{{*}}
\footnotesize
\begin{{verbatim}}
{}\end{{verbatim}}
\bibliographystyle{{unsrt}}
\bibliography{{mbrparse}}
\end{{document}}
"""
#: Corpora that no paper in ``references.bib`` is about.
_OTHERWISE = {"embedded:flights", "icepahc", "greynir", "penn-historical", "nltk:cess_esp", "nltk:cess_cat"}


def _commands(found: Sequence[str]) -> list[str]:
    """The commands that make the tables again, each once."""
    commands = list[str]()
    for signature in found:
        listed = (part.replace("%7C", "|").partition(":") for part in signature.split("|"))
        parts = {name: value for name, colon, value in listed if colon}
        commands += _parted(parts.get("made", ""))
        if "gold" in parts and "parses" in parts:
            commands.append(_evaluation(parts))
    begins = f"{provenance.BEGINS}grid "
    return list(dict.fromkeys(f"{one} --output=grid" if one.startswith(begins) else one for one in commands))


def _parted(made: str) -> Iterator[str]:
    """The commands of a text; a semicolon within quotation marks parts none."""
    command = ""
    for part in made.split("; ") if made else ():
        command = f"{command}; {part}" if command else part
        with suppress(ValueError):
            shlex.split(command)
            yield command
            command = ""
    if command:
        yield command


def _evaluation(parts: Mapping[str, str]) -> str:
    """The command that evaluates: parses lie where the commands before wrote them, else in NAME.mrg."""
    outputs = re.findall(r"output='?([^' ;]+)", parts.get("made", ""))

    def file(name: str) -> str:
        paths = (path.replace("{objective}", name) for path in outputs)
        return next((path for path in paths if Path(path).stem == name), f"{name}.mrg")

    names = [name for name, _ in re.findall(r"([^,=]+)=(\w{10})(?=,|$)", parts["parses"])]
    runs: dict[str, list[str]] = {}
    for system, _, name in (name.rpartition("/") for name in names):
        runs.setdefault(system, []).append(file(name))
    options = {name: parts.get(name, "") for name in ("profile", "baseline", "criterion", "by")}
    if "profile" not in parts:
        said = {"form": "original", "average": "sentence"}
        options |= {name: value for name, value in said.items() if parts.get(name) == value}
    options["evalb"] = parts.get("evalb", "").rpartition("=")[0]
    if parts["criteria"] != ",".join(one.name for one in PAPER):
        options["criteria"] = parts["criteria"]
    untested = "resamples=0" if len(names) > 1 and "by" not in parts else ""
    tests = (one.split("=") for one in parts.get("significance", untested).split(","))
    options |= {one[0]: one[1] for one in tests if one[0] in ("resamples", "seed", "correction")}
    details = re.search(r"--details=([^ ;]+)", parts.get("made", "")) if "details" in parts else None
    words = [
        *("evaluate", parts["gold"].rpartition("=")[0], *runs.pop("", [])),
        *(f"--runs={system}={','.join(files)}" for system, files in runs.items()),
        *(f"--{name}={value}" for name, value in options.items() if value),
        *([details[0]] if details else []),
    ]
    return provenance.BEGINS + shlex.join(words)


def _wrapped(command: str) -> str:
    """A command on several lines, none of which ends within a word."""
    try:
        words = [shlex.quote(word).replace(" ", "\0") for word in shlex.split(command)]
    except ValueError:
        remedy = "make the table again, or leave out what was changed"
        raise errors.MbrparseError(
            f"a command with an open quotation mark: {command}", remedy=remedy
        ) from None
    lines = _filled(" ".join(words), _WIDTH - 10, subsequent_indent="    ")
    return lines.replace("\n", " \\\n").replace("\0", " ")


def _rows(name: str) -> list[tuple[str, str]]:
    return _ROW.findall((Path(__file__).parent / "data" / name).read_text("utf-8"))
