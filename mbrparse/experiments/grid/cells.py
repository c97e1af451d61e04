"""The cells of a grid: each is trained, parses its test part for all objectives, and is judged.

A cell is what the commands binarize, split, train, parse and evaluate --form original make. The gold is the
corpus's trees with all unary productions, un-binarized, so that binarizations can be compared.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from mbrparse.evaluate.compare.evaluation import Settings, evaluate_files
from mbrparse.evaluate.counts import Comparison, SentenceCounts
from mbrparse.evaluate.criteria import CONSISTENT, FELL_BACK, MORE, PAPER, blocks_of
from mbrparse.files import make_folder, read_lines
from mbrparse.log import Log, no_log
from mbrparse.state_files import Schema, listed, mapping, record, short_digest, whole

CRITERIA = tuple(one for one in (*PAPER, *MORE) if one.name not in CONSISTENT)
COMPARISON = Comparison("original")
#: Of each sentence, and in the files of results.
COUNTS = (*SentenceCounts._fields[4:], FELL_BACK.name)


class Axis(NamedTuple):
    """An option of a stage, and its values with the words of a command line that give each."""

    stage: str
    name: str
    values: Mapping[str, Sequence[str]]

    @property
    def title(self) -> str:
        """The heading of its column."""
        return self.name if self.stage == "binarize" else f"{self.stage} {self.name}"


@dataclass(frozen=True)
class GridTrial:
    """What all cells share; calling it does one of them, by its number from 1."""

    corpus: str
    folder: Path
    axes: Sequence[Axis]
    sizes: Sequence[str]
    divisions: Sequence[str]  #: what split is told: --fold=1/10
    objectives: Sequence[str]
    common: Mapping[str, Sequence[str]]  #: words of each stage that are the same in all cells
    call: Callable[[str, Sequence[str]], None]  #: calls a command with arguments

    @cached_property
    def places(self) -> list[tuple[str, ...]]:
        """All cells: a value of each axis, how much is trained on, and what is held out."""
        return list(product(*(axis.values for axis in self.axes), self.sizes, self.divisions))

    @property
    def schema(self) -> Schema:
        """What a result is: the number of training trees, and by objective each test sentence's counts."""
        counts = mapping(listed(listed(whole(), len(COUNTS))))
        return record({"training_trees": whole(1), "counts": counts})

    def trees(self, place: Sequence[str], log: Log = no_log) -> list[Path]:
        """The files of a cell's binarization and of its gold, which are made where they are not there.

        Sentences of one word are in neither, since some binarizations lack them.
        """
        words, paths = [*self._words("binarize", place), "--min-length=2"], []
        make_folder(self.folder / "trees")
        for given in (words, [*words, "--unary=keep"]):
            path = self.folder / "trees" / f"{short_digest(' '.join(given).encode())}.mrg"
            paths.append(path)
            if not path.exists():
                log(f"{path.name}: binarize {' '.join(given)}")
                self.call("binarize", [*given, f"--output={path}", "--", self.corpus])
        return paths

    def __call__(self, run: int) -> dict[str, Any]:
        """Train, parse and evaluate one cell."""
        place = self.places[run - 1]
        with TemporaryDirectory() as name, redirect_stderr(io.StringIO()):
            train, test, gold, grammar, details, *parses = (
                f"{name}/{part}" for part in ("train", "test", "gold", "grammar", "details", *self.objectives)
            )
            for source, output in zip(self.trees(place), (test, gold), strict=True):
                parts = f"--train-size={place[-2]}", f"--train-output={train}", f"--test-output={output}"
                self.call("split", [place[-1], *self.common["split"], *parts, str(source)])
                if output == test:
                    self.call("train", [*self._words("train", place), f"--output={grammar}", train])
                    trained = sum(1 for _ in read_lines(train))
            words = [f"--objective={one}" for one in self.objectives] + self._words("parse", place)
            files = [f"--grammar={grammar}", f"--details={details}", f"--output={name}/{{objective}}", test]
            self.call("parse", words + files)
            settings = Settings(COMPARISON, CRITERIA, resamples=0)
            table = evaluate_files(gold, parses, settings, no_log, details=[details]).counts
        rows = list(zip(*(table[name].tolist() for name in COUNTS), strict=True))
        counts = {
            name: [list(map(int, row)) for row in rows[part]] for name, part in blocks_of(table).items()
        }
        return {"training_trees": trained, "counts": counts}

    def _words(self, stage: str, place: Sequence[str]) -> list[str]:
        """The options of a stage in a cell."""
        chosen = zip(self.axes, place, strict=False)
        given = (axis.values[value] for axis, value in chosen if axis.stage == stage)
        return [*self.common[stage], *chain.from_iterable(given)]
