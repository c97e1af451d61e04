"""``mbrparse parse``: sentences in, one tree for each objective out."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from typing import Any

import click

from mbrparse.cli.options import NearestChoice, encoding_option, note, output_option, with_progress

# Named here so that --help loads no numerical library; a test holds them to the table of objectives.
OBJECTIVE_NAMES = ["labelled-tree", "labelled-recall", "bracketed-recall"]
PLACEHOLDER = "{objective}"


@click.command()
@click.argument("input", default="-")
@click.option("-g", "--grammar", required=True, metavar="GRAMMAR", help="A grammar of mbrparse train.")
@output_option("Where to write; with several objectives a pattern such as build/{objective}.mrg.")
@click.option(
    "--objective",
    "names",
    type=NearestChoice(OBJECTIVE_NAMES),
    multiple=True,
    default=["labelled-recall"],
    show_default=True,
    help="What the returned tree maximizes the expectation of (repeatable).",
)
@click.option(
    "--input", "form", type=NearestChoice(["trees", "tokens"]), help="Default: told by the first character."
)
@click.option("--debinarize", is_flag=True, help="Write n-ary trees.")
@click.option(
    "--fallback",
    type=NearestChoice(["right-branching", "flat", "empty"]),
    default="right-branching",
    show_default=True,
    help="What to write for a sentence without a parse.",
)
@click.option(
    "--labels",
    type=NearestChoice(["guessed", "none"]),
    default="guessed",
    show_default=True,
    help="none: the published, unlabelled Bracketed Recall (root: the usual start symbol, other nodes X).",
)
@click.option(
    "--max-length",
    type=click.IntRange(min=1),
    help="Fall back on longer sentences (default: about 2 GB of chart).",
)
@click.option(
    "--precision",
    type=NearestChoice(["double", "single"]),
    default="double",
    show_default=True,
    help="Of the charts' numbers; single is for speed.",
)
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Processes.")
@click.option("--details", metavar="FILE", help="Write one JSON line a sentence: status, expected scores.")
@click.option(
    "--engine",
    type=NearestChoice(["exhaustive", "best-first"]),
    default="exhaustive",
    show_default=True,
    help="Fill the whole chart, or only as much as --until asks for; the options below are best-first's.",
)
@click.option(
    "--merit",
    metavar="NAME",
    default="boundary-trigram",
    show_default=True,
    help="The figure of merit that orders the agenda (an unknown name is answered with all of them).",
)
@click.option("--edges", type=click.IntRange(min=1), metavar="N", help="Make at most so many edges.")
@click.option(
    "--until",
    default="first-parse",
    show_default=True,
    metavar="WHEN",
    help="first-parse, exhausted, or mass:0.95: a share of the sentence's probability, which takes an "
    "exhaustive inside pass first.",
)
@click.option(
    "--beta-threshold",
    type=click.FloatRange(min=0, max=1),
    default=0.01,
    show_default=True,
    help="Pass an inside estimate's growth on when it exceeds this share.",
)
@click.option(
    "--statistics", metavar="FILE", help="What mbrparse train --statistics wrote; most merits need it."
)
@encoding_option()
def parse(
    input: str,
    grammar: str,
    output: str,
    names: tuple[str, ...],
    form: Any,
    debinarize: bool,
    fallback: Any,
    labels: str,
    max_length: int | None,
    jobs: int,
    details: str | None,
    encoding: str,
    precision: Any,
    engine: str,
    **search: Any,
) -> None:
    """Parse sentences for one objective or several; the charts are computed once for all.

    INPUT holds trees, whose tags or words are parsed, or lines of tokens. There is exactly one line of
    output for each sentence, in order, whatever happens to any one of them.
    """
    from mbrparse.decode.objectives import OBJECTIVES
    from mbrparse.decode.parser import ParserOptions
    from mbrparse.decode.run import Job, parse_all
    from mbrparse.decode.sentences import read_chunks
    from mbrparse.files import open_output
    from mbrparse.grammar.grammar_file import read_grammar
    from mbrparse.grammar.kernel import announced
    from mbrparse.grammar.pcfg import PCFG

    names = tuple(dict.fromkeys(names))
    if len(names) > 1 and PLACEHOLDER not in output:
        raise click.UsageError(f"With several objectives, --output must hold {PLACEHOLDER}.")
    objectives = tuple(OBJECTIVES[name] for name in names)
    if labels == "none" and all(objective.labels_matter for objective in objectives):
        raise click.UsageError(
            "--labels none needs an objective that does not look at labels: bracketed-recall."
        )
    best_first = _best_first(engine, **search)
    unlabelled = labels == "none"
    options = ParserOptions(objectives, fallback, unlabelled, debinarize, max_length, best_first, precision)
    job = Job(PCFG.from_rules(read_grammar(grammar)), options, details is not None)
    chunks = read_chunks(input, form, encoding)
    reasons: Counter[str] = Counter()
    count = 0
    with ExitStack() as stack:
        stack.enter_context(announced(lambda: note("compiling kernels, once on this machine ...")))
        streams = [stack.enter_context(open_output(output.replace(PLACEHOLDER, name))) for name in names]
        detail_stream = None if details is None else stack.enter_context(open_output(details))
        for lines in with_progress(parse_all(job, chunks, jobs), "parsing"):
            for stream, line in zip(streams, lines.trees, strict=True):
                stream.write(line + "\n")
            if detail_stream is not None:
                detail_stream.write(f"{lines.details}\n")
            count += 1
            if lines.reason is not None:
                reasons[lines.reason] += 1
    note(f"{count} sentences, {reasons.total()} fell back{_most_common(reasons)}")


def _best_first(
    engine: str, merit: str, edges: int | None, until: str, beta_threshold: float, statistics: str | None
) -> Any:
    """How to search best-first; None for the exhaustive engine, which takes none of its options."""
    context = click.get_current_context()
    if engine == "exhaustive":
        for name in ("merit", "edges", "until", "beta_threshold", "statistics"):
            source = context.get_parameter_source(name)
            if source is not None and source.name == "COMMANDLINE":
                raise click.UsageError(f"--{name.replace('_', '-')} needs --engine best-first.")
        return None
    from mbrparse.decode.best_first.charts import BestFirst, Until
    from mbrparse.decode.best_first.merits import MERITS
    from mbrparse.errors import MbrparseError
    from mbrparse.grammar.statistics.statistics_file import read_statistics

    try:
        stop = Until.parse(until)
    except MbrparseError as error:
        raise click.BadParameter(str(error), param_hint="--until") from None
    # The names are asked of the table itself: a new merit is added in one file.
    merit = NearestChoice(list(MERITS)).convert(merit, _parameter(context, "merit"), context)
    if stop.name == "mass":
        note("--until mass: each sentence is first given an exhaustive inside pass")
    counts = None if statistics is None else read_statistics(statistics)
    return BestFirst(merit, stop, edges, beta_threshold, counts)


def _parameter(context: click.Context, name: str) -> click.Parameter:
    return next(parameter for parameter in context.command.params if parameter.name == name)


def _most_common(reasons: Counter[str]) -> str:
    if not reasons:
        return ""
    text = ", ".join(f"{reason}: {count}" for reason, count in reasons.most_common(3))
    return f" ({text}{', ...' if len(reasons) > 3 else ''})"
