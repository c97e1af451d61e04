"""The parameters that parsers of the Wall Street Journal are compared by, and parameter files of our own.

Source: COLLINS.prm, which comes with EVALB (Sekine and Collins, public domain).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from mbrparse.evaluate.evalb.parameters import EvalbParameters
from mbrparse.files import open_output

COLLINS = EvalbParameters(
    name="COLLINS.prm",
    deleted=frozenset({"TOP", "-NONE-", ",", ":", "``", "''", "."}),
    deleted_for_length=frozenset({"-NONE-"}),
    equal_labels=frozenset({("ADVP", "PRT"), ("PRT", "ADVP")}),
)

#: EVALB ends at the eleventh error; a table must not depend on how many there are.
NEVER = 1_000_000


def write_collins(path: str | Path) -> EvalbParameters:
    """Write COLLINS.prm, but for the number of errors at which EVALB gives up; return what it says."""
    parameters = replace(COLLINS, max_error=NEVER, name=Path(path).name)
    with open_output(path) as stream:
        stream.write("# EVALB's COLLINS.prm, without its end at the 11th error\n")
        for key, number in (("MAX_ERROR", NEVER), ("CUTOFF_LEN", parameters.cutoff), ("LABELED", 1)):
            stream.write(f"{key} {number}\n")
        for key, labels in (
            ("DELETE_LABEL", parameters.deleted),
            ("DELETE_LABEL_FOR_LENGTH", parameters.deleted_for_length),
        ):
            stream.writelines(f"{key} {label}\n" for label in sorted(labels))
        for one, other in sorted(parameters.equal_labels):
            if one < other:
                stream.write(f"EQ_LABEL {one} {other}\n")
    return parameters
