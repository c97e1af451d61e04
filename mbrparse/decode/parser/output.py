"""What is written of parsed sentences: trees as lines, details, posteriors, candidates, and an account."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mbrparse.charts.spans import SpanEntries
from mbrparse.decode.decoders import Decoded
from mbrparse.decode.parser.parser import Parse
from mbrparse.decode.span_posteriors import Posteriors
from mbrparse.decode.trees import LabelledSpans
from mbrparse.files import atomic_outputs, open_output, open_output_bytes
from mbrparse.grammar.pcfg import FloatArray, Grammar
from mbrparse.log import Log, counted
from mbrparse.treebank.brackets import EMPTY_PARSE, marked_fallback, read_trees
from mbrparse.treebank.outlines import tree_digest

if TYPE_CHECKING:
    from mbrparse.charts.chart import Pruned
    from mbrparse.decode.posteriors.posteriors_file import PosteriorsWriter

#: The number of fall-backs that are reported one by one.
REPORTED = 5


class Output(NamedTuple):
    """What is written of a sentence: its trees, and more if asked for.

    ``details`` are a JSON object without the sentence's number, ``reason`` is that of a fall-back. With
    posteriors, ``length`` is the sentence's; ``candidates`` are log probabilities and trees, tab-separated;
    ``certified`` says by objective whether a tree that has a certificate is certified.
    """

    trees: tuple[str, ...]
    details: str | None = None
    reason: str | None = None
    length: int = 0
    entries: SpanEntries | None = None
    consistent: FloatArray | None = None
    candidates: tuple[str, ...] = ()
    certified: tuple[tuple[str, bool], ...] = ()


def output_of(parse: Parse, details: Details | None = None, marked: bool = False) -> Output:
    """What is written of a parse, all but posteriors.

    With ``marked`` the roots of fall-backs are.
    """
    # Objectives often have the same tree, whose text is made once.
    distinct = {id(tree): tree for tree in parse.trees}
    texts = {key: EMPTY_PARSE if tree is None else str(tree) for key, tree in distinct.items()}
    trees = [texts[id(tree)] for tree in parse.trees]
    if marked:
        decoded = zip(trees, parse.decoded, strict=True)
        trees = [marked_fallback(text) if found is None else text for text, found in decoded]
    return Output(
        tuple(trees),
        None if details is None else json.dumps(details.row(parse), allow_nan=False),
        parse.reason,
        candidates=tuple(
            f"{one.log_prob:.9f}\t{EMPTY_PARSE if one.tree is None else one.tree}" for one in parse.candidates
        ),
        certified=tuple(
            (objective.name, found.certificate.certified)
            for objective, found in zip(parse.objectives, parse.decoded, strict=True)
            if found is not None and found.certificate is not None
        ),
    )


def most_common(reasons: Counter[str]) -> str:
    """The most common reasons and how often each was, for people."""
    most = ", ".join(f"{reason}: {count}" for reason, count in reasons.most_common(3))
    return most + (", ..." if len(reasons) > 3 else "")


@dataclass(slots=True)
class ParseAccount:
    """The number of sentences, and the reasons of fall-backs.

    ``first`` has a line for people for each of the first fall-backs, ``certified`` by objective whether each
    tree with a certificate is certified.
    """

    sentences: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    certified: dict[str, list[bool]] = field(default_factory=dict)
    first: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        """One line for people.

        >>> str(ParseAccount(9, Counter({"no parse": 2})))
        '9 sentences, 2 fell back (no parse: 2)'
        """
        text = f"{counted(self.sentences, 'sentence')}, {self.reasons.total()} fell back"
        if self.reasons:
            text = f"{text} ({most_common(self.reasons)})"
        counts = [f"{name} {sum(found)} of {len(found)}" for name, found in self.certified.items()]
        return f"{text}; certified: {', '.join(counts)}" if counts else text

    def add(self, output: Output, number: int) -> None:
        """Count a sentence."""
        self.sentences += 1
        for name, certified in output.certified:
            self.certified.setdefault(name, []).append(certified)
        if output.reason is not None:
            self.reasons[output.reason] += 1
            if len(self.first) < REPORTED:
                self.first.append(
                    f"sentence {number} was not parsed, its tree is a fall-back: {output.reason}"
                )

    def tell(self, log: Log) -> None:
        """Log the first fall-backs, then the counts."""
        for line in (*self.first, str(self)):
            log(line)


def write_parses(
    outputs: Iterable[Output],
    trees: Sequence[str | Path],
    details: str | Path | None = None,
    posteriors: tuple[PosteriorsWriter, str | Path] | None = None,
    form: Callable[[str], str] = str,
    candidates: str | Path | None = None,
    first: int = 0,
) -> ParseAccount:
    """Write what there is of sentences, a line for each; all files are complete, or all absent.

    Parameters
    ----------
    trees
        A path for each objective, in the order of ``Output.trees``.
    posteriors
        What collects them, and where they are written at the end.
    form
        Maps a tree's line to what is written, whose digests the details get.
    candidates
        Where candidates are written, a line each after the number of their sentence.
    first
        The number of sentences before these.

    Raises
    ------
    FileError
        Where a file cannot be written.
    """
    account = ParseAccount()
    with ExitStack() as stack:
        stack.enter_context(atomic_outputs())
        streams = [stack.enter_context(open_output(path)) for path in trees]
        detail_stream = None if details is None else stack.enter_context(open_output(details))
        entries = None if posteriors is None else stack.enter_context(open_output_bytes(posteriors[1]))
        candidate_stream = None if candidates is None else stack.enter_context(open_output(candidates))
        for number, output in enumerate(outputs, first + 1):
            texts = list(map(form, output.trees))
            for stream, text in zip(streams, texts, strict=True):
                stream.write(f"{text}\n")
            if detail_stream is not None and output.details is not None:
                digests = json.dumps([tree_digest(read.tree) for read in read_trees(texts)])
                row = f'{{"sentence": {number}, {output.details[1:-1]}, "digests": {digests}}}\n'
                detail_stream.write(row)
            if posteriors is not None:
                posteriors[0].add(output.length, output.entries, output.consistent)
            if candidate_stream is not None:
                candidate_stream.writelines(f"{number}\t{one}\n" for one in output.candidates)
            account.add(output, number)
        if posteriors is not None and entries is not None:
            posteriors[0].write(entries)
    return account


class Details:
    """Makes the rows of ``--details``, one dictionary a sentence.

    Without a grammar (given posteriors), and with several, the probabilities of trees are unknown.
    """

    def __init__(self, grammar: Grammar | None) -> None:
        from mbrparse.decode.tree_probability import probability_of

        several = grammar is None or grammar.kind == "several"
        self._probability = None if grammar is None or several else probability_of(grammar)
        self._unaries = grammar is not None and grammar.pcfg.has_unaries

    def row(self, parse: Parse) -> dict[str, Any]:
        """The row of a sentence, all but its number."""
        rows = zip(parse.objectives, parse.spans, parse.decoded, strict=True)
        pruned: Pruned | None = getattr(parse.chart, "pruned", None)
        return {
            "length": parse.length,
            "status": "parsed" if parse.reason is None else "fallback",
            "reason": parse.reason,
            "log_probability": parse.log_prob if math.isfinite(parse.log_prob) else None,
            "seconds": parse.seconds,
            **({} if pruned is None else {"pruned": pruned._asdict()}),
            **({"chart": "logarithms"} if getattr(parse.chart, "in_logarithms", False) else {}),
            "trees": {
                objective.name: None
                if parse.posteriors is None
                else self._tree(parse, parse.posteriors, spans, decoded)
                for objective, spans, decoded in rows
            },
        }

    def _tree(
        self, parse: Parse, posteriors: Posteriors, spans: LabelledSpans, decoded: Decoded | None
    ) -> dict[str, Any]:
        """The row of one tree.

        ``expected_labelled`` and ``expected_bracketed`` are expected numbers of matching constituents, the
        recalls their shares of the ``constituents`` that every binary tree of the length has; with unary
        rules, of the expected number of constituents. ``posterior`` is that of the tree, summed over its
        derivations and the preterminals of its words; it is also the score of a most probable derivation.
        ``consistent`` is, for each of the ``nodes``, the probability that no constituent of the n-ary tree
        crosses it, for objectives that use it. ``bound`` is an upper bound of all trees' scores, and the tree
        is ``certified`` if it reaches that. The most frequent tree of samples has an ``estimate`` of its
        posterior, the ``standard_error``, the ``leader_error`` (see decoders.Estimate) and the number of
        ``samples``. ``nodes`` are (start, end, label, g).
        """
        nodes = [[*span, posteriors.labelled(*span)] for span in spans]
        if decoded is not None and decoded.constituents is not None:
            # Many derivations look like an n-ary tree, so it has no posterior; continuations do not count.
            matches = posteriors.expected_matches(spans, nary=True)
            return {
                "nary": True,
                "constituents": decoded.constituents,
                **expected_recalls(*matches, decoded.constituents),
                "posterior": None,
                "expected_score": decoded.score,
                "nodes": nodes,
            }
        posterior = None
        if self._probability is not None:
            posterior = math.exp(self._probability.log_prob(spans, parse.terminal_ids) - parse.log_prob)
        constituents = posteriors.expected_constituents() if self._unaries else max(parse.length - 1, 0)
        score = None if decoded is None else posterior if decoded.log_prob is not None else decoded.score
        items = {} if decoded is None or decoded.expected is None else decoded.expected
        bound = None if decoded is None else decoded.certificate or decoded.estimate
        consistent = None if decoded is None else decoded.consistent
        crossing: dict[str, Any] = {}
        if consistent is not None:
            total = math.fsum(consistent)
            crossing["expected_consistent"] = total
            crossing["expected_consistent_recall"] = total / len(consistent) if consistent else 0.0
            crossing["consistent"] = list(consistent)
        return {
            "constituents": constituents,
            **expected_recalls(*posteriors.expected_matches(spans), constituents),
            "posterior": posterior,
            "expected_score": score if score is None or math.isfinite(score) else None,
            **{f"expected_{name}": mass for name, mass in items.items()},
            **crossing,
            **({} if bound is None else bound._asdict()),
            "nodes": nodes,
        }


def expected_recalls(labelled: float, bracketed: float, constituents: float) -> dict[str, float]:
    """Expected matches, and their shares of the constituents of the true tree."""
    return {
        "expected_labelled": labelled,
        "expected_bracketed": bracketed,
        "expected_labelled_recall": labelled / constituents if constituents else 0.0,
        "expected_bracketed_recall": bracketed / constituents if constituents else 0.0,
    }
