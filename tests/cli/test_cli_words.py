"""Words as terminals from the command line: ``train --unknown``, and ``parse`` with what it left."""

import os
import re
import signal
import time
from pathlib import Path

import pytest
from children import loaded, started
from commandline import Command

from mbrparse.treebank.brackets import read_tree

KINDS = ["signature", "collins"]
NAMES = ["Bill", "Ann", "Carol", "Dave"]
VERBS = ["slept", "laughed", "waited", "walked"]
TREES = [
    *["(S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (DT the) (NN bird))))"] * 6,
    "(S (NP (DT the) (NN cat)) (VP (VBD heard) (NP (DT the) (NN fox))))",
    "(S (NP (DT the) (NN owl)) (VP (VBD chased) (NP (DT the) (NN hen))))",
    *(f"(S (NP (NNP {name})) (VP (VBD {verb})))" for name, verb in zip(NAMES, VERBS, strict=True)),
]


@pytest.fixture
def trees(tmp_path: Path) -> Path:
    path = tmp_path / "trees.mrg"
    path.write_text("\n".join(TREES) + "\n")
    return path


def trained(command: Command, trees: Path, *options: object) -> Path:
    grammar = trees.with_suffix(".grammar")
    outcome = command("train", trees, "--terminals", "words", *options, "-o", grammar)
    assert (outcome.code, outcome.out) == (0, ""), outcome
    return grammar


def tags(line: str) -> dict[str, str]:
    tree = read_tree(line)
    return dict(zip(tree.words(), tree.tags(), strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_raw_text(kind: str, command: Command, trees: Path) -> None:
    grammar = trained(command, trees, "--unknown", kind)
    assert f"\nunknown {kind} {6 if kind == 'collins' else 2}" in grammar.read_text()
    assert (trees.parent / "trees.grammar.tagger.json").exists() == (kind == "collins")
    text = "the wolf followed the dog\nthe dog saw the bird\nthe hen saw the bird\n"
    outcome = command("parse", "-g", grammar, stdin=text)
    assert outcome.err == "mbrparse: 3 sentences, 0 fell back\n"
    lines = outcome.out.splitlines()
    assert [" ".join(read_tree(line).words()) for line in lines] == text.splitlines()
    assert lines[1] == TREES[0]
    assert tags(lines[2])["hen"] == "NN"
    if kind == "collins":
        assert tags(lines[0]) == {"the": "DT", "wolf": "NN", "followed": "VBD", "dog": "NN"}
    # Trees are read for their words.
    again = command("parse", "-g", grammar, stdin="(X (A the) (B wolf) (C followed) (X (D the) (E dog)))\n")
    assert again.out.splitlines() == lines[:1]


@pytest.mark.parametrize("kind", KINDS)
def test_a_sentence_of_unseen_words_alone(kind: str, command: Command, trees: Path) -> None:
    grammar = trained(command, trees, "--unknown", kind)
    outcome = command("parse", "-g", grammar, "--details", trees.parent / "d", stdin="Gill crept\n")
    assert outcome.err == "mbrparse: 1 sentences, 0 fell back\n"
    assert read_tree(outcome.out).words() == ("Gill", "crept")
    assert '"status": "parsed"' in (trees.parent / "d").read_text()


def test_without_a_model_unseen_words_fall_back(command: Command, trees: Path) -> None:
    grammar = trained(command, trees, "--unknown", "none")
    assert "unknown" not in grammar.read_text()
    outcome = command("parse", "-g", grammar, stdin="the wolf slept\nthe dog slept\n")
    assert outcome.err == "mbrparse: 2 sentences, 1 fell back (unknown terminal wolf: 1)\n"


def test_signatures_are_the_default(command: Command, trees: Path) -> None:
    text = trained(command, trees).read_text()
    assert text == trained(command, trees, "--unknown", "signature", "--rare", 2).read_text()
    assert text != trained(command, trees, "--rare", 7).read_text()


def test_where_no_word_was_rare(command: Command, tmp_path: Path) -> None:
    (tmp_path / "t.mrg").write_text("(S (A a) (B b))\n" * 2)
    outcome = command("train", tmp_path / "t.mrg", "--terminals", "words")
    assert outcome.code == 0
    assert "mbrparse: no word was rare: sentences with unseen words will fall back\n" in outcome.err


@pytest.mark.parametrize("kind", KINDS)
def test_brackets_inside_of_words(kind: str, command: Command, trees: Path) -> None:
    grammar = trained(command, trees, "--unknown", kind)
    outcome = command(
        "parse", "-g", grammar, stdin="the x(y saw the :-)\n( the ) dog slept\n(UNKNOWN) slept\n"
    )
    lines = outcome.out.splitlines()
    assert [read_tree(line).words() for line in lines] == [
        ("the", "x-LRB-y", "saw", "the", ":--RRB-"),
        ("-LRB-", "the", "-RRB-", "dog", "slept"),
        ("-LRB-UNKNOWN-RRB-", "slept"),
    ]
    # The first character of an input that begins with a bracket says trees: told otherwise here.
    other = command("parse", "-g", grammar, "--input", "tokens", stdin="(x saw the dog)\n")
    assert read_tree(other.out).words() == ("-LRB-x", "saw", "the", "dog-RRB-")


@pytest.mark.parametrize("kind", KINDS)
def test_jobs_change_nothing(kind: str, command: Command, trees: Path) -> None:
    grammar = trained(command, trees, "--unknown", kind)
    text = "".join(f"the w{n}ed saw the b{n}\nB{n} slept\n" for n in range(400))
    one, two = (command("parse", "-g", grammar, "--jobs", jobs, stdin=text) for jobs in (1, 2))
    assert one.out == two.out
    assert one.out.count("\n") == 800


def test_best_first_knows_unknown_words(command: Command, tmp_path: Path) -> None:
    trees = tmp_path / "b.mrg"
    trees.write_text("\n".join(tree for tree in TREES if "NNP" not in tree) + "\n")
    statistics = tmp_path / "s"
    grammar = trained(command, trees, "--unknown", "collins", "--statistics", statistics)
    assert "'(UNKNOWN/NN)'" in statistics.read_text()
    search = ("--engine", "best-first", "--merit", "trigram", "--statistics", statistics)
    text = "the wolf followed the dog\n"
    found = command("parse", "-g", grammar, *search, "--objective", "labelled-tree", stdin=text)
    assert found.code == 0, found
    assert found.out == command("parse", "-g", grammar, "--objective", "labelled-tree", stdin=text).out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--unknown", "collins"], "--unknown needs --terminals words."),
        (["--rare", "3"], "--rare needs --terminals words."),
        (["--terminals", "tags", "--unknown", "none"], "--unknown needs --terminals words."),
        (
            ["--terminals", "words", "--method", "inside-outside", "--unknown", "signature"],
            "--unknown needs --method counting or dop.",
        ),
        (["--method", "inside-outside", "--rare", "3"], "--rare needs --method counting or dop."),
        (["--terminals", "words", "--unknown", "none", "--rare", "3"], "--rare needs --unknown"),
        (["--terminals", "words", "--unknown", "collins"], "--unknown collins needs --output FILE"),
        (["--terminals", "words", "--unknown", "collin"], "Did you mean 'collins'?"),
        (["--terminals", "words", "--rare", "1"], "'--rare'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_usage(arguments: list[str], message: str, command: Command, trees: Path) -> None:
    outcome = command("train", trees, *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err


def test_what_is_wrong_is_said_before_the_tagger_is_trained(command: Command, trees: Path) -> None:
    train = ("train", trees, "--terminals", "words", "--unknown", "collins", "-o")
    nowhere = trees.parent / "no" / "folder"
    assert command(*train, nowhere).error.startswith(
        f"{nowhere}: cannot be written (No such file or directory)"
    )
    trees.write_text("(S (A a) (B b) (C c))\n")
    assert "has 3 children, not 2" in command(*train, trees.parent / "g").error


def test_a_tagger_that_is_missing_or_broken(command: Command, trees: Path) -> None:
    grammar = trained(command, trees, "--unknown", "collins")
    tagger = Path(f"{grammar}.tagger.json")
    kept = tagger.read_text()
    tagger.write_text(kept.replace("DT", "XX", 1))
    error = command("parse", "-g", grammar, stdin="the dog slept\n").error
    assert error.startswith(f"{tagger}: not the tagger that {grammar} was trained with")
    tagger.unlink()
    output = trees.parent / "out"
    error = command("parse", "-g", grammar, "-o", output, stdin="the dog slept\n").error
    assert error.startswith(f"{tagger}: the tagger of {grammar}: no such file; keep")
    assert not output.exists()
    error = command("parse", "-g", "-", trees, stdin=grammar.read_text()).error
    assert error.startswith("a grammar on standard input has no tagger beside it")


def test_info_and_conversion(command: Command, trees: Path) -> None:
    grammar = trained(command, trees, "--unknown", "collins")
    info = command("grammar", "info", grammar)
    assert "\nunknown words          collins, of words seen fewer than 6 times\n" in info.out
    lost = "mbrparse: the model of unknown words (collins) is lost: nltk's form has no place for it\n"
    converted = command("grammar", "convert", grammar, "--to", "nltk")
    assert (converted.code, converted.err) == (0, lost)
    back = command("grammar", "convert", "-", "--from", "nltk", stdin=converted.out)
    assert "'(UNKNOWN/NN)'" in back.out
    assert "\nunknown" not in back.out
    lexicon = trees.parent / "lexicon"
    converted = command("grammar", "convert", grammar, "--to", "bitpar", "--lexicon-output", lexicon)
    assert (converted.code, converted.err) == (0, lost.replace("nltk", "bitpar"))
    copy = trees.parent / "copy"
    converted = command("grammar", "convert", grammar, "-o", copy)
    assert converted.err == (
        f"mbrparse: the tagger is not copied: {copy} needs {grammar}.tagger.json as {copy}.tagger.json\n"
    )
    assert copy.read_text() == grammar.read_text()
    none = trained(command, trees, "--unknown", "none")
    assert "\nunknown words          none\n" in command("grammar", "info", none).out


def test_reestimation_does_not_begin_with_a_model(command: Command, trees: Path) -> None:
    grammar = trained(command, trees)
    error = command("train", trees, "--method", "inside-outside", "--init", grammar).error
    assert error.startswith(f"{grammar}: the initial grammar has a model of unknown words")


def test_sampled_trees_can_be_read(command: Command, trees: Path) -> None:
    outcome = command("sample", trained(command, trees), "-n", 20, "--seed", 1)
    assert all("UNKNOWN" not in read_tree(line).tags() for line in outcome.out.splitlines())


def test_parsing_loads_neither_pandas_nor_nltk(command: Command, trees: Path) -> None:
    arguments = ("parse", "-g", trained(command, trees), trees, "-o", os.devnull)
    assert loaded({"pandas", "nltk"}, *arguments) == (0, [])


def test_signatures_need_no_nltk(trees: Path) -> None:
    arguments = ("train", trees, "--terminals", "words", "-o", os.devnull)
    assert loaded({"numba", "pandas", "nltk"}, *arguments) == (0, [])


def test_interrupted_training_leaves_no_file(trees: Path) -> None:
    large = trees.with_name("large.mrg")
    words = "".join(f"(S (A{n % 50} w{n % 977}) (B{n % 31} v{n % 1013}))\n" for n in range(60000))
    large.write_text(words)
    target = trees.with_name("large.grammar")
    how = ("--terminals", "words", "--unknown", "collins")
    with started("train", large, *how, "-o", target) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "mbrparse: training the tagger on 60000 sentences ...\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        assert process.stderr.read().strip() == "mbrparse: interrupted"
    # Python itself ends by the signal where it comes while a module is loaded; shells call both 130.
    assert process.returncode in (130, -signal.SIGINT)
    assert {path.name for path in trees.parent.iterdir()} == {"trees.mrg", "large.mrg"}


@pytest.mark.long
@pytest.mark.usefixtures("treebank_sample")  # skips, or fails, where the data is missing
def test_the_sample(command: Command, tmp_path: Path) -> None:
    """Raw text of the last tenth: nothing unknown is left, and recall is far above that of fall-backs."""
    trees, train, test = (tmp_path / name for name in ("trees", "train", "test"))
    command("binarize", "nltk:treebank", "--max-length", 25, "-o", trees)
    command("split", trees, "--test-fraction", "0.1", "--train-output", train, "--test-output", test)
    gold = [read_tree(line) for line in test.read_text().splitlines()]
    (tmp_path / "text").write_text("".join(" ".join(tree.words()) + "\n" for tree in gold))
    recall = {}
    for kind in ("none", *KINDS):
        grammar, parses = trained(command, train, "--unknown", kind), tmp_path / f"{kind}.mrg"
        outcome = command("parse", "-g", grammar, tmp_path / "text", "-o", parses)
        assert outcome.code == 0
        unseen = command("parse", "-g", grammar, stdin="Zork grumbled 77-fold stimplers .\n").err
        assert unseen.startswith(f"mbrparse: 1 sentences, {int(kind == 'none')} fell back"), unseen
        found = [read_tree(line) for line in parses.read_text().splitlines()]
        assert [tree.words() for tree in found] == [tree.words() for tree in gold]
        assert ("unknown terminal" in outcome.err) == (kind == "none")
        fallen = re.search(r"(\d+) fell back", outcome.err)
        assert fallen is not None
        assert kind == "none" or int(fallen.group(1)) <= 0.01 * len(gold)
        table = command("evaluate", test, parses, "--format", "csv").out
        header, row = (line.split(",") for line in table.splitlines()[:2])
        recall[kind] = float(row[header.index("labelled_recall")])
    assert recall["none"] + 0.2 < min(recall["signature"], recall["collins"]), recall
