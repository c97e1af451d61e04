"""Constituents over one word in files of posteriors: an array says which entries are tags."""

from pathlib import Path

import pytest
from commandline import Command, run
from conversion import write_posteriors

from mbrparse.treebank.brackets import read_tree
from mbrparse.treebank.outlines import constituents

ROWS = [(0, 0, 1, "NP"), (0, 0, 3, "S"), (0, 1, 3, "VP"), (0, 1, 2, "VBD"), (1, 0, 1, "NP")]


def written(folder: Path, tag: list[bool]) -> str:
    (folder / "text").write_text("she saw it\nyes\n")
    return str(write_posteriors(folder / "model.npz", [3, 1], [(*row, 1.0) for row in ROWS], tag=tag))


def test_phrases_over_one_word_are_kept(tmp_path: Path) -> None:
    model = written(tmp_path, [False, False, False, True, False])
    found = run("parse", "--posteriors", model, "--objective", "labelled-f", str(tmp_path / "text"))
    assert found.output == "(S (NP (she she)) (VP (VBD saw) it))\n(NP (yes yes))\n"


def test_called_tags_they_are_none(tmp_path: Path) -> None:
    model = written(tmp_path, [True, False, False, True, True])
    found = run("parse", "--posteriors", model, "--objective", "labelled-f", str(tmp_path / "text"))
    assert found.output.startswith("(S (NP she) (VP (VBD saw) it))\n")


@pytest.mark.usefixtures("folder")
def test_every_constituent_of_a_treebank(command: Command) -> None:
    """Posteriors of one for all of them, labels above themselves too: F is 100."""
    assert command("binarize embedded:flights --unary keep -o bin.mrg").code == 0
    lines = command("debinarize bin.mrg").output.splitlines()[:300]
    gold = [*lines, "(S (NP (NP (NN it))) (VP (VP (VP (VB is) (RB so)))))", "(NP (NP (NN yes)))"]
    Path("gold.mrg").write_text("\n".join(gold) + "\n")
    trees = [read_tree(line) for line in gold]
    rows = [(number, *one, 1.0) for number, tree in enumerate(trees) for one in constituents(tree)]
    write_posteriors(Path("gold.npz"), [len(tree.leaves()) for tree in trees], rows)
    for objective in ("labelled-f", "general-recall --node-cost 0.5"):
        typed = f"parse gold.mrg --posteriors gold.npz --objective {objective} --details d -o found.mrg"
        said = command(typed).err
        assert "gold.npz: 4 labels are listed twice for a span: first sentence 301, NP" in said
        found = command("evaluate gold.mrg found.mrg --evalb COLLINS.prm").output
        assert found.count("Bracketing FMeasure       = 100.00") == 2
        told = command("evaluate gold.mrg found.mrg --form original --details d --calibration").output
        assert [line.split()[-4:] for line in told.splitlines()[3:7]] == [
            ["100.00", "100.00", "0.00", "0.00"]
        ] * 4
