"""Reading times that are made of a grammar's surprisals, in the form of the Natural Stories corpus."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import natural_stories
import numpy as np
import pandas as pd
import pytest

import mbrparse as mp

SENTENCES, STORIES = 40, 4


def numbered(tree: str, story: int, numbers: Iterator[int]) -> Iterator[str]:
    """The parts of a tree, with a code behind each word."""
    for part in re.split(r"(?<=[^()])(?=\))", tree):
        yield part if part.strip(")") == "" else f"{part}/{story}.{next(numbers)}"


def made_up(folder: Path, early: bool) -> None:
    """Write stories whose words are read longer by 20 ms for a bit, by the counted grammar of all flights."""
    trees = mp.read_trees("embedded:flights", unary="keep")
    grammar = mp.train(trees, "words")
    random = np.random.default_rng(0)
    penn, readings, counts = [], ["word\tzone\titem\tnItem\tmeanItemRT\tsdItemRT"], []
    for story in range(1, STORIES + 1):
        chosen = trees[story * SENTENCES : (story + 1) * SENTENCES]
        words = [word for tree in chosen for word in tree.words()]
        table = mp.surprisal(grammar, chosen, end=False)
        times = 300 + 20 * table["surprisal"].to_numpy() + random.normal(0, 5, len(words))
        shown = np.append(times[1:], 400.0) if early else times
        codes = count(1)
        penn += ["".join(numbered(str(tree), story, codes)) for tree in chosen]
        for number, (word, time) in enumerate(zip(words, shown, strict=True), start=1):
            readings.append(f"{word}\t{number}\t{story}\t80\t{time}\t100")
            counts.append(f"{story}.{number}.word\t1\t{word}\t{1000 + words.count(word)}\tNA")
    for name, lines in (
        ("parses/penn/all-parses-aligned.txt.penn", penn),
        ("naturalstories_RTS/processed_wordinfo.tsv", readings),
        ("freqs/freqs-1.tsv", counts),
    ):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")


def test_the_model_that_made_the_times_gains_most(tmp_path: Path) -> None:
    made_up(tmp_path / "stories", early=False)
    arguments = ["embedded:flights", "--stories", str(tmp_path / "stories"), "--cycles", "0", "--order", "2"]
    natural_stories.main([*arguments, "-o", str(tmp_path / "out")], standalone_mode=False)
    table: Any = pd.read_csv(tmp_path / "out/gains.csv", index_col=0)
    assert table["gain"].idxmax() == table["beyond"].idxmax() == "counted"
    assert table.loc["counted", "beyond_low"] > 500
    assert table.loc["1-gram", "perplexity"] > table.loc["2-gram", "perplexity"] > 1
    assert table.loc["2-gram", "beyond"] == pytest.approx(0, abs=1e-6)


def test_times_that_know_the_next_word_are_put_later(tmp_path: Path) -> None:
    for early in (False, True):
        made_up(tmp_path / str(early), early)
    right, mended = (natural_stories.read_words(tmp_path / str(early))["time"] for early in (False, True))
    later = right.index.get_level_values("number") > 1
    pd.testing.assert_series_equal(mended[later], right[later])
    assert mended[~later].isna().all()
