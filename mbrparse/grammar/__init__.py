"""A PCFG and all that makes one or follows from one alone.

The package can be called, as the function ``grammar_files.grammar``: ``mbrparse.grammar("S -> ...")``.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _Package(ModuleType):
    def __call__(self, source: Any, **how: Any) -> Any:
        """A PCFG of a text of rules, a path, or an ``nltk.PCFG``."""
        from mbrparse.grammar import grammar_files

        return grammar_files.grammar(source, **how)


grammar = sys.modules[__name__]  # which the public name is
grammar.__class__ = _Package
