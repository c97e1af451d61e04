"""``mbrparse parse`` from the outside: one line a sentence, whatever happens to any one of them."""

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest
from commandline import Command

from mbrparse.decode.base.objectives import OBJECTIVES
from mbrparse.treebank.brackets import read_tree

Run = Callable[..., tuple[int, str, str]]

FOUR_TREES = """mbrparse-grammar 1
terminals tags
start S 1 -
rules 10
0.25 - S -> A C
0.25 - S -> A D
0.25 - S -> E B
0.25 - S -> F B
1 - A -> 'x' 'x'
1 - B -> 'x' 'x'
1 - C -> 'x' 'x'
1 - D -> 'x' 'x'
1 - E -> 'x' 'x'
1 - F -> 'x' 'x'
end
"""

# PAPERS: Sima'an's counter-example, counts of twenty for S.
FIVE_HUNDRED = """mbrparse-grammar 1
terminals tags
start S 1 -
rules 6
- 2 S -> 'x' 'x'
- 6 S -> 'x' S
- 6 S -> S 'x'
- 2 S -> S S
- 4 S -> A A
- 8 A -> 'x' 'x'
end
"""

WORDS = """mbrparse-grammar 1
terminals words
start S 1 -
rules 7
1 - S -> NP VP
0.5 - NP -> DT NN
0.5 - NP -> 'dogs'
1 - VP -> 'bark'
1 - DT -> 'the'
0.75 - NN -> 'dog'
0.25 - NN -> 'bark'
end
"""


@pytest.fixture
def run(command: Command) -> Run:
    def unpacked(*arguments: object, stdin: str = "") -> tuple[int, str, str]:
        outcome = command(*arguments, stdin=stdin)
        return outcome.code, outcome.out, outcome.err

    return unpacked


@pytest.fixture
def four(tmp_path: Path) -> str:
    (tmp_path / "four.txt").write_text(FOUR_TREES)
    return str(tmp_path / "four.txt")


def details(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_four_tree_example(run: Run, four: str, tmp_path: Path) -> None:
    """Goodman 1996, grammar (3): every derivable tree has 1.75, the best tree 2.0 and probability 0."""
    report = tmp_path / "details.jsonl"
    code, out, _ = run(
        "parse", "-g", four, "--objective", "labelled-recall", "--details", report, stdin="x x x x\n"
    )
    assert (code, out) == (0, "(S (A x x) (B x x))\n")
    [row] = details(report)
    assert row["log_probability"] == pytest.approx(0.0)
    tree = row["trees"]["labelled-recall"]  # type: ignore[index]
    assert tree["expected_score"] == pytest.approx(2.0)
    assert tree["posterior"] == 0.0
    code, out, _ = run(
        "parse", "-g", four, "--objective", "labelled-tree", "--details", report, stdin="x x x x\n"
    )
    tree = details(report)[0]["trees"]["labelled-tree"]  # type: ignore[index]
    assert tree["expected_labelled"] == pytest.approx(1.75)
    assert tree["posterior"] == tree["expected_score"] == pytest.approx(0.25)


def test_five_hundred_parses(run: Run, tmp_path: Path) -> None:
    """PAPERS, section 3: P(x^8), the most probable parse, and the optima of both recalls."""
    (tmp_path / "g.txt").write_text(FIVE_HUNDRED)
    report = tmp_path / "details.jsonl"
    names = [f"--objective={name}" for name in OBJECTIVES if name != "minimum-risk"]
    code, _, _ = run(
        "parse", "-g", tmp_path / "g.txt", *names, "-o", tmp_path / "{objective}.mrg", "--details", report,
        stdin="x " * 8,
    )  # fmt: skip
    assert code == 0
    [row] = details(report)
    assert math.exp(row["log_probability"]) == pytest.approx(453981 / 10**7, rel=1e-12)  # type: ignore[arg-type]
    trees: dict[str, dict[str, float]] = row["trees"]  # type: ignore[assignment]
    posterior = (1 / 250) / (453981 / 10**7)
    assert trees["labelled-tree"]["posterior"] == pytest.approx(posterior, rel=1e-12)
    assert trees["labelled-tree"]["expected_labelled"] == pytest.approx(2.54955, abs=5e-6)
    assert trees["labelled-recall"]["expected_score"] == pytest.approx(3.13236, abs=5e-6)
    assert trees["bracketed-recall"]["expected_score"] == pytest.approx(3.23307, abs=5e-6)


def test_fall_backs_and_reasons(run: Run, four: str, tmp_path: Path) -> None:
    report = tmp_path / "details.jsonl"
    lines = "x x x x\n\nx x x\nx y x x\nx x x x\nx\n" + "x " * 9 + "\n"
    code, out, err = run("parse", "-g", four, "--max-length", "8", "--details", report, "-", stdin=lines)
    assert code == 0
    assert out.splitlines() == [
        "(S (A x x) (B x x))",
        "(())",
        "(S (S x x) x)",
        "(S (S x (S y x)) x)",
        "(S (A x x) (B x x))",
        "(S (x x))",
        "(S (S x (S x (S x (S x (S x (S x (S x x))))))) x)",
    ]
    reasons = [row["reason"] for row in details(report)]
    assert reasons[:3] == [None, "empty sentence", "no parse"]
    assert reasons[3] == "unknown terminal y"
    assert reasons[6] == "longer than 8 terminals"
    assert "7 sentences, 5 fell back" in err


@pytest.mark.parametrize(
    ("fallback", "expected"), [("flat", "(S x x x)"), ("empty", "(())"), ("right-branching", "(S (S x x) x)")]
)
def test_kinds_of_fall_back(run: Run, four: str, fallback: str, expected: str) -> None:
    code, out, _ = run("parse", "-g", four, "--fallback", fallback, stdin="x x x\n")
    assert (code, out) == (0, expected + "\n")


def test_trees_keep_their_words_and_lose_their_traces(run: Run, tmp_path: Path) -> None:
    (tmp_path / "gold.mrg").write_text(
        "( (S (NP-SBJ (-NONE- *)) (VP (VB go) (NP (NN home) (RB now)))) )\n"
        "(S (NP (DT The) (NN dog)) (VB go))\n"
    )
    run("binarize", tmp_path / "gold.mrg", "-o", tmp_path / "b.mrg")
    run("train", tmp_path / "b.mrg", "-o", tmp_path / "g.txt")
    code, out, _ = run("parse", "-g", tmp_path / "g.txt", tmp_path / "gold.mrg")
    assert code == 0
    assert out.splitlines()[0] == "(S (VB go) (NP (NN home) (RB now)))"
    assert out.splitlines()[1] == "(S (NP (DT The) (NN dog)) (VB go))"


def test_words_get_their_most_probable_tags(run: Run, tmp_path: Path) -> None:
    (tmp_path / "g.txt").write_text(WORDS)
    code, out, _ = run("parse", "-g", tmp_path / "g.txt", stdin="the bark bark\n")
    assert (code, out) == (0, "(S (NP (DT the) (NN bark)) (VP bark))\n")
    code, out, _ = run("parse", "-g", tmp_path / "g.txt", stdin="(X (A the) (B dog) (C bark))\n")
    assert (code, out) == (0, "(S (NP (DT the) (NN dog)) (VP bark))\n")


def test_jobs_change_nothing(run: Run, four: str) -> None:
    lines = "".join("x " * (n % 6) + "\n" for n in range(1300))
    outputs = []
    for jobs in (1, 2):
        code, out, _ = run("parse", "-g", four, "--jobs", jobs, stdin=lines)
        assert code == 0
        outputs.append(out)
    assert outputs[0] == outputs[1]
    assert outputs[0].count("\n") == 1300


def test_published_bracketed_recall(run: Run, four: str) -> None:
    code, out, _ = run(
        "parse", "-g", four, "--objective", "bracketed-recall", "--labels", "none", stdin="x x x x\n"
    )
    assert (code, out) == (0, "(S (X x x) (X x x))\n")
    code, _, err = run("parse", "-g", four, "--objective", "labelled-tree", "--labels", "none", stdin="x x\n")
    assert code == 2
    assert "bracketed-recall" in err


def test_debinarized_output(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.mrg").write_text("(S (A x y z) w v)\n")
    run("binarize", tmp_path / "t.mrg", "-o", tmp_path / "b.mrg")
    run("train", tmp_path / "b.mrg", "-o", tmp_path / "g.txt")
    code, out, _ = run("parse", "-g", tmp_path / "g.txt", "--debinarize", stdin="x y z w v\n")
    assert (code, out) == (0, "(S (A x y z) w v)\n")
    code, out, _ = run("parse", "-g", tmp_path / "g.txt", stdin="x y z w v\n")
    assert out == "(S (A x (A_Cont y z)) (S_Cont w v))\n"


def test_a_grammar_that_does_not_fit(run: Run, tmp_path: Path) -> None:
    (tmp_path / "g.txt").write_text(WORDS)
    target = tmp_path / "out.mrg"
    code, out, err = run("parse", "-g", tmp_path / "g.txt", "-o", target, stdin="DT NN\n" * 3)
    assert (code, out) == (1, "")
    assert err.count("\n") == 1
    assert "do not fit" in err
    assert not target.exists()


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["--objective", "labelled-tre"], 2, "labelled-tree"),
        (["--objektive", "labelled-tree"], 2, "--objective"),
        (["--objective", "labelled-tree", "--objective", "labelled-recall"], 2, "{objective}"),
        (["--jobs", "0"], 2, "jobs"),
        (["-o", "no/such/folder/out.mrg"], 1, "cannot be written"),
    ],
)
def test_wrong_usage(run: Run, four: str, arguments: list[str], code: int, text: str) -> None:
    found, _, err = run("parse", "-g", four, *arguments, stdin="x x x x\n")
    assert found == code
    assert text in err


@pytest.mark.parametrize("stdin", ["", "\n\n"])
def test_no_sentences(run: Run, four: str, stdin: str) -> None:
    code, out, err = run("parse", "-g", four, stdin=stdin)
    assert (code, out) == (1, "")
    assert "no sentences" in err


def test_malformed_trees_name_their_line(run: Run, four: str, tmp_path: Path) -> None:
    (tmp_path / "bad.mrg").write_text("(S x x)\n(S x x\n(S x x)\n")
    code, _, err = run("parse", "-g", four, tmp_path / "bad.mrg", "-o", tmp_path / "out.mrg")
    assert code == 1
    assert f"{tmp_path / 'bad.mrg'}:2: unbalanced brackets" in err
    assert not (tmp_path / "out.mrg").exists()


def test_three_hundred_tokens_do_not_underflow(run: Run, tmp_path: Path) -> None:
    (tmp_path / "g.txt").write_text(
        "mbrparse-grammar 1\nterminals tags\nstart S 1 -\nrules 3\n"
        "0.001 - S -> 'x' S\n0.001 - S -> 'x' 'x'\n0.998 - S -> 'y' S\nend\n"
    )
    report = tmp_path / "details.jsonl"
    code, out, _ = run("parse", "-g", tmp_path / "g.txt", "--details", report, stdin="x " * 300 + "\n")
    assert code == 0
    assert len(read_tree(out).leaves()) == 300
    [row] = details(report)
    assert row["log_probability"] == pytest.approx(299 * math.log(0.001), rel=1e-9)
    assert row["trees"]["labelled-recall"]["expected_labelled"] == pytest.approx(299)  # type: ignore[index]


def test_three_hundred_ambiguous_tokens(run: Run, tmp_path: Path) -> None:
    (tmp_path / "g.txt").write_text(FIVE_HUNDRED)
    code, out, err = run("parse", "-g", tmp_path / "g.txt", stdin="x " * 300 + "\n")
    assert code == 0
    assert len(read_tree(out).leaves()) == 300
    assert "0 fell back" in err
