"""Trees as votes, as ``mbrparse combine`` types them; tests/fuzz counts their constituents one by one."""

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from commandline import Command

import mbrparse as mp

A = "(S (NP (D the) (N dog)) (VP (V barks)))\n(S (NP a b) c)\n(S d e)\n"
B = "(S (NP (D the) (N dog)) (VP (V barks)))\n(S a (VP b c))\n(())\n"
C = "(S (D the) (X (A dog) (N barks)))\n(S a (VP b c))\n(())\n"


@pytest.fixture(autouse=True)
def files(folder: Path) -> None:
    for name, trees in (("a.mrg", A), ("b.mrg", B), ("c.mrg", C)):
        (folder / name).write_text(trees)


def test_the_commands_of_published_methods(command: Command) -> None:
    voted = "(S (NP (D the) (N dog)) (VP (V barks)))\n(S a (VP b c))\n(S d e)\n"
    done = command("combine a.mrg b.mrg c.mrg --objective labelled-f")
    assert done.output == voted
    assert "b.mrg: no parse of sentence 3: left out of the vote\n" in done.err
    assert done.err.endswith("mbrparse: 3 sentences, 0 fell back\n")
    assert command("combine a.mrg b.mrg c.mrg --objective general-recall --node-cost .5").output == voted
    assert command("combine a.mrg b.mrg c.mrg --objective minimum-risk --risk labelled-f").output == voted
    assert command("combine a.mrg b.mrg c.mrg --weights 6,2,1").output == A
    for by in ("", " --weights-by system"):
        learnt = command(
            f"combine a.mrg b.mrg c.mrg --weights-from a.mrg --dev a.mrg --dev b.mrg --dev c.mrg{by}"
        )
        assert "weights, precision: a.mrg 1.0000, b.mrg 0.8000, c.mrg 0.5000\n" in learnt.err
        assert learnt.output == voted
    # Of a's NPs, VPs and Ss all are right, of b's VPs one of two, of c's none.
    dev = "--weights-from a.mrg --dev a.mrg --dev b.mrg --dev c.mrg"
    assert command(f"combine a.mrg b.mrg c.mrg {dev} --weights-by label").output == A


def test_one_parsers_candidates_are_fused(command: Command) -> None:
    rows = [(1, -1.0, "(S (A a b) (B c d))"), (1, -1.0, "(S a (A b c d))"), (1, -1.2, "(S a (A (B b c) d))")]
    Path("candidates.tsv").write_text("".join(f"{n}\t{log}\t{tree}\n" for n, log, tree in rows))
    fused = "combine --candidates candidates.tsv --objective"
    p = [math.exp(log) / sum(math.exp(row[1]) for row in rows) for _, log, _ in rows]
    assert 0.5 < p[1] + p[2] < 2 / 3
    # The first candidate's constituents have fewer votes each than A over b to d has in the two others.
    command(f"{fused} general-recall --node-cost .5 --details d.jsonl -o out.mrg")
    assert Path("out.mrg").read_text() == "(S a (A b c d))\n"
    [row] = [json.loads(line) for line in Path("d.jsonl").open()]
    assert row["trees"]["general-recall"]["nodes"][1] == [1, 4, "A", pytest.approx(p[1] + p[2])]
    assert command(f"{fused} minimum-risk --risk labelled-f").output == "(S a (A b c d))\n"
    impossible = "1\t-inf\t(S a b)\n2\t-inf\t(S a b c)\n2\t-inf\t(S (X a b) c)\n"
    Path("candidates.tsv").write_text(impossible)
    assert command(f"{fused} general-recall --node-cost .6").output == "(S a b)\n(S a b c)\n"


def test_tags_are_voted_for_and_wrappers_are_left_out(command: Command) -> None:
    Path("t.mrg").write_text("(TOP (S (A x) (B y)))\n")
    Path("u.mrg").write_text("(S (A x) (C y))\n")
    assert command("combine t.mrg u.mrg u.mrg").output == "(S (A x) (C y))\n"
    assert command("combine - u.mrg t.mrg", stdin="(S (A x) (B y))").output == "(S (A x) (B y))\n"


def test_trees_that_do_not_belong_together(command: Command) -> None:
    Path("other.mrg").write_text(A.replace("dog", "cat"))
    error = command("combine a.mrg other.mrg").error
    assert re.match(
        r"other\.mrg:1: other words than another tree of sentence 1 has: terminal 2 is \(N cat\)", error
    )
    Path("empty.mrg").write_text("")
    assert command("combine a.mrg empty.mrg").error.startswith("empty.mrg: 0 trees, but a.mrg holds 3")
    Path("binary.mrg").write_text("(S a (S_Cont b c))\n")
    assert "trees are binarized: S_Cont is a continuation" in command("combine binary.mrg").error


def test_options_that_do_not_fit(command: Command) -> None:
    for options, message in (
        ("", "Give either FILES or --candidates"),
        ("a.mrg b.mrg --weights 1", "1 weights, where there are 2 systems"),
        ("a.mrg b.mrg --weights-from a.mrg --dev b.mrg", "needs --dev once for each of 2 FILES"),
        ("--candidates a.mrg --weights 1", "--weights needs FILES"),
        ("a.mrg --risk labelled_f", "--risk and --objective minimum-risk go together"),
        ("a.mrg -o a.mrg", "would overwrite"),
    ):
        assert message in command(f"combine {options}").usage_error


def test_a_single_word_has_a_label_that_was_voted_for(command: Command) -> None:
    Path("one.mrg").write_text("(PP (D a))\n(D a)\n(VP (D a) (D b))\n")
    Path("two.mrg").write_text("(NP (D a))\n(D a)\n(VP (D a) (D b))\n")
    for objective in ("labelled-f", "bracketed-f", "general-recall --node-cost .5"):
        voted = command(f"combine one.mrg two.mrg --objective {objective}").output
        assert voted == "(NP (D a))\n(D a)\n(VP (D a) (D b))\n"


def test_trees_that_take_too_long_are_told(command: Command) -> None:
    chain = f"{'(A ' * 101}a b{')' * 101}\n"
    Path("chain.mrg").write_text(chain)
    Path("chain.tsv").write_text(f"1\t-1.0\t{chain}")
    for options in ("combine chain.mrg", "rerank --form original --candidates chain.tsv"):
        error = command(options).error
        assert (
            "a chain of 101 constituents over the same words: 100 may be voted for; leave the tree out"
            in error
        )
    long = f"(S{' (N a)' * 2001})\n"
    Path("long.mrg").write_text(long)
    done = command("combine long.mrg long.mrg --details d.jsonl")
    assert done.output == long
    assert done.err.splitlines() == [
        "mbrparse: sentence 1: the tree of long.mrg stands alone, without a vote: longer than 2000 terminals",
        "mbrparse: 1 sentence, 1 fell back (longer than 2000 terminals: 1)",
    ]


def test_weights_of_any_size(command: Command) -> None:
    usual = command("combine a.mrg b.mrg c.mrg --weights 1,1,0").output
    for weights in ("1e308,1e308,0", "5e-324,5e-324,0"):
        assert command(f"combine a.mrg b.mrg c.mrg --weights {weights}").output == usual
    for bad in (["x", 1], [10**400, 1], 3, [None, 1]):
        with pytest.raises(mp.MbrparseError, match="weights"):
            mp.combine({"a": ["(S a b)"], "b": ["(S a b)"]}, weights=bad)  # type: ignore[arg-type]


def test_arguments_that_have_no_meaning() -> None:
    one, other = ["(S (A a b) c)"], ["(S a (A b c))"]
    two: Any = {"a": one, "b": other}
    learnt: Any = (other, {"b": other, "a": one})
    assert mp.combine(two, weights_from=learnt) == [mp.read_tree(other[0])]
    arguments: Any
    for arguments, message in (
        ({"systems": [one, other]}, "`systems` is Mapping"),
        ({"weights_by": "labels"}, "`weights_by` is one of system, label, not 'labels'"),
        ({"weights_by": "label"}, "`weights_by` needs `weights_from`"),
        ({"weights_from": learnt, "weights": [1, 1]}, "give `weights` or `weights_from`, not both"),
        ({"weights_from": (one, {"a": one})}, "`weights_from` has trees of all systems"),
    ):
        with pytest.raises(mp.MbrparseError, match=message):
            mp.combine(**{"systems": two, **arguments})
