"""Words as terminals from the command line: ``train --unknown``, and ``parse`` with what it left."""

from pathlib import Path

import pytest
from commandline import Command

from mbrparse.treebank.brackets import read_tree

KINDS = ["signature", "collins"]
TREES = [
    *["(S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (DT the) (NN bird))))"] * 6,
    "(S (NP (DT the) (NN cat)) (VP (VBD heard) (NP (DT the) (NN fox))))",
    "(S (NP (DT the) (NN owl)) (VP (VBD chased) (NP (DT the) (NN hen))))",
    "(S (NP (NNP Bill)) (VP (VBD slept)))",
    "(S (NP (NNP Ann)) (VP (VBD laughed)))",
    "(S (NP (NNP Carol)) (VP (VBD waited)))",
    "(S (NP (NNP Dave)) (VP (VBD walked)))",
]

of_both_kinds = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(autouse=True)
def trees(folder: Path) -> None:
    (folder / "trees").write_text("\n".join(TREES) + "\n")


def train(command: Command, options: str = "", *, trees: str = "trees") -> str:
    """The text of the grammar ``g`` of words, counted with some options."""
    assert command(f"train {trees} --terminals words -o g {options}").output == ""
    return Path("g").read_text()


def tags(line: str) -> dict[str, str]:
    tree = read_tree(line)
    return dict(zip(tree.words(), tree.tags(), strict=True))


@of_both_kinds
def test_raw_text(kind: str, command: Command) -> None:
    assert f"\nunknown {kind} {6 if kind == 'collins' else 2}" in train(command, f"--unknown {kind}")
    assert Path("g.tagger.json").exists() == (kind == "collins")
    text = "the wolf followed the dog\nthe dog saw the bird\nthe hen saw the bird\nGill crept\n"
    outcome = command("parse -g g", stdin=text)
    assert outcome.err.splitlines()[1:] == ["mbrparse: 4 sentences, 0 fell back"]
    lines = outcome.output.splitlines()
    assert [" ".join(read_tree(line).words()) for line in lines] == text.splitlines()
    assert lines[1] == TREES[0]
    assert tags(lines[2])["hen"] == "NN"
    if kind == "collins":
        assert tags(lines[0]) == {"the": "DT", "wolf": "NN", "followed": "VBD", "dog": "NN"}
    # Trees are read for their words.
    tree = "(X (A the) (B wolf) (C followed) (X (D the) (E dog)))\n"
    assert command("parse -g g", stdin=tree).output.splitlines() == lines[:1]


def test_without_a_model_unseen_words_fall_back(command: Command) -> None:
    assert "unknown" not in train(command, "--unknown none")
    outcome = command("parse -g g", stdin="the wolf slept\nthe dog slept\n")
    assert outcome.err.splitlines()[1:] == [
        "mbrparse: sentence 1 was not parsed, its tree is a fall-back: unknown terminal wolf",
        "mbrparse: 2 sentences, 1 fell back (unknown terminal wolf: 1)",
    ]


def test_a_tagger_that_is_missing_or_broken(command: Command) -> None:
    grammar = train(command, "--unknown collins")
    tagger, text = Path("g.tagger.json"), "the dog slept\n"
    tagger.write_text(tagger.read_text().replace("DT", "XX", 1))
    error = command("parse -g g", stdin=text).error
    assert error.startswith("g.tagger.json: not the tagger that g was trained with")
    tagger.unlink()
    error = command("parse -g g -o out", stdin=text).error
    assert error.startswith("g.tagger.json: the tagger of g: no such file; keep")
    assert not Path("out").exists()
    error = command("parse -g - trees", stdin=grammar).error
    assert error.startswith("a grammar on standard input has no tagger beside it")


def test_info_and_conversion(command: Command) -> None:
    grammar = train(command, "--unknown collins")
    info = command("grammar info g").output
    assert "\nunknown words          collins, of words seen fewer than 6 times\n" in info
    lost = "mbrparse: the model of unknown words (collins) is lost: {}'s form has no place for it\n"
    nltk = command("grammar convert g --to nltk")
    assert nltk.err == lost.format("nltk")
    back = command("grammar convert - --from nltk", stdin=nltk.output).output
    assert "'(UNKNOWN/NN)'" in back
    assert "\nunknown" not in back
    bitpar = command("grammar convert g --to bitpar --lexicon-output lexicon")
    assert (bitpar.code, bitpar.err) == (0, lost.format("bitpar"))
    assert command("grammar convert g -o copy").err == (
        "mbrparse: the tagger is not copied: copy needs g.tagger.json as copy.tagger.json\n"
    )
    assert Path("copy").read_text() == grammar
    train(command, "--unknown none")
    assert "\nunknown words          none\n" in command("grammar info g").output
