"""Writing the page: one file, or for many sentences a folder whose index loads the others when needed.

All goes into the page as text: nothing is loaded from elsewhere, and a policy within forbids it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Unpack

from mbrparse import arguments, errors, version
from mbrparse.evaluate import align, tables
from mbrparse.evaluate.compare import comparison, evaluation
from mbrparse.evaluate.compare.comparison import ComparisonSettings, Parses
from mbrparse.evaluate.details import expectations
from mbrparse.evaluate.report import figures, records
from mbrparse.evaluate.report.marked_trees import KeptComparison, compare_sources
from mbrparse.files import atomic_outputs, is_file, open_output
from mbrparse.one_run import make_folder
from mbrparse.page_frame import data_text, page_template
from mbrparse.treebank.brackets import AnyTree

#: More sentences than these make a folder.
MOST_IN_A_FILE = 10_000
#: How many sentences are unpacked at a time: in a file, and from a file of a folder.
_CHUNK, _CHUNK_OF_FOLDER = 100, 250
_LABELS_SHOWN = 15
_SCRIPTS = ("elements", "store", "state", "listing", "tree", "heat_map", "sentence", "start")


@dataclass(frozen=True)
class ReportOptions:
    """The content of a page beside the comparison.

    ``about`` are names and texts of what was run (corpus, split, grammar); ``posteriors`` those of the
    sentences' spans, ``details`` files of ``parse --details``, one for all parses or one for each.
    """

    title: str | None = None
    about: Mapping[str, str] = field(default_factory=dict)
    details: Sequence[str | Path] = ()
    posteriors: records.SpanArrays | None = None
    fell_back: evaluation.FellBack | None = None  #: where no details say it
    in_one_file: bool = False  #: however many sentences there are


def write_report(
    gold: align.TreeSource,
    parses: Sequence[align.TreeSource],
    output: str | Path,
    settings: evaluation.EvaluationSettings,
    options: ReportOptions,
) -> Path:
    """Compare trees, and write the page; returns the file to open.

    That is ``output`` if its name ends in .html, and there are not too many sentences for one file; else a
    folder is written, ``output`` without that ending, and its ``index.html`` is the page. Files are
    replaced together when all are complete. Raises MbrparseError where the trees, the details or the
    posteriors are not of the same sentences, FileError where nothing can be written.
    """
    compared = compare_sources(gold, parses, settings, options.details, options.fell_back)
    if options.posteriors is not None:
        records.check_lengths(options.posteriors, compared.lengths)
    sentences = records.SentenceRecords(compared, options.posteriors)
    expected = expectations(compared.details, compared.lengths)
    folder = None if options.in_one_file else _folder(Path(output), len(compared.gold))
    chunk = _CHUNK if folder is None else _CHUNK_OF_FOLDER
    packed = records.packed
    chunks = list(records.packed_chunks(sentences.records(expected), chunk))
    index = {"index": packed(records.page_index(compared, sentences, chunk))}
    blocks = {"texts": packed(records.texts(compared)), "places": packed(records.places(compared, gold))}
    blocks |= {f"chunk-{number}": block for number, block in enumerate(chunks)}
    page = _page(compared, sentences, options, folder is not None)
    if folder is None:
        with open_output(output) as stream:
            stream.writelines(page(blocks=index | blocks))
        return Path(output)
    _write_folder(folder, page(blocks=index), blocks)
    return folder / "index.html"


@arguments.checked
def report(
    gold: Sequence[AnyTree],
    parses: Parses,
    path: str | Path,
    *,
    title: str | None = None,
    about: Mapping[str, str] | None = None,
    details: Sequence[str | Path] = (),
    posteriors: records.SpanArrays | None = None,
    **how: Unpack[ComparisonSettings],
) -> Path:
    """Compare parses with gold trees and write a page to look at, as ``mbrparse report`` does of files.

    Args:
        gold: The correct trees, one for each sentence.
        parses: As ``compare`` has them.
        path: The page, a name that ends in .html, or a folder.
        title: The page's heading (default: how many parsers, and on what).
        about: What was run, by name: corpus, split, grammar.
        details: Files that ``parse --details`` wrote, one for all parsers or one for each.
        posteriors: Those of the sentences' spans, as ``read_posteriors`` reads them.
        **how: Settings of the comparison, as ``compare`` has them.

    Returns:
        The file to open in a browser: ``path``, or the index of the folder that many sentences make.

    Raises:
        MbrparseError: What ``compare`` raises; or details or posteriors are of other sentences, or nothing
            can be written there.
    """
    if unknown := how.keys() - ComparisonSettings.__annotations__.keys():
        raise TypeError(f"report() got an unexpected keyword argument {min(unknown)!r}")
    options = ReportOptions(title, about or {}, details, posteriors, comparison.fallbacks(parses))
    correct, sources = align.trees_in_memory("memory", "the gold", gold), comparison.sources(parses)
    return write_report(correct, sources, path, comparison.evaluation_settings(**how), options)


def _folder(output: Path, sentences: int) -> Path | None:
    """The folder to be written; None: a file."""
    if not is_file(output):
        return None
    if output.suffix.lower() in (".html", ".htm"):
        return None if sentences <= MOST_IN_A_FILE else output.with_suffix("")
    return output


def _write_folder(folder: Path, page: Iterator[str], blocks: Mapping[str, str]) -> None:
    """The page and a script for each block; scripts of an earlier page are removed."""
    remedy = "name a folder that is not there yet"
    if folder.is_file():
        raise errors.FileError(
            "is a file, and a folder of pages would be written there",
            source=str(folder),
            remedy=f"{remedy}, or a page that ends in .html",
        )
    there = folder.exists()
    if there and any(folder.iterdir()) and not (folder / "data").is_dir():
        raise errors.FileError("holds other files than a page's", source=str(folder), remedy=remedy)
    data = folder / "data"
    make_folder(data)
    try:
        with atomic_outputs():
            for name, block in blocks.items():
                with open_output(data / f"{name}.js") as stream:
                    stream.write(f'received("{name}", "{block}");\n')
            with open_output(folder / "index.html") as stream:
                stream.writelines(page)
    except BaseException:
        if not there:
            data.rmdir()
            folder.rmdir()
        raise
    for path in data.glob("*.js"):
        if path.stem not in blocks:
            path.unlink()


def _page(
    compared: KeptComparison, sentences: records.SentenceRecords, options: ReportOptions, in_folder: bool
) -> Callable[..., Iterator[str]]:
    """The page's text as a function of its ``blocks`` of data."""
    summary = compared.evaluation.summary
    shown = compared.settings.shown_criterion() or summary.criteria[0]
    names, gold = compared.names, summary.signature.partition("gold:")[2].partition("|")[0].rpartition("=")[0]
    frames = compared.evaluation.frames
    labelled = compared.settings.labelled
    meanings = dict(line.split(": ", 1) for line in data_text(__package__, "meanings.txt").splitlines())
    context = {
        "title": options.title or f"{len(names)} parser{'s' * (len(names) > 1)} on {gold}",
        "facts": facts(compared, options.about),
        "results": figures.results(summary),
        "tested": summary.significance is not None,
        "legend": "" if summary.significance is None else tables.legend(summary.significance),
        "meanings": [(one.heading, meanings[one.name]) for one in summary.criteria if one.name in meanings],
        "baseline": None if summary.significance is None else summary.significance.baseline,
        "differences": figures.differences(summary),
        "criterion": shown,
        "by_length": figures.by_length(frames["by_length"], shown, names),
        "by_label": figures.by_group(frames["by_label"], "label", names, _LABELS_SHOWN),
        "by_width": figures.by_group(frames["by_width"], "width", names),
        "by_depth": figures.by_group(frames["by_depth"], "depth", names),
        "by_attachment": figures.by_attachment(frames["by_attachment"], names) if labelled else None,
        "confusions": [figures.confusions(frames["confusions"], one) for one in names] if labelled else None,
        "calibrations": [
            figures.calibration(*each) for each in sentences.calibrations.items() if each[1].kinds
        ],
        "json": tables.render(summary, "json"),
        "style": data_text(__package__, "page.css"),
        "script": "\n".join(data_text(__package__, f"{name}.js") for name in _SCRIPTS),
        "has_posteriors": options.posteriors is not None,
        "threshold": records.THRESHOLD,
        "parts": records.PARTS,
        "in_folder": in_folder,
    }
    return partial(page_template(__package__, "page.html").generate, **context)


def facts(compared: KeptComparison, about: Mapping[str, str]) -> list[tuple[str, str]]:
    """Names and texts; what the caller knows (``about``) first.

    The date is now, or where SOURCE_DATE_EPOCH is set, as for reproducible builds, that one.
    """
    words = sum(len(shown.words) for shown in compared.gold if shown is not None)
    counts = compared.evaluation.counts
    sentences = len(counts) // len(compared.names)
    gold = int(counts["gold"][:sentences].sum())
    sizes = f"{sentences:,} sentences, {words:,} words, {gold:,} gold constituents"
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = datetime.fromtimestamp(int(epoch), UTC) if epoch.isdigit() else datetime.now(UTC)
    known = {
        **about,
        "sizes": sizes,
        "date": now.strftime("%Y-%m-%d %H:%M UTC"),
        "version": f"mbrparse {version.__version__}",
        "signature": compared.evaluation.summary.signature,
    }
    return [(name, errors.visible(text)) for name, text in known.items()]
