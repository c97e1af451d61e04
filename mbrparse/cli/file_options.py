"""The options that say what is read and written: grammars, posteriors, trees, and the form of the output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from mbrparse.cli.label_options import LABEL_OPTIONS, LabelOptions
from mbrparse.cli.objective_options import combinations_checked
from mbrparse.cli.option_types import InputFile, Text, numbers
from mbrparse.cli.options import (
    Finite,
    Named,
    encoding_option,
    note,
    option,
    output_option,
    refuse_options,
)
from mbrparse.files import STANDARD, source_name

if TYPE_CHECKING:
    from mbrparse.decode.answers import ParserOptions
    from mbrparse.decode.parser.sentences import InputForm
    from mbrparse.decode.posteriors.given_posteriors import GivenPosteriors
    from mbrparse.decode.posteriors.posteriors_file import PosteriorsWriter
    from mbrparse.grammar.pcfg import PCFG, Grammar
    from mbrparse.treebank.labels import LabelMarks

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
        help="The form of INPUT (default: told by its first character).",
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
        note(f"{given.source}: {len(rows)} labels stand above themselves, being listed twice: first {place}")
    if found := foreign_note(given.phrase_labels()):
        note(f"{given.source}: {found}")
    for line in impossible(given):
        note(f"{given.source}: {line}: no marginals of trees (docs/posteriors.md)")
    return given


PLACEHOLDER = "{objective}"


@dataclass(frozen=True)
class OutputOptions:
    """The form of the trees, and the files that are written."""

    output: str = output_option(
        "Where to write; with several objectives a pattern such as build/{objective}.mrg."
    )
    debinarize: bool = option(is_flag=True, help="Write n-ary trees.")
    fallback: Any = option(
        choices=["right-branching", "flat", "empty"],
        default="right-branching",
        help="What to write for a sentence without a parse.",
    )
    mark_fallback: bool = option(
        is_flag=True, help="Write ^FALLBACK behind the root's label of such a tree; evaluate looks past it."
    )
    strict: bool = option(is_flag=True, help="Exit with code 3 if any sentence fell back.")
    labels: str = option(
        choices=["guessed", "none"],
        default="guessed",
        help="none: the published, unlabelled Bracketed Recall (root: the usual start symbol, other "
        "nodes X).",
    )
    details: str | None = option(
        metavar="FILE", help="Write one JSON line a sentence: status, expected scores."
    )
    write_posteriors: str | None = option(
        metavar="FILE.npz",
        help="Write the posteriors of labelled spans, in the form that --posteriors reads.",
    )
    least: float = option(
        type=Finite(min=0, max=1), default=0.0, help="With --write-posteriors: leave out those below."
    )

    def check(self, resume: bool) -> None:
        """Raise UsageError for --least where no posteriors are written, and for --strict with --resume."""
        if self.write_posteriors is None:
            refuse_options(["least"], "--write-posteriors")
        if self.strict and resume:
            raise click.UsageError("--strict looks at all sentences, of which --resume parses the last.")

    def posteriors_writer(
        self, grammar: Grammar, options: ParserOptions, marks: LabelMarks | None
    ) -> PosteriorsWriter:
        """What collects the posteriors for --write-posteriors; refuses what the file cannot hold."""
        from mbrparse.decode.posteriors.posteriors_file import PosteriorsWriter, chains_of
        from mbrparse.treebank.labels import PLAIN

        if self.write_posteriors == STANDARD:
            raise click.UsageError("--write-posteriors needs a file: standard output is for trees.")
        if options.items == "symbol":
            raise click.UsageError("--write-posteriors needs --items projected: the file holds labels.")
        crossing, chains = options.needs_consistency, chains_of(grammar)
        return PosteriorsWriter(grammar.pcfg.labels, crossing, chains, self.least, marks or PLAIN)


def output_paths(output: str, names: Sequence[str]) -> list[str]:
    """Where the trees of each objective are written; a usage error where all would go to one place."""
    if len(names) > 1 and PLACEHOLDER not in output:
        raise click.UsageError(f"With several objectives, --output must hold {PLACEHOLDER}.")
    return [output.replace(PLACEHOLDER, name) for name in names]
