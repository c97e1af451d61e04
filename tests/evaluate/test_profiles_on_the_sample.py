"""The profiles on NLTK's Penn sample: the page's figures, and the published scripts' on the same files."""

import contextlib
from pathlib import Path

import pytest
from commandline import Command

import mbrparse as mp
from mbrparse.evaluate.compare.profiles import PROFILES
from mbrparse.treebank.tree import Tree

PAGE = Path(__file__).parent.parent.parent / "docs" / "evaluation.md"

# What the scripts printed for these files (see test_profiles.py), but for random trees of seed 0. Columns:
# PRPN's and ON-LSTM's mean F, ON-LSTM's EVALB F, DIORA's EVALB F, corpus and sentence F of compare_trees.py.
RECORDED = {
    "labelled-recall": (0.82194920, 0.70346932, 70.40, 70.35, 68.14112691, 70.23960813),
    "right": (0.53020537, 0.40493713, 42.12, 39.06, 38.35518687, 40.26396702),
    "left": (0.17841107, 0.08442645, 12.38, 11.45, 6.52474905, 7.78809380),
    "balanced": (0.31861495, 0.22130835, 25.16, 23.58, 20.33746987, 21.91513094),
    "random": (0.34703523, 0.19175712, 21.82, 20.44, 16.74832962, 18.88391212),
}
KINDS = ("right", "left", "balanced")
FIGURES = {
    "labelled F": "labelled_f",
    "bracketed F": "bracketed_f",
    "F": "bracketing_f",
    "sentence F": "sentence_f",
    "corpus F": "corpus_f",
    "EVALB F": "whole_f",
}


@pytest.fixture(scope="module")
def files(
    command: Command, tmp_path_factory: pytest.TempPathFactory, treebank_sample: tuple[Tree, ...]
) -> Path:
    """A folder with the gold, the labelled-recall parse, and baselines."""
    folder = tmp_path_factory.mktemp("sample")
    (folder / "raw").write_text("".join(f"{tree}\n" for tree in treebank_sample), "utf-8")
    with contextlib.chdir(folder):
        for line in (
            "binarize raw --max-length 40 -o all",
            "split all --test-fraction 0.1 --train-output train --test-output test",
            "train train -o grammar",
            "parse -g grammar --objective labelled-recall test -o parsed",
            "debinarize test -o gold",
            "debinarize parsed -o labelled-recall",
            *(f"baseline --kind {kind} --frequent-labels gold -o {kind}" for kind in KINDS),
            "baseline --kind random --runs 5 --frequent-labels gold -o random-{seed}",
        ):
            assert command(line).code == 0
    return folder


def test_the_scripts_figures(files: Path) -> None:
    gold = [tree for tree in mp.read_parses(files / "gold") if tree is not None]
    trees = {name: mp.read_parses(files / (name if name != "random" else "random-0")) for name in RECORDED}
    columns = [
        (mp.compare(gold, trees, profile=profile, resamples=0).frame[criterion], digits)
        for profile, criterion, digits in (
            ("prpn", "sentence_f", 1e-7),
            ("on-lstm", "sentence_f", 1e-7),
            ("on-lstm", "whole_f", 5e-5),
            ("diora", "corpus_f", 5e-5),
            ("compound-pcfg", "corpus_f", 1e-9),
            ("compound-pcfg", "sentence_f", 1e-7),
        )
    ]
    for name, recorded in RECORDED.items():
        for place, (figure, (column, digits)) in enumerate(zip(recorded, columns, strict=True)):
            expected = figure if place < 2 else figure / 100
            assert column[name] == pytest.approx(expected, abs=digits), (name, place)


@pytest.mark.long
def test_the_table_of_the_page(files: Path) -> None:
    gold = [tree for tree in mp.read_parses(files / "gold") if tree is not None]
    one = {name: mp.read_parses(files / name) for name in ("labelled-recall", *KINDS)}
    random = [mp.read_parses(files / f"random-{seed}") for seed in range(5)]
    page = PAGE.read_text("utf-8")
    _, _, *table = page[page.index("| profile | figure |") :].partition("\n\n")[0].splitlines()
    assert len(table) == 11
    for line in table:
        asked, figure, *shown = (cell.strip() for cell in line.strip("|").split("|"))
        name, _, kept = asked.replace("`", "").partition(", ")
        profile = PROFILES[name].with_punctuation() if kept == "--keep-punctuation" else PROFILES[name]
        criterion = FIGURES[figure]
        found = mp.compare(
            gold,
            one,
            runs={"random": random},
            profile=profile,
            form="original" if name == "goodman" else "binarized",
            criteria=[criterion],
            resamples=0,
        ).frames["runs"]
        expected = [f"{100 * mean:.2f}" for mean in found["mean"]]
        expected[-1] += f" ± {100 * found['deviation'].iloc[-1]:.2f}"
        assert shown == expected, line
