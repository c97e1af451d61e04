"""The experiment beyond recall, from a treebank to tables and a curve.

Goodman (1996) announced the General Recall Algorithm and the n-ary branching case, and left consistent
brackets recall as too time-consuming. Here they stand beside his algorithms, on one held-out part, by the
measures that they are made for and by those that they lose by.
"""

from __future__ import annotations

from pathlib import Path

from mbrparse.evaluate.tables.significance_report import LEGEND
from mbrparse.experiments.beyond_recall.contest_parses import ContestParses, read_treebank
from mbrparse.experiments.beyond_recall.contest_tables import data, judge, table
from mbrparse.experiments.beyond_recall.contests import CONTESTS, NARY
from mbrparse.experiments.beyond_recall.precision_curve import curve, curve_table, draw
from mbrparse.experiments.table_files import write_table
from mbrparse.files import together
from mbrparse.reporting import Tell, say_nothing
from mbrparse.workers.executor import Jobs


def compare_beyond_recall(
    spec: str,
    folder: Path,
    test_fraction: str = "0.1",
    max_length: int = 40,
    resamples: int = 10_000,
    seed: int = 0,
    jobs: Jobs = 1,
    encoding: str = "utf-8",
    tell: Tell = say_nothing,
) -> str:
    """Run the experiment; return what people read of it.

    The folder gets the gold, the parses of every objective and their details, the tables nary, binary and
    curve, and the plot curve. What is there of an earlier run is not done again. Raises CorpusError where
    nothing is held out, InputMismatchError where the folder is of other settings.
    """
    treebank = read_treebank(spec, test_fraction, max_length, encoding, tell)
    parses = ContestParses(folder)
    parses.make(treebank, jobs, tell)
    judged = [judge(contest, parses, resamples, seed, tell) for contest in CONTESTS]
    found = curve(parses, tell)
    title = f"{spec}: {len(treebank.train)} trees to train on, {len(treebank.test)} held out"
    texts = [title]
    with together():
        for one in judged:
            text = write_table(folder, one.contest.name, table(one), data(one), names=2)
            texts.append(f"{one.contest.title}\n\n{text}")
        write_table(folder, "curve", curve_table(found), names=1)
        [nary] = [one for one in judged if one.contest is NARY]
        others = nary.summaries["pooled"].rates.to_frame("name")
        draw(found, others, [folder / "curve.svg", folder / "curve.png"], title)
    return "\n\n".join([*texts, LEGEND])
