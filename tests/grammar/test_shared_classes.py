"""Words of training that share a class share its probability: beside counting that knows no library."""

import json
import math
import re
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest
from commandline import Command
from hypothesis import given
from hypothesis import strategies as st
from naive_classes import Classes, chain

import mbrparse as mp
from mbrparse.training.split_merge import SplitMerge, train_trees
from mbrparse.treebank.corpora.reading import SourceTree

PETS = [
    "(S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (DT the) (NN bird))))",
    "(S (NP (DT the) (NN dog)) (VP (VBD heard) (NP (DT the) (NN cow))))",
    "(S (NP (DT the) (NN cat)) (VP (VBD saw) (NP (DT the) (NN owl))))",
]
#: P(owl | NN) by hand, no cycles: once in 6 of NN, of 5 words and 6 tokens of its class; a tenth of each of 8
#: words and half of each of two classes have the tags of rare words, of which 6 in 15 are NN.
OWL = (6 / 11 + 0.1 * 6 / 15) / (6 + 8 * 0.1 * 6 / 15 + 2 * 0.5 * 6 / 15)
WORDS = ("cat", "dog", "owl", "ant", "fox", "cats", "dogs", "ants", "Ann", "Bob", "Eve", "77", "1990")
TAGS = ("A", "B")


@pytest.fixture(autouse=True)
def pets(folder: Path) -> None:
    (folder / "pets.mrg").write_text("\n".join(PETS))


# --- the twin: sentences of two words, tags A and B --------------------------------------


class Twin:
    """P(word | tag) of counted sentences; words seen once are rare."""

    def __init__(self, sentences: list[tuple[str, str]]) -> None:
        seen = Counter(word for sentence in sentences for word in sentence)
        self.rare = sorted(word for word, count in seen.items() if count == 1)
        sizes = Counter(
            name
            for sentence in sentences
            for place, word in enumerate(sentence)
            if word in self.rare
            for name in chain(word, place == 0)
        )
        replaced = Counter[str]()
        counts = defaultdict[str, Counter[str]](Counter)
        for sentence in sentences:
            for place, word in enumerate(sentence):
                name = word
                if word in self.rare:
                    name = [*(one for one in chain(word, place == 0) if sizes[one] >= 5), "(UNKNOWN)"][0]
                    replaced[name] += 1
                    name = "(UNKNOWN)" if replaced[name] % 10 == 1 else name
                counts[TAGS[place]][name] += 1
        self.total, self.counts = len(sentences), counts
        known = frozenset[str]().union(*counts.values())
        self.classes = Classes(known, tuple((word, word) for word in self.rare))

    def words(self, place: int) -> dict[str, float]:
        """The distribution over words of training, and classes that none stands for here."""
        shares = {name: count / self.total for name, count in self.counts[TAGS[place]].items()}
        return {word: float(p) for word, p in self.classes.words(shares, place)}


pairs = st.tuples(st.sampled_from(WORDS), st.sampled_from(WORDS))
corpora = st.lists(pairs, min_size=1, max_size=25)


def trees(sentences: list[tuple[str, str]]) -> list[str]:
    return [f"(S (A {first}) (B {second}))" for first, second in sentences]


@given(corpora, pairs)
def test_words_beside_counting(sentences: list[tuple[str, str]], more: tuple[str, str]) -> None:
    twin, grammar = Twin(sentences), mp.train(trees(sentences), "words")
    asked = [*dict.fromkeys([*sentences, more])]
    rows = mp.surprisal(grammar, list(map(list, asked)))
    for number, sentence in enumerate(asked, start=1):
        part, before = rows[rows["sentence"] == number], 1.0
        for place, word in enumerate(sentence):
            row, words = part.iloc[place], twin.words(place)
            name = twin.classes.name(word, place)
            members = twin.classes.members(name, place)
            kind = "" if name == word else "rare" if word in twin.rare else "unseen"
            assert (row["terminal"], row["class"]) == (name, kind)
            assert row["class_size"] == (len(members) if kind else 0)
            p = words.get(word, 0.0)
            if kind == "unseen":
                p = twin.counts[TAGS[place]][name] / twin.total
            if before:
                entropy = -sum(one * math.log2(one) for one in words.values())
                assert row["entropy"] == pytest.approx(entropy, abs=1e-9)
                bits = -math.log2(p) if p else math.inf
                assert row["surprisal"] == pytest.approx(bits, abs=1e-9)
            before *= p
            log_prefix = math.log(before) if before else -math.inf
            assert row["log_prefix"] == pytest.approx(log_prefix, abs=1e-9)
    both = [list(twin.words(place).values()) for place in (0, 1)]
    for one in both:
        assert sum(one) == pytest.approx(1)
    of_trees = -sum(p * math.log2(p) for one in both for p in one)
    assert mp.entropy(grammar)["entropy in bits"] == pytest.approx(of_trees, abs=1e-9)


@given(corpora)
def test_other_answers_say_the_same(sentences: list[tuple[str, str]]) -> None:
    """parse, score, next, masked."""
    twin, grammar = Twin(sentences), mp.train(trees(sentences), "words")
    wanted = [math.log(twin.words(0)[a]) + math.log(twin.words(1)[b]) for a, b in sentences]
    parser = mp.Parser(grammar, "labelled-tree", "labelled-recall", k_best=2)
    given_words = [f"{a} {b}" for a, b in sentences]
    parses = parser.parse(given_words)
    assert [one.log_prob for one in parses] == pytest.approx(wanted, abs=1e-9)
    for one, log_prob in zip(parses, wanted, strict=True):
        assert one.candidates[0].log_prob == pytest.approx(log_prob, abs=1e-9)
        assert one.expected_scores["labelled-tree"] == pytest.approx(1)
    rows = mp.score(grammar, trees(sentences))
    assert rows["log_probability"].tolist() == pytest.approx(wanted, abs=1e-9)
    assert rows["tree_log_probability"].tolist() == pytest.approx(wanted, abs=1e-9)
    assert rows["posterior"].tolist() == pytest.approx([1.0] * len(sentences))


def test_pets_with_split_merge(command: Command) -> None:
    command("train pets.mrg --terminals words --method split-merge --cycles 0 -o pets.txt").output  # noqa: B018
    grammar = mp.read_grammar("pets.txt")
    row = mp.surprisal(grammar, "the owl saw the dog").iloc[1]
    assert row["surprisal"] == pytest.approx(-math.log2(OWL), abs=1e-6)
    assert (row["class"], row["class_size"]) == ("rare", 4)
    unseen = mp.surprisal(grammar, "the wolf saw the dog").iloc[1]
    assert (unseen["terminal"], unseen["class"], unseen["class_size"]) == ("(UNKNOWN/lower)", "unseen", 0)
    shown = command("next -g pets.txt --top 6", stdin="the owl").output.splitlines()[1].split()
    assert shown[2:4] == ["owl", f"{OWL:.4f}"]
    assert shown[8:] == [part for word in ("bird", "cat", "cow", "owl") for part in (word, f"{OWL:.4f}")]
    masked = command("masked -g pets.txt --top 6", stdin="the owl saw the dog").output.splitlines()[1].split()
    assert masked[2:4] == ["owl", f"{OWL:.4f}"]


def test_arrays_say_how_many_share_a_class(command: Command) -> None:
    command("train pets.mrg --terminals words -o pets.txt").output  # noqa: B018
    command("next -g pets.txt -o next.npz", stdin="the owl\nthe wolf").output  # noqa: B018
    found = np.load("next.npz")
    names = found["terminals"].tolist()
    assert dict(zip(names, found["class_size"].T.tolist(), strict=True)) == {
        "(UNKNOWN)": [0, 0],
        "(UNKNOWN/lower)": [5, 5],
        **{word: [1, 1] for word in ("dog", "saw", "the", "</s>")},
    }
    assert found["shared"].tolist() == [1, 5, 1, 1, 1, 1]


def test_words_that_begin_a_sentence_have_classes_of_their_own() -> None:
    sentences = [
        ("Ann", "Bob"),
        ("Eve", "cat"),
        ("Tom", "cat"),
        ("Max", "cat"),
        ("Kim", "cat"),
        ("Liz", "cat"),
    ]
    grammar = mp.train(trees(sentences), "words")
    rows = mp.surprisal(grammar, ["Bob cat", "cat Bob"])
    # All seven would begin a sentence as (UNKNOWN/Initial), 5 of 6 of the tag; elsewhere they are (UNKNOWN).
    first, later = rows.iloc[0], grammar.class_members[1]
    assert (first["terminal"], first["class_size"]) == ("(UNKNOWN/Initial)", 7)
    assert first["surprisal"] == pytest.approx(-math.log2(5 / 6 / 7))
    assert later["(UNKNOWN)"] == ["Ann", "Bob", "Eve", "Kim", "Liz", "Max", "Tom"]


def test_collins_shares_by_tag(command: Command) -> None:
    Path("pets.mrg").write_text("\n".join(PETS * 5))
    command("train pets.mrg --terminals words --unknown collins --rare 11 -o pets.txt").output  # noqa: B018
    grammar = mp.read_grammar("pets.txt")
    assert grammar.unknown is not None
    assert grammar.unknown.members(grammar.terminals, initial=True) == {
        "(UNKNOWN/NN)": ["bird", "cat", "cow", "dog", "owl"],
        "(UNKNOWN/VBD)": ["heard", "saw"],
    }
    sampled = command("sample pets.txt -n 20 --seed 1 --words", "--conditioned", "the wolf").output
    assert all(line.startswith("the wolf ") for line in sampled.splitlines())
    rows = mp.surprisal(grammar, "the owl saw the dog")
    assert rows["surprisal"].tolist() == pytest.approx([0, math.log2(5), 1, 0, math.log2(5), 0])
    # Where no word is listed for a class, a word of another class stands for all of it.
    text = re.sub("word [^\n]+ .UNKNOWN/NN.\n", "", Path("pets.txt").read_text())
    Path("pets.txt").write_text(text.replace("rules", "word owl (UNKNOWN/VBD)\nrules", 1))
    scored = json.loads(command("score -g pets.txt", stdin="the owl saw the dog\n").output)
    assert scored["log_probability"] == pytest.approx(-math.log(3))  # saw is one of heard, saw and owl


@pytest.mark.parametrize("how", ["--unknown signature", "--unknown collins --rare 2"])
def test_dop_grammars_share_too(command: Command, how: str) -> None:
    for method, name in (("counting", "counted"), ("dop", "dop")):
        command(f"train pets.mrg --terminals words {how} --method {method} -o {name}").output  # noqa: B018
        command(f"parse -g {name} --details {name}.jsonl", stdin="the owl saw the dog").output  # noqa: B018
    share = math.log(5 if "signature" in how else 4)
    text = Path("dop").read_text()
    Path("dop.made").unlink()
    Path("dop").write_text("".join(line for line in text.splitlines(True) if not line.startswith("word ")))
    outcome = command("parse -g dop --details whole.jsonl", stdin="the owl saw the dog")
    told = "dop: it does not list its rare words, so each has the probability of its whole class: train again"
    assert outcome.err.splitlines()[0] == f"mbrparse: {told}"
    details, whole = (json.loads(Path(f"{name}.jsonl").read_text()) for name in ("dop", "whole"))
    assert details["log_probability"] == pytest.approx(whole["log_probability"] - share)
    assert details["trees"] == whole["trees"]


def test_an_old_grammar_is_told_once_and_not_divided(command: Command) -> None:
    new = command("train pets.mrg --terminals words -o pets.txt")
    assert "list" not in new.err
    lines = Path("pets.txt").read_text().splitlines(True)
    Path("old.txt").write_text("".join(line for line in lines if not line.startswith("word ")))
    outcome = command("surprisal -g old.txt --format csv", stdin="the owl saw the dog\n" * 2)
    assert outcome.err.count("old.txt: it does not list its rare words") == 1
    assert "2,2,owl,(UNKNOWN/lower),unlisted,0," in outcome.output
    assert mp.surprisal(mp.read_grammar("old.txt"), "the owl").iloc[1]["surprisal"] == 1
    assert "does not list" not in command("surprisal -g pets.txt", stdin="the owl").err


# --- samples ---------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["", "--method split-merge --cycles 0"])
@pytest.mark.parametrize("prefix", ["", "the wolf", "the owl saw"])
def test_samples_have_words_that_are_read_again(command: Command, how: str, prefix: str) -> None:
    command(f"train pets.mrg --terminals words {how} -o pets.txt").output  # noqa: B018
    options = ["--conditioned", prefix] if prefix else []
    command("sample pets.txt -n 300 --seed 1 -o trees.mrg", *options).output  # noqa: B018
    command("sample pets.txt -n 300 --seed 1 --words -o words.txt", *options).output  # noqa: B018
    lines = Path("words.txt").read_text().splitlines()
    assert [" ".join(tree.words()) for tree in mp.read_trees("trees.mrg")] == lines
    assert all(line.startswith(prefix) for line in lines)
    assert not any("RARE" in line for line in lines)
    grammar = mp.read_grammar("pets.txt")
    drawn = Counter(word for line in lines for word in line.split()[len(prefix.split()) :])
    words = {"the", "dog", "saw", "bird", "cow", "cat", "owl", "heard", "-LRB-UNKNOWN-RRB-"}
    assert set(drawn) <= words | ({"-LRB-UNKNOWN/lower-RRB-"} if how else set())
    assert {"bird", "cow", "cat", "owl"} <= set(drawn)
    # Every sentence has a probability again, so all words are read as what they were drawn as.
    rows = mp.surprisal(grammar, lines)
    assert np.isfinite(rows["surprisal"]).all()
    assert set(rows["class"]) <= {"", "rare"} | ({"unseen"} if "wolf" in prefix else set())


def test_words_of_a_class_are_drawn_alike(command: Command) -> None:
    command("train pets.mrg --terminals words -o pets.txt").output  # noqa: B018
    text = command("sample pets.txt -n 4000 --seed 3 --words").output
    drawn = Counter(line.split()[2] for line in text.splitlines())
    # VBD is (UNKNOWN/lower) in one of three, which five words share.
    for word in ("bird", "cow", "cat", "owl", "heard"):
        assert drawn[word] == pytest.approx(4000 / 15, abs=5 * math.sqrt(4000 / 15))


def test_cycles_keep_the_words(tmp_path: Path) -> None:
    """What split-merge training writes after each cycle lists the rare words, in their classes."""
    placed = [SourceTree("t", line, mp.read_tree(text)) for line, text in enumerate(PETS, start=1)]
    output = tmp_path / "g"
    train_trees(placed, "words", SplitMerge(cycles=1, rounds=(1, 1, 1)), unknown=True, output=str(output))
    row = mp.surprisal(mp.read_grammar(tmp_path / "g.cycle-1"), "the owl saw the dog").iloc[1]
    assert (row["class"], row["class_size"]) == ("rare", 8)
