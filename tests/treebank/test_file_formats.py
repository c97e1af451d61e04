"""Files of each format, by hand; trees with gaps in every format that has them, against a naive twin."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pytest
from commandline import run
from hypothesis import given
from hypothesis import strategies as st

from mbrparse.errors import BracketError, MbrparseError
from mbrparse.treebank.brackets import SGML
from mbrparse.treebank.corpora.reading import read_corpus
from mbrparse.treebank.formats.conventions import CorpusReading, Reading, Removals
from mbrparse.treebank.formats.discontinuous import LOWERED, RAISED
from mbrparse.treebank.formats.formats import FORMATS, looked_at, recognized
from mbrparse.treebank.formats.styles import STYLES, marked_style
from mbrparse.treebank.formats.unlabelled import without_labels
from mbrparse.treebank.tree import Tree


def read(text: str, own: CorpusReading | None = None) -> tuple[list[tuple[str, str]], Removals]:
    """The trees and names of a text in the format that it looks like, and what was removed."""
    reading = Reading(STYLES["penn"], own or CorpusReading())
    name, lines = looked_at(text.splitlines(keepends=True), reading.own)
    found = FORMATS[name].read(lines, "a", reading)
    return [(str(one.tree), one.id) for one in found], reading.removed


DISCBRACKET = "(S (VP (PWS 0=Was) (ADV 3=gern)) (VVFIN 1=sah) (PPER 2=sie))\n"
EXPORT = """#FORMAT 3
#BOS 1 0 0 0
Was\t\t\tPWS\t\t--\tOA\t500
sah\t\t\tVVFIN\t\t--\tHD\t501
sie\t\t\tPPER\t\t--\tSB\t501\t%% a comment
gern\t\t\tADV\t\t--\tMO\t500
#500\t\t\tVP\t\t--\tOC\t501
#501\t\t\tS\t\t--\t--\t0
#EOS 1
"""
TIGER = """<?xml version="1.0" encoding="UTF-8"?>
<corpus id="mine"><head/><body>
<s id="s1"><graph root="s1_502"><terminals>
<t id="s1_1" word="Was" pos="PWS"/><t id="s1_2" word="sah" pos="VVFIN"/>
<t id="s1_3" word="(" pos="$("><secedge idref="s1_1" label="X"/></t></terminals>
<nonterminals><nt id="s1_500" cat="VP"><edge idref="s1_1" label="OA"/><edge idref="s1_2" label="HD"/></nt>
<nt id="s1_502" cat="S"><edge idref="s1_500" label="HD"/></nt></nonterminals></graph></s>
</body></corpus>
"""
COLUMNS = """#begin document (mine); part 000
mine 0 0 Cats NNS (TOP(S(NP*) cat - - - * -
mine 0 1 purr VBP (VP*) purr - - - * -
mine 0 2 . . *)) . - - - * -

mine 0 0 Why WRB (TOP(FRAG* why - - - * -
mine 0 1 ? . *)) ? - - - * -

#end document
"""
CATS = "(ROOT (S (NP (NNS Cats)) (VP (VBP purr)) (. .)))"
CORENLP_TEXT = f"""Sentence #1 (3 tokens):
Cats purr.

Tokens:
[Text=Cats CharacterOffsetBegin=0 CharacterOffsetEnd=4 PartOfSpeech=NNS]

Constituency parse:
{CATS.replace(" (S", chr(10) + "  (S")}


Dependency Parse (enhanced plus plus dependencies):
root(ROOT-0, purr-2)
"""
CORENLP_XML = f"""<?xml version="1.0"?>
<root><document><sentences><sentence id="1"><tokens/>
<parse>{CATS} </parse></sentence></sentences></document></root>
"""
ALPINO = (
    '<?xml version="1.0"?>\n<alpino_ds><node cat="top" begin="0" end="2"><node cat="smain" begin="0" end="2">'
    '<node pos="noun" word="Jan" rel="su" begin="0" end="1"/><node pos="verb" word="slaapt" rel="hd" '
    'begin="1" end="2"/></node></node></alpino_ds>\n'
)
TREES = [("(S (NP (NNS Cats)) (VP (VBP purr)))", "a"), ("(S (NP (PRP It)) (VP (VBZ rains)))", "b")]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("discbracket", DISCBRACKET, [("(S (VP (PWS Was)) (VVFIN sah) (PPER sie) (ADV gern))", "")]),
        (
            "discbracket",
            "(S (VP 0= 3=) (V 1=) (N 2=))\tWas sah sie gern\n",
            [("(S (VP (Was Was)) (V sah) (N sie) gern)", "")],
        ),
        ("export", EXPORT, [("(S (VP-OC (PWS Was)) (VVFIN sah) (PPER sie) (ADV gern))", "1")]),
        ("tiger", TIGER, [("(VROOT (S (VP-HD (PWS Was) (VVFIN sah))) ($-LRB- -LRB-))", "s1")]),
        (
            "columns",
            COLUMNS,
            [
                ("(TOP (S (NP (NNS Cats)) (VP (VBP purr)) (. .)))", "mine/000/1"),
                ("(TOP (FRAG (WRB Why) (. ?)))", "mine/000/2"),
            ],
        ),
        ("columns", "a (S(X*)\nb (Y*))\n", [("(S (X (a a)) (Y (b b)))", "")]),
        ("corenlp-json", json.dumps({"sentences": [{"index": 0, "parse": CATS}]}), [(CATS, "1")]),
        ("corenlp-xml", CORENLP_XML, [(CATS, "1")]),
        ("corenlp-text", CORENLP_TEXT, [(CATS, "1")]),
        ("alpino", ALPINO, [("(smain (noun Jan) (verb slaapt))", "")]),
        (
            "jsonl",
            "".join(f"{json.dumps({'id': name, 'x': 'y', 'tree': tree})}\n" for tree, name in TREES),
            TREES,
        ),
        ("table", "id,tree\n" + "".join(f'{name},"{tree}"\n' for tree, name in TREES), TREES),
        ("table", "text\ttree\tsent_id\n" + "".join(f"x\t{tree}\t{name}\n" for tree, name in TREES), TREES),
        ("unlabelled", "( ( the dog ) barks )\n", [("(X (X the dog) barks)", "")]),
        ("unlabelled", "((the dog) barks)\n(())\n", [("(X (X the dog) barks)", ""), ("None", "")]),
        (
            "jsonl",
            '{"example_id": "1", "tree": [["the", "dog"], "barks"]}\n',
            [("(X (X the dog) barks)", "1")],
        ),
        (
            "brackets",
            "1\t(S (A a) (B b))\n2\t(S (A c) (B d))\n",
            [("(S (A a) (B b))", "1"), ("(S (A c) (B d))", "2")],
        ),
        ("brackets", "\ufeff(S (A a) (B b))\n\ufeff(S (A a) (B b))\n", [("(S (A a) (B b))", "")] * 2),
    ],
)
def test_a_file_is_read_as_what_it_looks_like(name: str, text: str, expected: list[tuple[str, str]]) -> None:
    assert recognized(text) == name
    assert read(text)[0] == expected


def test_what_a_format_has_and_trees_have_not_is_counted() -> None:
    assert read(EXPORT)[1] == {RAISED: 1, "edge label of a word": 4}
    assert read(TIGER)[1] == {"secondary edge": 1, "edge label of a word": 2}
    sgml = "<DOC>\n<S ID=1>\n( (FRAG (NR a) (NR b)) )\n</S>\n<S ID=2> ( (FRAG (NR c) (NR d)) ) </S>\n</DOC>\n"
    assert read(sgml) == ([("( (FRAG (NR a) (NR b)))", ""), ("( (FRAG (NR c) (NR d)))", "")], {SGML: 6})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (EXPORT.replace("\t501\n#EOS", "\t500\n#EOS").replace("--\t0", "--\t500"), "no root"),
        (EXPORT.replace("OC\t501", "OC\t777"), "no node '777'"),
        (EXPORT.replace("#EOS 1\n", ""), "no #EOS"),
        (TIGER.replace("</graph>", ""), "mismatched tag"),
        (TIGER.replace(' cat="S"', ""), "'cat' is missing"),
        (TIGER.replace("<corpus", '<!DOCTYPE a [<!ENTITY b "c">]>\n<corpus'), "declares entities"),
        (DISCBRACKET.replace("3=gern", "0=gern"), "two words in one place"),
        (COLUMNS.replace("*))", "*)"), "no column of bracket parts"),
        ("(S (NP (NN a)) () (VP (VB b)))\n", "empty brackets inside a tree"),
        ("(S (PRN (( () (NN x) () ))) (VP (VB b)))\n", "empty brackets inside a tree"),
        ('{"id": 1, "tree": [["a", 2]]}\n', "2 is neither a word nor a list of words"),
        ('{"id": 1, "text": "b"}\n', "none of its fields holds a tree: id, text"),
    ],
)
def test_what_is_malformed_is_refused_in_its_place(text: str, message: str) -> None:
    lines = text.splitlines(keepends=True)
    name, _ = ("columns", ()) if "begin document" in text else looked_at(lines)
    with pytest.raises(MbrparseError, match=re.escape(message)) as caught:
        list(FORMATS[name].read(lines, "a", Reading(STYLES["penn"])))
    assert caught.value.source == "a"
    assert caught.value.line is not None


def test_leaves_and_empty_elements_are_options(tmp_path: Path) -> None:
    def words(text: str, **options: str) -> list[str]:
        (tmp_path / "a.mrg").write_text(text)
        return [str(one.tree) for one in read_corpus(str(tmp_path / "a.mrg"), CorpusReading(**options))]  # type: ignore[arg-type]

    slashes = "( (S (NP-SBJ */XXX) (VP Feed/VB (NP the/DT cats/NNS))))"
    leaf = "(?P<word>.+)/(?P<tag>[^/]+)"
    assert words(slashes, leaf=leaf, empty=r"\*") == ["( (S (VP (VB Feed) (NP (DT the) (NNS cats)))))"]
    assert words("(S (A you/1.2) (B b/2.2))", leaf=r"(?P<word>.+)/(?P<id>[\d.]+)") == ["(S (A you) (B b))"]
    turkish = r".*\{turkish=(?P<word>[^}]*)\}.*"
    assert words("(S (N {turkish=Kedi}) (V {turkish=uyur}{x=y}))", leaf=turkish) == ["(S (N Kedi) (V uyur))"]
    bracketed = "(NP  (NN\t(kopi)) (SBAR  (SC\t(untuk)) (NP-SBJ  (*)) (NN\t(pagi hari))))"
    assert words(bracketed, leaf="(word)", empty=r"\*") == ["(NP (NN kopi) (SBAR (SC untuk) (NN pagi_hari)))"]
    with pytest.raises(MbrparseError, match="does not say what is the word"):
        CorpusReading(leaf="(?P<tag>.*)")
    with pytest.raises(MbrparseError, match="no regular expression"):
        CorpusReading(empty="(")


def test_empty_elements_of_known_corpora_are_counted_by_kind(tmp_path: Path) -> None:
    (tmp_path / "a.bracket").write_text("(S (NP-SBJ (*)) (SBAR (0) (S (VB (kopi)) (QP (CD (dua)) (*U*)))))\n")
    removed = Removals()
    found = list(read_corpus(f"indonesian:{tmp_path / 'a.bracket'}", removed=removed))
    assert [str(one.tree) for one in found] == ["(S (SBAR (S (VB kopi) (QP (CD dua)))))"]
    assert removed == {"*": 1, "0": 1, "*U*": 1}
    marks = "( (IP (PP (NP *T*) (P ***)) (NP *2s*) (N a) (NP;*SBJ* (N b) (N *c))) (ID 1,JP))\n"
    (tmp_path / "a.psd").write_text(marks)
    (read,) = read_corpus(f"penn-historical:{tmp_path / 'a.psd'}")
    assert str(read.tree) == "(IP (N a) (NP;*SBJ* (N b) (N *c)))"


def test_a_style_is_advised_by_its_marks_alone() -> None:
    units = "( @x1/CD )\n( END_OF_TEXT_UNIT )\n( (S (NP-SBJ */XXX ) (VP Feed/VB (NP the/DT cats/NNS ))))\n"
    assert marked_style(units) == "atis"
    assert marked_style("( (IP (N hundar) (V gelta)) (ID A,.1))") == "penn-historical"
    assert marked_style("( (IP (N hundar-hundur) (V gelta-gelta)) (ID A,.1))") == "icepahc"
    assert marked_style("( (IP (N hundar) (, ,-,) (N kettir) (N fuglar)) (ID A,.1))") == "icepahc"
    assert marked_style("( (S (NP hundar) (<NP\\S> gelta)) (ID A,.1))") == "abc"
    assert marked_style("(NP  (NN\t(kopi)) (SBAR  (SC\t(untuk)) (S  (NP-SBJ  (*)))))") == "indonesian"
    assert marked_style("(S (N {turkish=Kedi}{english=Cat}) (V {turkish=uyur}))") == "turkish"
    for plain in (
        "( (S (NP (DT the) (NN inn)) (VP (VBD was) (NP (CD 0) (NNS rooms))) (. .)) )",
        "((S (NP (NNP Ann)) (VP (VBD slept)))(? ?))",
    ):
        assert marked_style(plain) == "penn"


@pytest.mark.parametrize(
    "text",
    [
        "(S (NP (DT the) (NN dog)) (VP (VBZ barks)))\n",
        "( (S (NP dogs) (VP bark)) )\n",
        "( S ( NP ( DT the ) ( NN dog ) ) ( VP ( VB barks ) ) )\n",
        "(A b)\n(())\n",
        "( ( NP dogs ) )\n",
        "(S\n  (NP (DT the)\n",
    ],
)
def test_labelled_brackets_are_not_taken_for_unlabelled_ones(text: str) -> None:
    assert recognized(text) == "brackets"


BINARY = st.recursive(
    st.sampled_from("abc"), lambda inner: st.lists(inner, min_size=2, max_size=2), max_leaves=9
)


@given(st.lists(BINARY, min_size=1, max_size=4))
def test_unlabelled_trees_come_back(trees: list[object]) -> None:
    def tree(one: object) -> Tree:
        return Tree(one) if isinstance(one, str) else Tree("L", [tree(part) for part in one])  # type: ignore[attr-defined]

    for form in ("unlabelled", "json"):
        lines = [without_labels(tree(one), form) for one in trees]
        reading = Reading(STYLES["penn"])
        read_again = FORMATS["jsonl" if form == "json" else "unlabelled"].read
        if form == "json" and any(isinstance(one, str) for one in trees):
            continue  # a sentence of one word is no list
        found = [one.tree for one in read_again(lines, "a", reading)]
        again = [without_labels(one, "json") for one in found if one is not None]
        assert again == [json.dumps(one) for one in trees]


def test_deep_trees_without_labels() -> None:
    deep = Tree("a")
    for _ in range(5000):
        deep = Tree("X", [Tree("b"), deep])
    for form in ("unlabelled", "json"):
        assert without_labels(deep, form).count("b") == 5000


# --- gaps ------------------------------------------------------------------------------------


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


def alpino(*nodes: Node) -> str:
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


def numbered(node: Node) -> list[tuple[str, Node, str]]:
    """The constituents of a tree below the first with their names, and their parents' names."""
    found: list[tuple[str, Node, str]] = []
    names = {id(node): "0"}
    for mother, child, _ in edges(Node("", children=[node])):
        names[id(child)] = f"#{500 + len(found)}"
        found.append((names[id(child)], child, names.get(id(mother), "0")))
    return found


def export(node: Node) -> str:
    rows = numbered(node)
    words = sorted((row for row in rows if row[1].place is not None), key=lambda row: row[1].place or 0)
    edge = {"hd": "HD"}
    lines = [
        f"w{one.place} {one.label} -- {edge.get(one.rel, '--')} {mother.strip('#')}"
        for _, one, mother in words
    ]
    lines += [
        f"{name} {one.label} -- {edge.get(one.rel, '--')} {mother.strip('#')}"
        for name, one, mother in rows
        if one.place is None
    ]
    return "\n".join(["#BOS 7", *lines, "#EOS 7", ""])


def tiger(node: Node) -> str:
    rows = numbered(node)
    words = sorted((row for row in rows if row[1].place is not None), key=lambda row: row[1].place or 0)
    terminals = [f'<t id="{name}" word="w{one.place}" pos="{one.label}"/>' for name, one, _ in words]
    inner = [
        f'<nt id="{name}" cat="{one.label}">'
        + "".join(
            f'<edge idref="{below}" label="{"HD" if child.rel == "hd" else "--"}"/>'
            for below, child, mother in rows
            if mother == name
        )
        + "</nt>"
        for name, one, _ in rows
        if one.place is None
    ]
    return f'<corpus><s id="s1"><graph>{"".join(terminals + inner)}</graph></s></corpus>'


def discbracket(node: Node) -> str:
    if node.place is not None:
        return f"({node.label} {node.place}=w{node.place})"
    return f"({node.label} {' '.join(map(discbracket, node.children))})"


@given(dependencies())
def test_crossing_branches_are_raised_as_the_naive_twin_does_it(node: Node) -> None:
    written = [("alpino", alpino(node)), ("export", export(node)), ("tiger", tiger(node))]
    headless = "hd" not in {child.rel for _, child, _ in edges(node)}
    written += [("discbracket", discbracket(node) + "\n")] * headless  # it has no heads
    raised, moves = naive_raised(node)
    tree = as_tree(raised)
    for name, text in written:
        assert recognized(text) == name
        found, removed = read(text)
        expected = tree.children[0] if name == "alpino" and len(tree.children) == 1 else tree
        assert [one.replace("-HD", "") for one, _ in found] == [str(expected)]
        assert removed[RAISED] == moves
        if moves:
            with pytest.raises(BracketError, match="has a gap"):
                read(text, CorpusReading(discontinuous="refuse"))


def test_punctuation_is_put_lower() -> None:
    marks = [word(place, "--", "punct") for place in (0, 2, 5)]
    np = Node("np", "su", None, [word(1), word(3, "hd")])
    smain = Node("smain", "--", None, [word(4, "hd"), np])
    trees, removed = read(alpino(Node("top", "top", None, [*marks, smain])))
    assert [tree for tree, _ in trees] == [
        "(top (punct w0) (smain (np (n w1) (punct w2) (n w3)) (n w4)) (punct w5))"
    ]
    assert removed[LOWERED] == 1


# --- the commands ----------------------------------------------------------------------------


@pytest.mark.usefixtures("folder")
def test_every_command_takes_every_format() -> None:
    Path("a.export").write_text(EXPORT)
    Path("a.xml").write_text(TIGER)
    Path("gold.mrg").write_text("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))\n")
    Path("parses.txt").write_text("((the dog) barks)\n")
    assert run("binarize a.export tiger:a.xml").output.splitlines() == [
        "(S (PWS Was) (S_Cont (VVFIN sah) (S_Cont (PPER sie) (ADV gern))))",
        "(VROOT (S (PWS Was) (VVFIN sah)) ($-LRB- -LRB-))",
    ]
    assert "100.00" in run("evaluate gold.mrg parses.txt --profile compound-pcfg").output
    assert run("debinarize gold.mrg --to unlabelled").output == "( ( the dog ) barks )\n"
    assert run("debinarize gold.mrg --to json").output == '[["the", "dog"], "barks"]\n'
    assert "TIGER-XML" in run("corpora a.xml").output
    assert run("split a.export --test-last 1 --test-output -").output.startswith("(S (VP-OC")


@pytest.mark.usefixtures("folder")
def test_search() -> None:
    Path("a.mrg").write_text(
        "(S (NP (DT the) (NN dog)) (VP (VBZ barks)))\n(S (NP (PRP it)) (VP (VBZ rains)))\n"
    )
    assert run("search", "NP < NN", "a.mrg").output == "a.mrg:1: [the dog] barks\n"
    rows = run("search", "NP < NN", "a.mrg", "--also", "PRP", "--format", "csv").output.splitlines()
    assert rows == [
        "source,line,id,pattern,begin,end,match,words",
        "a.mrg,1,,NP < NN,0,2,(NP (DT the) (NN dog)),the dog barks",
        "a.mrg,2,,PRP,0,1,(PRP it),it rains",
    ]
    counted = run("search", "NP < NN", "a.mrg", "--count").output.splitlines()
    assert counted[-1] == "total: trees 2, trees that fit 1, NP < NN 1"
    assert run("search XP a.mrg --svg none.svg").code == 1
    assert "no tree fits" in Path("none.svg").read_text()
    Path("deep.mrg").write_text("(NP " * 1000 + "(NN dog)" + ")" * 1000 + "\n")
    assert run("search NN deep.mrg --svg deep.svg").output == "deep.mrg:1: [dog]\n"
    assert "too deep to be drawn: more than 200 levels" in Path("deep.svg").read_text()
    assert "is not tgrep's at character" in run("search", "NP < (", "a.mrg").error
    for unbound in ("NP=n", "/./=n < =n", "@X"):
        assert "a name that stands for nothing; write" in run("search", unbound, "a.mrg").last_error


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.jsonl", '{"tree": "(S a b)"}\n\n{"tree": "(S (A a) b"}\n'),
        ("t.csv", "id,tree\na,(S a b)\nb,(S (A a) b\n"),
    ],
)
def test_a_malformed_tree_in_a_row_is_at_the_row(name: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text)
    assert run("binarize", path, "-o", tmp_path / "out").error.startswith(f"{path}:3: unbalanced brackets")
