"""``mbrparse evaluate --evalb``: EVALB's output to the letter, without its limits."""

import os
from pathlib import Path

import pytest
from commandline import Command, Outcome
from conftest import missing_data
from hypothesis import given
from hypothesis import strategies as st
from naive_evalb import Row, Rules, compare

from mbrparse.errors import FileError
from mbrparse.evaluate.align import gold_file, parse_files
from mbrparse.evaluate.evalb import parameters
from mbrparse.evaluate.evalb.parameters import SHIPPED, SPMRL, EvalbParameters, read_parameters
from mbrparse.evaluate.evalb.summary import HEADING, evalb_scores

DATA = Path(__file__).parent.parent / "data" / "evalb"
COLLINS = DATA / "COLLINS.prm"


def wsj() -> Path:
    """The folder of the WSJ pair, which may not be in the repository."""
    folder = os.environ.get("MBRPARSE_EVALB_DATA")
    if not folder:
        missing_data("the folder that MBRPARSE_EVALB_DATA names")
    return Path(folder)


def evalb(command: Command, prm: str, gold: str, test: str, options: str = "") -> Outcome:
    """EVALB's output for texts."""
    for name, text in {"rules.prm": prm, "gold.txt": gold, "test.txt": test}.items():
        Path(name).write_text(text, "utf-8")
    return command(f"evaluate {options} --evalb rules.prm gold.txt test.txt")


def rows(outcome: Outcome) -> list[list[str]]:
    """The table's lines, in words."""
    body = outcome.out.removeprefix(HEADING).partition("=====")[0]
    return [line.split() for line in body.splitlines()]


def test_sample(command: Command) -> None:
    done = command("evaluate", "--evalb", DATA / "sample.prm", DATA / "sample.gld", DATA / "sample.tst")
    assert done.out == (DATA / "sample.rsl").read_text()
    messages, coverage = done.err[:-1].rsplit("\n", 1)
    assert messages + "\n" == (DATA / "sample.stderr").read_text()
    assert coverage == "mbrparse: coverage 70.83: 17 of 24 sentences count, 5 in error and 2 skipped"
    assert done.code == 0


def test_bug(command: Command) -> None:
    done = command("evaluate", "--evalb", DATA / "new.prm", DATA / "bug.gld", DATA / "bug.tst")
    assert done.out == (DATA / "bug.rsl").read_text()
    assert done.err == "mbrparse: coverage 100.00: 5 of 5 sentences count, 0 in error and 0 skipped\n"


def test_wsj(command: Command) -> None:
    data = wsj()
    done = command("evaluate", "--evalb", data / "COLLINS.prm", data / "wsj.gld", data / "wsj-viterbi.tst")
    assert done.out == (data / "wsj-viterbi.rsl").read_text()
    assert "coverage 99.72: 361 of 362" in done.err


def test_strict(command: Command) -> None:
    gold, sample = DATA / "sample.gld", [DATA / "sample.gld", DATA / "sample.tst"]
    done = command("evaluate --strict --evalb", DATA / "sample.prm", *sample)
    assert (done.code, done.out) == (1, (DATA / "sample.rsl").read_text())
    assert command("evaluate --strict --evalb COLLINS.prm", gold, gold).code == 0
    assert command("evaluate --strict --format csv --evalb COLLINS.prm", *sample).code == 1
    assert evalb(command, "", "(S (A a))\n(S (A b))\n", "(S (A a))\n", "--strict").code == 1


def test_without_limits(command: Command) -> None:
    """300 words, 600 brackets, 6,000 bytes; and 20,000 deep."""
    wide = "(S " + " ".join(f"(X-{i} (NN word{i}) (NP (JJ {'long' * 3})))" for i in range(300)) + ")\n"
    deep = "(NP" * 20_000 + " (NN x)" + ")" * 20_000 + "\n"
    assert len(wide) > 5000
    done = evalb(command, COLLINS.read_text(), wide + deep, wide + deep)
    assert rows(done) == [
        ["1", "600", "0", "100.00", "100.00", "601", "601", "601", "0", "600", "600", "100.00"],
        ["2", "1", "0", "100.00", "100.00", "20000", "20000", "20000", "0", "1", "1", "100.00"],
    ]


def test_nothing_valid(command: Command) -> None:
    """No brackets in the sums, and zero by zero."""
    done = evalb(command, "", "(S (A a))\n(S (A b))\n", "\n(())\n")
    assert [row[1:3] for row in rows(done)] == [["1", "2"], ["1", "2"]]
    assert done.out.count("\n      0     0     0.00\n=== Summary ===\n") == 1
    assert done.out.count("Bracketing FMeasure       =   -nan\n") == 2
    assert "coverage 0.00: 0 of 2" in done.err


def test_cutoff_counts_what_the_length_counts(command: Command) -> None:
    prm = "CUTOFF_LEN 1\nDELETE_LABEL_FOR_LENGTH B\nDELETE_LABEL C\n"
    tree = "(S (A a) (B b))\n(S (A a) (C b))\n"
    done = evalb(command, prm, tree, tree)
    assert [(row[1], row[9]) for row in rows(done)] == [("1", "2"), ("2", "1")]
    assert "-- len<=1 --\nNumber of sentence        =      1\n" in done.out


GOLD = "(S (A (P a)) (B (Q b) (R c)))"
EMPTY_WRAPPER = (
    "mbrparse: test.txt: every tree has an empty bracket around it, which counts as a constituent; gold.txt "
    "has none that does; mbrparse binarize, then debinarize, takes it out"
)
TOO_MANY_OPEN = "1 : Bracketing is unbalanced (too many open bracket)"
TOO_MANY_CLOSED = "1 : Bracketing unbalance (too many close bracket)"
#: Parses of GOLD: status, then matched, test and crossing brackets, words, tags, and the messages.
CASES: dict[str, tuple[str, str, list[str]]] = {
    "right": (GOLD, "0 3 3 0 3 3", []),
    "function tags and white space": ("( S=1 ".replace(" S", "S") + GOLD[3:], "0 3 3 0 3 3", []),
    "an empty outer bracket counts": (f"( {GOLD})", "0 3 4 0 3 3", [EMPTY_WRAPPER]),
    "without a space too": (f"({GOLD})", "0 3 4 0 3 3", [EMPTY_WRAPPER]),
    "no outer bracket": ("(P a) (Q b) (R c)", "0 0 0 0 3 3", []),
    "two trees": ("(A (P a)) (B (Q b) (R c))", "0 2 2 0 3 3", []),
    "crossing once": ("(S (X (P a) (Q b)) (R c))", "0 1 2 1 3 3", []),
    "brackets around nothing": ("(S (X) (A (P a)) (Y (Z)) (B (Q b) (R c)))", "0 3 3 0 3 3", []),
    "doubled": ("(S (S (A (P a)) (B (B (Q b) (R c)))))", "0 3 5 0 3 3", []),
    "other tags": ("(S (A (P a)) (B (Q-x b) (X c)))", "0 3 3 0 3 1", []),
    "an empty word": ("(S (A (P a)) (B (Q b) (R )))", "1 0 0 0 0 0", ["1 : Words unmatch (c|)"]),
    "another word": ("(S (P a) (Q x) (R y))", "1 0 0 0 0 0", ["1 : Words unmatch (b|x)"]),
    "a word too few": ("(S (P a) (Q b))", "1 0 0 0 0 0", ["1 : Length unmatch (3|2)"]),
    "an empty line": ("", "2 0 0 0 0 0", []),
    "an empty tree": ("(())", "2 0 0 0 0 0", []),
    "not closed": (GOLD[:-1], "1 2 3 0 3 3", [TOO_MANY_OPEN]),
    "closed once more": (GOLD + ")", "1 3 3 0 3 3", [TOO_MANY_OPEN]),
    "closed twice more": (GOLD + "))", "1 3 3 0 3 3", [TOO_MANY_CLOSED, TOO_MANY_OPEN]),
}


@pytest.mark.parametrize("case", CASES)
def test_lines(command: Command, case: str) -> None:
    """Each checked against EVALB itself."""
    parse, expected, messages = CASES[case]
    done = evalb(command, "", GOLD + "\n", parse + "\n")
    [row] = rows(done)
    assert " ".join([row[2], row[5], row[7], row[8], row[9], row[10]]) == expected
    assert done.err.splitlines()[:-1] == messages
    assert done.code == 0


@pytest.mark.parametrize(
    ("parse", "messages"),
    [
        ("(S (A (P a)) b c)", ["Reading sentence"]),
        ("(S (P a b) (Q c))", ["More than two elements in a bracket", "Reading sentence"]),
    ],
)
def test_words_outside_of_brackets_end_the_run(command: Command, parse: str, messages: list[str]) -> None:
    done = evalb(command, "", f"{GOLD}\n" * 2, f"{GOLD}\n{parse}\n")
    assert done.code == 1
    assert len(rows(done)) == 1
    assert "Summary" not in done.out
    *told, stop = done.err.splitlines()
    assert told == [f"2 : {message}" for message in messages]
    assert "test.txt:2: text outside of brackets in the parses" in stop


def test_too_many_errors(command: Command) -> None:
    gold, test = "(S (A a))\n" * 5, "(S (A b))\n" * 5
    done = evalb(command, "MAX_ERROR 2\n", gold, test)
    assert (done.code, len(rows(done)), "====" in done.out.removeprefix(HEADING)) == (1, 3, False)
    assert done.err.count("Words unmatch (a|b)\n") == 4
    assert "stops at the error that follows 3 others (MAX_ERROR 2)" in done.err.splitlines()[-1]
    assert evalb(command, "MAX_ERROR 4\n", gold, test).code == 0


@pytest.mark.parametrize("more", ["gold", "test"])
def test_different_numbers_of_lines(command: Command, more: str) -> None:
    texts = {"gold": f"{GOLD}\n", "test": f"{GOLD}\n"}
    texts[more] *= 3
    done = evalb(command, "", texts["gold"], texts["test"])
    assert (done.code, len(rows(done))) == (0, 1)
    assert f"2 : Number of lines unmatch (too many lines in {more} file)\n" in done.err
    table = evalb(command, "", texts["gold"], texts["test"], "--format json")
    assert "test.txt:2: " in table.error


def test_quotes_are_mended(command: Command) -> None:
    gold = "(S (NP (`` ') (NN a) ('' ')) (VP (VB b)))\n"
    test = "(S (NP (NN a) (POS ')) (VP (VB b)))\n".replace("(NN a)", "(`` ') (NN a)")
    prm = "DELETE_LABEL ``\nDELETE_LABEL ''\n"
    [row] = rows(evalb(command, prm, gold, test))
    assert row[2] == "1"
    [row] = rows(evalb(command, prm + "QUOTE_LABEL ''\nQUOTE_LABEL POS\n", gold, test))
    assert row == ["1", "4", "0", "100.00", "100.00", "3", "3", "3", "0", "3", "2", "66.67"]


def test_parameters() -> None:
    path = Path("some.prm")
    path.write_text(
        "## a comment\n\nDEBUG 1\nMAX_ERROR 5 # and more\nCUTOFF_LEN 70\nLABELED 0\nDELETE_LABEL TOP \r\n"
        "DELETE_LABEL\t-NONE-\nDELETE_LABEL_FOR_LENGTH ,\nQUOTE_LABEL POS\nEQ_LABEL ADVP  PRT\nEQ_WORD a b\n"
        "COLOUR blue\n DEBUG 2\nEQ_LABEL one\n"
    )
    warnings: list[str] = []
    found = read_parameters(path, warnings.append)
    assert (found.name, found.debug, found.max_error, found.cutoff) == ("some.prm", 1, 5, 70)
    assert not found.labelled
    assert found.deleted == {"TOP", "-NONE-"}
    assert (found.deleted_for_length, found.quotes) == (frozenset({","}), frozenset({"POS"}))
    assert found.equal_labels == {("ADVP", "PRT"), ("PRT", "ADVP")}
    assert found.equal_words == {("a", "b"), ("b", "a")}
    assert warnings == [
        f"{path}:13: Unknown keyword (COLOUR blue) in parameter file",
        f"{path}:14: Unknown keyword ( DEBUG 2) in parameter file",
        f"{path}:15: EQ_LABEL requires two values",
    ]


@pytest.mark.parametrize(
    ("prm", "gold", "message"),
    [
        ("\nLABELED\n", GOLD, "rules.prm:2: LABELED without a value; write LABELED VALUE"),
        ("", "", "gold.txt: holds no trees"),
    ],
)
def test_bad_files(command: Command, prm: str, gold: str, message: str) -> None:
    assert message in evalb(command, prm, gold, GOLD).error
    assert "no such file" in command("evaluate --evalb COLLINS.prm test.txt nowhere").error
    assert "no such file" in command("evaluate --evalb nowhere.prm a b").error


# Against the naive twin: labels with every character that means something to someone.
LABELS = ["S", "NP", "NP-SBJ", "NP=2-X", "-NONE-", "", "ADVP", "PRT", "-", "=", "X_Cont", "A|B^C", "TOP", "É"]
TAGS = [*LABELS, ",", "``", "$", "NN-1"]
WORDS = ["a", "b", "A", "", "-", "=", "'", "\u3000x", "a|b", "\\/"]
LABEL, BLANK = st.sampled_from(LABELS), st.sampled_from(["", " "])


@st.composite
def tree(draw: st.DrawFn, terminals: list[tuple[str, str]]) -> str:
    """A line of brackets over some terminals."""
    if len(terminals) == 1 and draw(st.integers(0, 9)) < 7:
        [(tag, word)] = terminals
        return f"({tag}{draw(st.sampled_from([' ', chr(9), '  ']))}{word})"
    parts: list[str] = []
    rest = terminals
    while rest:
        size = draw(st.integers(1, len(rest) - (not parts and len(rest) > 1)))
        parts.append(draw(tree(rest[:size])))
        rest = rest[size:]
        if draw(st.integers(0, 19)) == 0:
            parts.append(f"({draw(LABEL)})")
    return f"({draw(LABEL)}{draw(BLANK)}{draw(BLANK).join(parts)})"


@st.composite
def pair(draw: st.DrawFn) -> tuple[str, str]:
    """Two lines over nearly the same terminals."""
    tags, words = st.sampled_from(TAGS), st.sampled_from(WORDS)
    terminals = draw(st.lists(st.tuples(tags, words), min_size=1, max_size=9))
    guessed = [(draw(tags) if draw(st.integers(0, 4)) == 0 else tag, word) for tag, word in terminals]
    if draw(st.integers(0, 9)) == 0:
        guessed[-1] = (guessed[-1][0], draw(words))
    return draw(tree(terminals)), draw(st.just("") | tree(guessed) | tree(guessed))


PAIRS = st.lists(pair(), min_size=1, max_size=4)
RULES = st.builds(
    Rules,
    labelled=st.booleans(),
    deleted=st.sets(st.sampled_from([tag for tag in TAGS if tag]), max_size=4),
    deleted_for_length=st.sets(st.sampled_from([tag for tag in TAGS if tag]), max_size=2),
    equal_labels=st.lists(st.tuples(*[st.sampled_from([tag for tag in LABELS if tag])] * 2), max_size=3),
    equal_words=st.lists(st.tuples(*[st.sampled_from(["a", "b", "A"])] * 2), max_size=2),
)


def check_against_the_naive_twin(
    folder: Path, lines: list[tuple[str, str]], rules: Rules, parameters: EvalbParameters
) -> None:
    for place, name in enumerate(("gold", "test")):
        (folder / name).write_text("".join(f"{line[place]}\n" for line in lines), "utf-8")
    sources = gold_file(folder / "gold"), parse_files([folder / "test"])
    [scores] = evalb_scores(*sources, parameters, lambda _: None)
    found = [Row(score.length, score.status, *score.counts) for score in scores]
    assert found == [compare(gold, test, rules) for gold, test in lines]


@given(rules=RULES, lines=PAIRS)
def test_against_the_naive_twin(
    tmp_path_factory: pytest.TempPathFactory, rules: Rules, lines: list[tuple[str, str]]
) -> None:
    folder = tmp_path_factory.getbasetemp()
    (folder / "rules.prm").write_text("MAX_ERROR 99\n" + rules.text(), "utf-8")
    check_against_the_naive_twin(folder, lines, rules, read_parameters(folder / "rules.prm", pytest.fail))


@given(pairs=PAIRS)
def test_spmrl_against_the_naive_twin(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, str]]
) -> None:
    marks = str.maketrans({"X": "#", "N": "N#"})
    lines = [(gold.translate(marks), test.translate(marks)) for gold, test in pairs]
    deleted = {"TOP", "ROOT", "S1", "-NONE-", "VROOT"}
    rules = Rules(deleted=deleted, deleted_for_length={"-NONE-"}, spmrl=True)
    check_against_the_naive_twin(tmp_path_factory.getbasetemp(), lines, rules, SPMRL)


def test_evalbs_own_files_by_name() -> None:
    """What is shipped is what EVALB came with; a file of that name in the folder is another."""
    for name in SHIPPED:
        assert read_parameters(name, print) == read_parameters(DATA / name, print)
    assert read_parameters("COLLINS.prm", print) == parameters.COLLINS
    Path("COLLINS.prm").write_text("LABELED 0\n")
    assert not read_parameters("COLLINS.prm", print).labelled
    with pytest.raises(FileError, match=r"collins\.prm: no such file"):
        read_parameters("collins.prm", print)
