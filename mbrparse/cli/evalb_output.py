"""What ``mbrparse evaluate --evalb`` prints for one parse file: EVALB's own output."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from mbrparse.cli.options import log, note, with_progress
from mbrparse.files import atomic_outputs, open_output

if TYPE_CHECKING:
    from mbrparse.evaluate.evalb.parameters import EvalbParameters
    from mbrparse.treebank.labels import LabelMarks


def evalb_parameters(path: str, encoding: str) -> EvalbParameters:
    """A parameter file, read."""
    from mbrparse.evaluate.evalb.parameters import read_parameters

    parameters = read_parameters(path, log, encoding)
    if parameters.debug:
        note(f"{path}: DEBUG has no effect; --per-sentence and --by show more")
    return parameters


def print_as_evalb(
    gold: str,
    parses: str,
    parameters: EvalbParameters,
    encoding: str,
    output: str,
    per_sentence: str | None,
    marks: LabelMarks | None,
) -> bool:
    """EVALB's own output, the coverage on standard error. Whether every sentence counts."""
    from mbrparse.evaluate.align import gold_file, parse_files, with_our_labels
    from mbrparse.evaluate.criteria import placed
    from mbrparse.evaluate.evalb.summary import Report, evalb_scores

    messages: list[str] = []
    sources = [gold_file(gold, encoding), *parse_files([parses], encoding)]
    correct, source = (with_our_labels(one, marks, True, note) for one in sources)

    def complain(message: str) -> None:
        messages.append(message)
        log(message)

    [scores] = evalb_scores(correct, [source], parameters, complain)
    report = Report(source.name, parameters.cutoff)
    with ExitStack() as outputs:
        outputs.enter_context(atomic_outputs())
        counts = None if per_sentence is None else outputs.enter_context(open_output(per_sentence))
        stream = outputs.enter_context(open_output(output))
        for line in report.lines(with_progress(scores, "evaluate")):
            stream.write(line)
        if counts is not None:
            placed(report.counts, correct.source, note).to_frame().to_csv(
                counts, index=False, lineterminator="\n"
            )
    coverage, is_complete = report.coverage()
    note(coverage)
    return not messages and is_complete
