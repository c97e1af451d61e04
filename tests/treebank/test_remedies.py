"""What an error says is to be done, done."""

from pathlib import Path

import pytest
from commandline import Command

TREE = "(S (A x y) z)\n"


def test_a_folder_without_the_usual_files(command: Command, tmp_path: Path) -> None:
    folder = tmp_path / "trees"
    (folder / "00.txt").mkdir(parents=True)
    assert command("binarize", folder).error.endswith("it holds no file at all: name another")
    (folder / "run.sh").write_text("#!/bin/sh\n")
    assert "none of its files (*.sh) begins with a bracket" in command("binarize", folder).error
    for place in (folder, folder / "00.txt"):
        (place / "a.txt").write_text(TREE)
    assert command("binarize", folder).out == TREE * 2
    assert command("binarize", f"{folder}/**/*.txt").out == TREE * 2
    assert "** stands for folders" in command("binarize", f"{folder}/*.mrg").error


@pytest.mark.parametrize("name", ["parse", "train", "evaluate", "split", "debinarize"])
def test_malformed_trees_are_left_out(command: Command, tmp_path: Path, name: str) -> None:
    """Also for commands that have no --on-error of their own."""
    trees, grammar = tmp_path / "trees", tmp_path / "grammar"
    trees.write_text(TREE)
    assert command("train", trees, "-o", grammar).code == 0
    trees.write_text(f"{TREE}(S (A x y)\n{TREE}")
    options: dict[str, list[object]] = {
        "parse": ["-g", grammar],
        "evaluate": [trees],
        "split": ["--test-last", 1, "--test-output", tmp_path / "t"],
    }
    rest = options.get(name, [])
    error = command(name, trees, *rest).err
    remedy = error.strip().rpartition("mbrparse ")[2].split()
    mended = tmp_path / "mended"
    assert command(*remedy, trees, "-o", mended).code == 0
    assert mended.read_text() == TREE * 2
    assert command(name, *(mended if one == trees else one for one in (trees, *rest))).code == 0
