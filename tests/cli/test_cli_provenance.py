"""What is kept beside files, what signatures say of it, and ``verify``."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shlex
from pathlib import Path

import pytest
from commandline import Command

pytestmark = pytest.mark.usefixtures("folder")

TREES = "( (S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (DT a) (NN cat))) (. .)) )\n" * 12
PIPELINE = (
    "binarize {}trees.mrg --hmarkov inf -o {}b.mrg",
    "split {}b.mrg --test-fraction 0.25 --train-output {}train.mrg --test-output {}test.mrg",
    "train {}train.mrg --terminals words --method split-merge --cycles 1 --seed 1 -o {}one.txt",
    "train {}train.mrg --terminals words --method split-merge --cycles 1 --seed 2 -o {}two.txt --jobs 2",
    "parse {}test.mrg -g {}one.txt -g {}two.txt --objective max-rule-product -o {}p.mrg",
    "evaluate {}test.mrg {}p.mrg --format json",
)
MADE = (
    "mbrparse binarize trees.mrg --output=b.mrg --hmarkov=inf; "
    "mbrparse split b.mrg --test-fraction=0.25 --train-output=train.mrg --test-output=test.mrg; "
    "mbrparse train train.mrg --output=one.txt --method=split-merge --terminals=words --cycles=1 --merge=0.5 "
    "--smooth=0.01 --seed=1; "
    "mbrparse train train.mrg --output=two.txt --method=split-merge --terminals=words --cycles=1 --merge=0.5 "
    "--smooth=0.01 --seed=2; "
    "mbrparse parse test.mrg --grammar=one.txt --grammar=two.txt --objective=max-rule-product "
    "--output=p.mrg"
)


def made(command: Command, before: str = "") -> str:
    """The signature of a pipeline by hand whose files are called so."""
    Path(f"{before}trees.mrg").write_text(TREES)
    for line in PIPELINE:
        output = command(line.replace("{}", before)).output
    return str(json.loads(output)["signature"])


def parts(signature: str) -> dict[str, str]:
    return dict(part.split(":", 1) for part in signature.split("|"))


def test_a_pipeline_by_hand_has_a_whole_signature(command: Command, folder: Path) -> None:
    """It is the same in any folder, and names none; each file is told by its digest."""
    signature = made(command)
    assert parts(signature)["made"] == MADE
    digests = dict(pair.rsplit("=", 1) for pair in parts(signature)["from"].split(","))
    assert digests == {
        name: hashlib.sha256(Path(name).read_bytes()).hexdigest()[:10]
        for name in ("trees.mrg", "b.mrg", "train.mrg", "test.mrg", "one.txt", "two.txt")
    }
    (folder / "elsewhere").mkdir()
    assert made(command, f"{folder}/elsewhere/") == signature
    with contextlib.chdir("elsewhere"):
        assert made(command) == signature
    # A wheel has no commit, and a signature says none.
    assert list(parts(signature))[-2:] == ["version", "sources"]


def test_what_is_kept_is_of_the_file_as_it_is(command: Command) -> None:
    made(command)
    evaluate = "evaluate test.mrg p.mrg --format json"
    kept = Path("p.mrg.made").read_text()
    Path("p.mrg").write_text(Path("p.mrg").read_text() + "\n")
    assert (
        "p.mrg.made: not of p.mrg as it is now; not used" in command(evaluate.replace("--f", "-o x --f")).err
    )
    command("parse test.mrg -g one.txt -g two.txt --objective max-rule-product -o p.mrg")
    assert Path("p.mrg.made").read_text() == kept
    for text in ("somebody's own", kept[:-20], kept.replace("split-merge", "counting")):
        Path("p.mrg.made").write_text(text)
        outcome = command(evaluate)
        assert "mbrparse: p.mrg.made: damaged, or no file of this program" in outcome.err
        assert " train " not in parts(json.loads(outcome.output)["signature"])["made"]
    # What is not ours is not written over, and what is rewritten in its place keeps what came before.
    Path("p.mrg.made").write_text("somebody's own")
    command("debinarize p.mrg -o p.mrg")
    assert Path("p.mrg.made").read_text() == "somebody's own"
    command("debinarize test.mrg -o test.mrg")
    steps = json.loads(Path("test.mrg.made").read_text())["content"]["steps"]
    assert [step["command"].split()[1] for step in steps] == ["binarize", "split", "debinarize"]
    assert command("train b.mrg").code == 0


def test_reproduce_signs_as_its_commands_do(command: Command) -> None:
    """And ``cite`` prints commands that make the same table again."""
    Path("trees.mrg").write_text(TREES)
    signed = []
    for folder in ("one", "two"):
        outcome = command(f"reproduce trees.mrg --test-fraction 0.25 --hmarkov 1 -o {folder}")
        signed.append(outcome.output.splitlines()[-1])
    assert signed[0] == signed[1]
    Path("parts").mkdir()
    script = command("cite", signed[0]).output.split("order:\n")[1].replace("\\\n", " ")
    assert [line.split()[1] for line in script.splitlines() if line] == [
        *("binarize", "split", "train", "parse", "evaluate")
    ]
    with contextlib.chdir("parts"):
        Path("trees.mrg").write_text(TREES)
        for line in filter(None, script.splitlines()):
            outcome = command(*shlex.split(line)[1:])
    assert outcome.output.splitlines()[-1] == signed[0]


@pytest.mark.parametrize(
    "options",
    [
        "a.mrg b.mrg --form original --correction holm --resamples 9 --seed 3 --baseline b --all",
        "a.mrg b.mrg --form original --resamples 0 --criteria labelled-f,labelled-tree",
        "a.mrg --runs 's t=b.mrg,c.mrg' --average sentence --form original",
        "a.mrg --profile compound-pcfg --by label",
        "a.mrg b.mrg --evalb COLLINS.prm",
    ],
)
def test_the_command_that_evaluates_is_printed(options: str, command: Command) -> None:
    for name in ("gold", "a", "b", "c"):
        Path(f"{name}.mrg").write_text(TREES)
    signature = command(*shlex.split(f"evaluate gold.mrg {options}")).output.splitlines()[-1]
    script = command("cite", signature).output.split("order:\n")[1].replace("\\\n", " ")
    assert command(*shlex.split(script)[1:]).output.splitlines()[-1] == signature


def test_verify(command: Command) -> None:
    signature = made(command)
    outcome = command("verify", signature, ".")
    lines = outcome.output.splitlines()
    assert {line.split()[0] for line in lines} == {"agrees"}
    assert [line.split()[1] for line in lines[:3]] == ["test.mrg", "p", "trees.mrg"]
    # By name: what differs is told, what is not there, and trees whatever their layout.
    Path("t.txt").write_text(f"some table\n\n% {signature}\n")
    Path("p.mrg").write_text(Path("p.mrg").read_text().replace(" (", "\n  ("))
    Path("one.txt").write_text("other")
    Path("trees.mrg").unlink()
    outcome = command("verify t.txt .")
    said = {line[10:].split()[0]: line[:8].strip() for line in outcome.out.splitlines()}
    assert outcome.code == 1
    assert {name for name, state in said.items() if state == "differs"} == {"one.txt"}
    assert {name for name, state in said.items() if state == "not here"} == {"trees.mrg"}
    assert said["p"] == "agrees"
    assert command("verify t.txt test.mrg p.mrg").code == 0
    assert command("verify", signature.replace("sources:", "sources:0"), "t.txt").code == 1
    grid = "grid embedded:flights --max-length 4 --resamples 0 -o out"
    signed = command(grid).output.splitlines()[-1]
    assert parts(signed)["made"] == (
        "mbrparse grid embedded:flights --objective=labelled-recall --test-fraction=0.1 --train-size=1 "
        "--max-length=4 --resamples=0"
    )
    lines = command("verify", signed, "out").output.splitlines()
    assert [line.split()[:2] for line in lines[:2]] == [["agrees", "embedded:flights"], ["agrees", "cells"]]
    cell = Path("out/cells/run-01.json")
    content = json.loads(cell.read_text())
    assert f"|cells:{parts(signed)['cells']}|" in signed
    cell.write_text(cell.read_text().replace(content["digest"], "0" * 16))
    assert "damaged, or no file of this program" in command("verify", signed, "out").last_error
