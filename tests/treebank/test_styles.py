"""CESS's, Floresta's and Alpino's style, by hand and against a naive twin."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from xml.sax.saxutils import quoteattr

from hypothesis import given
from hypothesis import strategies as st
from style_reading import read_style

from mbrparse.treebank.formats.conventions import CorpusReading, Leaves
from mbrparse.treebank.formats.styles import LOWERED, RAISED
from mbrparse.treebank.tree import Tree


def read(style: str, text: str, leaves: Leaves | None = None) -> tuple[list[tuple[int, str]], Counter[str]]:
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


def test_punctuation_is_put_lower() -> None:
    marks = [word(place, "--", "punct") for place in (0, 2, 5)]
    np = Node("np", "su", None, [word(1), word(3, "hd")])
    smain = Node("smain", "--", None, [word(4, "hd"), np])
    trees, removed = read("alpino", document(Node("top", "top", None, [*marks, smain])))
    assert trees == [(3, "(top (punct w0) (smain (np (n w1) (punct w2) (n w3)) (n w4)) (punct w5))")]
    assert removed[LOWERED] == 1
    assert not removed[RAISED]
