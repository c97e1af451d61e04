"""``mbrparse experiment grid``: cells as commands typed by hand make them, resumed, in processes."""

import csv
import math
from pathlib import Path

import pytest
from commandline import Command
from hypothesis import given
from hypothesis import strategies as st

from mbrparse.cli import stages
from mbrparse.cli.stages import STAGES, stage_options
from mbrparse.evaluate.significance import holm

pytestmark = pytest.mark.usefixtures("folder")

# As in the issue, but small.
GRID = (
    "experiment grid embedded:flights --max-length 7 --objective labelled-tree --objective labelled-recall "
    "--folds 2 --resamples 50 --seed 1 -o grid"
)
AXES = "--binarize hmarkov=0,inf --binarize vmarkov=2 --unary top,keep --train-size .3,1"
SMALL = (
    "experiment grid embedded:flights --max-length 6 --unary top,join-tags --train terminals=words "
    "--train rare=2,3 --parse space=nary --resamples 20 -o"
)


def rows(path: str) -> list[dict[str, str]]:
    with open(path, encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def contents(folder: str) -> dict[str, bytes]:
    """All files but images, whose bytes depend on matplotlib's fonts; settings say where the folder is."""
    found = {path: path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}
    return {str(path.relative_to(folder)): data for path, data in found.items() if path.suffix != ".png"}


def test_a_grid_as_the_issue_types_it(command: Command) -> None:
    outcome = command(f"{GRID} {AXES}")
    assert "mbrparse: 16 cells, each for labelled-tree, labelled-recall\n" in outcome.err
    assert "cell 16 (inf, 2, keep, 1, --fold=2/2), 16 of 16\n" in outcome.err
    table = Path("grid/grid.txt").read_text()
    signature = table.splitlines()[-1]
    assert outcome.output.splitlines()[-1] == signature
    assert outcome.output.startswith(table.removesuffix(f"{signature}\n"))
    cells, pooled = rows("grid/cells.csv"), rows("grid/table.csv")
    assert (len(cells), len(pooled)) == (32, 16)
    for row in pooled:
        keys = ("hmarkov", "vmarkov", "unary", "train_size", "objective")
        mine = [cell for cell in cells if all(cell[key] == row[key] for key in keys)]
        assert len(mine) == 2
        sums = {
            name: sum(int(cell[name]) for cell in mine) for name in ("sentences", "gold", "guess", "labelled")
        }
        assert {name: int(row[name]) for name in sums} == sums
        assert float(row["labelled_f"]) == pytest.approx(
            2 * sums["labelled"] / (sums["gold"] + sums["guess"])
        )
    [first] = [row for row in pooled if row["p"] == "" and row["difference"] == ""]
    assert [first[key] for key in keys] == ["0", "2", "top", "1", "labelled-tree"]
    assert len({row["sentences"] for row in pooled}) == 1
    corrected = naive_holm([float(row["p"]) for row in pooled if row["p"]])
    assert [float(row["p_holm"]) for row in pooled if row["p"]] == pytest.approx(corrected)
    page = Path("grid/grid.html").read_text("utf-8")
    assert page.count("<svg") == 2
    assert f"<p>{signature}</p>" in page
    assert "<td" in page
    for plot in ("curves", "heat-map"):
        assert Path(f"grid/{plot}.png").read_bytes().startswith(b"\x89PNG")


def test_a_cell_is_what_the_commands_make(command: Command) -> None:
    command(f"{GRID} --binarize hmarkov=0,inf --binarize vmarkov=2 --train-size .3")
    binarize = "binarize embedded:flights --max-length 7 --min-length 2"
    objectives = "--objective labelled-tree --objective labelled-recall"
    by_hand = (
        f"{binarize} --hmarkov inf --vmarkov 2 --unary top -o bin",
        f"{binarize} --unary keep -o kept",
        "split bin --fold 2/2 --seed 1 --train-size .3 --train-output train --test-output test",
        "split kept --fold 2/2 --seed 1 --test-output gold",
        "train train -o rules",
        f"parse test -g rules {objectives} -o {{objective}} --details d",
    )
    for line in by_hand:
        assert command(line).code == 0
    evaluated = "evaluate gold labelled-tree labelled-recall --form original --all --details d --resamples 0"
    lines = command(f"{evaluated} --format csv").output.splitlines()
    expected = list(csv.DictReader(lines))
    found = [
        row for row in rows("grid/cells.csv") if (row["hmarkov"], row["division"]) == ("inf", "fold=2/2")
    ]
    assert [row["objective"] for row in found] == [row["name"] for row in expected]
    for row, wanted in zip(found, expected, strict=True):
        for name in (
            "labelled_tree",
            "labelled_recall",
            "labelled_f",
            "bracketed_f",
            "gold",
            "guess",
            "labelled",
        ):
            assert float(row[name]) == float(wanted[name]), name
        assert row["fell_back"] == wanted["fell_back_count"]


def test_a_killed_run_goes_on_with_its_cell(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    command(f"{SMALL} whole")
    whole = contents("whole")
    assert {"grid.txt", "cells.csv", "heat-map.svg", "cells/run-04.json"} <= set(whole)
    calls: list[str] = []
    parse = stages.COMMANDS["parse"]

    with monkeypatch.context() as patch:
        invoke = parse.invoke

        def counted(context: object) -> object:
            calls.append("parse")
            if len(calls) == 3:
                raise KeyboardInterrupt
            return invoke(context)  # type: ignore[arg-type]

        patch.setattr(parse, "invoke", counted)
        assert command(f"{SMALL} part").code == 130
    assert sorted(path.name for path in Path("part/cells").iterdir()) == ["run-01.json", "run-02.json"]
    outcome = command(f"{SMALL} part")
    assert [outcome.err.count(f"cell {run} (") for run in range(1, 5)] == [1, 1, 1, 1]
    assert contents("part") == whole
    with monkeypatch.context() as patch:
        patch.setattr(parse, "invoke", None)  # nothing is parsed again
        assert command(f"{SMALL} part").output == outcome.out
    error = command(f"{SMALL} part --seed 3").error
    assert "made with other settings (split: [], now" in error


def test_processes_make_the_same(command: Command) -> None:
    outcomes = [command(f"{SMALL} jobs{jobs} --jobs {jobs}").output for jobs in (1, 2)]
    assert outcomes[0] == outcomes[1]
    assert contents("jobs1") == contents("jobs2")


def test_what_is_wrong_is_named(command: Command) -> None:
    known = "experiment grid embedded:flights -o none"
    for options, said in (
        ("--binarize hmarkow=0", "'hmarkow' is none of its options unary, functions, label-map"),
        ("--train resume=on", "--train: 'resume' is none of its options method, terminals"),
        ("--parse output=x", "--parse: 'output' is none of its options"),
        ("--binarize hmarkov=0,x", "--binarize hmarkov: 'x' is neither 0, 1, 2, ... nor inf"),
        ("--binarize vmarkov=0", "--binarize vmarkov: 0 is not in the range x>=1"),
        ("--binarize subcat=perhaps", "--binarize subcat: 'perhaps' is not a valid boolean"),
        ("--unary top,keeps", "--binarize unary: 'keeps' is not one of"),
        ("--binarize hmarkov=", "'hmarkov=' is not hmarkov=VALUE,VALUE,..."),
        ("--unary top --binarize unary=keep", "An option is given twice"),
        ("--folds 1", "1 is not in the range 2<=x<=1000"),
        ("--objective recall", "'recall' is not one of"),
    ):
        assert said in command(f"{known} {options}").usage_error
    assert not Path("none").exists()
    error = command("experiment grid flights -o none").last_error
    assert error == "mbrparse: flights: no such file"  # which claims no folder
    refused = command(f"{known} --max-length 6 --train weights=equal")
    assert (refused.code, "--weights needs --method dop" in refused.err) == (2, True)
    refused = command(f"{known}-2 --max-length 6 --train weights=equal,plain --jobs 2")
    assert (refused.code, "train: --weights needs --method dop" in refused.err) == (2, True)
    error = command(f"{known}-3 --max-length 6 --train-size 1e9").last_error
    assert "a part is a number of sentences, or a fraction" in error
    corrected = command(f"{known}-3 --max-length 6 --resamples 0")
    assert "labelled-recall  " in corrected.output  # no cell was finished, so the folder is free
    assert "corrected for" not in corrected.out
    assert "made with other settings" in command(f"{known}-3 --max-length 5").error


def test_every_option_with_values_may_be_an_axis() -> None:
    for stage in STAGES:
        named = stage_options(stage)
        assert not {"output", "jobs", "scheduler", "resume", "details"} & set(named)
    assert {"hmarkov", "annotate", "max-length", "encoding"} <= set(stage_options("binarize"))
    assert {"method", "cycles", "rare"} <= set(stage_options("train"))
    assert {"prune", "space", "node-cost", "k-best"} <= set(stage_options("parse"))


def naive_holm(p_values: list[float]) -> list[float]:
    """For each test, the least level at which Holm's procedure, step by step, rejects it."""

    def rejected(level: float) -> set[int]:
        done: set[int] = set()
        while len(done) < len(p_values):
            least = min(
                (place for place in range(len(p_values)) if place not in done), key=p_values.__getitem__
            )
            if p_values[least] * (len(p_values) - len(done)) > level:
                break
            done.add(least)
        return done

    steps = {p * count for p in p_values for count in range(1, len(p_values) + 1)} | {1.0}
    levels = sorted(min(step, 1.0) for step in steps)
    return [
        next((level for level in levels if place in rejected(level)), 1.0) for place in range(len(p_values))
    ]


@given(st.lists(st.integers(1, 40).map(lambda count: count / 40), max_size=6))
def test_holm(p_values: list[float]) -> None:
    assert holm(p_values) == pytest.approx(naive_holm(p_values))
    with_none = holm([math.nan, *p_values])
    assert math.isnan(with_none[0])
    assert with_none[1:] == holm(p_values)
