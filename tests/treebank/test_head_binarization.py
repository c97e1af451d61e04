"""Linearizing around heads, with all that labels then name; and back, whatever the labels."""

from dataclasses import replace
from itertools import cycle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tree_strategies import is_binary, labels, trees

from mbrparse.treebank.binarize import Binarization, HeadDriven, binarize, debinarize
from mbrparse.treebank.brackets import read_tree
from mbrparse.treebank.clean import UnaryPolicy, categories, clean, simplify, without_traces
from mbrparse.treebank.corpora.prepare import Preparation, PreparationStatistics, prepare
from mbrparse.treebank.corpora.reading import SourceTree
from mbrparse.treebank.heads import HeadRule, HeadRules, choose_heads, head_rules
from mbrparse.treebank.labels import frame, parse_label, project, unescape
from mbrparse.treebank.tree import Tree

COLLINS = head_rules("collins")
PLAIN = Binarization(heads=HeadDriven(COLLINS))
SIMAAN = Binarization(vmarkov=2, heads=HeadDriven(COLLINS, tags=True, frames=True))
"""The parser M_H of Sima'an (2003)."""


def prepared(tree: Tree, how: Preparation) -> Tree | None:
    found = list(prepare([SourceTree("", 1, tree)], how, PreparationStatistics()))
    return found[0].tree if found else None


def binarized(text: str, how: Binarization, unary: UnaryPolicy = "top") -> str:
    return str(prepared(read_tree(text), Preparation(unary, binarization=how)))


@pytest.mark.parametrize(
    ("children", "expected"),
    [
        ("H", "(X H)"),
        ("H r", "(X H r)"),
        ("l H", "(X l H)"),
        ("l H r", "(X l (X_Cont H r))"),
        ("H r s", "(X (X_Cont H r) s)"),
        ("l m H", "(X l (X_Cont m H))"),
        ("l m H r s", "(X l (X_Cont m (X_Cont (X_Cont H r) s)))"),
        ("H r s t", "(X (X_Cont (X_Cont H r) s) t)"),
        ("l m n H", "(X l (X_Cont m (X_Cont n H)))"),
    ],
)
def test_left_siblings_then_right_siblings_from_the_outside_in(children: str, expected: str) -> None:
    rules = HeadRules({"X": (HeadRule("left", ("H",)),)})
    tree = Tree("X", [Tree(child) for child in children.split()])
    result = binarize(tree, Binarization(heads=HeadDriven(rules)))
    assert result == (tree if len(tree.children) < 3 else read_tree(expected))


SENTENCE = """( (S (NP-SBJ (PRP he)) (ADVP-TMP (RB now)) (VP (VBZ gives) (NP (DT the) (JJ old) (NN dog))
    (NP (DT a) (NN bone)) (PP-LOC (IN in) (NP (NNS gardens))) (NP-TMP (NN today))) (. .)) )"""


def test_head_driven() -> None:
    assert binarized(SENTENCE, PLAIN) == (
        "(S (PRP he) (S_Cont (RB now) (S_Cont (VP (VP_Cont (VP_Cont (VP_Cont (VBZ gives) "
        "(NP (DT the) (NP_Cont (JJ old) (NN dog)))) (NP (DT a) (NN bone))) "
        "(PP (IN in) (NNS gardens))) (NN today)) (. .))))"
    )


def test_parent_head_tag_and_frames() -> None:
    """The subject is a preterminal once cleaned, and an NP in the frame."""
    assert binarized(SENTENCE, SIMAAN) == (
        "(S@VBZ (PRP he) (S_Cont@VBZ&& (RB now) (S_Cont@VBZ&& "
        "(VP^S@VBZ (VP_Cont^S@VBZ&&NP+NP (VP_Cont^S@VBZ&&NP+NP (VP_Cont^S@VBZ&&NP (VBZ gives) "
        "(NP^VP@NN (DT the) (NP_Cont^VP@NN&& (JJ old) (NN dog)))) (NP^VP@NN (DT a) (NN bone))) "
        "(PP^VP@IN (IN in) (NNS gardens))) (NN today)) (. .))))"
    )


def test_frames_of_the_left() -> None:
    text = "(S (ADVP a b) (SBAR c d) (NP e f) (VP g h))"
    how = Binarization(heads=HeadDriven(COLLINS, frames=True))
    assert binarized(text, how) == (
        "(S (ADVP a b) (S_Cont&NP+SBAR& (SBAR c d) (S_Cont&NP& (NP e f) (VP g h))))"
    )


@pytest.mark.parametrize(
    ("unary", "expected"),
    [
        ("top", "(SBAR@VBZ (PRP he) (SBAR_Cont@VBZ&& (VBZ is) (JJ old)))"),
        ("bottom", "(S@VBZ (PRP he) (S_Cont@VBZ&& (VBZ is) (JJ old)))"),
        ("join", "(SBAR+S@VBZ (PRP he) (SBAR+S_Cont@VBZ&& (VBZ is) (JJ old)))"),
        ("keep", "(SBAR@VBZ (S@VBZ (NP@PRP (PRP he)) (S_Cont@VBZ&& (VP@VBZ (VBZ is)) (ADJP@JJ (JJ old)))))"),
    ],
)
def test_a_collapsed_constituent_has_the_head_that_it_had(unary: UnaryPolicy, expected: str) -> None:
    """S looks for a VP; SBAR would take the first child, as would S when cleaning has been over it."""
    text = "(SBAR (-NONE- 0) (S (NP-SBJ (PRP he)) (VP (VBZ is)) (ADJP (JJ old))))"
    how = Binarization(heads=HeadDriven(COLLINS, tags=True, frames=True))
    assert binarized(text, how, unary) == expected


def test_what_is_named_is_escaped() -> None:
    rules = HeadRules({"S": (HeadRule("left", ("V@P&",)),)})
    tree = Tree("S", [Tree("V@P&", word="v"), Tree("a"), Tree("S^", [Tree("x+", word="x"), Tree("b")])])
    how = Binarization(vmarkov=2, heads=HeadDriven(rules, tags=True, frames=True))
    choice = replace(choose_heads(tree, rules)[0], complements=(None, "N+P", "S&"))
    other = choose_heads(tree, rules)[1]
    assert str(binarize(tree, how, [choice, other])) == (
        "(S@V%40P%26 (S_Cont@V%40P%26&&N%2BP (V@P& v) a) (S%5E^S@x%2B (x+ x) b))"
    )


def test_choices_must_be_the_trees() -> None:
    with pytest.raises(ValueError, match="argument 2 is"):
        binarize(read_tree("(S a b)"), PLAIN, [])


@pytest.mark.parametrize(("direction", "hmarkov"), [("left", 0), ("right", 1)])
def test_no_direction_and_no_siblings_around_heads(direction: str, hmarkov: int) -> None:
    with pytest.raises(ValueError, match="no meaning around heads"):
        Binarization(direction, hmarkov, heads=PLAIN.heads)  # type: ignore[arg-type]


TABLES = [
    COLLINS,
    HeadRules({}),
    HeadRules({"": (HeadRule("right", ("", "X_CONT"), any_of=True),), "S": (HeadRule("right", (">",)),)}),
]
ordinary = st.sampled_from(["S", "VP", "NP-SBJ", "NP-TMP", "NP", "SBAR", "PP", "S-ADV=1", "TOP"])
binarizations = st.builds(
    Binarization,
    vmarkov=st.integers(1, 3),
    heads=st.builds(HeadDriven, st.sampled_from(TABLES), st.booleans(), st.booleans()),
)
unaries = st.sampled_from(["top", "bottom", "join", "join-tags", "keep"])
functions = st.sampled_from(["strip", "keep"])


@given(trees(ordinary | labels), unaries, functions, binarizations)
def test_debinarize_inverts(tree: Tree, unary: UnaryPolicy, function: str, how: Binarization) -> None:
    cleaned = clean(tree, unary, function)
    result = prepared(tree, Preparation(unary, function, how))
    if cleaned is None or cleaned.is_leaf or (unary == "join-tags" and len(cleaned.leaves()) == 1):
        assert result is None
        return
    assert result is not None
    assert debinarize(result) == cleaned
    assert unary in {"join-tags", "keep"} or is_binary(result)
    if unary not in {"join", "join-tags"}:
        # On a cleaned tree, too, whatever the choices then are.
        assert debinarize(binarize(cleaned, replace(how, chains="keep"))) == cleaned


@given(trees(ordinary | labels), unaries, functions, binarizations)
def test_annotations_are_projected_away(
    tree: Tree, unary: UnaryPolicy, function: str, how: Binarization
) -> None:
    assert how.heads is not None
    bare = Binarization(heads=HeadDriven(how.heads.rules))
    annotated, plain = (prepared(tree, Preparation(unary, function, each)) for each in (how, bare))
    assert (annotated is None) == (plain is None)
    if annotated is not None and plain is not None:
        projected = annotated.fold(lambda leaf: leaf, lambda node, below: Tree(project(node.label), below))
        assert projected == plain


@given(trees(ordinary | labels), binarizations)
def test_annotations_can_be_read(tree: Tree, how: Binarization) -> None:
    """Marks come in their order, and the head tag is that of a word below."""
    assert how.heads is not None
    marks = "^" * (how.vmarkov - 1) + "@" * how.heads.tags
    result = prepared(tree, Preparation(binarization=how))
    for node in [] if result is None else result.preorder():
        if node.is_leaf:
            continue
        symbol = parse_label(node.label)
        found = "".join(annotation[0] for annotation in symbol.annotations)
        framed = "&&" if symbol.continuation and how.heads.frames else ""
        assert found.lstrip("^") == marks.lstrip("^") + framed
        if how.heads.tags:
            (tag,) = (text[1:] for text in symbol.annotations if text[0] == "@")
            assert unescape(tag) in node.tags()


@given(st.lists(st.none() | labels), st.lists(labels))
def test_frames_are_multisets(left: list[str | None], right: list[str]) -> None:
    text = "X_Cont" + frame(tuple(left)) + frame(tuple(right))
    annotations = parse_label(text).annotations
    assert len(annotations) == 2
    frames: list[list[str | None]] = [left, [*right]]
    for annotation, complements in zip(annotations, frames, strict=True):
        items = annotation[1:].split("+") if annotation != "&" else []
        assert sorted(map(unescape, items)) == sorted(label for label in complements if label is not None)
    assert frame(tuple(left)) == frame(tuple(reversed(left)))


@pytest.mark.parametrize("unary", ["top", "join", "keep"])
def test_any_depth(unary: UnaryPolicy) -> None:
    tree = Tree("NN", word="x")
    for _ in range(5_000):
        tree = Tree("S", [Tree("VP", [Tree("VB", word="y"), tree, Tree("NP", [Tree("x")])])])
    cleaned = clean(tree, unary)
    assert debinarize(prepared(tree, Preparation(unary, binarization=SIMAAN)) or tree) == cleaned


@pytest.mark.parametrize("unary", ["top", "bottom", "join", "keep"])
def test_round_trip_of_the_sample(unary: UnaryPolicy, treebank_sample: tuple[Tree, ...]) -> None:
    for tree, how, function in zip(
        treebank_sample, cycle([PLAIN, SIMAAN]), cycle(["strip", "strip", "keep", "keep"]), strict=False
    ):
        bare = without_traces(tree)
        assert bare is not None
        cleaned = simplify(bare, unary, categories(function))
        binary = binarize(cleaned, replace(how, chains="keep" if unary == "keep" else "join"), None)
        assert debinarize(binary) == cleaned
        result = prepared(tree, Preparation(unary, function, how))
        assert (result is None) == cleaned.is_leaf
        assert result is None or debinarize(result) == cleaned


@pytest.mark.long
def test_symbols_of_the_sample(whole_treebank_sample: tuple[Tree, ...]) -> None:
    """Right-linear, around heads, and with parent, head tag and frames."""
    raw = [SourceTree("", 1, tree) for tree in whole_treebank_sample]
    sizes = []
    for how in (Binarization(), PLAIN, SIMAAN):
        found = prepare(raw, Preparation(binarization=how), PreparationStatistics())
        sizes.append(len({node.label for one in found for node in one.tree.preorder() if not node.is_leaf}))
    assert sizes == [46, 46, 1343]
