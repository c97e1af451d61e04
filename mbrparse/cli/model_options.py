"""What a command parses or scores with: grammars or posteriors, another program's labels, its input."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import click

import mbrparse as mp
from mbrparse.cli import messages, options
from mbrparse.cli.commands import InputFile, Text, numbers, option
from mbrparse.files import source_name
from mbrparse.treebank import labels

if TYPE_CHECKING:
    from mbrparse.decode.parser.sentences import InputForm
    from mbrparse.decode.posteriors.given_posteriors import GivenPosteriors
    from mbrparse.grammar.pcfg import Grammar


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

    def marks(self) -> mp.LabelMarks | None:
        """The marks; None where no option names any."""
        style = labels.PLAIN if self.label_style is None else labels.STYLES[self.label_style]
        marks = mp.LabelMarks(self.joiner, self.continuation, self.null).over(style)
        return None if marks == labels.PLAIN else marks


#: The names of these options.
LABEL_OPTIONS = tuple(field.name for field in fields(LabelOptions))

# They need charts, which given posteriors replace.
_CHART_OPTIONS = (
    *("normalize", "start", "space", "items", "jobs", "scheduler", "write_posteriors"),
    *("engine", "merit", "edges", "until", "beta_threshold", "statistics"),
)


def grammar_option(more: str = "", **attributes: Any) -> Any:
    """``-g/--grammar``."""
    what = "A grammar of mbrparse train, or one in NLTK's format." + more
    return option("-g", "--grammar", type=InputFile("GRAMMAR"), help=what, **attributes)


def normalize_option() -> Any:
    """``--normalize``."""
    what = "Divide the probabilities of each left-hand side of the grammar by their sum, and say so."
    return option(is_flag=True, help=what)


def start_option() -> Any:
    """``--start``."""
    return option(type=Text("SYMBOL"), help="The symbol that trees start with, instead of the grammar's own.")


def tokenize_option() -> Any:
    """``--tokenize``."""
    what = "The input is plain text, a sentence a line: cut it into words as the Penn Treebank does (NLTK)."
    return option(is_flag=True, help=what)


@dataclass(frozen=True)
class InputOptions(LabelOptions):
    """What is parsed with, and how the input is read."""

    grammars: tuple[str, ...] = grammar_option(
        " parse and posteriors mix several, max-rule multiplies their posteriors (docs/combining.md).",
        multiple=True,
    )
    normalize: bool = normalize_option()
    start: str | None = start_option()
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
        choices=["trees", "tokens"],
        help="The form of INPUT (default: detected from its first character).",
    )
    tokenize: bool = tokenize_option()
    tagged: bool = option(
        is_flag=True, help="The input is tagged text, word/TAG or word_TAG, a sentence a line."
    )
    encoding: str = options.encoding()

    @property
    def read_form(self) -> InputForm | None:
        """The form of INPUT, if it was named; UsageError for two."""
        if self.tokenize and self.form:
            raise click.UsageError("--tokenize is for plain text: leave out --input.")
        if self.tagged and (self.tokenize or self.form):
            raise click.UsageError("--tagged says what the input is: leave out --input and --tokenize.")
        return "text" if self.tokenize else "tagged" if self.tagged else self.form

    @property
    def grammar(self) -> str | None:
        """The one grammar of commands that take no more; UsageError for several."""
        if len(self.grammars) > 1:
            raise click.UsageError("--grammar is given once here: parse and posteriors take several.")
        return self.grammars[0] if self.grammars else None

    @property
    def files(self) -> options.Paths:
        """What is read, by option."""
        return {"--grammar": self.grammars, "--posteriors": self.posteriors}

    def check(self, foreign: bool = False) -> None:
        """Raise UsageError unless there is either a grammar, or posteriors and no option of charts.

        With ``foreign`` options of labels are for something else, too.
        """
        if self.grammars and self.posteriors:
            raise click.UsageError("--posteriors takes the place of --grammar: give one of them.")
        if self.posteriors:
            options.refuse(_CHART_OPTIONS, "--grammar")
            return
        options.refuse(() if len(self.grammars) > 1 else ["mix"], "--posteriors or several --grammar")
        options.refuse(() if foreign else LABEL_OPTIONS, "--posteriors")
        if not self.grammars:
            raise click.UsageError("Missing option '-g' / '--grammar' (or '--posteriors').")

    def read_grammars(self) -> Grammar:
        """The grammar, or several as one."""
        from mbrparse.grammar.grammar_files import read_any_grammar

        how: dict[str, Any] = {"normalize": self.normalize, "start": self.start, "log": messages.note}
        read = [read_any_grammar(path, **how) for path in self.grammars]
        if len(read) == 1:
            return read[0]
        return mp.Grammars(read, self.mix, list(map(source_name, self.grammars)))

    def model(self) -> mp.PCFG | GivenPosteriors:
        """The grammar, with its tagger, or the posteriors: what ``score`` scores with."""
        if self.grammar is None:
            return self.given()
        return mp.read_grammar(self.grammar, normalize=self.normalize, start=self.start, log=messages.note)

    def given(self) -> GivenPosteriors:
        """The posteriors, read and mixed."""
        return mp.mix_posteriors([mp.read_posteriors(one, self.marks()) for one in self.posteriors], self.mix)
