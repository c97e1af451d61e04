"""The speeds of Bod's chart and of the reduction, as a table and in words."""

from __future__ import annotations

from typing import Any

from mbrparse.evaluate.tables.grids import Grid, grid_of
from mbrparse.experiments.dop.fragment_speed import ADDRESSED, EXPLICIT, LONGEST, ROWS, WRITTEN


def speed_table(result: dict[str, Any], samples: int) -> Grid:
    """Milliseconds of CPU time a sentence: chart and Labelled Recall, chart and samples."""
    rows = [["ms a sentence", "rules", "labelled recall", f"{samples} samples"]]
    for name in ROWS:
        row = result["rows"][name]
        spent = (f"{1e3 * seconds:.2f}" for seconds in (row["recall"], row["samples"]))
        rows.append([name, str(row["rules"]), *spent])
    return grid_of(rows)


def speed_data(result: dict[str, Any], samples: int) -> Grid:
    """The same for programs, in seconds; without samples it is Labelled Recall's time."""
    heading = ["chart", "depth", "fragments", "sentences", "rules", "samples", "seconds"]
    rows: list[list[object]] = [[*heading]]
    of_all = result["depth"] or "", result["fragments"], result["sentences"]
    for name in ROWS:
        row = result["rows"][name]
        rows.append([name, *of_all, row["rules"], 0, row["recall"]])
        rows.append([name, *of_all, row["rules"], samples, row["samples"]])
    return grid_of(rows)


def speed_title(result: dict[str, Any]) -> str:
    """What is compared."""
    depth = "all of them" if result["depth"] is None else f"up to a depth of {result['depth']}"
    return (
        f"Bod's chart beside the reduction: {result['fragments']} fragments ({depth}), "
        f"{result['sentences']} sentences of up to {LONGEST} tags"
    )


def speed_ratio(result: dict[str, Any], samples: int) -> str:
    """The ratio as the paper counts it, in the same code and with our own charts."""
    rows = result["rows"]
    times = (rows[EXPLICIT]["samples"] / rows[name]["recall"] for name in (WRITTEN, ADDRESSED))
    alike, own = (f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}" for ratio in times)
    return (
        f"Explicit fragments and {samples} samples take {alike} times as long as the reduction and "
        f"Labelled Recall in the same code, {own} times as long as the addressed treebank."
    )
