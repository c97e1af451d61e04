"""Files that a later run reads again: what they hold, or an error with the file and what to do."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mbrparse import settings
from mbrparse.errors import FileError, InputMismatchError, MbrparseError
from mbrparse.files import open_output
from mbrparse.settings import load, resumable_outputs, save

MADE_FROM = {"seed": 1, "terminals": "tags", "most": 2**64}
JUNK = st.sampled_from(["0", "-1", "null", '"x"', "[]", "{}", "1e999", "NaN", "9" * 400, "[" * 10_000])


class Checkpoint(msgspec.Struct):
    """What a test keeps."""

    iteration: int
    values: list[float]


KEPT = Checkpoint(3, [0.1, 1e-300, 2.0])


def outcome(work: Callable[[], Any]) -> Any:
    """What work comes to, or the error that a user would be told."""
    try:
        return work()
    except MbrparseError as error:
        return error


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    save(tmp_path / "c", KEPT, MADE_FROM)
    assert load(tmp_path / "c", Checkpoint, MADE_FROM, "begin anew") == KEPT
    assert settings.settings_of(tmp_path / "c") == MADE_FROM
    with pytest.raises(FileError, match="no such file"):
        load(tmp_path / "d", Checkpoint, MADE_FROM, "begin anew")


@pytest.mark.parametrize("data", [b"", b"x", b'{"settings":{"a":"\xe4"}}', b"[" * 100_000])
def test_what_is_none_of_these_files(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "c").write_bytes(data)
    assert settings.settings_of(tmp_path / "c") is None
    with pytest.raises(FileError, match="no file of this program"):
        load(tmp_path / "c", Checkpoint, MADE_FROM, "begin anew")


@given(st.data())
def test_damage_is_noticed(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.getbasetemp() / "checkpoint"
    save(path, KEPT, MADE_FROM)
    whole = path.read_bytes()
    first, last = sorted(
        (data.draw(st.integers(0, len(whole) - 2)), data.draw(st.integers(0, len(whole) - 2)))
    )
    path.write_bytes(whole[:first] + data.draw(JUNK).encode() + whole[last:])
    found = outcome(lambda: load(path, Checkpoint, MADE_FROM, "begin anew"))
    if found != KEPT:
        assert str(found).startswith(f"{path}: ")
        assert str(found).endswith("begin anew")


def test_another_content_of_the_same_form_is_noticed(tmp_path: Path) -> None:
    save(tmp_path / "c", KEPT, MADE_FROM)
    text = (tmp_path / "c").read_text()
    (tmp_path / "c").write_text(text.replace('"iteration":3', '"iteration":2'))
    with pytest.raises(FileError, match="changed since it was written"):
        load(tmp_path / "c", Checkpoint, MADE_FROM, "begin anew")


def test_other_settings_and_another_program_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(tmp_path / "c", KEPT, MADE_FROM)
    with pytest.raises(InputMismatchError) as found:
        load(tmp_path / "c", Checkpoint, {"terminals": "words", "most": 2**64, "prune": 0.1}, "begin anew")
    assert found.value.message == (
        'made with other settings (seed: 1, now not given; terminals: "tags", now "words"; '
        "prune: not given, now 0.1)"
    )
    monkeypatch.setattr(settings, "program", lambda: "another")
    with pytest.raises(InputMismatchError, match="go on with the mbrparse that began it, or begin anew"):
        load(tmp_path / "c", Checkpoint, MADE_FROM, "begin anew")


def test_outputs_that_a_later_run_goes_on_with(folder: Path) -> None:
    def write(lines: int, resume: bool, end: type[BaseException] | None, made_from: Any = MADE_FROM) -> int:
        with (
            resumable_outputs(["a", "b"], made_from, resume) as done,
            open_output("a") as a,
            open_output("b") as b,
        ):
            for line in range(done, lines):
                a.write(f"a{line}\n")
                b.write(f"b{line}\n" if line < lines - 1 else f"b{line}")
            if end is not None:
                raise end
        return done

    with pytest.raises(KeyboardInterrupt, match=r"after 4 sentences: a\.part keeps them"):
        write(5, False, KeyboardInterrupt)
    assert sorted(path.name for path in folder.iterdir()) == ["a.part", "a.part.settings", "b.part"]
    with pytest.raises(InputMismatchError, match="seed: 1, now 2"):
        write(9, True, None, {**MADE_FROM, "seed": 2})
    assert write(9, True, None) == 4
    assert sorted(path.name for path in folder.iterdir()) == ["a", "b"]
    assert Path("a").read_text() == "".join(f"a{line}\n" for line in range(9))
    # An error of the input would come again: nothing of it stays.
    with pytest.raises(ZeroDivisionError):
        write(5, False, ZeroDivisionError)
    assert sorted(path.name for path in folder.iterdir()) == ["a", "b"]
    # What an earlier run has done stays, whatever ends the one that goes on with it.
    with pytest.raises(KeyboardInterrupt):
        write(5, False, KeyboardInterrupt)
    with pytest.raises(ZeroDivisionError):
        write(7, True, ZeroDivisionError)
    assert write(9, True, None) == 6
    assert Path("a").read_text() == "".join(f"a{line}\n" for line in range(9))
