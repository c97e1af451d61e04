"""``train --method split-merge``: grammars with states, checkpoints, resumption, bad input."""

import json
import math
import signal
from pathlib import Path

import pytest
from commandline import Command

from mbrparse.training import split_merge as training

# Subjects and objects differ: a state for each can tell pronouns' cases apart.
TREES = [
    "(S (NP (PRP he)) (VP (VBD saw) (NP (PRP him))))",
    "(S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (PRP him))))",
    "(S (NP (PRP he)) (VP (VBD heard) (NP (DT the) (NN bird))))",
    "(S (NP (PRP she)) (VP (VBD heard) (NP (PRP her))))",
    "(S (NP (PRP she)) (VP (VBD saw) (NP (DT a) (NN fox))))",
]
TRAIN = "train trees.mrg --method split-merge"
WORDS = f"{TRAIN} --terminals words --unknown none"


@pytest.fixture(autouse=True)
def trees(folder: Path) -> None:
    (folder / "trees.mrg").write_text("\n".join(TREES * 3) + "\n")


def test_states_tell_subjects_from_objects(command: Command) -> None:
    """The treebank grammar cannot: it gives both sentences the same probability."""
    swapped = TREES[0].replace("he)", "x)").replace("him)", "he)").replace("x)", "him)")

    def log_odds(cycles: int) -> float:
        command(f"{WORDS} -o g.txt --smooth 0 --seed 1 --cycles {cycles}")
        rows = command("score -g g.txt", stdin=f"{TREES[0]}\n{swapped}\n").output.splitlines()
        right, wrong = (json.loads(row)["tree_log_probability"] for row in rows)
        return math.inf if wrong is None else float(right - wrong)

    assert log_odds(0) == pytest.approx(0, abs=1e-6)
    assert log_odds(2) > 2


@pytest.mark.parametrize("options", ["", "--terminals words", "--terminals words --rare 3 --smooth .1"])
def test_resumed_and_parallel_runs_give_the_same_bytes(options: str, command: Command) -> None:
    def trained(more: str) -> bytes:
        assert command(f"{TRAIN} {options} -o g.txt --seed 3 {more}").code == 0
        return Path("g.txt").read_bytes()

    whole = trained("--cycles 3")
    assert trained("--cycles 3 --jobs 2") == whole
    trained("--cycles 1")
    assert trained("--cycles 3 --resume") == whole
    assert trained("--cycles 1 --resume") == trained("--cycles 1")
    # A checkpoint is a grammar.
    assert command("parse trees.mrg -g g.txt.cycle-1").code == 0


def test_an_interrupted_run_says_how_to_go_on(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(in_cycle: int) -> str:
        real = training.cycle

        def cycle(grammar: object, step: object, how: object, number: int, *rest: object) -> object:
            if number == in_cycle:
                raise KeyboardInterrupt(signal.SIGTERM)
            return real(grammar, step, how, number, *rest)  # type: ignore[arg-type]

        with monkeypatch.context() as patch:
            patch.setattr(training, "cycle", cycle)
            outcome = command(f"{TRAIN} -o g.txt --cycles 2")
        assert (outcome.code, Path("g.txt").exists()) == (143, False)
        return outcome.err.splitlines()[-1]

    assert interrupted(1) == "mbrparse: interrupted (SIGTERM)"
    kept = "g.txt.checkpoint keeps those that were finished, --resume goes on"
    assert interrupted(2) == f"mbrparse: interrupted (SIGTERM) in a cycle: {kept}"
    assert command(f"{TRAIN} -o g.txt --cycles 2 --resume").code == 0


def test_unseen_words_have_the_states_of_their_class(command: Command) -> None:
    command(f"{TRAIN} --terminals words -o g.txt --cycles 1")
    assert command("parse -g g.txt --objective labelled-tree", stdin="the wolf saw him\n").output == (
        "(S (NP (DT the) (NN wolf)) (VP (VBD saw) (NP (PRP him))))\n"
    )


def test_errors(command: Command) -> None:
    assert "no checkpoint to resume from" in command(f"{TRAIN} -o g.txt --resume").error
    command(f"{TRAIN} -o g.txt --cycles 1")
    assert "seed: 0, now 2" in command(f"{TRAIN} -o g.txt --cycles 2 --seed 2 --resume").error
    with Path("trees.mrg").open("a") as stream:
        stream.write("(S (VP (VBD saw) (NP (DT a) (NN fox))) (NP (PRP he)))\n")
    assert "training trees" in command(f"{TRAIN} -o g.txt --cycles 2 --resume").error
    Path("g.txt.checkpoint").write_text("{}")
    assert "g.txt.checkpoint" in command(f"{TRAIN} -o g.txt --cycles 2 --resume").error
    Path("flat.mrg").write_text("(S (A a) (B b) (C c))\n")
    line = command("train flat.mrg --method split-merge -o f.txt").error
    assert line.startswith("flat.mrg:1: constituent S has 3 children, not 2")
    Path("states.mrg").write_text("(S (NP~01 (A a) (B b)) (C c))\n")
    line = command("train states.mrg --method split-merge -o f.txt").error
    assert line.startswith("label NP~01 has a state already; give trees whose labels have none")
    Path("empty.mrg").write_text("")
    assert "no trees in the input" in command("train empty.mrg --method split-merge -o f.txt").error
    assert not Path("f.txt").exists()


def test_a_cycle_of_another_run_is_not_gone_on_with(command: Command) -> None:
    train = "train trees.mrg --method split-merge -o g.txt"
    assert command(f"{train} --cycles 1 --seed 2").code == 0
    other = Path("g.txt.cycle-1").read_bytes()
    assert command(f"{train} --cycles 1 --seed 1").code == 0
    Path("g.txt.cycle-1").write_bytes(other)
    assert command(f"{train} --cycles 2 --seed 1 --resume").last_error == (
        "mbrparse: g.txt.cycle-1: damaged, or of another run: it was changed since it was written; "
        "leave --resume out to begin anew"
    )
    Path("g.txt.cycle-1").unlink()
    assert command(f"{train} --cycles 2 --seed 1 --resume").last_error == (
        "mbrparse: g.txt.cycle-1: no such file; leave --resume out to begin anew"
    )
    # Of no cycle there is no file.
    assert command(f"{train} --cycles 0 -o h").code == command(f"{train} --cycles 0 --resume").code == 0
