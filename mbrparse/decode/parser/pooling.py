"""F pooled over all sentences: what is kept of each until the last is parsed, and the trees.

Objectives of pooled F are decoded twice: first for each sentence's own F, and when all sentences are known,
with the cost of a constituent that maximizes the pooled F. A sentence that falls back has no posteriors, and
does not count.
"""

from __future__ import annotations

import json
import pickle
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from mbrparse.charts.base.span_summary import cell_of
from mbrparse.decode.nary import ConstituentSummary, NaryDecoder, PooledF
from mbrparse.decode.objectives import Objective
from mbrparse.decode.parser.details import nary_row
from mbrparse.decode.parser.parse_files import Lines
from mbrparse.decode.parser.parse_result import Parse
from mbrparse.decode.trees import nary_tree
from mbrparse.files import as_temporary_errors
from mbrparse.log import Log, Progress
from mbrparse.treebank.binarize import Binarization, binarize
from mbrparse.treebank.brackets import read_tree
from mbrparse.treebank.tree import Tree


class Pooling:
    """A parser's objectives of pooled F, and their decoder."""

    def __init__(self, objectives: Sequence[Objective], decoder: NaryDecoder, root: str) -> None:
        """``root`` stands over a single terminal."""
        self._rows = {place: row for place, row in enumerate(objectives) if row.f_score == "pooled"}
        self._decoder = decoder
        self._root = root

    def held(self, parse: Parse) -> ConstituentSummary | None:
        """What is kept of a sentence (None: it fell back)."""
        decoded = all(parse.decoded[place] is not None for place in self._rows)
        return self._decoder.summary(parse.posteriors) if parse.posteriors is not None and decoded else None

    def of_parses(self, parses: Sequence[Parse]) -> tuple[list[Parse], dict[str, float]]:
        """Return parses with trees of the largest pooled F, and the cost of a constituent by objective."""
        held = [self.held(parse) for parse in parses]
        found = self._found([one for one in held if one is not None])
        done = []
        for parse, one in zip(parses, held, strict=True):
            done.append(parse if one is None else self._changed(parse, one, found))
        return done, {self._rows[place].name: pooled.cost for place, pooled in found.items()}

    def _changed(self, parse: Parse, held: ConstituentSummary, found: dict[int, PooledF]) -> Parse:
        parts, decoded = list(parse.parts), list(parse.decoded)
        for place, pooled in found.items():
            there, before = parts[place], decoded[place]
            if there is not None and before is not None:
                best = self._decoder.at_cost(self._rows[place], held, pooled.cost)
                parts[place] = there._replace(spans=best.spans)
                decoded[place] = best._replace(preterminals=before.preterminals)
        return replace(parse, parts=tuple(parts), decoded=tuple(decoded))

    def of_lines(self, results: Iterable[Lines], progress: Progress, log: Log) -> Iterator[Lines]:
        """The same with lines, which are kept in a temporary file; the cost is reported to ``log``.

        Raises FileError where there is no room for them.
        """
        with Spool() as spool:
            for lines in progress(results, "parsing"):
                spool.add(lines)
            found = self._found(spool.held())
            for place, pooled in found.items():
                row = self._rows[place]
                log(
                    f"{row.name} --pooled: expected F {100 * pooled.f:.2f} over {pooled.sentences} "
                    "sentences, with the trees of --objective general-recall "
                    f"{'' if row.labels_matter else '--weight bracketed=1 '}--node-cost {pooled.cost!r}"
                )
            for lines in progress(spool, "searching", spool.count):
                yield self._with_pooled_trees(lines, found)

    def _found(self, sentences: Iterable[ConstituentSummary]) -> dict[int, PooledF]:
        return {place: self._decoder.pooled(row, sentences) for place, row in self._rows.items()}

    def _with_pooled_trees(self, lines: Lines, found: dict[int, PooledF]) -> Lines:
        held = lines.held
        if held is None:
            return lines
        trees = list(lines.trees)
        row = None if lines.details is None else json.loads(lines.details)
        for place, pooled in found.items():
            objective = self._rows[place]
            tree = self._decoder.at_cost(objective, held, pooled.cost)
            trees[place] = str(nary_tree(tree.spans, _leaves(read_tree(trees[place]), held), self._root))
            if row is not None:
                row["trees"][objective.name] = nary_row(tree, *held.of_spans(tree.spans))
        details = None if row is None else json.dumps(row, allow_nan=False)
        return lines._replace(trees=tuple(trees), details=details, held=None)


def _leaves(tree: Tree, held: ConstituentSummary) -> list[Tree]:
    """The leaves of a tree; where no constituent over a word is known, what is there is part of its tag."""
    words = {cell_of(held.length, word, word + 1) for word in range(held.length)}
    how = Binarization(chains="join-tags" if words.isdisjoint(held.labelled_cells) else "keep")
    return [leaf for child in tree.children for leaf in binarize(child, how).leaves()]


class Spool:
    """Lines in a temporary file without a name, which disappears with the process."""

    def __init__(self) -> None:
        """Raises FileError where no temporary file can be made."""
        with as_temporary_errors():
            self._stream = tempfile.TemporaryFile()
        self.count = 0

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *_: object) -> None:
        # Closing may fail to write the rest, which is not needed any more.
        with suppress(OSError):
            self._stream.close()

    def add(self, lines: Lines) -> None:
        """Append the lines of a sentence; raises FileError."""
        with as_temporary_errors():
            pickle.dump(lines, self._stream, pickle.HIGHEST_PROTOCOL)
        self.count += 1

    def __iter__(self) -> Iterator[Lines]:
        """Yield all lines, in their order; raises FileError."""
        with as_temporary_errors():
            self._stream.seek(0)
        for _ in range(self.count):
            # The file has no name: only this process wrote to it.
            yield pickle.load(self._stream)

    def held(self) -> Iterable[ConstituentSummary]:
        """What was kept of sentences that did not fall back; it can be iterated repeatedly."""
        return _Held(self)


class _Held:
    def __init__(self, spool: Spool) -> None:
        self._spool = spool

    def __iter__(self) -> Iterator[ConstituentSummary]:
        return (lines.held for lines in self._spool if lines.held is not None)
