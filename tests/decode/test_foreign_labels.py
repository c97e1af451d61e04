"""Labels of other programs, in files of posteriors and in trees: their joiners, their continuations."""

from pathlib import Path
from typing import Any

import numpy as np
from commandline import Command
from hypothesis import given
from hypothesis import strategies as st

from mbrparse.decode.posteriors.posteriors_file import read_posteriors
from mbrparse.treebank.binarize import debinarize, translated
from mbrparse.treebank.labels import LabelMarks
from mbrparse.treebank.tree import Tree

LABELS = ["SBAR::S", "VP|<>", "NP^x", "S::VP|<>", "S", "NN"]


def write(path: Path, **changes: Any) -> Path:
    """Posteriors of "she saw stars at night": a chain, a continuation, a mark that is reserved here."""
    arrays: dict[str, Any] = {
        "lengths": [5], "labels": LABELS, "sentence": [0] * 6, "start": [0, 1, 1, 3, 3, 4],
        "end": [5, 5, 3, 5, 5, 5], "label": [0, 1, 2, 3, 4, 5], "g": [1.0, 0.75, 0.5, 0.25, 0.5, 1.0],
        "tag": [False] * 5 + [True],
    }  # fmt: skip
    np.savez(path, **(arrays | changes))
    return path


OPTIONS = ("--joiner", "::", "--continuation", "|<")


def test_what_becomes_one_label_is_added_up(tmp_path: Path) -> None:
    """S over four words, and S over a continuation: the chain without it is S too."""
    found = read_posteriors(write(tmp_path / "p.npz"), LabelMarks("::", "|<"))
    rows = zip(found.starts, found.ends, found.label_ids, found.g, strict=True)
    listed = {(int(start), int(end), found.labels[label]): g for start, end, label, g in rows}
    assert listed == {
        (0, 5, "SBAR+S"): 1.0,
        (1, 5, "VP_Cont"): 0.75,
        (1, 3, "NP%5Ex"): 0.5,
        (3, 5, "S"): 0.75,
        (4, 5, "NN"): 1.0,
    }


def test_trees_of_another_program(command: Command) -> None:
    text = "(SBAR::S (X she) (VP|<> (V saw) (VP|<NP> (N@x stars at) (A night))))\n(())\n"
    done = command("debinarize", *OPTIONS, stdin=text)
    assert done.out == "(SBAR (S (X she) (V saw) (N@x stars at) (A night)))\n(())\n"
    error = command("debinarize", stdin="(^S a b)\n").error
    assert error.endswith("for another program's labels, give --label-style, or --joiner ('' for nothing)")


names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="|:"), max_size=4)


@given(st.lists(names, min_size=1, max_size=3), names, names)
def test_there_and_back(chain: list[str], continued: str, tag: str) -> None:
    """Whatever labels hold: a chain over a continuation comes out as the tree that it stood for."""
    leaves = [Tree(tag, word="a"), Tree(tag, word="b"), Tree(tag, word="c")]
    foreign = Tree("::".join(chain), [leaves[0], Tree(f"{continued}|<>", leaves[1:])])
    expected = Tree(chain[-1], leaves)
    for label in reversed(chain[:-1]):
        expected = Tree(label, [expected])
    assert debinarize(translated(foreign, LabelMarks("::", "|<"))) == expected
