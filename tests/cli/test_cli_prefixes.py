"""``mbrparse surprisal``, ``next`` and ``masked``, against figures by hand and sentences' probabilities."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from commandline import Command, rows_of

import mbrparse as mp

# DT and NN begin a sentence each half the time; a word of each tag is one of two.
TREES = """\
(S (NP (DT the) (NN dog)) (VB barks))
(S (NP (DT a) (NN cat)) (VB sleeps))
(S (NN dog) (VB sleeps))
(S (NN cat) (VB barks))
"""
SENTENCE = "the dog barks"
NUMBERS = ("log_prefix", "surprisal", "lexical", "syntactic", "entropy")


@pytest.fixture
def words(command: Command) -> str:
    Path("trees").write_text(TREES)
    command("train trees --terminals words --unknown none -o words").output  # noqa: B018
    return "words"


def test_a_table_by_hand(command: Command, words: str) -> None:
    outcome = command(f"surprisal -g {words}", stdin=SENTENCE)
    assert outcome.output == (
        "   1  word   terminal   surprisal     lexical   syntactic     entropy  log_prefix\n"
        "   1  the    the           2.0000      1.0000      1.0000      2.0000     -1.3863\n"
        "   2  dog    dog           1.0000      1.0000      0.0000      1.0000     -2.0794\n"
        "   3  barks  barks         1.0000      1.0000      0.0000      1.0000     -2.7726\n"
        "   4  </s>   </s>          0.0000      0.0000      0.0000      0.0000     -2.7726\n\n"
    )
    assert outcome.err.splitlines()[-1] == (
        "mbrparse: 1 sentence: 1.0000 bits a word on average (perplexity 2.0000), "
        "over 4 words and sentence ends"
    )


def test_the_forms_say_the_same(command: Command, words: str) -> None:
    read = rows_of(command(f"surprisal -g {words} trees --format csv").output)
    objects = list(map(json.loads, command(f"surprisal -g {words} trees --format json").output.splitlines()))
    frame = mp.surprisal(mp.read_grammar(words), TREES.splitlines())
    assert [list(row) for row in (read[0], objects[0])] == [list(frame.columns)] * 2
    assert len(read) == len(objects) == len(frame) == 4 + 4 + 3 + 3
    assert [row["word"] for row in read] == frame["word"].tolist() == [row["word"] for row in objects]
    for name in NUMBERS:
        assert [float(row[name]) for row in read] == frame[name].tolist() == [row[name] for row in objects]
    sums = frame.groupby("sentence")[["surprisal", "lexical", "syntactic"]].sum()
    scored = mp.score(mp.read_grammar(words), TREES.splitlines())
    np.testing.assert_allclose(sums["surprisal"], scored["log_probability"] / -math.log(2), rtol=1e-12)
    np.testing.assert_allclose(sums["lexical"] + sums["syntactic"], sums["surprisal"], rtol=1e-12)
    ends = frame[frame["word"] == "</s>"]
    np.testing.assert_allclose(ends["log_prefix"], scored["log_probability"], rtol=1e-12)


def test_what_the_grammar_does_not_know(command: Command, words: str) -> None:
    outcome = command(f"surprisal -g {words} --format csv", stdin="the bird barks\n\ndog dog\nthe dog")
    rows = rows_of(outcome.output)
    assert [row["reason"] for row in rows] == [
        *("", "unknown bird", "unknown bird", "unknown bird"),
        "impossible here: </s>",
        *("", "impossible here: dog", "impossible here: dog"),
        *("", "", "impossible here: </s>"),
    ]
    assert [row["surprisal"] for row in rows[:4]] == ["2.0", "inf", "nan", "nan"]
    assert [row["log_prefix"] for row in rows[1:4]] == ["-inf"] * 3
    assert (
        "; 4 sentences with words of probability zero (impossible here: </s>: 2, unknown bird: 1, "
        in outcome.err
    )
    as_json = command(f"surprisal -g {words} --format json", stdin="bird dog").output.splitlines()
    assert json.loads(as_json[0])["surprisal"] is None
    error = command(f"surprisal -g {words}", stdin="DT NN VB").error
    assert error.startswith("grammar and input do not fit")


def test_next_words(command: Command, words: str) -> None:
    outcome = command(f"next -g {words} --top 2", stdin=SENTENCE)
    assert outcome.output == (
        "   1   1  the    0.2500  a 0.2500  cat 0.2500\n"
        "   1   2  dog    0.5000  cat 0.5000  dog 0.5000\n"
        "   1   3  barks  0.5000  barks 0.5000  sleeps 0.5000\n"
        "   1   4  </s>   1.0000  </s> 1.0000\n\n"
    )
    assert (
        ": 1.0000 bits a word on average (perplexity 2.0000), over 4 words and sentence ends" in outcome.err
    )
    assert command(f"next -g {words} trees -o next.npz").output == ""
    with np.load("next.npz") as arrays:
        found = {name: arrays[name] for name in arrays}
    names = ["lengths", "terminals", "class_size", "word", "shared", "probabilities"]
    assert list(found) == names
    assert found["lengths"].tolist() == [4, 4, 3, 3]
    assert found["terminals"].tolist() == ["a", "barks", "cat", "dog", "sleeps", "the", "</s>"]
    np.testing.assert_allclose(found["probabilities"].sum(axis=1), 1, rtol=1e-12)
    there = found["probabilities"][np.arange(14), found["word"]]
    frame = mp.surprisal(mp.read_grammar(words), TREES.splitlines())
    np.testing.assert_allclose(-np.log2(there), frame["surprisal"], atol=1e-12)
    entropies = [-sum(p * math.log2(p) for p in row if p) for row in found["probabilities"].tolist()]
    np.testing.assert_allclose(entropies, frame["entropy"], atol=1e-12)


def test_masked_words(command: Command, words: str) -> None:
    outcome = command(f"masked -g {words} --top 2", stdin="the bird barks")
    assert "   1   2  bird   0.0000  cat 0.5000  dog 0.5000\n" in outcome.output
    assert command(f"masked -g {words} trees -o masked.npz").output == ""
    with np.load("masked.npz") as arrays:
        assert arrays["lengths"].tolist() == [3, 3, 2, 2]
        observed = arrays["terminals"][arrays["word"]].tolist()
    assert observed == [word for tree in map(mp.read_tree, TREES.splitlines()) for word in tree.words()]


def test_grammars_that_do_not_end(command: Command) -> None:
    Path("grow").write_text("S -> S S [0.75] | 'a' [0.25]\n")
    outcome = command("surprisal -g grow --format csv", stdin="a a")
    noted = outcome.err.splitlines()[0]
    assert noted.startswith(
        "mbrparse: grow: inconsistent (spectral radius 1.5): some of its trees are infinite"
    )
    rows = rows_of(outcome.output)
    assert float(rows[0]["surprisal"]) == 0
    Path("left").write_text("S -> A 'b' [1.0]\nA -> A 'x' [1.0]\n")
    error = command("surprisal -g left", stdin="x b").error
    assert error.startswith("the left recursion of A has probability one, and is never left; give")
    # Where no sentence is of such symbols they do no harm.
    Path("apart").write_text("S -> 'a' 'b' [1.0]\nA -> A 'x' [1.0]\n")
    assert "0.0000" in command("surprisal -g apart", stdin="a b").output


def test_samples_that_begin_with_words_or_have_a_length(command: Command, words: str) -> None:
    sampled = f"sample {words} -n 20 --seed 1 --words"
    lines = command(f"{sampled} --conditioned", "the dog").output.splitlines()
    assert set(lines) == {"the dog barks", "the dog sleeps"}
    assert lines == command(f"{sampled} --lengths 3 --conditioned", "the  dog").output.splitlines()
    assert {len(line.split()) for line in command(f"{sampled} --lengths 2").output.splitlines()} == {2}
    both = command(f"{sampled} --lengths 1-3").output.splitlines()
    assert {len(line.split()) for line in both} == {2, 3}
    no_such = "the grammar has no such sentence; ask for other words, or lengths"
    assert command(f"{sampled} --conditioned barks").error == no_such
    assert command(f"{sampled} --lengths 4").error == no_such
    assert command(f"{sampled} --conditioned", "the bird").error == "the grammar does not have bird"
    for lengths in ("0", "3-2", "5-", "x", "2000"):
        assert "neither a length nor a range" in command(f"{sampled} --lengths {lengths}").usage_error


def test_entropies(command: Command, words: str) -> None:
    """By hand: 4 of 8 sentences begin with "the", which leaves the noun and the verb; a word is the whole."""
    read = rows_of(command(f"surprisal -g {words} --entropies --format csv", stdin=SENTENCE).output)
    names = ("syntactic_entropy", "lexical_entropy", "derivation_entropy", "entropy_reduction")
    found = [[round(float(row[name]), 9) for name in names] for row in read]
    assert found == [[1, 1, 2, 1.5], [0, 1, 1, 1], [0, 1, 0, 1], [0, 0, 0, 0]]
    frame = mp.surprisal(mp.read_grammar(words), SENTENCE, per="word", entropies=True)
    assert frame["entropy_reduction"].round(9).tolist() == [1.5, 1, 1, 0]
    outcome = command(f"surprisal -g {words} --entropies", stdin=SENTENCE)
    assert outcome.output.splitlines()[1].split()[-1] == "1.5000"


def test_entropies_of_trees_that_never_end(command: Command) -> None:
    Path("endless.nltk").write_text("S -> S S [0.6] | 'a' [0.4]\n")
    outcome = command("surprisal -g endless.nltk --entropies --format json", stdin="a a")
    last = json.loads(outcome.output.splitlines()[-1])
    assert (last["derivation_entropy"], last["entropy_reduction"]) == (0.0, None)
    assert "its trees have no finite entropy (spectral radius 1.2)" in outcome.err


def test_a_perplexity_beyond_all_doubles(command: Command) -> None:
    Path("g").write_text("S -> S S [1e-300] | 'b' [1e-300] | 'c'\n")
    done = command("surprisal -g g", stdin="b b b b b b b b\n")
    assert done.code == 0
    # 429 trees of 15 rules of 1e-300.
    mean = f"{(15 * 300 * math.log2(10) - math.log2(429)) / 9:.4f}"
    assert f"{mean} bits a word on average (perplexity 2^{mean}), over 9 words" in done.err
