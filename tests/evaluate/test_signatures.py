"""Signatures: two settings never share one, and what changes no figure changes none."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from commandline import Command, run
from evaluation_cases import write

import mbrparse as mp

GOLD = "(S (NP (DT the) (NN dog)) (S_Cont (VP (VBZ sees) (NP (DT a) (NN cät))) (. .)))\n" * 3
ONE = "(S (NP (DT the) (NN dog)) (S_Cont (VP (VBZ sees) (DT a)) (S_Cont (NN cät) (. .))))\n" * 3
TWO = GOLD.splitlines(keepends=True)[0] * 2 + ONE.splitlines(keepends=True)[0]
FILES = "gold.mrg one.mrg two.mrg"


@pytest.fixture(autouse=True)
def files() -> None:
    write(gold=GOLD, one=ONE, two=TWO)
    for name, deleted in (("a", "NP"), ("b", "VP")):
        Path(name).mkdir()
        Path(name, "x.prm").write_text(f"DELETE_LABEL {deleted}\n", encoding="utf-8")
    rows = [{"status": "parsed", "trees": {}}, {"status": "fallback", "reason": "time", "trees": {}}]
    for name, order in (("same", (0, 0, 0)), ("first", (1, 0, 0)), ("last", (0, 0, 1))):
        Path(f"{name}.jsonl").write_text("".join(json.dumps(rows[place]) + "\n" for place in order))


def signed(command: Command, options: str, arguments: str = FILES) -> str:
    """The signature of a table."""
    report = json.loads(command(f"evaluate {arguments} {options} --format json").output)
    return str(report["signature"])


#: By option, calls that differ in it alone, all of another signature.
DIFFERENT: dict[str, Sequence[str]] = {
    "--runs": ("--runs x=one.mrg,two.mrg", "--runs y=one.mrg,two.mrg", "--runs x=two.mrg,one.mrg"),
    "--profile": ("", "--profile goodman", "--profile prpn", "--profile on-lstm"),
    "--keep-punctuation": ("--profile prpn", "--profile prpn --keep-punctuation"),
    "--evalb": ("--evalb COLLINS.prm", "--evalb new.prm", "--evalb a/x.prm", "--evalb b/x.prm"),
    "--form": ("", "--form original"),
    "--unaries": ("", "--unaries"),
    "--crossing-reference": ("", "--crossing-reference binarized"),
    "--average": ("", "--average sentence"),
    "--all": ("", "--all"),
    "--criteria": ("--criteria labelled-f", "--criteria labelled-f,labelled-tree", "--criteria bracketed-f"),
    "--criterion": ("", "--criterion labelled-tree", "--criterion bracketed-recall"),
    "--baseline": ("", "--baseline two"),
    "--resamples": ("", "--resamples 0", "--resamples 77"),
    "--seed": ("", "--seed 1"),
    "--correction": ("", "--correction holm"),
    "--encoding": ("", "--encoding latin-1"),
    "--label-style": ("", "--label-style supar --form original"),
    "--joiner": ("--form original", "--form original --joiner +"),
    "--continuation": ("--form original", "--form original --continuation |"),
    "--null": ("--form original", "--form original --null X"),
    "--by": ("--by length", "--by label", "--by depth"),
    "--details": ("", *(f"--details {name}.jsonl" for name in ("same", "first", "last"))),
}
#: Options that change what is shown or how it is done, and no figure.
SHOWN = {
    *("--significance", "--format", "--columns", "--per-sentence", "--strict", "--output", "--scheduler"),
    "--calibration",  # has a test of its own
}


@pytest.mark.parametrize("option", DIFFERENT)
def test_another_option_is_another_signature(command: Command, option: str) -> None:
    found = [signed(command, options) for options in DIFFERENT[option]]
    assert len(set(found)) == len(found)
    assert all("\n" not in one and one.count("|version:mbrparse-") == 1 for one in found)


def test_digests_are_those_of_the_files(command: Command) -> None:
    import hashlib

    contents = {name: Path(f"{name}.mrg").read_bytes() for name in ("gold", "one", "two")}
    digests = {name: hashlib.sha256(content).hexdigest()[:10] for name, content in contents.items()}
    for options in ("", "--evalb COLLINS.prm", "--profile prpn", "--form original"):
        parts = dict(part.split(":", 1) for part in signed(command, options).split("|"))
        assert parts["gold"] == f"gold.mrg={digests['gold']}"
        assert parts["parses"] == f"one={digests['one']},two={digests['two']}"
    # From a pipe, whatever the layout, and from memory.
    gold = [mp.read_tree(line) for line in GOLD.splitlines()]
    one = [mp.read_tree(line) for line in ONE.splitlines()]
    Path("wide.mrg").write_text(GOLD.replace(" (", "\n   ("), encoding="utf-8")
    piped = json.loads(run("evaluate wide.mrg - --format json", stdin=ONE).output)["signature"]
    assert f"|gold:wide.mrg={digests['gold']}|parses:stdin={digests['one']}|" in piped
    found = mp.compare(gold, {"x": one}).summary.signature
    assert f"|gold:memory={digests['gold']}|parses:x={digests['one']}|" in found


def test_calibration_names_its_details(command: Command) -> None:
    found = set()
    write(gold="(S a b)\n", one="(S a b)\n")
    for mass in (0.5, 0.25):
        row = {"status": "parsed", "trees": {"one": {"nodes": [[0, 2, "S", mass]]}}}
        Path("d.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
        found.add(signed(command, "--calibration --details d.jsonl", "gold.mrg one.mrg"))
    assert len(found) == 2
