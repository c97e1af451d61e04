"""The exercises of the teacher's page, solved with the commands that it gives."""

import re
import subprocess
from pathlib import Path

import pytest
from commandline import Command
from test_documentation import ROOT, steps

PAGE = ROOT / "docs" / "for-teachers.md"
EXERCISES = PAGE.read_text("utf-8").partition("## Exercises")[2].partition("\n## ")[0]
PP_OF_VERB = "(S (NP she) (VP (VP (V saw) "
PP_OF_NOUN = "(S (NP she) (VP (V saw) (NP (NP "


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with the grammars and sentences that the page types."""
    monkeypatch.chdir(tmp_path)
    for line, _ in steps(PAGE):
        if line.startswith(("printf", "echo")):
            subprocess.run(["bash", "-c", line], check=True, timeout=60)
    typed = {"toy.nltk", "sentence.txt", "four.nltk", "x.txt", "drawn.mrg", "today.txt"}
    assert {path.name for path in tmp_path.iterdir()} == typed


def typed(exercise: int) -> list[str]:
    """The commands of an exercise."""
    text = re.split(r"(?m)^\d\. ", EXERCISES)[exercise]
    return re.findall(r"(?m)(?:^ +|`)mbrparse ([^`\n]+)", text)


def test_every_exercise_is_here() -> None:
    numbers = re.findall(r"(?m)^(\d)\. ", EXERCISES)
    assert [f"test_exercise_{number}" for number in numbers] == sorted(
        name for name in globals() if name.startswith("test_exercise_")
    )


def test_exercise_1(command: Command) -> None:
    """The rule NP -> NP PP brings a noun phrase, which may have one again."""
    [sample] = typed(1)
    sentences = command(sample).output.splitlines()
    assert len(sentences) == 5
    assert not any(set("()") & set(line) for line in sentences)
    trees = command(sample.replace(" --words", "")).output.splitlines()
    assert [re.findall(r"[^() ]+(?=\))", line) for line in trees] == [line.split() for line in sentences]
    longest = max(zip(map(len, map(str.split, sentences)), trees, strict=True))[1]
    assert longest.count("(PP ") >= 2
    flat = (
        Path("toy.nltk")
        .read_text()
        .replace("[0.6] | NP PP [0.2]", "[0.8]")
        .replace("V NP [0.7] | VP PP [0.3]", "V NP [1]")
    )
    Path("toy.nltk").write_text(flat)
    assert all(len(line.split()) <= 5 for line in command(sample).output.splitlines())


def test_exercise_2(command: Command) -> None:
    """At 0.2, that of NP -> NP PP: the readings share all other rules."""
    grammar = Path("toy.nltk").read_text()
    for attached, tree in ((0.3, PP_OF_VERB), (0.201, PP_OF_VERB), (0.199, PP_OF_NOUN), (0.1, PP_OF_NOUN)):
        changed = f"VP -> V NP [{1 - attached:.3f}] | VP PP [{attached}]"
        text = grammar.replace("VP -> V NP [0.7] | VP PP [0.3]", changed)
        assert changed in text
        Path("toy.nltk").write_text(text)
        found = command("parse -g toy.nltk sentence.txt --objective labelled-tree").output
        assert found.startswith(tree), attached


def test_exercise_3(command: Command) -> None:
    """Labelled Recall: its F of NP is higher than that of the most probable tree."""
    *first, evaluate = typed(3)
    for line in first:
        assert command(line).code == 0
    table = command(f"{evaluate} --resamples 0").output
    f = {line.split()[0]: float(line.split()[-1]) for line in table.splitlines() if " NP " in line}
    assert f["np-labelled-tree"] < f["np-labelled-recall"]


def test_exercise_4(command: Command) -> None:
    outputs = [command(line).output for line in typed(4)]
    assert outputs[:2] == ["", ""]
    _, words, *rows = outputs[2].splitlines()
    assert len(words.split()) == len(rows)
    assert " 100" in rows[0]


def test_the_four_trees(command: Command) -> None:
    """25.00 and 58.33, 0.00 and 66.67, as the page prints them."""
    shown = {command: output for command, output in steps(PAGE) if "evaluate" in command}
    [(line, output)] = shown.items()
    for before in (
        "four.nltk x.txt --k-best 4 --candidates four.tsv -o best.mrg",
        "four.nltk four.mrg --objective labelled-tree --objective labelled-recall -o {objective}.mrg",
    ):
        assert f"mbrparse parse -g {before}" in PAGE.read_text("utf-8")
        assert command(f"parse -g {before}").code == 0
        trees = [row.split("\t")[2] for row in Path("four.tsv").read_text().splitlines()]
        Path("four.mrg").write_text("\n".join(trees) + "\n")
    table = command(line.split(" |")[0].removeprefix("mbrparse ")).output
    assert [row.split()[:3] for row in table.splitlines()[1:3]] == [
        ["labelled-tree", "25.00", "58.33"],
        ["labelled-recall", "0.00", "66.67"],
    ]
    assert output.splitlines() == [row[:39] for row in table.splitlines()[:3]]
