"""Conventions that a user names, and GreynirCorpus's: what is no text goes, and all else stays as it was."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from style_reading import read_style

from mbrparse.errors import MbrparseError
from mbrparse.treebank.corpora.known_corpora import StyleName
from mbrparse.treebank.formats.conventions import AS_USUAL, CorpusReading, Leaves, fitting
from mbrparse.treebank.tree import Tree

GREYNIR = r"""( (META (ID-CORPUS a7c9.2)
        (ID-LOCAL greynir_corpus_00016.psd,.1)
        (COMMENT ))
  (S0 (S-MAIN (NP-SUBJ (no_et (exp_seg frétta-maður) fréttamaður (lemma fréttamaður)))
              (VP (so_0 er (lemma vera)) (PP (P (fs Þvert á (lemma þvert á)))
                  (NP (grm \() (abbrev HM (lemma HM) (exp_abbrev heimsmeistaramót)) (grm \))))))
      (grm .)))

( (META (ID-LOCAL greynir_corpus_00016.psd,.2))
  (S0 (S-HEADING (NP (lo Mjög (lemma mjög)) (no verkefni (lemma verkefni))))))
"""


def read(
    text: str, own: CorpusReading = AS_USUAL, style: StyleName = "penn"
) -> tuple[list[str], dict[str, int]]:
    found, removed = read_style(style, text, own)
    return [str(tree) for _, tree, _ in found], dict(removed)


def test_greynir() -> None:
    found, removed = read_style("greynir", GREYNIR)
    assert [(str(tree), line, name) for line, tree, name in found] == [
        (
            "(S0 (S-MAIN (NP-SUBJ (no_et fréttamaður)) (VP (so_0 er) (PP (P (fs Þvert_á)) "
            "(NP (grm -LRB-) (abbrev HM) (grm -RRB-))))) (grm .))",
            1,
            "greynir_corpus_00016.psd,.1",
        ),
        ("(S-HEADING (NP (lo Mjög) (no verkefni)))", 9, "greynir_corpus_00016.psd,.2"),
    ]
    assert removed == {
        "lemma": 6, "(META)": 2, "(ID-LOCAL)": 2, "(COMMENT) without a word": 1, "(exp_seg)": 1,
        "(exp_abbrev)": 1, "wrapper": 2, "wrapper S0": 1, "blank inside a word (now _)": 1,
    }  # fmt: skip


def test_lemmas_of_greynir() -> None:
    for leaves, words in (("lemma", "þvert_á"), ("both", "Þvert_á-þvert_á")):
        trees, _ = read(GREYNIR, CorpusReading(leaves=leaves), "greynir")  # type: ignore[arg-type]
        assert f"(fs {words})" in trees[0]


def test_roots() -> None:
    text = "(TOP (S1 (Q (S (A a) (B b)))))\n(Q (S1 (A a) (B b)) (C c))\n( (Q-X (Q a)))\n( (S (A a)) (C c))\n"
    trees, removed = read(text, CorpusReading(roots="Q"))
    assert trees == ["(S (A a) (B b))", "(Q (S1 (A a) (B b)) (C c))", "(Q a)", "(ROOT (S (A a)) (C c))"]
    assert removed == {
        **dict.fromkeys(("wrapper TOP", "wrapper S1", "wrapper Q", "wrapper", "wrapper Q-X"), 1),
        "wrapper around several trees (now ROOT)": 1,
    }
    assert read("(Q (S (A a) (B b)))") == (["(Q (S (A a) (B b)))"], {})


@pytest.mark.parametrize(
    ("drop", "tree"),
    [
        ("NP", "(S (VP (VB eats)) (. .))"),  # NP-SBJ too
        ("NP-OBJ", "(S (NP-SBJ (NN dog)) (VP (VB eats)) (. .))"),
        ("NP-S*", "(S (VP (VB eats) (NP-OBJ (NN it))) (. .))"),
        ("N?,.", "(S (VP (VB eats)))"),
        ("VB,NN,.", None),
    ],
)
def test_constituents_and_tags_that_are_dropped(drop: str, tree: str | None) -> None:
    text = "(S (NP-SBJ (NN dog)) (VP (VB eats) (NP-OBJ (NN it))) (. .))"
    trees, removed = read(text, CorpusReading(drop=drop))
    assert trees == ([] if tree is None else [tree])
    assert removed.get("token without text", 0) == (tree is None)


def test_what_is_in_a_dropped_constituent_may_be_without_words() -> None:
    own = CorpusReading(drop="META")
    trees, removed = read("( (META (X (COMMENT ))) (S (A a) (B b)))", own)
    assert trees == ["( (S (A a) (B b)))"]
    assert removed["(COMMENT) without a word"] == 1
    with pytest.raises(MbrparseError, match=r"a\.psd:1: constituent 'COMMENT' without children"):
        read("(S (META a) (COMMENT ))", own)


@pytest.mark.parametrize(
    ("below", "text", "tree"),
    [
        (
            "lemma=form",
            "(S (NN (form dogs) (lemma dog)) (VB (lemma eat) (form eat)))",
            "(S (NN dogs) (VB eat))",
        ),
        ("lemma", "(S (NN dogs (lemma dog)) (VB eat))", "(S (NN dogs) (VB eat))"),
        ("=form", "(S (NN (form dogs)) (VB (form eat)))", "(S (NN dogs) (VB eat))"),
        (
            "lemma=",
            "(S (NN lemma (lemma lemma)) (VB New York (lemma New York)))",
            "(S (NN lemma) (VB New_York))",
        ),
        # No terminals: two forms, a constituent, a lemma alone.
        ("lemma=form", "(S (NN (form a) (form b)) (B b))", "(S (NN (form a) (form b)) (B b))"),
        ("lemma=form", "(S (NN (A a) (lemma b)) (B b))", "(S (NN (A a) (lemma b)) (B b))"),
        ("lemma=form", "(S (NN (lemma b)) (B b))", "(S (NN (lemma b)) (B b))"),
        ("lemma=form", "(S (NN (form (A a) b)) (B b))", "(S (NN (form (A a) b)) (B b))"),
    ],
)
def test_terminals_below(below: str, text: str, tree: str) -> None:
    assert read(text, CorpusReading(terminals_below=below))[0] == [tree]


def test_names() -> None:
    text = "( (S (A a) (B b)) (ID x 1))\n(S (META (N 2) (ID 3)) (A a))\n(S (A (B (ID 4) (C c))))\n"
    found, removed = read_style("penn", text, CorpusReading(ids="N*,ID"))
    assert [(str(tree), name) for _, tree, name in found] == [
        ("( (S (A a) (B b)))", "x 1"),
        ("(S (A a))", "2"),
        ("(S (A (B (C c))))", ""),
    ]
    assert removed == {"(ID)": 3, "(N)": 1, "constituent left empty": 1}


@pytest.mark.parametrize("labels", ["a,", ",", "(a", "a b", "a,,b"])
def test_what_is_no_list_of_labels(labels: str) -> None:
    for option in ("drop", "roots", "ids"):
        with pytest.raises(MbrparseError, match="is no list of labels such as META"):
            CorpusReading(**{option: labels})  # type: ignore[arg-type]


@pytest.mark.parametrize("below", ["=", "a=b=c", "a b", "(a=b", "a,b=c"])
def test_what_is_not_lemma_and_form(below: str) -> None:
    with pytest.raises(MbrparseError, match=r"is not LEMMA=FORM; lemma=form reads"):
        CorpusReading(terminals_below=below)


def test_labels_that_are_nowhere() -> None:
    own = CorpusReading(drop="NP,X?,COMMENT,VB,#")
    _, removed = read("(S (NP-1 (A a)) (NP (COMMENT )) (B b) (# #))", own)
    assert own.unmatched(removed) == ["X?", "VB"]


LABELS = st.sampled_from(["NP", "NP-1", "N", "CODE", "CODE-1", "CODE=2", "-LRB-", "#", "C"])


@given(st.lists(st.sampled_from(["NP", "CODE", "-LRB-", "#", "NP-1"])), LABELS)
def test_labels_fit_whole_or_without_functions(patterns: list[str], label: str) -> None:
    bases = {"NP-1": "NP", "CODE-1": "CODE", "CODE=2": "CODE"}
    assert fitting(patterns)(label) == (label in patterns or bases.get(label) in patterns)


WORDS = st.sampled_from(["a", "b", "lemma", "form", "0", "*T*-1"])
PLAIN = st.recursive(
    st.builds(lambda tag, word: Tree(tag, word=word), st.sampled_from(["N", "V"]), WORDS),
    lambda below: st.builds(Tree, st.sampled_from(["IP", "NP"]), st.lists(below, min_size=1, max_size=3)),
    max_leaves=10,
).filter(lambda tree: bool(tree.children))


@given(tree=PLAIN, leaves=st.sampled_from(["word", "lemma", "both"]), form=st.booleans(), data=st.data())
def test_whatever_is_put_in_comes_out(tree: Tree, leaves: Leaves, form: bool, data: st.DataObject) -> None:
    """A tree written with noise, lemmas, a name and wrappers is read as it was."""

    def noise() -> str:
        kinds = st.sampled_from(
            ["(META (X y) (COMMENT ))", "(exp_seg a b)", "(X-2 )", "(ID 7)", "(NP (X x))"]
        )
        return " ".join(data.draw(st.lists(kinds, max_size=2)))

    def leaf(node: Tree) -> str:
        parts = [f"(form {node.word})" if form else str(node.word), f"(lemma {node.word}s)", noise()]
        return f"({node.label} {' '.join(data.draw(st.permutations(parts)))})"

    def inner(node: Tree, children: list[str]) -> str:
        return f"({node.label} {' '.join(f'{noise()} {child}' for child in children)} {noise()})"

    def expected(node: Tree) -> Tree:
        word = {"word": f"{node.word}", "lemma": f"{node.word}s", "both": f"{node.word}-{node.word}s"}[leaves]
        return Tree(node.label, word=word)

    below = "lemma=form" if form else "lemma"
    own = CorpusReading("utf-8", leaves, "META,exp_*,X", "Q", "ID", below)
    found, _ = read_style("penn", f"( (Q (S0 {tree.fold(leaf, inner)})) (ID A,.1))", own)
    [(_, read_back, name)] = found
    assert read_back == Tree("S0", [tree.fold(expected, lambda node, children: Tree(node.label, children))])
    assert name == "A,.1"
