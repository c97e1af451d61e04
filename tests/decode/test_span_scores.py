"""Scores of spans: the best tree by listing all, posteriors of the same scores, defaults of n-ary trees."""

import math
from pathlib import Path
from typing import Any

import naive_span_trees as naive
import numpy as np
import pytest
from commandline import Command
from conversion import write_posteriors
from hypothesis import given
from hypothesis import strategies as st

import mbrparse as mp

NAMES = ["b", "a", "c"]


def known_of(scores: Any, length: int, labels: int) -> naive.Scores:
    return {
        (start, end, label): float(scores[start, end, label])
        for start in range(length)
        for end in range(start + 1, length + 1)
        for label in range(labels)
    }


@pytest.mark.filterwarnings("ignore::mbrparse.MbrparseWarning")
@given(data=st.data())
def test_the_best_tree_is_that_of_all_trees(data: st.DataObject) -> None:
    """Binary and n-ary, with labels that are forbidden, and posteriors of the same scores."""
    labels = data.draw(st.integers(1, 3))
    lengths = data.draw(st.lists(st.integers(1, 5 if labels < 3 else 3), min_size=1, max_size=4))
    null = data.draw(st.one_of(st.none(), st.integers(0, labels - 1))) if labels > 1 else None
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    scores = rng.normal(0, data.draw(st.sampled_from([0.5, 3.0])), (len(lengths), 5, 6, labels))
    if data.draw(st.booleans()):
        forbidden = rng.random(scores.shape) < 0.2
        forbidden[..., 0 if null is None else null] = False
        if null is not None:  # the whole sentence has a label
            forbidden[:, 0, :, (null + 1) % labels] = False
        scores[forbidden] = -np.inf
    model = mp.span_scores(scores, lengths, NAMES[:labels], null=null, threshold=0)
    sentences = [["w"] * length for length in lengths]
    parses = mp.Parser(model, "viterbi").parse(sentences)
    for place, (length, parse) in enumerate(zip(lengths, parses, strict=True)):
        logs = naive.weighed(known_of(scores[place], length, labels), length, labels, null)
        best, tree = max(logs, key=lambda one: one[0])
        assert sorted((*span, NAMES[label]) for *span, label in tree) == sorted(parse.spans[0])
        total = best + math.log(math.fsum(math.exp(log - best) for log, _ in logs))
        assert parse.decoded[0] is not None
        assert parse.decoded[0].log_prob == pytest.approx(best - total, abs=1e-9)
        assert parse.expected_scores["labelled-tree"] == pytest.approx(math.exp(best - total))
    marginals = mp.span_marginals(scores, lengths, null=null)
    expected = mp.posteriors(marginals, lengths, NAMES[:labels], null=null, threshold=0)
    for one, other in zip(model, expected, strict=True):
        assert one.frame.equals(other.frame)


def test_ties_and_impossible_scores() -> None:
    """Of equal labels the first in text order, of equal trees the one that splits first."""
    flat = mp.span_scores(np.zeros((1, 3, 4, 2)), [3], ["b", "a"])
    assert str(mp.Parser(flat, "viterbi").parse(["x y z"])[0].tree) == "(a (a (x x)) (a (a (y y)) (a (z z))))"
    nary = mp.span_scores(np.zeros((1, 3, 4, 3)), [3], ["b", "a", "NULL"], null="NULL")
    assert str(mp.Parser(nary, "viterbi").parse(["x y z"])[0].tree) == "(a x y z)"
    with pytest.raises(mp.MbrparseError, match="-inf forbids all trees of a sentence of 3 words"):
        mp.span_scores(np.full((1, 3, 4, 1), -np.inf), [3], ["a"])


def test_tags_are_preterminals_and_chains_are_expanded() -> None:
    scores = np.zeros((1, 2, 3, 4))
    scores[..., 2] = -np.inf
    scores[0, 0, 2, 1] = scores[0, 0, 1, 2] = scores[0, 1, 2, 3] = 99
    model = mp.span_scores(scores, [2], ["NULL", "S::VP", "VB", "NP"], null=0, tags=["VB"], marks="supar")
    parser = mp.Parser(model, "viterbi", "labelled-f")
    assert [str(tree) for tree in parser.parse(["go home"])[0].trees] == [
        "(S (VP (VB go) (NP (home home))))"
    ] * 2


def test_objectives_that_posteriors_serve_are_listed() -> None:
    given = np.zeros((1, 2, 3, 1))
    given[0, 0, 2] = 1
    served = "labelled-recall, bracketed-recall, general-recall, labelled-f, bracketed-f"
    model = mp.posteriors(given, [2], ["S"])
    for name, says in (
        (
            "viterbi",
            r"needs a PCFG or a DOP grammar, or in Python scores of spans \(mp.span_scores\), not given",
        ),
        ("max-rule-sum", "needs a PCFG or several grammars, not given posteriors"),
        ("labeled", "there is no objective 'labeled'"),
    ):
        with pytest.raises(mp.MbrparseError, match=f"{says}.*; .* {served}$"):
            mp.Parser(model, name)
    with pytest.raises(mp.MbrparseError, match=r"is one of labelled-tree, labelled-recall, .*, bracketed-f$"):
        mp.Parser(mp.span_scores(given, [2], ["S"]), "labeled")


def test_viterbi_is_a_name_wherever_one_is() -> None:
    grammar = mp.grammar("S -> 'a' 'b' [1.0]")
    parses = mp.Parser(grammar, "labelled-recall", "viterbi").parse(["a b"])
    assert parses.trees("viterbi") == parses.trees("labelled-tree")
    assert mp.objective("viterbi") is mp.OBJECTIVES["labelled-tree"]


@pytest.mark.parametrize(
    ("settings", "nary"),
    [({"null": "NULL"}, True), ({}, False), ({"over": 1}, True), ({"over": 1, "tags": ["NP"]}, False)],
)
def test_the_default_of_nary_trees_is_an_nary_objective(settings: dict[str, Any], nary: bool) -> None:
    """A null label, or constituents over one word; tags are none."""
    values = np.zeros((1, 3, 4, 3))
    values[0, 0, 3, 1] = 1
    values[0, 0, 1, 2] = settings.pop("over", 0)
    model = mp.posteriors(values, [3], ["NULL", "S", "NP"], **settings)
    [objective] = mp.Parser(model).options.objectives
    assert objective.name == ("labelled-f" if nary else "labelled-recall")
    continued = mp.posteriors(values, [3], ["NULL", "S", "NP_Cont"], **settings)
    assert mp.Parser(continued).options.objectives[0].name == (
        "labelled-recall" if settings != {"null": "NULL"} else "labelled-f"
    )


def test_objectives_by_name() -> None:
    row = mp.objective("labelled-recall", "nary", 0.25)
    assert (row.space, row.node_constant) == (mp.Space.NARY, -0.25)
    assert row == mp.OBJECTIVES["labelled-recall"].for_unaries()
    assert mp.objective("labelled-f", exact=True).f_score == "exact"
    both = mp.objective("general-recall", node_cost=0.5, weights={"labelled": 1, "bracketed": 2})
    assert both.gains == ((mp.Item.LABELLED_SPAN, 1), (mp.Item.SPAN, 2))
    assert mp.objective("labeled-recall", unaries=True).space is mp.Space.NARY
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"name": "labelled-f", "node_cost": 1.0}, "does not add up posteriors"),
        ({"name": "labelled-f", "weights": {"labelled": 1}}, "`weights` are those of general-recall"),
        ({"name": "general-recall", "weights": {"label": 1}}, "labelled and bracketed"),
        ({"name": "labelled-recall", "space": "flat"}, "`space` is one of free, nary, grammar"),
        ({"name": "f1"}, "there is no objective 'f1'; it is one of labelled-tree"),
    ]
    for arguments, message in wrong:
        with pytest.raises(mp.MbrparseError, match=message):
            mp.objective(**arguments)


WORDS = [["she", "saw", "stars"], ["old", "dogs"], ["dogs", "bark"]]


def model_of(sentences: Any) -> Any:
    scores = np.random.default_rng(0).normal(0, 2, (3, 3, 4, 3))
    return mp.span_scores(scores, sentences, ["NULL", "S", "NP"], null=0)


def test_sentences_are_selected_shuffled_and_iterated() -> None:
    model = model_of(WORDS)
    assert repr(model) == f"<posteriors of 3 sentences: {len(model.g)} entries of 2 labels>"
    assert [one.length for one in model] == [3, 2, 2]
    parser = mp.Parser(model, "viterbi", "labelled-f")
    whole = [parse.trees for parse in parser.parse(WORDS)]
    for index in (slice(1, 3), slice(None, None, -1), [2, 0], np.array([1]), [0, 0, 1]):
        places = np.arange(3)[index].tolist()
        chosen = model[index]
        assert [one.frame.equals(model[place].frame) for one, place in zip(chosen, places, strict=True)]
        found = mp.Parser(chosen, "viterbi", "labelled-f").parse([WORDS[place] for place in places])
        assert [parse.trees for parse in found] == [whole[place] for place in places]
    with pytest.raises(IndexError):
        model[3]


def test_other_sentences_are_refused() -> None:
    for sentences in (WORDS, [" ".join(words) for words in WORDS], [f"(S {' '.join(one)})" for one in WORDS]):
        parser = mp.Parser(model_of(sentences))
        assert len(parser.parse(WORDS)) == 3
        for others, message in (
            ([WORDS[0], WORDS[2], WORDS[1]], "sentence 2 has the word 'old' here, but 'dogs' in <sentences>"),
            (WORDS[:2], "there are 3 sentences here, but <sentences> ends after sentence 2"),
            ([*WORDS, ["x"]], "there are 3 sentences here, but <sentences> goes on with sentence 4"),
            (WORDS[::-1], "sentence 1 has 3 words here, but 2 in <sentences>"),
        ):
            with pytest.raises(mp.MbrparseError, match=message):
                parser.parse(others)
    assert len(mp.Parser(model_of([3, 2, 2])).parse([WORDS[0], WORDS[2], WORDS[1]])) == 3


def test_results_of_parsers_are_compared_by_name() -> None:
    """Alone, of one objective and of several, beside trees, and as runs."""
    model = model_of(WORDS)
    both = mp.Parser(model, "labelled-f", "viterbi").parse(WORDS)
    one, gold = mp.Parser(model, "viterbi").parse(WORDS), [f"(S {' '.join(words)})" for words in WORDS]
    trees = {"labelled-f": both.trees("labelled-f"), "labelled-tree": both.trees("viterbi")}
    found = mp.compare(gold, {"a": both, "b": one, "c": trees["labelled-f"]}, form="original", resamples=0)
    assert found.frame.index.tolist() == ["a/labelled-f", "a/labelled-tree", "b", "c"]
    plain = mp.compare(gold, trees, form="original", resamples=0).frame
    rows = {"a/labelled-f": "labelled-f", "a/labelled-tree": "labelled-tree", "b": "labelled-tree"}
    for name, other in (rows | {"c": "labelled-f"}).items():
        assert found.frame.loc[name].to_dict() == plain.loc[other].to_dict()
    assert "fell_back" not in found.frame
    known = mp.compare(gold, {"a": both, "b": one}, form="original", resamples=0).frame
    assert known["fell_back"].tolist() == [0, 0, 0]
    runs = mp.compare(gold, {}, runs={"crf": [both, both]}, form="original", resamples=0).frames["means"]
    assert runs[["name", "runs"]].values.tolist() == [["crf/labelled-f", 2], ["crf/labelled-tree", 2]]
    listed = {name: [each, each] for name, each in trees.items()}
    alone = mp.compare(gold, {}, runs=listed, form="original", resamples=0).frames["means"]
    assert runs.drop(columns="name").equals(alone.drop(columns="name"))


def test_the_default_of_the_command_is_that_of_the_posteriors(tmp_path: Path, command: Command) -> None:
    rows = [(0, 0, 3, "S", 1.0), (0, 0, 2, "NP", 0.25), (0, 0, 3, "NULL", 0.0), (0, 1, 3, "NULL", 0.75)]
    path = write_posteriors(tmp_path / "p.npz", [3], rows)
    for options, name in (("--null NULL", "labelled-f"), ("", "labelled-recall")):
        given = f"parse --posteriors {path} {options}"
        done = command(f"{given} -o {tmp_path}/{{objective}}.mrg", stdin="a b c\n")
        assert done.code == 0
        [written] = tmp_path.glob("*.mrg")
        assert written.name == f"{name}.mrg"
        assert written.read_text() == command(f"{given} --objective {name}", stdin="a b c\n").output
        written.unlink()
