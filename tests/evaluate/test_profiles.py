"""``--profile``: figures equal to those of the published scripts, run on the same files."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import naive_spans
import pytest
from commandline import Command
from evaluation_cases import bracketed_pairs
from hypothesis import given
from hypothesis import strategies as st

import mbrparse as mp

DATA = Path(__file__).parent.parent / "data" / "profiles"
FILES = DATA / "gold.txt", DATA / "parse.txt"

# What each script printed. Functions were run from the commits named in ``PROFILES``, tree by tree, on gold
# and parse without what is no word by the gold's tags; EVALB was compiled from the repository's own source.
RECORDED = {
    # PRPN's get_brackets and the lines below it in test(), on data_ptb.py's tree2list: means of 65 sentences
    "prpn": {
        "sentence_f": 0.4890529088,
        "sentence_precision": 0.4803479846,
        "sentence_recall": 0.6130402921,
        "compared": 65 / 80,
    },
    # ON-LSTM's, and its EVALB with COLLINS.prm on the trees that utils.py's evalb writes
    "on-lstm": {
        "sentence_f": 0.4713865307,
        "sentence_precision": 0.4626438485,
        "sentence_recall": 0.5749837654,
        "whole_f": 0.4837,
        "whole_precision": 0.4794,
        "whole_recall": 0.4880,
    },
    # DIORA's remove_punctuation_from_tree and its EVALB with diora.prm
    "diora": {
        "corpus_f": 0.4044,
        "corpus_precision": 0.4898,
        "corpus_recall": 0.3443,
        "complete_match": 0.1875,
    },
    # compare_trees.py, on what process_ptb.py leaves
    "compound-pcfg": {"corpus_f": 0.3529411765, "sentence_f": 0.3248774799},
}


@pytest.mark.parametrize("name", RECORDED)
def test_figures_of_the_published_scripts(name: str) -> None:
    gold, parses = mp.read_parses(FILES[0]), mp.read_parses(FILES[1])
    trees = [tree for tree in gold if tree is not None]
    found = mp.compare(trees, {"one": parses}, profile=name).frame.loc["one"]
    digits = 5e-5 if "corpus_precision" in RECORDED[name] else 1e-8
    for criterion, figure in RECORDED[name].items():
        near = 5e-5 if criterion.startswith("whole") else digits
        assert found[criterion] == pytest.approx(figure, abs=near), criterion


def test_figures_of_the_evaluator_of_spmrl(command: Command) -> None:
    """evalb_spmrl2013 (in nikitakit/self-attentive-parser 24435a1), compiled, with -X and spmrl.prm."""
    paths = DATA / "spmrl-gold.txt", DATA / "spmrl-parse.txt"
    table = command("evaluate --profile spmrl", *paths).output.splitlines()
    figures = ["15.82", "47.25", "23.71", "30.00", "1.43", "62.50", "72.50", "70.59", "80.00"]
    assert table[1].split()[1:] == figures
    assert re.search(r"\|profile:spmrl\|evalb:spmrl\.prm=[0-9a-f]{10}\|labels:yes\|", table[3])


NAIVE: dict[str, tuple[Callable[[Any], naive_spans.Spans], int, int]] = {
    "prpn": (naive_spans.prpn, 1, 10),
    "on-lstm": (naive_spans.prpn, 1, 10_000),
    "diora": (naive_spans.diora, 1, 10_000),
    "compound-pcfg": (naive_spans.compound_pcfg, 2, 150),
}
LABELS = ["S", "NP-SBJ", "ROOT", "S1", "TOP", "-X", "=", "<script>", '"', "a|b", "NN", "é"]
TAGS = ["NN", "DT", ".", ",", "-NONE-", "NN|JJ", "$"]
PAIRS = bracketed_pairs(TAGS, LABELS, longest=13, cuts=1)


@pytest.mark.parametrize("name", NAIVE)
@given(pairs=st.lists(PAIRS, min_size=1, max_size=4))
def test_counts_are_the_naive_ones(name: str, pairs: list[tuple[str, str | None]]) -> None:
    spans_of, shortest, longest = NAIVE[name]
    rows, rates = [], []
    for gold, parse in pairs:
        tags = naive_spans.tags(naive_spans.read(gold))
        correct = naive_spans.without(naive_spans.read(gold), tags)
        words = len(naive_spans.tags(correct)) if correct else 0
        if not shortest <= words <= longest:
            rows.append((words, 0, 0, 0, 0, 0))
            continue
        spans = spans_of(correct)
        if parse is None:
            rows.append((words, 1, 0, len(spans), 0, 0))
            rates.append((0.0, 0.0, 0.0))
            continue
        guess = spans_of(naive_spans.without(naive_spans.read(parse), tags))
        rows.append((words, 1, 1, len(spans), len(guess), naive_spans.common(spans, guess)))
        rates.append(naive_spans.sentence(spans, guess))
    trees = [mp.read_tree(gold) for gold, _ in pairs]
    parses = [mp.read_tree(parse) if parse else None for _, parse in pairs]
    if not rates:
        with pytest.raises(mp.MbrparseError, match="no sentence counts"):
            mp.compare(trees, parses, profile=name)
        return
    found = mp.compare(trees, parses, profile=name, criteria="all")
    columns = ["terminals", "counted", "parsed", "gold", "guess", "matched"]
    assert list(found.counts[columns].itertuples(index=False, name=None)) == rows
    means = [sum(column) / len(rates) for column in zip(*rates, strict=True)]
    frame = found.frame.loc["parses"]
    assert [frame[f"sentence_{kind}"] for kind in ("precision", "recall", "f")] == pytest.approx(means)
    gold_spans, guessed, matched = (sum(row[place] for row in rows) for place in (3, 4, 5))
    if gold_spans + guessed:
        assert frame["corpus_f"] == pytest.approx(2 * matched / (gold_spans + guessed))
