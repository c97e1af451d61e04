"""``mbrparse show``: drawings and marks, and with ``--compare A B`` two files of parses, gold aside."""

import io
import re
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from commandline import Command, rows_of
from evaluation_cases import nary_trees, write
from hypothesis import given
from hypothesis import strategies as st

from mbrparse.evaluate.differences import NamedTree, Sentence, mark, text_of, write_differences
from mbrparse.treebank.brackets import read_tree
from mbrparse.treebank.tree import Tree

GOLD = "(S (NP (DT the) (NN dog)) (VP (VB eats) (VP_Cont (NN meat) (RB now))))\n(S p q)\n"
PARSE = "(S (S_Cont (NP (DT the) (NN dog)) (VB eats)) (NP (NN meat) (RB now)))\n\n"


@pytest.fixture(autouse=True)
def files() -> None:
    write(gold=GOLD, parse=PARSE)


def test_one_tree(command: Command) -> None:
    assert command("show gold.mrg --line 2").output == "     S\n ┌───┴───┐\n p       q\n"


def test_several_trees(command: Command) -> None:
    text = command("show gold.mrg parse.mrg").output
    first, second, legend = text.split("\n\n")
    assert first.startswith("gold.mrg\n")
    assert second.startswith("parse.mrg\n")
    assert "*" not in first
    assert "S_Cont *" in second
    assert second.count("NP *") == 1
    assert second.count("*") == 2
    assert legend == "* a constituent that gold.mrg does not have\n"
    assert "\x1b" not in text


def test_svg(command: Command) -> None:
    assert command("show gold.mrg parse.mrg --svg trees.svg").code == 0
    nodes = [node for node in ElementTree.parse("trees.svg").iter() if node.tag.endswith("text")]
    assert [node.text for node in nodes if node.get("fill") == "crimson"] == ["S_Cont *", "NP *"]
    texts = [node.text for node in nodes]
    assert [text for text in texts if text and text.endswith(".mrg")] == ["gold.mrg", "parse.mrg"]
    assert texts.count("dog") == 2
    alone = command("show gold.mrg parse.mrg --svg -").output
    assert alone == Path("trees.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("gold.mrg parse.mrg --line 3", "gold.mrg: no tree 3: the file holds 2"),
        ("gold.mrg other.mrg", "their terminals differ"),
        ("gold.mrg gold.mrg --differing", "the trees of all files are alike from tree 1 on"),
        ("--compare A.mrg A.mrg", "are alike from tree 1 on; leave out --compare to draw them"),
        ("--compare A.mrg short.mrg", "short.mrg: ends after tree 1, A.mrg goes on"),
    ],
)
def test_what_cannot_be_drawn(command: Command, line: str, message: str) -> None:
    write(empty="", other="(S p r)", short=A.partition("\n")[0])
    assert message in command(f"show {line}").error


def test_a_wide_tree_is_folded() -> None:
    """In a terminal; put side by side again, the strips are the whole drawing."""
    tree = read_tree("(S " + " ".join(f"(NP_Cont (DT the) (NN dog{number}))" for number in range(9)) + ")")
    sentences = [Sentence(1, mark([NamedTree("wide", tree)]))]
    folded = text_of(sentences, width=30)
    assert max(map(len, folded.splitlines())) == 30
    strips = folded.split("." * 30 + "\n")
    assert len(strips) > 3
    words = [strip.splitlines()[-1].split() for strip in strips]
    assert [word for strip in words for word in strip] == text_of(sentences).splitlines()[-1].split()
    # Only branches are cut.
    assert folded.count("NP_Cont") == 9


def test_latex(command: Command) -> None:
    odd = r"(S[1] (A{ $x_1) (B \ (C 50%)) (D -LRB-))"
    write(odd=odd, other=odd.replace("(B", "(E"), deep="(S " * 500 + "(A a) b" + ")" * 500, none="(())\n")
    lines = command("show odd.mrg other.mrg --latex -").output.splitlines()
    assert lines[:3] == ["% needs \\usepackage{forest}", "% odd.mrg", "\\begin{forest}"]
    assert lines[3] == r"[{S[1]}[{A\{}[{\$x\_1}]][{B}[{\textbackslash{}}][{C}[{50\%}]]][{D}[{-LRB-}]]]"
    assert lines[7] == lines[3].replace("[{B}", "[{E *},text=red")
    assert "too deep to be drawn" in command("show deep.mrg --latex deep.tex").error
    assert command("show none.mrg --latex none.tex").code == 0
    assert Path("none.tex").read_text() == "% needs \\usepackage{forest}\n% (no parse)\n"


A = """\
(S (NP (DT the) (NN dog)) (VP (VB eats) (NP (NN meat))))
(S (NP (DT the) (NN dog)) (VP (VB eats) (ADVP (RB now))))
(S (NP (PRP he)) (VP (VB saw) (NP (NP (DT a) (NN man)) (PP (IN with) (NP (NNS eyes))))))
(S p q)

"""
B = """\
(S (NP (DT the) (NN dog)) (VP (VB eats) (NP (NN meat))))
(S (NP (DT the) (NN dog)) (VP (VB eats) (NP (RB now))))
(S (NP (PRP he)) (S (VB saw) (NP (DT a) (NN man)) (PP (IN with) (NP (NNS eyes)))))
(S p q)
(S p q)
"""
COMPARE = "show --compare A.mrg B.mrg"


@pytest.fixture(autouse=True)
def compared_files() -> None:
    write(A=A, B=B)


def numbers(text: str) -> list[str]:
    return re.findall(r"^sentence (\d+)$", text, flags=re.MULTILINE)


def test_only_sentences_that_differ_and_both_sides_marked(command: Command) -> None:
    text = command(COMPARE).output
    assert numbers(text) == ["2", "3", "5"]
    second = text[text.index("sentence 2") : text.index("sentence 3")]
    first_file, other_file = second.split("B.mrg")
    assert re.findall(r"\S+(?= \*)", first_file.replace("\u00a0", " ")) == ["ADVP"]
    assert re.findall(r"\S+(?= \*)", other_file.replace("\u00a0", " ")) == ["NP"]
    assert text.endswith("* a constituent that the other file does not have\n")
    assert numbers(command(f"{COMPARE} --count 1").output) == ["2"]
    assert numbers(command(f"{COMPARE} --line 3").output) == ["3", "5"]
    assert numbers(command("show A.mrg --compare -", stdin=B).output) == ["2", "3", "5"]


def test_ids_of_the_corpus_as_csv(command: Command) -> None:
    """From the sidecar of the file that was parsed, or of the first file where it has one."""
    Path("a.psd").write_text(
        "( (CODE x) (ID T,.1))\n"
        "( (IP (NP (D the-the) (N dog-dog)) (V eats-eat)) (ID T,.2))\n"
        "( (IP (NP (D a-a) (N cat-cat)) (V sees-see)) (ID T,.3))\n",
        "utf-8",
    )
    assert command("binarize icepahc:a.psd -o test.mrg").code == 0
    first, second = Path("test.mrg").read_text("utf-8").splitlines()
    write(one=f"{first}\n{second}\n", two=f"{first}\n{second.replace('(NP', '(QP')}\n")
    command_line = "show --compare one.mrg two.mrg --format csv"
    for options, expected in (("", ("one.mrg", "2", "")), ("--places test.mrg", ("a.psd", "3", "T,.3"))):
        [row] = rows_of(command(f"{command_line} {options}").output)
        assert (row["source"], row["line"], row["id"]) == expected
        assert row["words"] == "a cat sees"
    [row] = rows_of(command("show --compare test.mrg two.mrg --format csv").output)
    assert row["id"] == "T,.3"
    assert "one.mrg: no places beside it" in command(f"{command_line} --places one.mrg").error
    # In drawings too; without a sidecar there is nothing to tell.
    for options, heading in (
        ("test.mrg --line 2", "a.psd:3 T,.3"),
        ("one.mrg two.mrg --differing --places test.mrg", "sentence 2, a.psd:3 T,.3\none.mrg"),
        ("one.mrg two.mrg", "one.mrg"),
    ):
        assert command(f"show {options} --svg x.svg --latex x.tex").output.startswith(f"{heading}\n")
        shown = heading.splitlines()[0]
        assert f"% {shown}\n" in Path("x.tex").read_text("utf-8")
        assert shown in Path("x.svg").read_text("utf-8")


def test_binarized_trees_as_original_ones(command: Command) -> None:
    write(right="(S a (S_Cont b c))\n(S (A^S a b) c)\n", left="(S (S_Cont a b) c)\n(S a b c)\n")
    assert numbers(command("show --compare right.mrg left.mrg").output) == ["1", "2"]
    text = command("show --compare right.mrg left.mrg --debinarize").output
    assert numbers(text) == ["2"]
    assert "A\u00a0*" in text or "A *" in text
    assert "^" not in text
    assert "S_Cont" not in command("show right.mrg --debinarize").output
    write(odd="(S (& a b) c)\n")
    assert command("show odd.mrg --debinarize").error.startswith("odd.mrg:1: label '&' has no base")


def brackets(tree: Tree) -> tuple[list[tuple[int, int, str]], int]:
    """By recursion: a tree's constituents, and its number of words."""

    def below(node: Tree, start: int) -> tuple[list[tuple[int, int, str]], int]:
        if not node.children:
            return [], start + 1
        found, end = [], start
        for child in node.children:
            more, end = below(child, end)
            found += more
        return [(start, end, node.label), *found], end

    return below(tree, 0)


pairs: Any = st.integers(2, 6).flatmap(lambda words: st.tuples(nary_trees(words), nary_trees(words)))


@given(pairs)
def test_against_counting_every_constituent(pair: tuple[Tree, Tree]) -> None:
    """The naive twin: multisets of labelled and of bare spans, subtracted."""
    trees = [brackets(tree)[0] for tree in pair]
    for kind in ("all", "labels", "spans"):
        named = [NamedTree(name, tree) for name, tree in zip("ab", pair, strict=True)]
        stream = io.StringIO()
        write_differences([Sentence(1, mark(named, kind), kind)], "a", stream)
        [row] = rows_of(stream.getvalue())
        for mine, column in ((0, "first_only"), (1, "second_only")):
            alone, theirs = (Counter(trees[one]) - Counter(trees[1 - one]) for one in (mine, 1 - mine))
            told = Counter(
                (int(start), int(end), label)
                for label, start, end in re.findall(r"(\S+) (\d+)-(\d+)", row[column])
            )
            assert told <= alone
            for span in {one[:2] for one in alone}:
                ours, others = (
                    sum(count for one, count in of.items() if one[:2] == span) for of in (alone, theirs)
                )
                relabelled = min(ours, others)
                expected = {"all": ours, "labels": relabelled, "spans": ours - relabelled}[kind]
                assert sum(count for one, count in told.items() if one[:2] == span) == expected
