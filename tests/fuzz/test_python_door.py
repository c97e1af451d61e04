"""Wrong types and odd values for every argument of every public name: an MbrparseError, or a result."""

import inspect
import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mbrparse as mp

DOOR: Any = mp  # what a type checker would refuse
TREES = [mp.read_tree("(S (NP DT NN) VB)"), mp.read_tree("(S DT (S_Cont NN VB))")]
GRAMMAR = mp.train(TREES)
SYSTEMS = {"a": TREES, "b": TREES}
MARGINALS = [np.triu(np.full((3, 3), 0.5))[..., None]]
POSTERIORS = mp.posteriors(MARGINALS, [3], ["S"], ends="inclusive")
#: Arguments that fit, of what takes some: one of them is replaced, or another is named.
CALLS: dict[str, tuple[Any, ...]] = {
    "BestFirst": ("beta",),
    "Binarization": (),
    "CorpusReading": (),
    "Grammars": ([GRAMMAR, GRAMMAR],),
    "LabelMarks": (),
    "Objective": ("x", mp.Space.FREE, ((mp.Item.SPAN, 1.0),)),
    "Parser": (GRAMMAR, "labelled-recall"),
    "TreeRates": ("labelled_f",),
    "Until": ("mass", 0.5),
    "baseline_trees": (TREES, "random"),
    "binarize": ("(S a b c)",),
    "combine": (SYSTEMS, "labelled-f"),
    "calibration": (TREES, mp.Parser(GRAMMAR, "labelled-f").parse(TREES)),
    "chart": (GRAMMAR, "DT NN VB"),
    "compare": (TREES, SYSTEMS),
    "debinarize": ("(S a b)",),
    "entropy": (GRAMMAR, 2),
    "explain": (GRAMMAR, "DT NN VB", "labelled-tree"),
    "grammar": ("S -> 'a' [1.0]",),
    "masked_words": (GRAMMAR, "DT NN VB"),
    "mix_posteriors": ([POSTERIORS, POSTERIORS],),
    "objective": ("labelled-f",),
    "next_words": (GRAMMAR, "DT NN VB"),
    "posteriors": (MARGINALS, [3], ["S"], "inclusive"),
    "read_any_grammar": ("none",),
    "read_grammar": ("none",),
    "read_parses": ("none",),
    "read_posteriors": ("none",),
    "read_statistics": ("none",),
    "read_tree": ("(S a b)",),
    "read_trees": ("none",),
    "report": (TREES, SYSTEMS, "page.html"),
    "rerank": ([[(-1.0, TREES[0]), (-2.0, TREES[1])]], GRAMMAR),
    "sample": (GRAMMAR, 2),
    "score": (GRAMMAR, TREES),
    "span_marginals": (np.zeros((1, 3, 3, 2)), [2]),
    "span_scores": (np.zeros((1, 3, 3, 1)), [3], ["S"]),
    "split": (TREES, 1),
    "surprisal": (GRAMMAR, "DT NN VB"),
    "analyses": (GRAMMAR, "DT NN VB"),
    "explain_incremental": (GRAMMAR, "DT NN VB"),
    "tokenize": ("a b.",),
    "train": (TREES,),
    "treebank_statistics": (TREES,),
    "write_grammar": (GRAMMAR, "out"),
}
#: Arguments that stand behind ** in the signature.
SETTINGS = {
    "Parser": "k_best samples seed prune fallback max_length risk max_error",
    "train": "init iterations nonterminals merge weights",
    "report": "form seed resamples profile evalb criteria",
}
NOT_CALLED = {
    "Item": "a table",
    "Space": "a table",
    "MbrparseError": "raised",
    "MbrparseWarning": "warned",
    "PCFG": "arrays, which read_grammar, grammar and train make",
    "Posteriors": "functions, which Parser and read_posteriors make",
    "Tree": "a node for each of millions: its children are those that are given",
}
NUMBERS = st.sampled_from([0, -1, 1, 10**20, -(2**63), 2.5, math.nan, math.inf, -0.0, 1e308, True])
TEXTS = st.sampled_from(["", "x", "(S a b)", "(", "g.txt", "labelled-f", "\0", "\u202e", b"x", Path("none")])
THINGS = st.sampled_from(
    [None, object(), len, GRAMMAR, TREES, TREES[0], POSTERIORS, np.zeros(3), np.array(["a"])]
)
ODD = st.recursive(
    NUMBERS | TEXTS | THINGS,
    lambda one: st.lists(one, max_size=2) | st.tuples(one, one) | st.fixed_dictionaries({"a": one}),
    max_leaves=4,
)


def names_of(name: str) -> list[str]:
    """The arguments that may be named, and are not given."""
    parameters = [*inspect.signature(getattr(mp, name)).parameters.values()][len(CALLS[name]) :]
    found = [one.name for one in parameters if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
    return [*found, *SETTINGS.get(name, "").split()]


def consumed(found: Any) -> None:
    if isinstance(found, Iterator):
        list(found)


def test_every_public_name_is_called() -> None:
    public = {name for name in DOOR.__all__ if callable(getattr(mp, name))}
    assert public == CALLS.keys() | NOT_CALLED.keys()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
@given(data=st.data())
def test_odd_arguments_are_refused_or_mean_something(name: str, data: st.DataObject) -> None:
    function: Callable[..., Any] = getattr(mp, name)
    arguments, named = [*CALLS[name]], dict[str, Any]()
    place = data.draw(st.sampled_from([*range(len(arguments)), *names_of(name)]))
    odd = data.draw(ODD)
    if isinstance(place, int):
        arguments[place] = odd
    else:
        named[place] = odd
    with suppress(mp.MbrparseError):
        consumed(function(*arguments, **named))


@pytest.fixture(autouse=True)
def files(folder: Path) -> None:
    """In an empty folder."""


GIVEN = [
    (lambda: DOOR.surprisal("g.txt", "DT NN"), "g.txt: no such file"),
    (lambda: mp.surprisal(GRAMMAR, [["DT", ("dog", "NN")]]), "label and word are text"),
    (lambda: mp.Parser(GRAMMAR).parse([[("dog", "NN")]]), "label and word are text"),
    (lambda: mp.Parser(GRAMMAR, k_best=10**20), "ParserOptions: `k_best` has more than 64 bits"),
    (lambda: mp.Parser(GRAMMAR, seed=-1), "seed"),
    (
        lambda: DOOR.posteriors([np.zeros((2, 2))], [2], None),
        "posteriors: `labels` is Sequence[str], not None",
    ),
    (
        lambda: DOOR.posteriors([np.zeros((2, 2))], [2], "ab"),
        "posteriors: `labels` is Sequence[str], not 'ab'",
    ),
    (lambda: list(mp.baseline_trees(TREES, "random", -1)), "`seed` is zero or more"),
    (lambda: mp.Until("mass"), "a mass is above 0 and below 1"),
]


@pytest.mark.parametrize(("call", "message"), GIVEN)
def test_what_is_wrong_is_said(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(mp.MbrparseError) as error:
        call()
    assert message in str(error.value)
