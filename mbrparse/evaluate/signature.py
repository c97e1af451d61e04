"""One line that says how a table's figures came about, in the spirit of sacrebleu's signatures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mbrparse.errors import visible
from mbrparse.version import __version__

if TYPE_CHECKING:
    from mbrparse.evaluate.columns import Columns
    from mbrparse.evaluate.criteria import Average, Criterion


def signature(
    gold: str | Path,
    conventions: Mapping[str, str],
    criteria: Sequence[Criterion],
    average: Average,
    rates: Columns,
    totals: Columns,
    resampled: str | None = None,
) -> str:
    """The signature of a table, ``key:value`` parts joined by ``|``.

    ``conventions`` are how constituents are compared (and averaged, where criteria say that for themselves),
    ``resampled`` is how significance was found.
    Criteria that are context stand with their rates, in per cent, as a range where these differ.
    """
    parts = {
        "criteria": ",".join(criterion.name for criterion in criteria if not criterion.context),
        "gold": "stdin" if str(gold) == "-" else Path(gold).name,
        **conventions,
        **({} if "average" in conventions else {"average": average}),
        "sentences": str(totals["sentences"].max()),
        **{criterion.name: _range(rates, criterion) for criterion in criteria if criterion.context},
        **({} if resampled is None else {"significance": resampled}),
        "version": f"mbrparse-{__version__}",
    }
    return visible("|".join(f"{key}:{value}" for key, value in parts.items()))


def _range(rates: Columns, criterion: Criterion) -> str:
    column = rates[criterion.name]
    lowest, highest = criterion.show(column.min()), criterion.show(column.max())
    return lowest if lowest == highest else f"{lowest}..{highest}"
