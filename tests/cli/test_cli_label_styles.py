"""Labels of other programs, named by --label-style, by single marks, or in the file of posteriors."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commandline import Command

from mbrparse.treebank.brackets import read_tree
from mbrparse.treebank.outlines import constituents
from mbrparse.treebank.tree import Tree

GOLD = [
    "(S (NP (DT the) (JJ old) (NN dog)) (VP (VBD saw) (S (VP (TO to) (VB run) (RB fast)))) (. .))",
    "(S (NP (PRP she)) (VP (VBD slept) (RB well)))",
]


def binarized(tree: Tree, mark: str) -> Tree:
    """As supar binarizes: to the left, words among siblings under a continuation, chains joined by ``::``."""
    label = tree.label
    while len(tree.children) == 1 and tree.children[0].children:
        tree = tree.children[0]
        label += f"::{tree.label}"
    if len(tree.children) < 2:
        return Tree(label, tree.children)
    continued = tree.label + mark
    below = [binarized(one, mark) if one.children else Tree(continued, [one]) for one in tree.children]
    left = below[0]
    for one in below[1:-1]:
        left = Tree(continued, [left, one])
    return Tree(label, [left, below[-1]])


def entries(trees: list[Tree]) -> dict[str, Any]:
    """Posteriors of one for all constituents."""
    rows = [(number, *one) for number, tree in enumerate(trees) for one in constituents(tree)]
    labels = sorted({row[3] for row in rows})
    sentence, start, end, names = zip(*rows, strict=True)
    return {
        "lengths": [len(tree.leaves()) for tree in trees], "labels": labels, "sentence": sentence,
        "start": start, "end": end, "label": [labels.index(name) for name in names], "g": np.ones(len(rows)),
    }  # fmt: skip


@pytest.fixture(autouse=True)
def files(folder: Path) -> None:
    gold = [read_tree(line) for line in GOLD]
    new, old = ([binarized(tree, mark) for tree in gold] for mark in ("*", "|<>"))
    (folder / "gold").write_text("".join(f"{line}\n" for line in GOLD))
    (folder / "text").write_text("".join(" ".join(tree.words()) + "\n" for tree in gold))
    for name, trees in (("new", new), ("old", old)):
        (folder / name).write_text("".join(f"{tree}\n" for tree in trees))
        np.savez(folder / f"{name}.npz", **entries(trees))


def bare(tree: str) -> str:
    """A tree without its tags."""
    return str(
        read_tree(tree).fold(lambda leaf: Tree(str(leaf.word)), lambda node, below: Tree(node.label, below))
    )


N_ARY = [bare(line) for line in GOLD]


def labelled(out: str) -> list[set[Any]]:
    return [{tuple(one) for one in constituents(read_tree(line))} for line in out.splitlines()]


@pytest.mark.parametrize("name", ["new", "old"])
def test_parse(command: Command, name: str) -> None:
    """All that the trees have, and no continuation, is found again."""
    typed = f"parse text --posteriors {name}.npz --label-style supar --objective labelled-f"
    done = command(typed)
    assert labelled(done.output) == labelled("\n".join(N_ARY))
    assert done.err == "mbrparse: 2 sentences, 0 fell back\n"
    free = command(f"parse text --posteriors {name}.npz --label-style supar --debinarize").output
    wide = [{one for one in spans if one[1] - one[0] > 1} for spans in labelled("\n".join(N_ARY))]
    assert [{one for one in spans if one[1] - one[0] > 1} for spans in labelled(free)] == wide


@pytest.mark.parametrize("form", ["--form original", "--evalb COLLINS.prm"])
@pytest.mark.parametrize("name", ["new", "old"])
def test_evaluate(command: Command, form: str, name: str) -> None:
    typed = f"evaluate gold {name} --format json {form}"
    done = command(f"{typed} --label-style supar")
    row = json.loads(done.output)["rows"][0]
    assert row["rates"]["labelled_tree" if "original" in form else "bracketing_f"] == 1
    assert "label-style" not in done.err
    assert f"{name}: " in command(typed).err
    assert "--label-style supar reads it" in command(typed).err


def test_debinarize(command: Command) -> None:
    for name in ("new", "old"):
        assert command(f"debinarize {name} --label-style supar").output == "".join(
            f"{line}\n" for line in GOLD
        )
    done = command("debinarize new")
    assert "new: NP* is taken for a phrase's name; --label-style supar reads it\n" in done.err


def test_marks_in_the_file(command: Command) -> None:
    """They are as good as the options, which win."""
    with np.load("old.npz") as found:
        arrays = dict(found)
    np.savez("marked.npz", **arrays, joiner="::", continuation=["|<"], null=["|<>"])
    expected = command("parse text --posteriors old.npz --label-style supar").output
    done = command("parse text --posteriors marked.npz")
    assert (done.output, "ignored" in done.err) == (expected, False)
    other = command("parse text --posteriors marked.npz", "--joiner", "").output
    assert "S::VP" in other
    assert "|<" not in other
    np.savez("wrong.npz", **arrays, joiner=3)
    error = command("parse text --posteriors wrong.npz").error
    assert "array 'joiner' is of int64, where text is wanted; write np.array(joiner, dtype=np.str_)" in error


LOOKS = {"NP*": "--label-style supar", "NP|<DT-NN>": "--label-style nltk", "@NP": '--continuation "@"'}


@pytest.mark.parametrize("label", LOOKS)
def test_what_looks_foreign_is_never_written_in_silence(command: Command, label: str) -> None:
    """It is refused, or there is a note, once; either names the option, and that mends it."""
    arrays: dict[str, Any] = {
        "lengths": [3, 3],
        "labels": ["S", label],
        "sentence": [0, 0, 1, 1],
        "g": np.ones(4),
    }
    np.savez("p.npz", **arrays, start=[0, 0, 0, 0], end=[3, 2, 3, 2], label=[0, 1, 0, 1])
    typed = "parse --posteriors p.npz --debinarize"
    for options in ((), ("--joiner", "")):
        done = command(typed, *options, stdin="a b c\n" * 2)
        assert done.err.count(LOOKS[label]) == 1, done
    mended = command(typed, *LOOKS[label].replace('"', "").split(" "), stdin="a b c\n" * 2)
    assert mended.err == "mbrparse: 2 sentences, 0 fell back\n"
    assert mended.output == "(S a b c)\n" * 2


def test_labels_that_become_equal(command: Command) -> None:
    """Alternatives have the sum of their probabilities; of one above the other the sum is no probability."""
    rules = [
        "S -> 'a' S_Cont [0.25]",
        "S -> 'a' SBAR+S_Cont [0.5]",
        "S -> 'a' B [0.25]",
        "B -> 'b' 'c' [1.0]",
    ]
    rules += ["S_Cont -> 'b' 'c' [1.0]", "SBAR+S_Cont -> 'b' 'c' [0.5]"]
    for name, last in (("alternatives", "'c' 'b' [0.5]"), ("chain", "S_Cont [0.5]")):
        Path(name).write_text("\n".join([*rules, f"SBAR+S_Cont -> {last}", ""]))
    Path("words").write_text("a b c\n")
    typed = "parse words --write-posteriors out.npz --label-style supar -g"
    assert command(f"{typed} alternatives").code == 0
    with np.load("out.npz") as found:
        wide = found["start"] == 1
        wide &= found["end"] == 3
        labels = [str(found["labels"][one]) for one in found["label"][wide]]
        given = dict(zip(labels, found["g"][wide].tolist(), strict=True))
    # Trees of weights 1/4, 1/2 * 1/2 and 1/4.
    assert given == {"S*": pytest.approx(2 / 3), "B": pytest.approx(1 / 3)}
    Path("out.npz").unlink()
    error = command(f"{typed} chain").usage_error
    assert "SBAR+S_Cont is above S_Cont in trees, and both would be called 'S*'; write the" in error
    assert not Path("out.npz").exists()
