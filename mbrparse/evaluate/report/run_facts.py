"""What stands on top of a page: what was run, on what, when and by which version."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime

from mbrparse.errors import visible
from mbrparse.evaluate.report.kept_comparison import KeptComparison
from mbrparse.version import __version__


def facts(compared: KeptComparison, about: Mapping[str, str]) -> list[tuple[str, str]]:
    """Names and texts; what the caller knows (``about``) first.

    The date is now, or where SOURCE_DATE_EPOCH is set, as for reproducible builds, that one.
    """
    words = sum(len(shown.words) for shown in compared.gold if shown is not None)
    counts = compared.evaluation.table
    sentences = len(counts) // len(compared.names)
    gold = int(counts["gold"][:sentences].sum())
    sizes = f"{sentences:,} sentences, {words:,} words, {gold:,} gold constituents"
    known = {
        **about,
        "sizes": sizes,
        "date": _now().strftime("%Y-%m-%d %H:%M UTC"),
        "version": f"mbrparse {__version__}",
        "signature": compared.evaluation.summary.signature,
    }
    return [(name, visible(text)) for name, text in known.items()]


def _now() -> datetime:
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    return datetime.fromtimestamp(int(epoch), UTC) if epoch.isdigit() else datetime.now(UTC)
