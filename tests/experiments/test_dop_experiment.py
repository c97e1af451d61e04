"""``mbrparse experiment dop``, on a part of the embedded treebank."""

from __future__ import annotations

import csv
import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest
from commandline import Command, Outcome

from mbrparse.decode.candidates.samples import Sampler
from mbrparse.errors import ChartOverflowError
from mbrparse.experiments.dop.fragment_speed import SpeedTrial
from mbrparse.experiments.dop.model_tables import Row, comparisons, judge, paired_data
from mbrparse.experiments.dop.model_trial import Design, Model
from mbrparse.experiments.trial_runs import paired_test
from mbrparse.treebank.corpora.prepare import Preparation, PreparationStatistics, prepare
from mbrparse.treebank.corpora.reading import SourceTree, read_corpus

Finished = tuple[Path, Outcome]
SMALL = "--train 100 --test 0.01 --samples 20 --resamples 50 --fragments 3000"
MODELS = ("PCFG", "DOP-plain", "DOP-equal", "DOP-bonnema")


def experiment(command: Command, folder: Path, options: str) -> Outcome:
    return command(f"experiment dop embedded:flights {SMALL} {options} -o", folder)


@pytest.fixture(scope="module")
def finished(command: Command, tmp_path_factory: pytest.TempPathFactory) -> Finished:
    folder = tmp_path_factory.mktemp("dop")
    done = experiment(command, folder, "--runs 2")
    assert done.code == 0, done.err
    return folder, done


def rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.open(encoding="utf-8")))


def split(run: int) -> tuple[list[SourceTree], list[SourceTree]]:
    """The trees of a split, as the experiment draws them."""
    how = Preparation(max_length=30)
    trees = list(prepare(read_corpus("embedded:flights"), how, PreparationStatistics()))
    return Design(100, len(trees) // 100).parts(trees, run)


@pytest.mark.parametrize("model", ["PCFG", "DOP-plain", "DOP-bonnema"])
@pytest.mark.usefixtures("folder")
def test_rates_are_those_of_the_commands(command: Command, finished: Finished, model: str) -> None:
    for name, part in zip(("train.mrg", "test.mrg"), split(2), strict=True):
        Path(name).write_text("".join(f"{source.tree}\n" for source in part), "utf-8")
    _, of_fragments, weights = model.partition("-")
    how = f"--method dop --weights {weights}" if of_fragments else ""
    assert command(f"train train.mrg {how} -o grammar").code == 0
    decoders = ["labelled-recall", "labelled-tree", *["most-probable-tree"] * bool(of_fragments)]
    options = " ".join(f"--objective {name}" for name in decoders)
    if of_fragments:
        options += " --max-samples 20 --max-error 0"
    assert command(f"parse -g grammar test.mrg {options} -o {{objective}}.mrg").code == 0
    parses = " ".join(f"{name}.mrg" for name in decoders)
    told = json.loads(command(f"evaluate test.mrg {parses} --format json").output)
    found = {
        row["decoder"]: row
        for row in rows(finished[0] / "splits.csv")
        if (row["model"], row["split"]) == (model, "2")
    }
    for name, row in zip(decoders, told["rows"], strict=True):
        for criterion, rate in row["rates"].items():
            assert float(found[name][criterion]) == pytest.approx(rate, abs=1e-12)


def test_what_is_printed_is_what_the_folder_holds(finished: Finished) -> None:
    folder, done = finished
    assert done.out.startswith("embedded:flights: 2 splits of 100 and 14 sentences\n")
    for table in ("models", "tests", "curve-sizes", "curve-depths", "speed"):
        assert (folder / f"{table}.txt").read_text("utf-8") in done.out + "\n"
        for suffix in ("md", "tex", "csv"):
            assert (folder / f"{table}.{suffix}").stat().st_size > 0
    assert "\nPublished, on other data: Goodman (1996), ATIS, two programs\nexplicit fragments, " in done.out
    assert "  500 times\n" in (folder / "speed.txt").read_text("utf-8")
    assert (folder / "curves.svg").read_text("utf-8").count("<text") > 10
    assert (folder / "curves.png").stat().st_size > 0
    for row in rows(folder / "models.csv"):
        assert float(row["measured_seconds"]) > 0


def test_curves_begin_at_the_pcfg_and_end_at_the_models(finished: Finished) -> None:
    """Fragments of a depth of one are the PCFG's rules; the last size is that of the split."""
    folder, _ = finished
    points = [row for row in rows(folder / "curves.csv") if row["criterion"] == "labelled_recall"]
    at = {(row["curve"], row["model"], int(row["place"])): float(row["mean"]) for row in points}
    of_split = [row for row in rows(folder / "splits.csv") if row["decoder"] == "labelled-recall"]
    for model in MODELS:
        rates = [float(row["labelled_recall"]) for row in of_split if row["model"] == model]
        assert at["sizes", model, 100] == pytest.approx(sum(rates) / 2)
        if model != "PCFG":
            assert at["depths", model, 1] == pytest.approx(at["sizes", "PCFG", 100])
            assert at["depths", model, 1] != at["depths", model, 6]


def test_all_charts_of_the_fragments_say_the_same(finished: Finished) -> None:
    folder, _ = finished
    result = json.loads((folder / "speed" / "run-01.json").read_text())["result"]
    assert result["difference"] < 1e-9
    assert result["fragments"] <= 3000
    assert result["depth"] == 3
    explicit, shared, written, addressed = (row["rules"] for row in result["rows"].values())
    assert explicit > shared > written > addressed > 0


def test_results_do_not_depend_on_jobs_and_are_not_made_again(
    command: Command, finished: Finished, tmp_path: Path
) -> None:
    folder, done = finished
    made = sorted(folder.glob("**/run-*.json"))
    assert len(made) == 2 * len(MODELS) + 2 * len(MODELS) + 1
    before = [path.stat().st_mtime_ns for path in made]
    assert experiment(command, folder, "--runs 2").out == done.out
    assert [path.stat().st_mtime_ns for path in made] == before
    options = "--runs 2 --jobs 2 --weights equal --no-curves --no-speed"
    assert experiment(command, tmp_path, options).code == 0
    assert {path.name for path in tmp_path.iterdir() if path.is_dir()} == {"PCFG", "DOP-equal"}
    for name in ("PCFG", "DOP-equal"):
        for run in ("run-01.json", "run-02.json"):
            assert parsed(tmp_path / name / run) == parsed(folder / name / run)


def test_tables_of_a_resumed_run_differ_in_measured_columns_alone(
    command: Command, finished: Finished, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, _ = finished
    again = tmp_path / "again"
    shutil.copytree(folder, again)
    for name in ("DOP-plain/run-02", "DOP-bonnema/run-01", "speed/run-01"):
        (again / f"{name}.json").unlink()
    tables = [path.name for path in folder.iterdir() if path.is_file()]
    for name in tables:
        (again / name).unlink()

    def interrupted(*_: object) -> dict[str, Any]:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(SpeedTrial, "__call__", interrupted)
        assert experiment(command, again, "--runs 2").code == 130
    assert (again / "DOP-plain" / "run-02.json").exists()
    assert not any((again / name).exists() for name in tables)
    assert experiment(command, again, "--runs 2").code == 0
    for name in tables:
        if name.startswith(("models.", "speed.")):
            assert "measured" in (again / name).read_text("utf-8")
        else:
            assert (again / name).read_bytes() == (folder / name).read_bytes(), name
    for name in ("models.csv", "speed.csv"):
        one, other = ([without_times(row) for row in rows(place / name)] for place in (again, folder))
        assert one == other


def without_times(row: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in row.items() if not name.startswith("measured")}


def parsed(path: Path) -> dict[str, Any]:
    """A result without its seconds."""
    result: dict[str, Any] = json.loads(path.read_text())["result"]
    for decoder in result["decoders"].values():
        del decoder["seconds"]
    return result


def test_results_of_other_settings_are_refused(command: Command, finished: Finished) -> None:
    for options, message in (
        ("--prune 1e-3", "DOP-plain/run-01.json: made with other settings (prune: 0.0, now 0.001)"),
        ("--test 20", "PCFG/run-01.json: made with other settings (test: 14, now 20)"),
    ):
        assert message in experiment(command, finished[0], f"--runs 2 {options}").last_error


def test_fragments_that_leave_memory_are_an_error_with_a_remedy(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise ChartOverflowError("a forest too large for memory")

    monkeypatch.setattr(Sampler, "samples", full)
    error = experiment(command, tmp_path, "--runs 1 --no-curves --weights plain").last_error
    assert "explicit fragments: a forest too large for memory; lower --fragments" in error


def test_an_experiment_goes_on_with_another_weighting(command: Command, tmp_path: Path) -> None:
    first = experiment(command, tmp_path, "--runs 1 --weights equal")
    assert first.code == 0, first.err
    made = sorted(tmp_path.glob("**/run-*.json"))
    before = [path.stat().st_mtime_ns for path in made]
    both = experiment(command, tmp_path, "--runs 1 --weights equal --weights bonnema")
    assert both.code == 0, both.err
    assert [path.stat().st_mtime_ns for path in made] == before
    new = set(tmp_path.glob("**/run-*.json")) - set(made)
    assert {path.parent.relative_to(tmp_path).as_posix() for path in new} == {
        "DOP-bonnema",
        "curves/DOP-bonnema",
    }
    assert {row["model"] for row in rows(tmp_path / "curves.csv")} == {"PCFG", "DOP-equal", "DOP-bonnema"}


@pytest.mark.parametrize("values", [[0.02] * 3, [0.48 - 0.46, 0.5 - 0.48, 0.44 - 0.42]])
def test_differences_that_are_one_have_no_test(values: list[float]) -> None:
    assert all(map(math.isnan, paired_test(values)))


def test_the_paired_test_by_hand() -> None:
    """Of three splits of two sentences each, with ten constituents in all."""

    def result(decoders: dict[str, int]) -> dict[str, Any]:
        return {
            "terminals": [6, 6],
            "gold": [5, 5],
            "decoders": {
                name: {"counts": [[5, right, 5, 5], [5, 0, 5, 5]], "seconds": 1.0, "fell_back": 0}
                for name, right in decoders.items()
            },
        }

    pcfg, plain = Model(), Model("plain")
    matches = {
        pcfg: [dict.fromkeys(pcfg.decoders, 1)] * 3,
        plain: [dict.fromkeys(plain.decoders, 0) | {"labelled-recall": right} for right in (2, 1, 3)],
    }
    judged = judge({model: list(map(result, of)) for model, of in matches.items()}, 10, 0)
    assert comparisons(judged)[0] == (Row(plain, "labelled-recall"), Row(pcfg, "labelled-recall"))
    assert all(judged.seconds[row] == pytest.approx(0.5) for row in judged.rows)
    heading, *lines = [[cell.text for cell in row] for row in paired_data(judged)]
    table = [dict(zip(heading, line, strict=True)) for line in lines]
    [tested] = [
        row
        for row in table
        if row["criterion"] == "labelled_recall" and row["less"].startswith("PCFG, labelled recall")
    ]
    # Differences of .1, 0 and .2: their mean .1, its standard error .1 / sqrt(3).
    assert float(tested["mean"]) == pytest.approx(0.1)
    assert float(tested["t"]) == pytest.approx(math.sqrt(3))
    assert float(tested["p"]) == pytest.approx(0.2254, abs=1e-4)
