"""``mbrparse rerank``: candidates of sentences in, of each the one with the greatest expected score out."""

from __future__ import annotations

from itertools import chain
from typing import Any

import click

from mbrparse.cli.commands import option_group
from mbrparse.cli.messages import compilation_noted, note, with_progress
from mbrparse.cli.model_options import (
    LABEL_OPTIONS,
    CandidateOptions,
    InputOptions,
    ObjectiveOptions,
    combinations_checked,
    output_paths,
)
from mbrparse.cli.options import InputFile, check_outputs, count_option, option, output_option, refuse_options


@click.command()
@option(
    "--candidates",
    type=InputFile(),
    required=True,
    help="The candidates, as parse --candidates writes them: number of the sentence, natural log "
    "probability and tree on each line, tab-separated.",
)
@option_group("objectives", ObjectiveOptions, without=("exact", "space", "items"))
@option_group("risk", CandidateOptions, without=("k_best", "samples", "seed", "candidates"))
@option_group("known", InputOptions, without=("form", "tokenize"))
@option("--form", choices=["binarized", "original"], help="The form of the trees (default: detected).")
@count_option("--max-length", help="Leave longer sentences their first candidate.")
@output_option("Where to write; with several objectives a pattern such as build/{objective}.mrg.")
@option("--details", metavar="FILE", help="Write one JSON line a sentence: status, expected scores.")
def rerank(
    candidates: str,
    objectives: ObjectiveOptions,
    risk: CandidateOptions,
    known: InputOptions,
    form: Any,
    max_length: int | None,
    output: str,
    details: str | None,
) -> None:
    """Choose among candidates: of each sentence the tree with the greatest expected score.

    Scores are expected under a grammar (-g), under another model's posteriors (--posteriors), or else under
    the candidates' own probabilities, normalized over each sentence's. minimum-risk always uses these
    own probabilities, with a criterion (--risk). Each sentence gets one line of output, a tree as it is in
    the file.
    """
    from mbrparse.decode.parser.parsing import write_parses
    from mbrparse.decode.parser.reranking import Reranker, lines_of
    from mbrparse.decode.parser.score import find_form
    from mbrparse.decode.parser.sentences import GivenTree
    from mbrparse.files import source_name
    from mbrparse.treebank.candidate_files import read_candidates

    if known.grammar is None and not known.posteriors:
        refuse_options((*LABEL_OPTIONS, "mix"), "--posteriors")
        refuse_options(("normalize",), "--grammar")
    else:
        known.check(candidates)
    paths = output_paths(output, objectives.distinct)
    named = [*(("--output", path) for path in paths), ("--details", details)]
    check_outputs(named, known.files, [("--candidates", candidates)])
    rows, source = objectives.objectives(), source_name(candidates)
    model = known.model() if known.grammar is not None or known.posteriors else None
    blocks = list(read_candidates(candidates, known.encoding))
    given = (GivenTree(one.tree, one.sentence - 1, source, one.line) for one in chain.from_iterable(blocks))
    found = find_form(given, form)
    if form is None:
        note(f"trees are read as {found.form}: {found.because} (--form overrides this)")
    with combinations_checked():
        rates = risk.tree_rates(found.form == "original")
        reranker = Reranker(rows, model, found.form, rates, max_length=max_length)
    with compilation_noted():
        choices = with_progress(reranker.choices(blocks, source), "reranking", len(blocks))
        account = write_parses((lines_of(one, rows) for one in choices), paths, details)
    account.tell(note)
