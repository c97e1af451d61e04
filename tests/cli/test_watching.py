"""What a run says of itself to who watches it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from commandline import Command

from mbrparse.cli import messages
from mbrparse.cli.messages import Watch
from mbrparse.log import Progress

KEYS = {"time", "what", "sentences", "per_second", "seconds_left", "workers", "done"}
ALL = range(10**9)


@pytest.mark.usefixtures("toy_folder")
@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.long)])
def test_the_log_ends_with_all_that_was_done(command: Command, tmp_path: Path, jobs: int) -> None:
    for _ in range(2):  # a log is added to
        assert command("parse", "-g", "grammar.txt", "tags.txt", "--jobs", jobs, "--log", "log").code == 0
    rows = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    ends = [row for row in rows if row["done"]]
    assert len(ends) == 2
    assert all(row.keys() == KEYS for row in rows)
    assert (ends[1]["sentences"], ends[1]["workers"], ends[1]["seconds_left"]) == (4, jobs, 0)


@pytest.mark.usefixtures("toy_folder")
def test_a_log_that_cannot_be_written_is_an_error(command: Command) -> None:
    done = command("parse", "-g", "grammar.txt", "tags.txt", "--log", "nowhere/log", "-o", "out")
    assert done.error.startswith("nowhere/log: cannot be written (No such file or directory)")
    assert not Path("out").exists()


def test_lines_come_while_nothing_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "EVERY", 0.001)
    log = tmp_path / "log"
    items = Watch(None, ALL, 1, str(log))(iter("ab"), "waiting")
    assert next(items) == "a"
    while not log.read_text().endswith("\n"):  # however long that takes
        pass
    row = json.loads(log.read_text().splitlines()[0])
    assert (row["sentences"], row["seconds_left"], row["done"]) == (0, None, False)
    with pytest.raises(KeyboardInterrupt):
        items.throw(KeyboardInterrupt)  # type: ignore[attr-defined]
    assert json.loads(log.read_text().splitlines()[-1])["done"] is False


@pytest.mark.parametrize(
    ("progress", "line"), [(messages.with_progress, "1 of 7\n"), (Watch(None, ALL, 1, None), "1 sentence, ")]
)
def test_off_a_terminal_long_work_says_a_line_a_minute(
    progress: Progress, line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(messages, "EVERY", 0.001)

    def slow() -> Iterator[str]:
        yield "a"
        said = ""
        while f"mbrparse: parsing: {line}" not in said:  # also while one part of the work lasts
            said += capsys.readouterr().err

    assert list(progress(slow(), "parsing", 7)) == ["a"]


@pytest.mark.parametrize(("part", "left"), [(range(41), ", 20 min left"), (range(1), "")])
def test_what_is_left_follows_from_the_number_of_sentences(
    monkeypatch: pytest.MonkeyPatch, part: range, left: str
) -> None:
    monkeypatch.setattr("mbrparse.cli.messages.time.monotonic", iter([0.0, 0.0, 30.0, 30.0]).__next__)
    watch = Watch(lambda: 100, part, 2, None)
    assert next(watch("ab", "parsing")) == "a"
    watch._done = 1
    assert str(watch) == f"1 sentence, 0.03/s{left}, 2 workers"
