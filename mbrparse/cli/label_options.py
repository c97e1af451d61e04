"""The options that say how another program writes its labels."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from mbrparse.cli.option_types import Text
from mbrparse.cli.options import option

if TYPE_CHECKING:
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
