"""What was expected of trees beside what is found: ``evaluate --calibration`` of results in memory."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Unpack

from mbrparse import arguments
from mbrparse.decode.parser.parser import Parses
from mbrparse.decode.parser.parsing import Details
from mbrparse.evaluate.align import trees_in_memory
from mbrparse.evaluate.compare import comparison
from mbrparse.evaluate.compare.evaluation import Evaluation
from mbrparse.evaluate.report.marked_trees import compare_sources
from mbrparse.evaluate.report.records import calibrated
from mbrparse.treebank.brackets import AnyTree


@arguments.checked
def calibration(
    gold: Sequence[AnyTree], parses: Parses, **how: Unpack[comparison.ComparisonSettings]
) -> Evaluation:
    """Compare expected with found rates, of constituents and of sentences.

    Parameters
    ----------
    gold
        The correct trees, one for each sentence.
    parses
        A parser's results for all of them.
    how
        As in ``compare``: ``form="original"`` for n-ary trees.

    Returns
    -------
    Evaluation
        It prints as the command line's tables; ``frames`` has them as data frames: ``calibration`` (expected
        and found rate, their difference and the expected calibration error), ``reliability`` (by bin) and
        ``left_out``.

    Raises
    ------
    MbrparseError
        As ``compare``.
    """
    settings: comparison.ComparisonSettings = {"resamples": 0, "criteria": ["coverage"], **how}
    make = Details(parses.grammar, parses.probability())
    with TemporaryDirectory() as folder:
        path = Path(folder) / "details.jsonl"
        with path.open("w", encoding="utf-8") as stream:
            for parse in parses:
                row = make.row(parse) | {"seconds": 0}  # which the signature is not to tell
                stream.write(f"{json.dumps(row, allow_nan=False)}\n")
        compared = compare_sources(
            trees_in_memory("memory", "the gold", gold),
            comparison.sources(parses),
            comparison.evaluation_settings(**settings),
            [path],
        )
        return calibrated(compared)
