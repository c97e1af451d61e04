"""Several grammars of a sentence, and mixed posteriors, beside the means over what is true of each."""

from __future__ import annotations

import tempfile
import warnings
from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import naive
import naive_objectives
import numpy as np
from cases import Models, Several
from conversion import posteriors_of, to_pcfg, write_posteriors
from naive import LabelledSpan

from comparisons.objectives import Objectives
from comparisons.truth import Comparison, Truth
from mbrparse.decode.derivations.forest_decoder import FLOOR
from mbrparse.decode.derivations.items import item_nodes
from mbrparse.decode.parser.mixed_source import Grammars
from mbrparse.decode.parser.parser import Parse, Parser
from mbrparse.decode.posteriors.given_posteriors import mix_posteriors
from mbrparse.decode.posteriors.posteriors_file import read_posteriors
from mbrparse.decode.trees import Decoded


class MeanTruth:
    """What is true of a sentence under grammars that have shares."""

    def __init__(self, shares: Sequence[float], members: Sequence[Truth]) -> None:
        self.shares, self.members = shares, members

    def _mean(self, name: str) -> dict[Any, float]:
        found: dict[Any, float] = defaultdict(float)
        for share, member in zip(self.shares, self.members, strict=True):
            for key, value in getattr(member, name).items():
                found[key] += share * float(value)
        return found
