"""Several grammars: mixtures against files of posteriors; tests/fuzz compares them with all trees listed."""

import json
from pathlib import Path

import numpy as np
import pytest
from commandline import Command, grammar_text

import mbrparse as mp

TREES = """(S (NP (DT the) (NN dog)) (VP (VB saw) (NP (NP (DT a) (NN cat)) (PP (IN with) (NP (NN fleas))))))
(S (NP (DT the) (NN cat)) (VP (VB saw) (NP (DT a) (NN dog)) (PP (IN with) (NP (NN fleas)))))
(S (NP (NN fleas)) (VP (VB bite) (ADVP (RB often))))
(S (NP (DT the) (NN dog)) (VP (VB saw) (NP (NP (DT the) (NN cat)) (PP (IN with) (NP (NN fleas)))) (RB often)))
"""
SPANS = ("labelled-recall", "bracketed-recall", "general-recall", "labelled-f", "bracketed-f")


@pytest.fixture
def known(folder: Path, command: Command) -> Path:
    """Trees, and grammars of them, binarized in two ways."""
    Path("trees").write_text(TREES)
    for name, how in (
        ("a", "--vmarkov 2"),
        ("b", "--vmarkov 2 --hmarkov 1"),
        ("keep", "--unary keep --vmarkov 2"),
    ):
        assert command(f"binarize trees {how} -o {name}.mrg").code == 0
        assert command(f"train {name}.mrg -o {name}.txt").code == 0
    assert command("train keep.mrg --terminals words -o words.txt").code == 0
    return folder


def objectives(*names: str) -> str:
    return "".join(f" --objective {name}" for name in names)


@pytest.mark.usefixtures("known")
def test_mixtures_are_those_of_files_of_posteriors(command: Command) -> None:
    asked = objectives(*SPANS)
    files = ""
    for name in "ab":
        assert command(f"parse a.mrg -g {name}.txt --write-posteriors {name}.npz -o one").code == 0
        files += f" --posteriors {name}.npz"
    assert command(f"parse a.mrg {files} --mix 3,1 {asked} -o files.{{objective}} --details files").code == 0
    line = f"parse a.mrg -g a.txt -g b.txt --mix 3,1 {asked} -o several.{{objective}} --details several"
    assert command(line, "--write-posteriors", "both.npz").code == 0
    for name in SPANS:
        assert Path(f"several.{name}").read_text() == Path(f"files.{name}").read_text()
    for ours, theirs in zip(
        *(map(json.loads, Path(one).open()) for one in ("several", "files")), strict=True
    ):
        for name in SPANS:
            for what in ("expected_labelled", "expected_score"):
                assert ours["trees"][name][what] == pytest.approx(theirs["trees"][name][what])
        assert ours["log_probability"] < 0
        assert ours["trees"]["labelled-recall"]["posterior"] is None
    both, a, b = (np.load(f"{name}.npz") for name in ("both", "a", "b"))
    mixed = mp.mix_posteriors([mp.read_posteriors("a.npz"), mp.read_posteriors("b.npz")], [3, 1])
    assert both["g"].tolist() == pytest.approx(mixed.g.tolist())
    assert len(both["g"]) >= max(len(a["g"]), len(b["g"]))
    shown = command("posteriors a.mrg --line 2 --format tsv -g a.txt -g b.txt --mix 3,1").output
    assert shown == command(f"posteriors a.mrg --line 2 --format tsv {files} --mix 3,1").output


@pytest.mark.usefixtures("known")
def test_a_grammar_without_a_parse_is_left_out(command: Command) -> None:
    Path("rare.txt").write_text(grammar_text("1 - S -> 'DT' 'NN'", terminals="tags"))
    Path("text").write_text("DT NN VB DT NN\nDT NN\nXX\n\n")
    asked = objectives("max-rule-product", "labelled-f")
    outcome = command(f"parse text -g a.txt -g rare.txt {asked} --details told -o both.{{objective}}")
    assert "4 sentences, 2 fell back" in outcome.err
    assert command(f"parse text -g a.txt {asked} -o alone.{{objective}}").code == 0
    for name in ("max-rule-product", "labelled-f"):
        both, alone = (Path(f"{run}.{name}").read_text().splitlines() for run in ("both", "alone"))
        assert (both[0], both[2:]) == (alone[0], alone[2:])
    assert Path("both.max-rule-product").read_text().splitlines()[1] == "(S DT NN)"
    reasons = [json.loads(line)["reason"] for line in Path("told").open()]
    assert reasons == [None, None, "unknown terminal XX", "empty sentence"]


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("first", ["few", "many"])
def test_grammars_whose_words_differ(command: Command, first: str) -> None:
    Path("few").write_text(grammar_text("1 - S -> A A; 1 - A -> 'x'", terminals="words"))
    rules = "1 - S -> A A; 0.5 - A -> 'x'; 0.5 - A -> 'y'"
    Path("many").write_text(grammar_text(rules, terminals="words"))
    Path("text").write_text("y y\n")
    files = "-g few -g many" if first == "few" else "-g many -g few"
    for name in ("labelled-recall", "max-rule-product"):
        assert command(f"parse text {files} --objective {name}").output == "(S (A y) (A y))\n"
    Path("text").write_text("z\n")
    assert command(f"parse text {files}").error.startswith("grammar and input do not fit")


@pytest.mark.usefixtures("known")
def test_what_several_grammars_cannot_serve(command: Command) -> None:
    for options, message in (
        ("--k-best 3 --candidates x", "--k-best needs a PCFG or a DOP grammar, not several grammars"),
        ("--engine best-first --merit beta", "--engine best-first needs a PCFG, not several grammars"),
        ("--mix 1", "1 weights, where there are 2 grammars"),
    ):
        assert message in command(f"parse a.mrg -g a.txt -g b.txt {options}").usage_error
    assert (
        "--mix needs --posteriors or several --grammar" in command("parse a.mrg -g a.txt --mix 1").usage_error
    )
    assert "--grammar is given once here" in command("score a.mrg -g a.txt -g b.txt").usage_error
    line = "parse a.mrg -g a.txt -g words.txt"
    expected = (
        "words.txt: its terminals are words, where those of a.txt are tags; train all grammars with the same"
    )
    assert command(line).error.startswith(expected)
