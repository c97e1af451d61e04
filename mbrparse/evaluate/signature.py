"""One line that says how a table's figures came about, in the spirit of sacrebleu's signatures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mbrparse.version import __version__

if TYPE_CHECKING:
    import pandas as pd

    from mbrparse.evaluate.criteria import Average, Column, Criterion


def signature(
    gold: str | Path,
    conventions: dict[str, str],
    criteria: Sequence[Criterion],
    average: Average,
    totals: pd.DataFrame,
    coverage: Column,
    resampled: str | None = None,
) -> str:
    """The signature of a table, ``key:value`` parts joined by ``|``.

    ``conventions`` are how constituents are compared, ``resampled`` is how significance was found.
    ``coverage`` is printed in per cent, as a range where the parse files differ.
    """
    lowest, highest = (f"{100 * share:.2f}" for share in (coverage.min(), coverage.max()))
    parts = {
        "criteria": ",".join(criterion.name for criterion in criteria),
        "gold": "stdin" if str(gold) == "-" else Path(gold).name,
        **conventions,
        "average": average,
        "sentences": str(totals["sentences"].max()),
        "coverage": lowest if lowest == highest else f"{lowest}..{highest}",
        **({} if resampled is None else {"significance": resampled}),
        "version": f"mbrparse-{__version__}",
    }
    return "|".join(f"{key}:{value}" for key, value in parts.items())
