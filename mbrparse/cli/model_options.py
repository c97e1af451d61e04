"""The options of commands that parse or score: models, labels, objectives, candidates, long runs."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from mbrparse.cli.messages import compilation_noted, note, with_dashes, with_progress
from mbrparse.cli.options import (
    InputFile,
    Named,
    NearestChoice,
    Text,
    count_option,
    encoding_option,
    jobs_option,
    numbers,
    option,
    refuse_options,
)
from mbrparse.decode.objectives import ALIASES, OBJECTIVES, UNARY_COST, FScore, Item, Objective, Space
from mbrparse.errors import ObjectiveError, OptionsError
from mbrparse.files import STANDARD, is_file, source_name
from mbrparse.log import counted

if TYPE_CHECKING:
    from mbrparse.decode.parser.parsing import Worker
    from mbrparse.decode.parser.sentences import InputForm
    from mbrparse.decode.posteriors.given_posteriors import GivenPosteriors
    from mbrparse.evaluate.compare.candidates import TreeRates
    from mbrparse.grammar.pcfg import PCFG, Grammar
    from mbrparse.treebank.labels import LabelMarks


@dataclass(frozen=True)
class LabelOptions:
    """How another program writes its labels."""

    label_style: str | None = option(
        choices=["supar", "benepar", "nltk", "torch-struct"],
        help="The program whose labels these are: sets the options below, which change single marks.",
    )
    joiner: str | None = option(
        type=Text(), help="What joins unary chains in another program's labels, such as :: ('': nothing)."
    )
    continuation: tuple[str, ...] = option(
        type=Text(), multiple=True, help="The ending of another program's continuations, such as '|<'."
    )
    null: tuple[str, ...] = option(
        type=Text("LABEL"), multiple=True, help="Another program's label of what is no constituent."
    )

    def marks(self) -> LabelMarks | None:
        """The marks; None where no option names any."""
        from mbrparse.treebank.labels import PLAIN, STYLES, LabelMarks

        style = PLAIN if self.label_style is None else STYLES[self.label_style]
        found = LabelMarks(self.joiner, self.continuation, self.null).over(style)
        return None if found == PLAIN else found


#: The names of these options.
LABEL_OPTIONS = tuple(field.name for field in fields(LabelOptions))
GENERAL = "general-recall"
WEIGHTS = {"labelled": Item.LABELLED_SPAN, "bracketed": Item.SPAN}
_WHICH_RISK = (
    "'mbr' names no single objective: all objectives but labelled-tree (Viterbi) minimize a Bayes risk. "
    "Choose labelled-recall for constituents with their labels, bracketed-recall for constituents without "
    "labels, labelled-f for F, or minimum-risk for the risk of whole candidates by any criterion."
)


class ObjectiveChoice(NearestChoice):
    """The name of an objective, or an alias of one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "mbr":
            self.fail(_WHICH_RISK, param, ctx)
        return super().convert(ALIASES.get(value, str(value).replace("labeled", "labelled")), param, ctx)


def objective_option(**attributes: Any) -> Any:
    """``--objective NAME``, repeatable, as the parameter ``names``."""
    choice = ObjectiveChoice(list(OBJECTIVES))
    return option("--objective", "names", type=choice, metavar="NAME", multiple=True, **attributes)


@dataclass(frozen=True)
class ObjectiveOptions:
    """What the returned trees maximize."""

    names: tuple[str, ...] = objective_option(
        default=["labelled-recall"],
        help="What the returned tree maximizes the expectation of (repeatable). labelled-tree, also "
        "called viterbi, is the most probable derivation; the others minimize a Bayes risk: "
        + ", ".join(name for name in OBJECTIVES if name != "labelled-tree")
        + ".",
    )
    weights: tuple[str, ...] = option(
        "--weight",
        "weights",
        type=Text("ITEM=W"),
        multiple=True,
        help="The gains of general-recall: labelled=W, bracketed=W (repeatable).  [default: labelled=1]",
    )
    node_cost: float | None = option(
        type=float,
        metavar="COST",
        help="Subtract this for each constituent, with objectives that sum posteriors.",
    )
    exact: bool = option(
        is_flag=True,
        help="With labelled-f or bracketed-f: maximize the expected F itself instead of a ratio of "
        "expectations. This is slow.",
    )
    space: str | None = option(
        choices=["free", "nary", "grammar"],
        help="The trees to search: any binary tree with a label on each span, any set of constituents "
        "that do not cross, or the trees of the grammar.  [default: nary for general-recall and the Fs, "
        "free for the other recalls (with unary rules: nary, at --node-cost "
        f"{UNARY_COST:g}), consistent brackets and bracketed-tree, grammar for the others]",
    )
    items: Any = option(
        choices=["projected", "symbol"],
        default="projected",
        help="Sum posteriors over the symbols with the same label, or keep symbols apart.",
    )

    @property
    def distinct(self) -> tuple[str, ...]:
        """The names of the objectives, each once."""
        return tuple(dict.fromkeys(self.names))

    def objectives(self, unaries: bool = False) -> tuple[Objective, ...]:
        """The rows of the table of objectives, as the options change them.

        With ``unaries`` those for a grammar that has unary rules. Raises UsageError where options
        do not fit the objectives.
        """
        names = self.distinct
        f_score: FScore | None = "exact" if self.exact else None
        fs = [name for name in OBJECTIVES if OBJECTIVES[name].f_score]
        if f_score is not None and not set(names).intersection(fs):
            raise click.UsageError(f"--{f_score} needs --objective {' or '.join(fs)}.")
        if self.weights and GENERAL not in names:
            raise click.UsageError(f"--weight needs --objective {GENERAL}.")
        return tuple(self._row(name, f_score if name in fs else None, unaries) for name in names)

    def fitted(self, grammar: Grammar, unlabelled: bool) -> tuple[tuple[Objective, ...], list[str]]:
        """The rows for a grammar; if it has unary rules, also lines on which trees have unary nodes."""
        unaries = grammar.pcfg.has_unaries
        rows, lines = self.objectives(unaries and not unlabelled), []
        moved = [row.name for row, usual in zip(rows, self.objectives(), strict=True) if row != usual]
        free = [row.name for row in rows if row.space is Space.FREE]
        if moved:
            cost = UNARY_COST if self.node_cost is None else self.node_cost
            lines.append(
                f"{', '.join(moved)}: n-ary trees, at --node-cost {cost:g}, since the grammar has unary "
                "rules (--space free: binary ones, without unary nodes)"
            )
        if free and unaries:
            lines.append(f"{', '.join(free)}: trees of the space free leave out the grammar's unary nodes")
        return rows, lines

    def lines_of(self, given: GivenPosteriors) -> list[str]:
        """A line where there are constituents over one word, and trees without."""
        free = [row.name for row in self.objectives() if row.space is Space.FREE]
        over = given.over_words()
        if not free or over < 0.5 or given.seems_tagged():
            return []
        return [
            f"{', '.join(free)}: trees of the space free leave out constituents over one word, {over:,.0f} "
            "expected; labelled-f and other n-ary objectives keep them"
        ]

    def _row(self, name: str, f_score: FScore | None, unaries: bool) -> Objective:
        row, option = OBJECTIVES[name], "--weight"
        try:
            if name == GENERAL and self.weights:
                row = replace(row, gains=_gains(self.weights))
            option = "--space"
            if self.space is not None:
                row = row.within(Space[self.space.upper()])
            elif unaries:
                row = row.for_unaries(UNARY_COST if self.node_cost is None else 0.0)
            if f_score is not None:
                row = row.with_f(f_score)
            option = "--node-cost"
            return row if self.node_cost is None else row.with_node_cost(self.node_cost)
        except ObjectiveError as error:
            raise click.UsageError(f"{option}: {with_dashes(error)}.") from None


def _gains(weights: Sequence[str]) -> tuple[tuple[Item, float], ...]:
    found: dict[Item, float] = {}
    for text in weights:
        name, _, number = text.partition("=")
        try:
            item, weight = WEIGHTS[name.replace("labeled", "labelled")], float(number)
        except (KeyError, ValueError):
            raise click.BadParameter(
                f"{text!r} is none of labelled=W, bracketed=W.", param_hint="--weight"
            ) from None
        found[item] = weight
    return tuple(found.items())


@contextmanager
def combinations_checked() -> Iterator[None]:
    """Turn OptionsError, for options that cannot be combined, into a usage error."""
    try:
        yield
    except OptionsError as error:
        raise click.UsageError(f"{with_dashes(error)}.") from None


# They need charts, which given posteriors replace.
CHART_OPTIONS = (
    *("normalize", "space", "items", "jobs", "scheduler", "write_posteriors"),
    *("engine", "merit", "edges", "until", "beta_threshold", "statistics"),
)


def grammar_option(*names: str, more: str = "", **attributes: Any) -> Any:
    """``-g/--grammar``."""
    what = "A grammar of mbrparse train, or one in NLTK's format." + more
    return option("-g", "--grammar", *names, type=InputFile("GRAMMAR"), help=what, **attributes)


def normalize_option() -> Any:
    """``--normalize``."""
    what = "Divide the probabilities of each left-hand side of the grammar by their sum, and say so."
    return option("--normalize", is_flag=True, help=what)


def tokenize_option() -> Any:
    """``--tokenize``."""
    what = "The input is plain text, a sentence a line: cut it into words as the Penn Treebank does (NLTK)."
    return option("--tokenize", is_flag=True, help=what)


@dataclass(frozen=True)
class InputOptions(LabelOptions):
    """What is parsed with, and how the input is read."""

    grammars: tuple[str, ...] = grammar_option(
        "grammars",
        multiple=True,
        more=" parse and posteriors mix several, max-rule multiplies their posteriors (docs/combining.md).",
    )
    normalize: bool = normalize_option()
    posteriors: tuple[str, ...] = option(
        type=InputFile("FILE.npz"),
        multiple=True,
        help="Instead of a grammar: the posteriors of another model (docs/posteriors.md). Given several "
        "times: the mixture of several models.",
    )
    mix: Any = option(
        type=Text("W,W", numbers),
        help="The weights of several --posteriors or --grammar, which are divided by their sum.  "
        "[default: equal]",
    )
    form: Any = option(
        "--input",
        "form",
        choices=["trees", "tokens"],
        help="The form of INPUT (default: detected from its first character).",
    )
    tokenize: bool = tokenize_option()
    encoding: str = encoding_option()

    @property
    def read_form(self) -> InputForm | None:
        """The form of INPUT, if it was named; UsageError for two."""
        if self.tokenize and self.form:
            raise click.UsageError("--tokenize is for plain text: leave out --input.")
        return "text" if self.tokenize else self.form

    def check(self, *inputs: str, labels: bool = False) -> None:
        """Raise UsageError unless there is either a grammar, or posteriors and no option of charts.

        With ``labels`` options of labels are for something else, too.
        """
        if not self.posteriors:
            self.check_mix(labels)
            if not self.grammars:
                raise click.UsageError("Missing option '-g' / '--grammar' (or '--posteriors').")
            return
        if self.grammars:
            raise click.UsageError("--posteriors takes the place of --grammar: give one of them.")
        refuse_options(CHART_OPTIONS, "--grammar")
        if [*inputs, *self.posteriors].count(STANDARD) > 1:
            raise click.UsageError("INPUT and --posteriors cannot both be standard input.")

    @property
    def grammar(self) -> str | None:
        """The one grammar of commands that take no more; UsageError for several."""
        if len(self.grammars) > 1:
            raise click.UsageError("--grammar is given once here: parse and posteriors take several.")
        return self.grammars[0] if self.grammars else None

    def check_mix(self, labels: bool = False) -> None:
        """Without --posteriors: raise UsageError for weights of a single grammar, and options of labels."""
        refuse_options(() if len(self.grammars) > 1 else ("mix",), "--posteriors or several --grammar")
        refuse_options(() if labels else LABEL_OPTIONS, "--posteriors")

    def read_grammars(self) -> Grammar:
        """The grammar, or several as one."""
        from mbrparse.decode.posteriors.given_posteriors import checked_weights
        from mbrparse.grammar.grammar_files import read_any_grammar

        if self.grammars.count(STANDARD) > 1:
            raise click.UsageError("--grammar cannot be standard input twice.")
        with combinations_checked():
            checked_weights(self.mix, len(self.grammars), "grammars")
        found = [read_any_grammar(path, normalize=self.normalize, log=note) for path in self.grammars]
        if len(found) == 1:
            return found[0]
        from mbrparse.decode.parser.mixed_source import Grammars

        return Grammars(found, self.mix, list(map(source_name, self.grammars)))

    @property
    def files(self) -> list[Named]:
        """What is read, with its options."""
        return [
            *(("--grammar", path) for path in self.grammars),
            *(("--posteriors", path) for path in self.posteriors),
        ]

    def model(self) -> PCFG | GivenPosteriors:
        """The grammar, with its tagger, or the posteriors: what ``score`` scores with."""
        from mbrparse.grammar.grammar_files import read_grammar

        if self.grammar is None:
            return self.given()
        return read_grammar(self.grammar, normalize=self.normalize, log=note)

    def given(self) -> GivenPosteriors:
        """The posteriors, read and mixed."""
        from mbrparse.decode.posteriors.given_posteriors import checked_weights, mix_posteriors

        marks = self.marks()
        with combinations_checked():
            checked_weights(self.mix, len(self.posteriors), "files of posteriors")
        return mix_posteriors([read_given(path, marks) for path in self.posteriors], self.mix, note)


def read_given(path: str, marks: LabelMarks | None = None) -> GivenPosteriors:
    """Read posteriors; note what is ignored, that no span covers a whole sentence, and what cannot be."""
    from mbrparse.decode.posteriors.posteriors_checks import impossible
    from mbrparse.decode.posteriors.posteriors_file import read_posteriors
    from mbrparse.treebank.labels import foreign_note

    given = read_posteriors(path, marks)
    if given.ignored:
        note(f"{given.source}: ignored the arrays {', '.join(map(repr, given.ignored))}")
    if len(given.g) and given.usual_root() is None:
        note(
            f"{given.source}: no span covers a whole sentence, so its root is called X; if 'end' is the last "
            "word itself, write end + 1"
        )
    if given.seems_tagged():
        note(
            f"{given.source}: most words are constituents by themselves; if these entries are tags, say so "
            "in an array 'tag' (docs/posteriors.md)"
        )
    if len(rows := given.repeated()) and given.order is not None and not given.order.above:
        place = f"sentence {given.sentence[rows[0]] + 1}, {given.labels[given.label_ids[rows[0]]]} over "
        place += f"({given.starts[rows[0]]}, {given.ends[rows[0]]})"
        note(f"{given.source}: {len(rows)} labels are listed twice for a span: first {place}")
    if remark := foreign_note(given.phrase_labels()):
        note(f"{given.source}: {remark}")
    for line in impossible(given):
        note(f"{given.source}: {line}: no marginals of trees (docs/posteriors.md)")
    return given


PLACEHOLDER = "{objective}"


def output_paths(output: str, names: Sequence[str]) -> list[str]:
    """Where the trees of each objective are written; a usage error where all would go to one place."""
    if len(names) > 1 and PLACEHOLDER not in output:
        raise click.UsageError(f"With several objectives, --output must hold {PLACEHOLDER}.")
    return [output.replace(PLACEHOLDER, name) for name in names]


@dataclass(frozen=True)
class CandidateOptions:
    """The candidates of each sentence, and the risk that chooses among them."""

    k_best: int | None = count_option(
        metavar="K", help="Candidates: the different trees of the K most probable derivations."
    )
    samples: int | None = count_option(
        metavar="K", help="Candidates: the different trees of K derivations, sampled by their probabilities."
    )
    seed: int | None = count_option(help="Seed of all samples.  [default: 0]", least=0)
    candidates: str | None = option(
        metavar="FILE",
        help="Write the candidates: number of the sentence, log probability and tree, tab-separated.",
    )
    risk: str | None = option(
        type=Text("CRITERION"),
        help="The criterion that minimum-risk maximizes the expectation of, as evaluate names it "
        "(labelled_f), counted on trees as they are written.",
    )

    def check(self, has_samples: bool) -> None:
        """Raise UsageError for options that lack others; ``has_samples``: a DOP grammar draws some."""
        if self.candidates is not None and self.k_best is None and self.samples is None:
            raise click.UsageError("--candidates needs --k-best or --samples.")
        if self.seed is not None and self.samples is None and not has_samples:
            raise click.UsageError(
                "--seed needs --samples, or derivations drawn from a DOP grammar (--sampled-posteriors, "
                "most-probable-tree and the like)."
            )

    def tree_rates(self, debinarize: bool) -> TreeRates | None:
        """The scores of --risk, on trees as they are written; UsageError for an unknown criterion."""
        if self.risk is None:
            return None
        from mbrparse.errors import MbrparseError
        from mbrparse.evaluate.compare.candidates import TreeRates

        try:
            return TreeRates(self.risk, "original" if debinarize else "binarized")
        except MbrparseError as error:
            raise click.BadParameter(f"{with_dashes(error)}.", param_hint="--risk") from None


Result = TypeVar("Result")
_SHARD = re.compile(r"([1-9][0-9]{0,6})/([1-9][0-9]{0,6})")
#: What the settings of a run that is resumed leave out: results do not depend on it.
_NO_SETTINGS = {"jobs", "scheduler", "log", "resume", "strict", "inputs", "trees"}


@dataclass(frozen=True)
class WorkOptions:
    """Who does the work, how much of it, and what is kept on the way."""

    jobs: Any = jobs_option()
    max_seconds: float | None = option(
        type=float,
        metavar="SECONDS",
        help="Fall back on a sentence that takes longer, in a process of its own. The output then depends on "
        "the machine.",
    )
    shard: str | None = option(
        type=Text("I/N"), help="Only the I-th of N parts of the input; their outputs are to be concatenated."
    )
    resume: bool = option(
        is_flag=True,
        help="Continue the outputs of a run that was interrupted (PATH.part), if there are any.",
    )
    log: str | None = option(
        metavar="FILE", help="Add a JSON line a minute: sentences done, a second, seconds left, workers."
    )

    @contextmanager
    def results(
        self,
        make: Callable[[], Worker[Any, Result]],
        items: Iterable[Any],
        done: int,
        count: Callable[[], int] | None,
        title: str,
    ) -> Iterator[tuple[int, Iterator[Result]]]:
        """The number of sentences before those that ``make``'s workers do, and their results.

        ``done`` sentences are in the outputs already, ``count`` counts all of the input.
        """
        from mbrparse.decode.parser.parsing import run

        part = self.part(count)
        part = range(part.start + done, part.stop)
        workers = self.jobs if isinstance(self.jobs, int) else None

        @functools.cache
        def total() -> int | None:
            return None if count is None else max(0, min(count(), part.stop) - part.start)

        with compilation_noted():
            with combinations_checked():
                results = run(make, items, self.jobs, self.max_seconds, part, note)
            yield part.start, with_progress(results, title, total, workers, self.log)

    def part(self, count: Callable[[], int] | None) -> range:
        """The places of this shard's sentences; a usage error where sentences cannot be counted."""
        if self.shard is None:
            return range(sys.maxsize)
        found = _SHARD.fullmatch(self.shard)
        if found is None or int(found[1]) > int(found[2]):
            raise click.UsageError(f"--shard is I/N, the I-th of N from 1/N to N/N, not {self.shard!r}.")
        if count is None:
            raise click.UsageError("--shard counts sentences: it needs files, not standard input.")
        number, parts = int(found[1]), int(found[2])
        total = count()
        end = sys.maxsize if number == parts else total * number // parts
        return range(total * (number - 1) // parts, end)

    @property
    def begins(self) -> bool:
        """Whether the first sentence is among those of this shard."""
        return self.shard is None or self.shard.startswith("1/")

    @contextmanager
    def outputs(
        self, paths: Sequence[str], inputs: Sequence[str], others: Sequence[str] = (), headings: int = 0
    ) -> Iterator[int]:
        """Write these outputs so that --resume can continue them; yields the number of sentences in them.

        ``others`` are options whose outputs cannot be resumed, and were given.
        """
        from mbrparse.settings import resumable_outputs

        why = next(iter(others), None)
        if STANDARD in inputs or not all(Path(path).is_file() for path in inputs):
            why = "an input that is no file"
        if not all(map(is_file, paths)):
            why = "an output that is no file"
        if self.resume and why is not None:
            raise click.UsageError(f"--resume cannot be combined with {why}: it continues files.")
        if why is not None:
            yield 0
            return
        with resumable_outputs(paths, _settings(inputs), self.resume, headings) as done:
            if done:
                note(f"{counted(done, 'sentence')} of an earlier run are kept, and not counted below")
            yield done


def _settings(inputs: Sequence[str]) -> dict[str, Any]:
    """The options of this command, and digests of the files that it reads."""
    from mbrparse.settings import file_digest

    context = click.get_current_context()
    settings: dict[str, Any] = {"command": context.command.name}
    settings["inputs"] = [file_digest(path) for path in inputs]
    for parameter in context.command.params:
        name = str(parameter.name)
        value = context.params.get(name)
        if name in _NO_SETTINGS or value in (None, ()):
            continue
        if isinstance(parameter.type, InputFile):
            paths = [value] if isinstance(value, str) else value
            value = [file_digest(path) for path in paths if Path(path).is_file()]
        elif not isinstance(value, (bool, int, float, str)):
            value = repr(value)
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            settings[name] = value
    return settings
