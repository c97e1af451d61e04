"""Conventions that a user names, and GreynirCorpus's: what is no text goes, and all else stays as it was.

The Penn-Helsinki style: what is no text goes, and all else stays as it was.
"""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from style_reading import read_style

from mbrparse.treebank.formats.conventions import AS_USUAL, CorpusReading, Leaves
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


def read(text: str, own: CorpusReading = AS_USUAL, style: str = "penn") -> tuple[list[str], dict[str, int]]:
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
        ("NP", "(S (VP (VB eats)) (. .))"),
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


@pytest.mark.parametrize(
    ("below", "text", "tree"),
    [
        (
            "lemma=form",
            "(S (NN (form dogs) (lemma dog)) (VB (lemma eat) (form eat)))",
            "(S (NN dogs) (VB eat))",
        ),
        (
            "lemma=",
            "(S (NN lemma (lemma lemma)) (VB New York (lemma New York)))",
            "(S (NN lemma) (VB New_York))",
        ),
        ("lemma=form", "(S (NN (form a) (form b)) (B b))", "(S (NN (form a) (form b)) (B b))"),
        ("lemma=form", "(S (NN (A a) (lemma b)) (B b))", "(S (NN (A a) (lemma b)) (B b))"),
    ],
)
def test_terminals_below(below: str, text: str, tree: str) -> None:
    assert read(text, CorpusReading(terminals_below=below))[0] == [tree]


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


def read_historical(text: str, leaves: Leaves | None = "word") -> tuple[list[str], Counter[str]]:
    style = "icepahc" if leaves else "penn-historical"
    found, removed = read_style(style, text, CorpusReading(leaves=leaves))
    return [str(tree) for _, tree, _ in found], removed


@pytest.mark.parametrize(
    ("kind", "tokens"),
    [
        ("0", "0 0-0"),
        ("*T*", "*T* *T*-1 *T*-1=2"),
        ("code in the place of a word", "{COM:sic} <P_12> <heading>"),
    ],
)
def test_empty_elements_go_with_what_they_leave_empty(kind: str, tokens: str) -> None:
    for token in tokens.split():
        inside = f"(NP-SBJ {token}) (CP (WNP-1 (N {token})) {token} (C að-að)) (VB fara-fara)"
        trees, removed = read_historical(f"( (IP-MAT {inside}) (ID A,.1))")
        assert trees == ["(IP-MAT (CP (C að)) (VB fara))"]
        assert removed == {"(ID)": 1, "wrapper": 1, "constituent left empty": 1, kind: 3}


TAKEN_OUT = {
    "(ROOT (IP (N a) (V b)) (. .))": "( (IP (N a) (V b)) (. .) (ID A,.1))",
    "(IP (N book) (N a-b) (N x))": "( (IP (N bo<P_12>ok-book) (N a<dash>b-a<dash>b) (N x{TEXT:y}-x)))",
    "(IP (, -) (N a/b-c) (N It's) (N <dog/>))": "( (IP (, <dash/>-<dash/>) (N a<slash>b</dash>c-a) "
    "(N It<apostrophe>s-its) (N <dog/>-d)))",
}


@pytest.mark.parametrize(
    ("tree", "what", "count"),
    [
        ("(ROOT (IP (N a) (V b)) (. .))", "wrapper around several trees (now ROOT)", 1),
        ("(IP (N book) (N a-b) (N x))", "code inside a word", 2),
        ("(IP (, -) (N a/b-c) (N It's) (N <dog/>))", "code inside a word", 0),
    ],
)
def test_what_is_taken_out(tree: str, what: str, count: int) -> None:
    trees, removed = read_historical(TAKEN_OUT[tree])
    assert trees == [tree]
    assert removed[what] == count
