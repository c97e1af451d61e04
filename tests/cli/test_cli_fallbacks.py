"""Fall-backs: printed with number and word, marked in trees, and an exit code on demand."""

from pathlib import Path

import pytest
from commandline import COMPILING, Command

TOY = """\
S -> NP VP [1.0]
NP -> Det N [0.8] | 'she' [0.2]
VP -> V NP [1.0]
Det -> 'the' [1.0]
N -> 'dog' [1.0]
V -> 'saw' [1.0]
"""
TEXT = "she saw the dog\nshe saw the wolf\nthe dog she saw\n"
PARSED = "(S (NP she) (VP (V saw) (NP (Det the) (N dog))))"


@pytest.fixture(autouse=True)
def grammar(folder: Path) -> None:
    (folder / "toy.nltk").write_text(TOY)


def printed(err: str) -> list[str]:
    return err.replace(COMPILING, "").splitlines()


def test_number_and_word_are_printed(command: Command) -> None:
    done = command("parse -g toy.nltk", stdin=TEXT)
    assert done.output.splitlines()[0] == PARSED
    assert printed(done.err) == [
        "mbrparse: sentence 2 was not parsed, its tree is a fall-back: unknown terminal wolf",
        "mbrparse: sentence 3 was not parsed, its tree is a fall-back: no parse",
        "mbrparse: 3 sentences, 2 fell back (unknown terminal wolf: 1, no parse: 1)",
    ]
    assert printed(command("parse -g toy.nltk", stdin="she saw the dog").err) == [
        "mbrparse: 1 sentence, 0 fell back"
    ]


def test_of_many_the_first_are_printed(command: Command) -> None:
    lines = printed(command("parse -g toy.nltk", stdin="she saw the dog\n" * 3 + "dog dog\n" * 600).err)
    assert [line.split()[2] for line in lines[:-1]] == ["4", "5", "6", "7", "8"]
    assert lines[-1] == "mbrparse: 603 sentences, 600 fell back (no parse: 600)"


def test_marks(command: Command) -> None:
    plain = command("parse -g toy.nltk", stdin=TEXT).output.splitlines()
    marked = command("parse -g toy.nltk --mark-fallback", stdin=TEXT).output.splitlines()
    assert marked == [plain[0], *("(S^FALLBACK " + line.removeprefix("(S ") for line in plain[1:])]
    objectives = "--objective labelled-f --objective viterbi --debinarize --mark-fallback -o {objective}"
    assert command("parse -g toy.nltk", *objectives.split(), stdin=TEXT).code == 0
    for path in map(Path, ("labelled-f", "labelled-tree")):
        assert [line.startswith("(S^FALLBACK ") for line in path.read_text().splitlines()] == [
            False,
            True,
            True,
        ]
    empty = command("parse -g toy.nltk --mark-fallback --fallback empty", stdin=TEXT).output
    assert empty.splitlines() == [plain[0], "(())", "(())"]


def test_strict(command: Command) -> None:
    done = command("parse -g toy.nltk --strict", stdin=TEXT)
    assert (done.code, done.out.count("\n")) == (3, 3)
    assert done.err.endswith("2 fell back (unknown terminal wolf: 1, no parse: 1)\n")
    assert command("parse -g toy.nltk --strict", stdin="she saw the dog\n").code == 0
    assert command("parse -g toy.nltk --strict -o out", stdin=TEXT).code == 3
    assert len(Path("out").read_text().splitlines()) == 3
