"""``grammar info --states``: what the states of a label are."""

import json
import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from commandline import Command

# Pronouns in capitals begin sentences, words in small letters end them.
TREES = [
    "(S (NP (PRP He)) (VP (VBD saw) (NP (PRP him))))",
    "(S (NP (DT The) (NN dog)) (VP (VBD saw) (NP (PRP him))))",
    "(S (NP (PRP He)) (VP (VBD heard) (NP (DT a) (NN bird))))",
    "(S (NP (PRP She)) (VP (VBD heard) (NP (PRP her))))",
    "(S (NP (PRP She)) (VP (VBD saw) (NP (DT a) (NN fox))))",
]
TRAIN = "train trees.mrg --method split-merge --terminals words --cycles 2 --seed 1 --smooth .01 -o g.txt"


@pytest.fixture(autouse=True)
def _trees(folder: Path) -> None:
    (folder / "trees.mrg").write_text("\n".join(TREES * 3) + "\n")


def naive(text: str, label: str) -> dict[str, tuple[float, dict[str, float]]]:
    """Of a grammar file with a start distribution: by symbol its share and its items' probabilities."""
    rules: list[tuple[str, float, list[str]]] = []
    start: dict[str, float] = {}
    groups: dict[str, list[str]] = defaultdict(list)
    for line in text.splitlines():
        match line.split():
            case ["start", name, figure, _]:
                start[name] = float(figure)
            case ["word", word, terminal]:
                groups[terminal].append(f"'{word}'")
            case [figure, _, parent, "->", *children]:
                rules.append((parent, float(figure), children))
    names = sorted({parent for parent, *_ in rules})
    # e = start + e A, solved at once.
    of_children = np.zeros((len(names), len(names)))
    for parent, probability, children in rules:
        for child in children:
            if child in names:
                of_children[names.index(parent), names.index(child)] += probability
    begun = np.array([start.get(name, 0) for name in names])
    expected = np.linalg.solve(np.eye(len(names)) - of_children.T, begun)
    mine = {name: e for name, e in zip(names, expected, strict=True) if re.sub("[~^].*", "", name) == label}
    found = {}
    for name, e in mine.items():
        items: dict[str, float] = defaultdict(float)
        for parent, probability, children in rules:
            if parent == name:
                group = groups.get(children[0][1:-1], [])
                more = f" +{len(group) - 3}" if len(group) > 3 else ""
                plain = " ".join(re.sub("[~^].*", "", child) for child in children)
                items[" ".join(group[:3]) + more if group else plain] += probability
        found[name] = (e / sum(mine.values()), items)
    return found


@pytest.mark.parametrize(
    ("rare", "label"), [("", "NP"), ("", "PRP"), ("--rare 2", "PRP"), ("--rare 2", "NN")]
)
def test_sums_are_those_of_the_file(rare: str, label: str, command: Command) -> None:
    assert command(f"{TRAIN} --merge 0 {rare}").code == 0
    expected = naive(Path("g.txt").read_text(), label)
    assert len(expected) > 2
    lines = command(f"grammar info g.txt --states {label} --top 100 --format json").output.splitlines()
    rows = [json.loads(line) for line in lines]
    assert list(dict.fromkeys(row["state"] for row in rows)) == sorted(expected)
    mean = {
        item: sum(share * items.get(item, 0) for share, items in expected.values())
        for item in {item for _, items in expected.values() for item in items}
    }
    for symbol, (share, items) in expected.items():
        mine = [row for row in rows if row["state"] == symbol]
        gains = [items[row["item"]] * np.log(items[row["item"]] / mean[row["item"]]) for row in mine]
        assert gains == sorted(gains, key=lambda gain: -round(gain, 2))
        telling = [item for item, p in items.items() if p > 0 and p * np.log(p / mean[item]) >= 0.006]
        assert {*telling} <= {row["item"] for row in mine}
        for row in mine:
            assert row["share"] == pytest.approx(share, abs=1e-6)
            assert row["probability"] == pytest.approx(items[row["item"]], abs=1e-6)
            assert row["ratio"] == pytest.approx(items[row["item"]] / mean[row["item"]], rel=1e-4)


def test_checkpoints_are_listed_and_drawn_together(command: Command) -> None:
    command(f"{TRAIN} --merge 0 --unknown none")
    line = "grammar info g.txt.cycle-1 g.txt.cycle-2 --states PRP --svg s.svg --png s.png --pdf s.pdf"
    names = [text.split("  ")[0] for text in command(line).output.splitlines()[1:]]
    assert names == [
        *(f"g.txt.cycle-1: PRP~{bits}" for bits in "01"),
        *(f"g.txt.cycle-2: PRP~{bits}" for bits in ("00", "01", "10", "11")),
    ]
    svg = Path("s.svg").read_text()
    assert [name for name in names if f">{name}  " in svg] == names
    assert "'him'" in svg
    assert Path("s.png").read_bytes()[:4] == b"\x89PNG"
    assert Path("s.pdf").read_bytes()[:4] == b"%PDF"


@pytest.mark.parametrize(
    ("made", "label", "expected"),
    [
        (TRAIN, "NX", r"g\.txt: no symbol has the label NX; these have: .*NP"),
        (TRAIN, "'He'", r"g\.txt: no symbol has the label 'He'; these have: "),
        (f"{TRAIN} --cycles 0", "NP", r"g\.txt: NP has no states; train --method split-merge makes some"),
        (
            "train binary.mrg --method dop -o g.txt",
            "NP",
            r"g\.txt: NP has no states; train --method split-merge",
        ),
        ("train trees.mrg -o g.txt", "NX", r"g\.txt: no symbol has the label NX; train --method split-merge"),
    ],
)
def test_labels_without_states(made: str, label: str, expected: str, command: Command) -> None:
    Path("binary.mrg").write_text("(S (NP (DT a) (NN dog)) (VP (VBD saw) (NP (DT a) (NN cat))))\n")
    assert command(made).code == 0
    assert re.match(expected, command("grammar", "info", "g.txt", "--states", label, "--svg", "s.svg").error)
    assert not Path("s.svg").exists()
