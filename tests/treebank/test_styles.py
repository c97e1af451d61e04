"""CESS's, Floresta's and Alpino's style, by hand and against a naive twin."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import given
from hypothesis import strategies as st
from style_reading import read_style

from mbrparse.errors import BracketError, MbrparseError
from mbrparse.treebank.corpora.known_corpora import StyleName
from mbrparse.treebank.formats.alpino import COINDEXED, LOWERED, RAISED
from mbrparse.treebank.formats.conventions import CorpusReading, Leaves
from mbrparse.treebank.formats.styles import INDEX, PART
from mbrparse.treebank.tree import Tree


def read(
    style: StyleName, text: str, leaves: Leaves | None = None
) -> tuple[list[tuple[int, str]], Counter[str]]:
    found, removed = read_style(style, text, CorpusReading(leaves=leaves))
    return [(line, str(tree)) for line, tree, _ in found], removed


# --- CESS ----------------------------------------------------------------------------------

CESS = """
(
  (S
    (sn.e-SUJ *0*)
    (grup.verb
      (vmis3s0 anunció anunciar))
    (sn (Fpa -Fpa- -Fpa-) (np00000 EDF EDF) (Fpt -Fpt- -Fpt-))
    (Fp . .)))
"""


def test_cess_has_one_word_a_tag() -> None:
    trees, removed = read("cess", CESS)
    text = "( (S (grup.verb (vmis3s0 anunció)) (sn (Fpa -LRB-) (np00000 EDF) (Fpt -RRB-)) (Fp .)))"
    assert trees == [(2, text)]
    assert removed == {"*0*": 1, "lemma": 5}


def test_cess_lemmas() -> None:
    assert "(vmis3s0 anunciar)" in read("cess", CESS, "lemma")[0][0][1]
    assert "(vmis3s0 anunció-anunciar)" in read("cess", CESS, "both")[0][0][1]


# --- Floresta ------------------------------------------------------------------------------


def test_floresta_has_punctuation_under_itself_and_comments() -> None:
    text = """# Sintá(c)tica
#1 CF1-1 Um (dia
(UTT+np
  (>N+art Um) (()
  (H+n dia) ()) (...)
  (N</ADVL[-1]+pp (H+prp de)) (.))
(STA+fcl (P+v-fin é) («) (ACC+np x) (.))
"""
    first = "(>N+art Um) (-LRB- -LRB-) (H+n dia) (-RRB- -RRB-) (... ...) (N</ADVL+pp (H+prp de)) (. .)"
    assert read("floresta", text)[0] == [
        (3, f"(UTT+np {first})"),
        (7, "(STA+fcl (P+v-fin é) (« «) (ACC+np x) (. .))"),
    ]


def test_floresta_writes_gaps_into_labels() -> None:
    text = """(STA+fcl (P+vp- (AUX+v-fin foi))
  (ADVL/N<[+1]+pp (H+prp de))
  (-P+vp
    (N<PRED/N<PRED[-12]+v-pcp dito))
  (--) (-) (?+? -) (N<+prp- a-) (. .-))"""
    trees, removed = read("floresta", text)
    [(line, tree)] = trees
    assert (line, tree) == (
        1,
        "(STA+fcl (P+vp (AUX+v-fin foi)) (ADVL/N<+pp (H+prp de)) (P+vp (N<PRED/N<PRED+v-pcp dito)) "
        "(-- --) (- -) (?+? -) (N<+prp a-) (. .-))",
    )
    assert removed == {PART: 3, INDEX: 2}


def test_floresta_trees_that_are_not_closed_end_before_the_next_sentence() -> None:
    text = "#1\n(UTT+prop Angola\n#2 (\n(UTT+np (>N+art o)\n  (H+n dia))\n(UTT+n x\n\n#3\n(UTT+n y)\n"
    errors: list[MbrparseError] = []
    found = read_style("floresta", text, on_error=errors.append)[0]
    assert [line for line, _, _ in found] == [4, 9]
    assert [str(error)[:48] for error in errors] == [
        "a.psd:2: unbalanced brackets: 1 opened here or l",
        "a.psd:6: unbalanced brackets: 1 opened here or l",
    ]


# --- Alpino --------------------------------------------------------------------------------


@dataclass
class Node:
    """A dependency node: a word at a place, or children."""

    label: str
    rel: str = "mod"
    place: int | None = None
    children: list["Node"] = field(default_factory=list)

    def words(self) -> set[int]:
        own = set() if self.place is None else {self.place}
        return own.union(*(child.words() for child in self.children))


def xml(node: Node) -> str:
    if node.place is not None:
        place, word = node.place, f"w{node.place}"
        return (
            f'<node begin="{place}" end="{place + 1}" pos={quoteattr(node.label)} rel="{node.rel}" '
            f'root="r{place}" word="{word}"/>\n'
        )
    inside = "".join(map(xml, node.children))
    return f'<node begin="0" cat="{node.label}" end="9" rel="{node.rel}">\n{inside}</node>\n'


def document(*nodes: Node) -> str:
    body = "".join(f'<alpino_ds version="1.2" id="1">\n{xml(node)}</alpino_ds>\n\n' for node in nodes)
    return f'<?xml version="1.0" encoding="ISO-8859-1"?>\n<alpino>\n{body}</alpino>\n'


def word(place: int, rel: str = "mod", label: str = "n") -> Node:
    return Node(label, rel, place)


def blocks(places: Iterable[int]) -> list[set[int]]:
    found: list[set[int]] = []
    for place in sorted(places):
        if found and place - 1 in found[-1]:
            found[-1].add(place)
        else:
            found.append({place})
    return found


def naive_raised(node: Node) -> tuple[Node, int]:
    """Moves one child at a time up to its mother, lowest constituents first, until none has a gap."""
    moves = 0
    changed = True
    while changed:
        changed = False
        for mother, child, _ in sorted(edges(node), key=lambda edge: -edge[2]):
            parts = blocks(child.words())
            if child.place is not None or len(parts) == 1:
                continue
            heads = [grand for grand in child.children if grand.rel == "hd"]
            chosen = [part for part in parts if any(head.words() <= part for head in heads)] or parts
            stays = max(chosen, key=len)
            for grand in [one for one in child.children if not one.words() <= stays]:
                child.children.remove(grand)
                grand.rel = "mod"
                mother.children.append(grand)
                moves += 1
            changed = True
            break
    return node, moves


def edges(node: Node, depth: int = 0) -> list[tuple[Node, Node, int]]:
    found = []
    for child in node.children:
        found.append((node, child, depth))
        found += edges(child, depth + 1)
    return found


def as_tree(node: Node) -> Tree:
    if node.place is not None:
        return Tree(node.label, word=f"w{node.place}")
    children = sorted(node.children, key=lambda one: min(one.words()))
    return Tree(node.label, [as_tree(child) for child in children])


@st.composite
def dependencies(draw: st.DrawFn) -> Node:
    """A tree over shuffled words, with at most one head a node."""
    order = draw(st.permutations(range(draw(st.integers(1, 7)))))
    nodes = [word(place) for place in order]
    while len(nodes) > 1 and draw(st.booleans()):
        size = draw(st.integers(1, len(nodes)))
        children, nodes = nodes[:size], nodes[size:]
        head = draw(st.integers(0, size))
        if head < size:
            children[head].rel = "hd"
        nodes.insert(draw(st.integers(0, len(nodes))), Node("c", "mod", None, children))
    return Node("top", "top", None, nodes)


@given(dependencies())
def test_crossing_branches_are_raised_as_the_naive_twin_does_it(node: Node) -> None:
    trees, removed = read("alpino", document(node))
    raised, moves = naive_raised(node)
    assert trees == [(3, str(as_tree(raised)))]
    assert removed[RAISED] == moves


def test_the_part_with_the_head_stays() -> None:
    """Of ppart (w0, w2 w3 where w0 is the head), w2 and w3 go up to smain."""
    ppart = Node("ppart", "vc", None, [word(0, "hd"), word(2), word(3)])
    text = document(Node("top", "top", None, [Node("smain", "--", None, [word(1, "hd"), ppart])]))
    trees, removed = read("alpino", text)
    assert trees == [(3, "(top (smain (ppart (n w0)) (n w1) (n w2) (n w3)))")]
    assert removed == {RAISED: 2}


def test_punctuation_is_put_lower() -> None:
    marks = [word(place, "--", "punct") for place in (0, 2, 5)]
    np = Node("np", "su", None, [word(1), word(3, "hd")])
    smain = Node("smain", "--", None, [word(4, "hd"), np])
    trees, removed = read("alpino", document(Node("top", "top", None, [*marks, smain])))
    assert trees == [(3, "(top (punct w0) (smain (np (n w1) (punct w2) (n w3)) (n w4)) (punct w5))")]
    assert removed[LOWERED] == 1
    assert not removed[RAISED]


def test_alpinos_empty_nodes_and_words() -> None:
    text = """<alpino_ds id="1">
<node cat="top" begin="0" end="3" rel="top">
<node begin="2" cat="np" end="3" rel="su">
<node begin="2" end="3" pos="punct" rel="hd" root="(" word="("/>
</node>
<node begin="0" end="1" index="1" rel="su"/>
<node begin="0" end="1" index="1" pos="noun" rel="hd" root="dat &amp; wat" word="dat &amp; wat"/>
</node></alpino_ds>
"""
    assert read("alpino", text) == ([(1, "(top (noun dat_&_wat) (np (punct -LRB-)))")], {COINDEXED: 1})
    assert "dat_&_wat-dat_&_wat" in read("alpino", text, "both")[0][0][1]


@pytest.mark.parametrize(
    "inside",
    [
        "<node",
        "",
        '<node word="a" begin="0" pos="n"/>',
        '<node cat="top"/>',
        '<node cat="top"><node word="a" pos="n"/></node>',
        '<node cat="top"><node word="a" begin="x" pos="n"/></node>',
        '<node cat="top"><node word="a" begin="0"/></node>',
        '<node cat="top"><node word="a" begin="0" pos="n"/><node word="b" begin="0" pos="n"/></node>',
    ],
)
def test_malformed_xml_is_a_malformed_tree(inside: str) -> None:
    good = document(Node("top", "top", None, [word(0), word(1)]))
    text = f"<alpino_ds>{inside}</alpino_ds>\n{good}"
    with pytest.raises(BracketError, match=r"^a\.psd:1: no tree of Alpino's"):
        read("alpino", text)
    errors: list[MbrparseError] = []
    found = read_style("alpino", text, on_error=errors.append)[0]
    assert [str(tree) for _, tree, _ in found] == ["(top (n w0) (n w1))"]
    assert [error.line for error in errors] == [1]
