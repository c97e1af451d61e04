"""The experiment of Sima'an (2003), on a small scale."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from commandline import Command, Outcome

from mbrparse.decode.parser.parse_input import parse_all
from mbrparse.evaluate.evalb.parameters import COLLINS, NEVER, read_parameters, write_collins
from mbrparse.experiments.simaan import steps
from mbrparse.experiments.simaan.parser_kinds import ALGORITHMS
from mbrparse.treebank.brackets import read_tree_file
from mbrparse.treebank.corpora.reading import read_corpus

EVALB_FILES = Path(__file__).parent.parent / "data" / "evalb"
Finished = tuple[Path, Outcome]
SMALL = "--train-trees 200 --test-trees 30 --resamples 200"
PARSERS = ("M_RL-keep", "M_RL-top", "M_H")


def experiment(
    command: Command, folder: Path, options: str = "", *, corpus: str = "embedded:flights"
) -> Outcome:
    return command(f"experiment simaan {SMALL} {options} -o", folder, corpus)


@pytest.fixture(scope="module")
def finished(command: Command, tmp_path_factory: pytest.TempPathFactory) -> Finished:
    folder = tmp_path_factory.mktemp("simaan")
    done = experiment(command, folder)
    assert done.code == 0, done.err
    return folder, done


def rows(folder: Path) -> list[dict[str, str]]:
    return list(csv.DictReader((folder / "table2.csv").open()))


def files(folder: Path) -> dict[str, int]:
    """All files and when they were written, hidden ones too."""
    return {
        str(path.relative_to(folder)): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()
    }


def tables_aside(found: dict[str, int]) -> dict[str, int]:
    return {name: time for name, time in found.items() if "table" not in name and "COLLINS" not in name}


def test_the_tables_say_what_evaluate_says_of_the_files(command: Command, finished: Finished) -> None:
    folder, done = finished
    assert len(rows(folder)) == len(PARSERS) * len(ALGORITHMS) * 2
    for row in rows(folder):
        parser = folder / row["parser"]
        pair = parser / "gold.mrg", parser / f"{row['objective']}.mrg"
        found = command("evaluate --evalb", folder / "COLLINS.prm", *pair).output
        block = found.split("-- All --" if row["group"] == "all" else "-- len<=40 --")[1]
        for heading, name in (
            ("Bracketing Recall", "bracketing_recall"),
            ("Bracketing Precision", "bracketing_precision"),
            ("Bracketing FMeasure", "bracketing_f"),
            ("Complete match", "complete_match"),
            ("No crossing", "no_crossing"),
        ):
            printed = re.search(rf"{heading} += +(\S+)", block)
            assert printed is not None
            assert f"{100 * float(row[name]):.2f}" == printed[1]
            assert row["group"] == "short" or f"{100 * float(row[name]):.2f}" in done.out
    assert done.out == (folder / "table2.txt").read_text()


def test_significance_is_what_evaluate_gives(command: Command, finished: Finished) -> None:
    folder, _ = finished
    files = [folder / "M_H" / f"{name}.mrg" for name in ("gold", *ALGORITHMS)]
    found = command("evaluate --resamples 200 --evalb", folder / "COLLINS.prm", *files)
    assert found.output == (folder / "M_H" / "table.txt").read_text()
    data = json.loads((folder / "table2.json").read_text())
    assert [parser["name"] for parser in data["parsers"]] == list(PARSERS)
    tested = data["parsers"][2]["all"]["significance"]
    assert (tested["baseline"], tested["resamples"]) == ("labelled-tree", 200)
    row = rows(folder)[-3]
    assert (row["parser"], row["algorithm"], row["group"]) == ("M_H", "MLR", "short")
    tested = data["parsers"][2]["short"]["significance"]["rows"][1]["criteria"]["bracketing_f"]
    assert float(row["bracketing_f_p_bootstrap"]) == tested["p_bootstrap"]


def test_algorithms_are_compared_on_the_sentences_that_evalb_scores_for_all(
    command: Command, finished: Finished, tmp_path: Path
) -> None:
    folder, done = finished
    assert "scores for all four" not in done.out
    assert {row["group"] for row in rows(folder)} == {"all", "short"}
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    names = ["gold", *ALGORITHMS]
    lines = {name: (copy / "M_H" / f"{name}.mrg").read_text().splitlines() for name in names}
    # A word more for EVALB: MLR's first sentence, MCFP's second and third.
    for name, spoilt in (("labelled-recall", [0]), ("productions", [1, 2])):
        for line in spoilt:
            lines[name][line], count = re.subn(r"\(\. (\S)\)\)$", r"(NN \1))", lines[name][line])
            assert count == 1
        (copy / "M_H" / f"{name}.mrg").write_text("\n".join(lines[name]) + "\n")
    again = experiment(command, copy)
    assert again.code == 0
    assert "; 3 parses in error for EVALB\n" in again.out
    assert again.out.count("Sentences that EVALB scores for all four (27):") == 1
    common = [row for row in rows(copy) if row["group"] == "common"]
    assert [(row["parser"], row["sentences"]) for row in common] == [("M_H", "27")] * 4
    for name in names:
        (tmp_path / f"{name}.mrg").write_text("\n".join(lines[name][3:]) + "\n")
    files = [tmp_path / f"{name}.mrg" for name in names]
    found = command("evaluate --resamples 200 --format csv --evalb", copy / "COLLINS.prm", *files).output
    for ours, row in zip(common, csv.DictReader(found.splitlines()), strict=True):
        for name in ("matched", "test", "bracketing_f"):
            assert ours[name] == row[name]


def test_published_figures_stand_beside_ours(finished: Finished) -> None:
    folder, done = finished
    published = [float(row["bracketing_f_published"]) for row in rows(folder) if row["group"] == "all"]
    right_linear = [0.6144, 0.6284, 0.6310, 0.6340]
    assert published == pytest.approx([*right_linear, *right_linear, 0.8005, 0.8185, 0.8067, 0.8152])
    assert re.search(r"^MCFP +61\.69 +65\.22 +63\.40 +4\.8 +16\.5 +-$", done.out, re.MULTILINE)
    heading = "Published, on other data: Sima'an (2003), Table 2, WSJ"
    assert done.out.count(f"\n{heading}\nMPP ") == 3
    text = (folder / "table2.md").read_text()
    assert re.search(
        rf"^\| \*\*{re.escape(heading)}\*\* \|.*\n\| MPP +\| +\| +60\.06 \| ", text, re.MULTILINE
    )
    report = json.loads((folder / "M_H" / "parsing.json").read_text())
    assert f"{report['sentences']} sentences, " in done.out
    assert f", {sum(report['fallbacks'].values())} fell back" in done.out


@pytest.mark.usefixtures("folder")
def test_parses_are_those_of_the_commands(command: Command, finished: Finished) -> None:
    folder, _ = finished
    corpus = [str(tree) for _, _, tree, _ in read_corpus("embedded:flights")]
    Path("train.mrg").write_text("\n".join(corpus[:200]))
    Path("test.mrg").write_text("\n".join(corpus[1350:1380]))
    heads = "--head-rules collins --annotate parent,head-tag --subcat"
    names = " ".join(f"--objective {name}" for name in ALGORITHMS)
    search = "--space grammar --items symbol --debinarize"
    for line in (
        f"binarize train.mrg {heads} -o b.mrg",
        "train b.mrg --terminals words --unknown collins -o g",
        f"binarize test.mrg {heads} -o t.mrg",
        "debinarize t.mrg -o gold.mrg",
        f"parse -g g gold.mrg {names} {search} -o {{objective}}.mrg",
    ):
        assert command(line).code == 0
    assert Path("g").read_text() == (folder / "M_H" / "grammar.txt").read_text()

    def trees(path: Path) -> list[str]:
        """Labels, tags and words; (. .) as a bare full stop too."""
        found = [str(tree) for _, tree, _ in read_tree_file(path) if tree is not None]
        return [text.replace("(. .)", ".").replace("(, ,)", ",") for text in found]

    for name in ("gold", *ALGORITHMS):
        assert trees(Path(f"{name}.mrg")) == trees(folder / "M_H" / f"{name}.mrg")


def test_what_is_there_is_not_done_again(command: Command, finished: Finished) -> None:
    folder, done = finished
    before = tables_aside(files(folder))
    again = experiment(command, folder)
    assert (again.code, again.out, again.err) == (0, done.out, "")
    assert tables_aside(files(folder)) == before
    (folder / "M_H" / "parsing.json").unlink()
    content = (folder / "M_H" / "productions.mrg").read_text()
    third = experiment(command, folder)
    assert third.err.startswith("mbrparse: M_H: 30 sentences parsed in ")
    changed = {name for name, time in tables_aside(files(folder)).items() if before[name] != time}
    assert changed == {f"M_H/{name}.mrg" for name in ALGORITHMS} | {"M_H/parsing.json"}
    assert (folder / "M_H" / "productions.mrg").read_text() == content


@pytest.mark.parametrize(
    ("more", "name"),
    [
        ("--unknown signature", 'unknown words: "collins", now "signature"'),
        ("--rare 3", 'rare words: "the model\'s own", now 3'),
        ("--node-cost 0.5", "node cost: 0.0, now 0.5"),
        ("--train-trees 100", 'training trees: "200 '),
        ("--test-fraction 0.2", 'test trees: "30 '),
    ],
)
def test_other_settings_are_refused(command: Command, finished: Finished, more: str, name: str) -> None:
    folder, _ = finished
    before = files(folder)
    error = experiment(command, folder, more).error
    assert f"settings.json: made with other settings ({name}" in error
    assert error.endswith("give the same input and options, or another folder: -o DIR")
    assert files(folder) == before


def test_an_interrupted_run_leaves_no_half_written_file(
    command: Command, finished: Finished, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: Any) -> Iterator[Any]:
        for number, lines in enumerate(parse_all(*arguments)):
            if number == 7:
                raise KeyboardInterrupt
            yield lines

    with monkeypatch.context() as patch:
        patch.setattr(steps, "parse_all", interrupted)
        assert experiment(command, tmp_path).code == 130
    kept = {"settings.json", "COLLINS.prm"}
    kept |= {
        f"M_RL-keep/{name}"
        for name in ("gold.mrg", "gold.mrg.places", "grammar.txt", "grammar.txt.tagger.json")
    }
    before = files(tmp_path)
    assert set(before) == kept
    # As after a power failure: what could not be removed.
    left_overs = [
        tmp_path / "M_RL-keep" / f".{name}.k3_x9abz" for name in ("productions.mrg", "gold.mrg.places")
    ]
    for left_over in left_overs:
        left_over.write_text("(S (NP")
    assert experiment(command, tmp_path).code == 0
    assert not any(left_over.exists() for left_over in left_overs)
    folder, _ = finished
    after = files(tmp_path)
    assert set(after) == set(files(folder))
    assert all(after[name] == before[name] for name in kept - {"COLLINS.prm"})
    assert (tmp_path / "M_H" / "table.txt").read_text() == (folder / "M_H" / "table.txt").read_text()


def test_a_cost_of_nodes_keeps_unary_chains_short(
    command: Command, finished: Finished, tmp_path: Path
) -> None:
    folder, _ = finished
    assert experiment(command, tmp_path, "--node-cost 0.5 --unknown collins").code == 0

    def nodes(root: Path) -> dict[str, int]:
        all_rows = [row for row in rows(root) if row["group"] == "all"]
        return {f"{row['parser']} {row['algorithm']}": int(row["test"]) for row in all_rows}

    free, dear = nodes(folder), nodes(tmp_path)
    assert dear["M_RL-keep MLR"] < free["M_RL-keep MLR"]
    assert all(dear[name] == free[name] for name in free if not name.startswith("M_RL-keep"))
    assert dear["M_RL-keep MPP"] == free["M_RL-keep MPP"]


def wall_street(folder: Path) -> str:
    """A corpus in the layout of the LDC: sections 02, 03 and 23."""
    corpus = [str(tree) for _, _, tree, _ in read_corpus("embedded:flights")]
    for section, trees in (("02", corpus[:100]), ("03", corpus[100:200]), ("23", corpus[1350:1370])):
        (folder / section).mkdir()
        (folder / section / f"wsj_{section}01.mrg").write_text("\n".join(trees))
    return f"wsj:{folder}"


def test_sections_of_the_wall_street_journal(command: Command, tmp_path: Path) -> None:
    corpus = wall_street(tmp_path)
    done = experiment(command, tmp_path / "out", "--train-sections 02-03", corpus=corpus)
    assert done.output.startswith(f"Sima'an (2003), Table 2, on {corpus}: 200 and 20 trees\n")
    settings = json.loads((tmp_path / "out" / "settings.json").read_text())
    assert settings["training trees"].startswith("200 (")
    for options, section in (("", "04"), ("--test-sections 24", "24")):
        missing = experiment(command, tmp_path / "none", options, corpus=corpus).error
        assert f"section {section} holds no .mrg file" in missing
    assert not (tmp_path / "none").exists()


def test_a_folder_of_something_else(command: Command, tmp_path: Path) -> None:
    (tmp_path / "M_H").mkdir()
    assert "results, but no settings.json says of what" in experiment(command, tmp_path).error
    (tmp_path / "settings.json").write_text("[1")
    error = experiment(command, tmp_path).error
    assert "settings.json: not a result of this experiment: it is no JSON, or was cut off" in error
    (tmp_path / "file").write_text("")
    assert "folder cannot be made" in experiment(command, tmp_path / "file").error


def test_parameters_are_those_of_evalb(tmp_path: Path) -> None:
    assert read_parameters(EVALB_FILES / "COLLINS.prm", print) == COLLINS
    written = write_collins(tmp_path / "COLLINS.prm")
    assert written == replace(COLLINS, max_error=NEVER) == read_parameters(tmp_path / "COLLINS.prm", print)
