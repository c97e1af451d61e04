"""``mbrparse grid``: cells as commands typed by hand make them, resumed, in processes."""

import itertools
import json
import math
import re
import shlex
import shutil
import statistics
from pathlib import Path
from random import Random

import pytest
from children import finished
from commandline import Command, rows_of
from hypothesis import given
from hypothesis import strategies as st
from naive_holm import naive_holm

from mbrparse.cli.grid_command import COMMANDS
from mbrparse.evaluate.significance import holm
from mbrparse.one_run import only_run

pytestmark = pytest.mark.usefixtures("folder")

GRID = (
    "grid embedded:flights --max-length 5 --objective labelled-tree --objective labelled-recall "
    "--folds 2 --resamples 50 --seed 1 -o grid"
)
SMALL = "grid embedded:flights --max-length 5 --unary top,join-tags --train terminals=words --resamples 20 -o"


def rows(path: str) -> list[dict[str, str]]:
    return rows_of(Path(path).read_text("utf-8"))


def contents(folder: str) -> dict[str, bytes]:
    """All files but images, whose bytes depend on matplotlib's fonts."""
    found = {path: path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}
    return {str(path.relative_to(folder)): data for path, data in found.items() if path.suffix != ".png"}


@pytest.mark.long
def test_a_grid_of_three_axes(command: Command) -> None:
    outcome = command(f"{GRID} --binarize hmarkov=0,inf --unary top,keep --train-size .3,1")
    assert "mbrparse: 16 cells, each for labelled-tree, labelled-recall\n" in outcome.err
    assert "cell 16 (hmarkov=inf, unary=keep, train-size=1, fold=2/2), 16 of 16\n" in outcome.err
    signature = Path("grid/grid.txt").read_text().splitlines()[-1]
    assert outcome.output.splitlines()[-1] == signature
    cells, pooled = rows("grid/cells.csv"), rows("grid/table.csv")
    assert (len(cells), len(pooled)) == (32, 16)
    keys = ("hmarkov", "unary", "train_size", "objective")
    for row in pooled:
        mine = [cell for cell in cells if all(cell[key] == row[key] for key in keys)]
        counts = ("sentences", "gold", "guess", "labelled")
        gold, guess, labelled = (sum(int(cell[name]) for cell in mine) for name in counts[1:])
        assert [int(row[name]) for name in counts[1:]] == [gold, guess, labelled]
        assert float(row["labelled_f"]) == pytest.approx(2 * labelled / (gold + guess))
    [first] = [row for row in pooled if row["p"] == "" and row["difference"] == ""]
    assert [first[key] for key in keys] == ["0", "top", "1", "labelled-tree"]
    corrected = naive_holm([float(row["p"]) for row in pooled if row["p"]])
    assert [float(row["p_holm"]) for row in pooled if row["p"]] == pytest.approx(corrected)
    page = Path("grid/grid.html").read_text("utf-8")
    assert page.count("<svg") == 2
    assert "<td" in page
    for plot in ("curves", "heat-map"):
        assert Path(f"grid/{plot}.png").read_bytes().startswith(b"\x89PNG")


def test_a_cell_is_what_the_commands_make(command: Command) -> None:
    assert command(f"{GRID} --binarize hmarkov=0,inf --train-size .3").code == 0
    binarize = "binarize embedded:flights --max-length 5 --min-length 2"
    for line in (
        f"{binarize} --hmarkov inf -o bin",
        f"{binarize} --unary keep -o kept",
        "split bin --fold 2/2 --seed 1 --train-size .3 --train-output train --test-output test",
        "split kept --fold 2/2 --seed 1 --test-output gold",
        "train train -o rules",
        "parse test -g rules --objective labelled-tree --objective labelled-recall --details d "
        "-o {objective}",
    ):
        assert command(line).code == 0
    evaluated = "evaluate gold labelled-tree labelled-recall --form original --all --details d --resamples 0"
    expected = rows_of(command(f"{evaluated} --format csv").output)
    place = ("inf", "fold=2/2")
    found = [row for row in rows("grid/cells.csv") if (row["hmarkov"], row["division"]) == place]
    assert [row["objective"] for row in found] == [row["name"] for row in expected]
    for row, wanted in zip(found, expected, strict=True):
        for name in ("labelled_tree", "labelled_recall", "labelled_f", "bracketed_f", "gold", "labelled"):
            assert float(row[name]) == float(wanted[name]), name


@pytest.mark.long
def test_an_interrupted_run_goes_on_with_its_cell(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    command(f"{SMALL} whole --binarize hmarkov=0,1")
    calls: list[str] = []
    parse = COMMANDS["parse"]
    invoke = parse.invoke

    def counted(context: object) -> object:
        calls.append("parse")
        if len(calls) == 3:
            raise KeyboardInterrupt
        return invoke(context)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(parse, "invoke", counted)
        assert command(f"{SMALL} part --binarize hmarkov=0,1").code == 130
    assert sorted(path.name for path in Path("part/cells").iterdir()) == ["run-01.json", "run-02.json"]
    outcome = command(f"{SMALL} part --binarize hmarkov=0,1 --jobs 2")
    assert [outcome.err.count(f"cell {run} (") for run in range(1, 5)] == [0, 0, 1, 1]
    assert contents("part") == contents("whole")
    error = command(f"{SMALL} part --binarize hmarkov=0,1 --seed 3").last_error
    assert "made with other settings (split: " in error


def test_what_is_wrong_is_named(command: Command) -> None:
    known = "grid embedded:flights -o none"
    for options, said in (
        ("--binarize hmarkow=0", "'hmarkow' is none of its options unary, functions, label-map"),
        ("--parse output=x", "--parse: 'output' is none of its options"),
        ("--binarize hmarkov=0,x", "--binarize hmarkov: 'x' is neither 0, 1, 2, ... nor inf"),
        ("--binarize subcat=perhaps", "--binarize subcat: 'perhaps' is not a valid boolean"),
        ("--binarize hmarkov=", "'hmarkov=' is not hmarkov=VALUE,VALUE,..."),
        ("--bundle right", "--bundle 'right' is not NAME='OPTION=VALUE ...', each NAME once"),
        ("--bundle a=hmarkov=0 --binarize hmarkov=1", "--bundle a: hmarkov is given elsewhere, too"),
        ("--bundle a=seed=1", "--bundle: 'seed' is train.seed and parse.seed"),
        ("--bundle a=hmarkow=1", "'hmarkow' is no option of binarize, train and parse"),
        ("--folds 1", "1 is not in the range 2<=x<=1000"),
    ):
        assert said in command(f"{known} {options}").usage_error
    assert not Path("none").exists()
    assert command("grid flights -o none").last_error == "mbrparse: flights: no such file"
    refused = command(f"{known}-2 --max-length 5 --train weights=equal")
    assert (refused.code, "train: --weights needs --method dop" in refused.err) == (2, True)


def test_bundles_unions_and_what_is_left_out(command: Command) -> None:
    """An option given twice has all its values; what goes together is one value of an axis."""
    small = "grid embedded:flights --max-length 4 --resamples 0 --train terminals=words -o"
    bundles = "--bundle right=hmarkov=0 --bundle 'both=hmarkov=inf train.rare=3'"
    more = "--unary keep --binarize unary=keep,top --train-size .5 --train-size .5,1"
    outcome = command(*shlex.split(f"{small} out {bundles} {more}"))
    found = rows("out/table.csv")
    assert [(row["unary"], row["bundle"], row["train_size"]) for row in found] == list(
        itertools.product(("keep", "top"), ("right", "both"), (".5", "1"))
    )
    assert "cell 3 (unary=keep, train terminals=words, bundle=both, train-size=.5, test-" in outcome.err
    assert "--bundle='both=hmarkov=inf train.rare=3'" in outcome.out
    keep = "--binarize hmarkov=inf --unary keep"
    command(f"{small} plain --train rare=without,3 {keep}")
    command(f"{small} none {keep}")
    [without, given], [none] = rows("plain/table.csv"), rows("none/table.csv")
    for name in ("gold", "guess", "labelled"):
        assert given[name] == found[3][name]
        assert none[name] == without[name]


def test_seeds_and_folds_are_runs(command: Command) -> None:
    """Of each row the mean and the deviation over its runs; tests sum a sentence's counts over them."""
    learn = "--train method=inside-outside --train iterations=1 --train nonterminals=3 --train seed=1,2"
    grid = "grid embedded:flights --max-length 4 --objective labelled-tree --objective bracketed-recall"
    outcome = command(f"{grid} {learn} --train brackets=off,on --folds 2 --resamples 99 -o out")
    cells, table = rows("out/cells.csv"), rows("out/table.csv")
    assert (len(cells), len(table)) == (16, 4)
    for row in table:
        mine = [one for one in cells if all(one[key] == row[key] for key in ("train brackets", "objective"))]
        assert (len(mine), row["runs"]) == (4, "4")
        for name in ("labelled_f", "labelled_tree"):
            figures = [float(one[name]) for one in mine]
            assert float(row[f"{name}_mean"]) == pytest.approx(statistics.mean(figures))
            assert float(row[f"{name}_sd"]) == pytest.approx(statistics.stdev(figures))
    _, _, heading, off, *_ = outcome.output.splitlines()
    assert heading.split() == ["train", "brackets", "labelled-tree", "bracketed-recall"]
    mean, deviation = (100 * float(table[0][f"labelled_f_{name}"]) for name in ("mean", "sd"))
    assert off.split()[:4] == ["off", f"{mean:.2f}", "±", f"{deviation:.2f}"]
    # Within each row objectives are compared with Viterbi, which is not compared with itself.
    assert [row["within_p"] == "" for row in table] == [True, False] * 2
    for row, viterbi in zip(table[1::2], table[::2], strict=True):
        f, other = (float(one["labelled_f"]) for one in (row, viterbi))
        assert float(row["within_difference"]) == pytest.approx(f - other)
    # What is known by chance alone: the sentences' sums over both seeds are swapped, not single runs.
    sums = summed_counts("out", "off")
    counted = [sums[objective] for objective in ("labelled-tree", "bracketed-recall")]
    assert float(table[1]["within_p"]) == pytest.approx(naive_p(*counted), abs=0.1)

    compile_latex(Path("out/grid.tex").read_text("utf-8"))


def compile_latex(tables: str) -> None:
    """Whether LaTeX takes all tables; its structure is looked at in any case."""
    tabulars = re.findall(r"\\begin\{tabular\}\{([lr]+)\}(.*?)\\end\{tabular\}", tables, re.DOTALL)
    assert len(tabulars) == 3
    for sides, rows in tabulars:
        assert {len(re.findall(r"(?<!\\)&", row)) + 1 for row in rows.split(r"\\")[:-1]} == {len(sides)}
    if shutil.which("pdflatex") is None:
        return
    begun = r"\documentclass{article}\usepackage{booktabs,graphicx}\begin{document}"
    Path("tables.tex").write_text(f"{begun}\n{tables}\n\\end{{document}}\n", "utf-8")
    done = finished("pdflatex", "-halt-on-error", "-draftmode", "tables")
    assert done.returncode == 0, done.stdout


def summed_counts(folder: str, brackets: str) -> dict[str, list[tuple[int, int]]]:
    """By objective each sentence's (2 * labelled, gold + guess), summed over the seeds."""
    found: dict[str, list[tuple[int, int]]] = {}
    for fold in (0, 1):
        # Cells in order: seeds, then brackets, then folds.
        runs = [1 + fold + 2 * (brackets == "on") + 4 * seed for seed in (0, 1)]
        kept = [json.loads(Path(folder, f"cells/run-{run:02}.json").read_text())["content"] for run in runs]
        for objective in kept[0]["counts"]:
            for one, other in zip(*(cell["counts"][objective] for cell in kept), strict=True):
                gold, guess, labelled = (a + b for a, b in zip(one[2:5], other[2:5], strict=True))
                found.setdefault(objective, []).append((2 * labelled, gold + guess))
    return found


def naive_p(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> float:
    """The share of 2,000 random swaps of sentences with as large a difference of F."""
    random = Random(0)

    def difference(pairs: list[tuple[tuple[int, int], ...]]) -> float:
        first, second = ([sum(side) for side in zip(*each, strict=True)] for each in zip(*pairs, strict=True))
        return float(abs(first[0] / first[1] - second[0] / second[1]))

    pairs: list[tuple[tuple[int, int], ...]] = list(zip(one, other, strict=True))
    seen = difference(pairs)
    drawn = (difference([pair[:: random.choice([1, -1])] for pair in pairs]) for _ in range(2000))
    return sum(one >= seen - 1e-12 for one in drawn) / 2000


@given(st.lists(st.integers(1, 40).map(lambda count: count / 40), max_size=6))
def test_holm(p_values: list[float]) -> None:
    assert holm(p_values) == pytest.approx(naive_holm(p_values))
    with_none = holm([math.nan, *p_values])
    assert math.isnan(with_none[0])
    assert with_none[1:] == holm(p_values)


@pytest.mark.parametrize("name", ["grid", "reproduce"])
def test_a_run_that_fails_leaves_no_empty_folder(name: str, command: Command) -> None:
    """Nor what was there before goes; a folder in use is told as such."""
    Path("bad").write_text("(S a b\n")
    Path("own").mkdir()
    for folder in ("new", "deep/er", "own"):
        assert "bad:1: unbalanced brackets" in command(f"{name} bad -o {folder}").last_error
    assert [path.name for path in Path().iterdir()] == ["bad", "own"]
    assert not [*Path("own").iterdir()]
    Path("own/cells").mkdir()
    with only_run("own"):
        error = command(f"{name} bad -o {Path().resolve()}/own").last_error
    assert Path("own/cells").exists()  # where the other run is about to write
    assert (
        error == f"mbrparse: another run works in {Path().resolve()}/own; wait for it, or give another output"
    )


def test_another_corpus_is_another_grid(command: Command) -> None:
    """Nor are the results of a file that an option names those of what is in it later."""
    Path("map").write_text("NP N\n")
    assert command("binarize embedded:flights --max-length 5 -o c").code == 0
    whole = Path("c").read_text()
    grid = "grid c -o out --resamples 0 --binarize label-map=map,without"
    table = command(grid).output
    assert command(grid).output == table
    for name, text in (("c", whole.split("\n", 1)[1]), ("map", "NP X\n")):
        before = Path(name).read_text()
        Path(name).write_text(text)
        assert f"made with other settings (digest of {name}: " in command(grid).last_error
        Path(name).write_text(before)
    # Exchanged trees are made again.
    trees = list(Path("out/trees").glob("*.mrg"))
    for path in trees:
        path.write_text("(S (A a) (B b))\n")
    first, second = (Path(f"out/cells/run-0{number}.json") for number in (1, 2))
    kept = first.read_text()
    for text, said in ((kept[:-9], "damaged"), (second.read_text(), "made with other settings (cell: ")):
        first.write_text(text)
        error = command(grid).last_error
        assert f"run-01.json: {said}" in error
        assert error.endswith("delete it, so that it is made again, or give another folder: -o DIR")
    first.unlink()
    assert command(grid).output == table
    Path("c").unlink()
    assert command(grid).last_error == "mbrparse: c: no such file"
