"""What is refused before it takes time or memory, and what is shortened for people."""

import zipfile
from pathlib import Path

import click
import numpy as np
import pytest
from commandline import Command, commands_below

from mbrparse.cli.main import cli

TREE = "(S (A a) (B b))\n"


@pytest.fixture(autouse=True)
def files(folder: Path) -> None:
    (folder / "trees").write_text(TREE)


def test_a_file_of_posteriors_that_promises_too_many_words(command: Command) -> None:
    for length, message in ((2**31 - 1, "2,147,483,647 words, of"), (8000, "a table or picture holds 2,000")):
        arrays = {
            "lengths": [length],
            "labels": ["S"],
            "sentence": [0],
            "start": [0],
            "end": [2],
            "label": [0],
        }
        np.savez_compressed("p.npz", **arrays, g=[1.0])  # type: ignore[arg-type]
        assert message in command("posteriors --posteriors p.npz").err
    assert command("posteriors --posteriors p.npz --format tsv").out.startswith("start\tend")


def test_long_labels_and_words_are_cut_in_what_people_see(command: Command) -> None:
    long = "x" * 1_000_000
    Path("long").write_text(f"(S{long} (A {long}) (B b))\n")
    for options in ("", "--svg p.svg"):
        done = command(f"show long {options}")
        assert done.code == 0
        assert len(done.out) < 100_000
    assert Path("p.svg").stat().st_size < 100_000
    assert command("binarize long -o out").code == 0
    assert long in Path("out").read_text()
    Path("bad").write_text(f"(S (A a)\n{long} (B b))) {long}\n")
    assert len(command("binarize bad -o out").err) < 5_000


def test_zips_that_unpack_to_much_or_are_damaged(command: Command) -> None:
    with zipfile.ZipFile("bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.mrg", TREE * 2_000_000)
    error = command("binarize bomb.zip -o out").error
    assert error.startswith("bomb.zip/a.mrg: unpacks to 32,000,000 bytes, more than 200 times its size")
    with zipfile.ZipFile("small.zip", "w") as archive:
        archive.writestr("a.mrg", TREE * 100)
    whole = Path("small.zip").read_bytes()
    for place in (10, 60, len(whole) // 2, len(whole) - 30, len(whole) - 5):
        Path("cut.zip").write_bytes(whole[:place] + whole[place + 7 :])
        assert command("binarize cut.zip -o out").error.startswith("cut.zip")


def test_every_number_has_a_range() -> None:
    for _, command in commands_below(cli):
        for parameter in command.params:
            kind = parameter.type
            assert kind not in (click.INT, click.FLOAT), (command.name, parameter.name)
            if isinstance(kind, (click.IntRange, click.FloatRange)):
                assert None not in (kind.min, kind.max), (command.name, parameter.name)


@pytest.mark.parametrize("text", ["-1", "9" * 20, "1e308", "inf", "nan", "-inf", "0x1", ""])
def test_numbers_out_of_range_are_usage_errors(command: Command, text: str) -> None:
    Path("t").write_text(TREE)
    for line in (
        "split t --test-fraction 0.5 --test-output o --seed",
        "parse t -g g -o o --max-seconds",
        "parse t -g g -o o --prune",
        "parse t -g g -o o --samples 3 --seed",
        "parse t -g g -o o --k-best",
        "sample g -n 1 --lengths",
        "sample g --count 1 --seed",
        "train t -o o --method split-merge --cycles",
        "train t -o o --method inside-outside --seed",
        "evaluate t t --resamples",
    ):
        assert command(f"{line}={text}").code == 2, line
    assert not Path("o").exists()


@pytest.mark.parametrize("weight", ["1e308", "nan", "-1e10"])
def test_weights_are_of_numbers_that_can_be_added(command: Command, weight: str) -> None:
    Path("t").write_text(TREE)
    command("train t -o g")
    done = command(f"parse t -g g -o o --objective general-recall --weight labelled={weight}")
    assert (done.code, "a weight that is no number of at most 1,000,000,000" in done.err) == (2, True)


def test_devices_without_an_end(command: Command) -> None:
    for name in ("/dev/zero", "/dev/full", "/dev/urandom"):
        for line in ("train trees -o o --method inside-outside --init", "binarize -o o", "check"):
            assert command(line, name).error.startswith(f"{name}: is a device without an end, not a file")
    assert not Path("o").exists()
