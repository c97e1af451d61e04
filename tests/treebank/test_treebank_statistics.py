"""Statistics of treebanks against those of a reader that walks nested lists, and ``mbrparse stats``.

``mbrparse check``: all malformed trees, and what is suspicious, against texts of which that is known.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from commandline import Command
from hypothesis import given
from hypothesis import strategies as st
from tree_strategies import labels, trees

from mbrparse.errors import MbrparseError
from mbrparse.treebank.corpora.reading import SourceTree, read_corpus
from mbrparse.treebank.corpora.treebank_statistics import NUMBERED, TABLES, TreebankStatistics, check_treebank
from mbrparse.treebank.formats.conventions import Removals
from mbrparse.treebank.tree import Tree

Nested = Any  # [label, child, ...], a leaf (tag, word)


def nested(tree: Tree) -> Nested:
    if not tree.children:
        return (tree.label, tree.label if tree.word is None else tree.word)
    return [tree.label, *map(nested, tree.children)]


def category(label: str) -> str:
    if label[:1] in ("-", "="):
        return label
    return label.split("-", maxsplit=1)[0].split("=", maxsplit=1)[0]


def name_of(node: Nested) -> str:
    return category(node[0]) if isinstance(node, list) else without_index(str(node[0]))


def without_index(tag: str) -> str:
    """A tag without the number behind its last - or =."""
    name, number = tag.rstrip("0123456789"), tag[len(tag.rstrip("0123456789")) :]
    return name[:-1] if number and name[1:] and name[-1] in "-=" and name[-2] not in "-=" else tag


def words_of(node: Nested) -> list[tuple[str, str]]:
    return (
        [leaf for child in node[1:] for leaf in words_of(child)]
        if isinstance(node, list)
        else [leaf_of(node)]
    )


def leaf_of(node: Nested) -> tuple[str, str]:
    return without_index(node[0]), node[1]


def constituents_of(node: Nested) -> list[Nested]:
    return (
        [node, *(one for child in node[1:] for one in constituents_of(child))]
        if isinstance(node, list)
        else []
    )


def depth_of(node: Nested) -> int:
    """Of the deepest word; -1 where there are traces alone."""
    if not isinstance(node, list):
        return -1 if node[0] == "-NONE-" else 0
    below = max(map(depth_of, node[1:]))
    return below + (below >= 0)


def chains_of(node: Nested, above: tuple[Nested, ...] = ()) -> list[str]:
    """Chains whose nodes before this one are those above."""
    chain = (*above, node)
    if isinstance(node, list) and len(node) == 2:
        return chains_of(node[1], chain)
    own = [" ".join(map(name_of, chain))] if sum(isinstance(one, list) for one in chain) > 1 else []
    return own + (
        [found for child in node[1:] for found in chains_of(child)] if isinstance(node, list) else []
    )


def without_traces(node: Nested) -> Nested | None:
    if not isinstance(node, list):
        return None if node[0] == "-NONE-" else node
    kept = [child for child in map(without_traces, node[1:]) if child is not None]
    return [node[0], *kept] if kept else None


def naive(found: list[Nested]) -> tuple[dict[str, int], dict[str, Counter[str]]]:
    counts: dict[str, Counter[str]] = {name: Counter() for name in TABLES}
    figures = Counter(trees=0, words=0, constituents=0, traces=0)
    for whole in found:
        tree = whole
        while isinstance(tree, list) and len(tree) == 2 and tree[0] in ("", "TOP", "ROOT", "S1", "VROOT"):
            counts["wrappers"][tree[0] or "( )"] += 1
            tree = tree[1]
        leaves, inner = words_of(tree), constituents_of(tree)
        words = [word for tag, word in leaves if tag != "-NONE-"]
        counts["words"].update(words)
        counts["tags"].update(tag for tag, _ in leaves if tag != "-NONE-")
        counts["lengths"][str(len(words))] += 1
        counts["depths"][str(max(depth_of(tree), 0))] += 1
        counts["roots"][name_of(tree)] += 1
        counts["chains"].update(chains_of(tree))
        for node in inner:
            counts["labels"][name_of(node)] += 1
            counts["branching"][str(len(node) - 1)] += 1
            counts["rules"][f"{name_of(node) or '( )'} -> {' '.join(map(name_of, node[1:]))}"] += 1
        figures.update(trees=1, words=len(words), constituents=len(inner), traces=len(leaves) - len(words))
    figures["repeated trees"] = len(found) - len(set(map(str, found)))
    said = {str([word for tag, word in words_of(tree) if tag != "-NONE-"]) for tree in found}
    figures["repeated sentences"] = len(found) - len(said)
    return figures, counts


SOME_LABELS = labels | st.sampled_from(["", "TOP", "S", "NP", "NP-SBJ-1", "S=2"])


@given(st.lists(trees(SOME_LABELS), max_size=6).map(lambda found: found + found[:2]), st.booleans())
def test_as_by_walking_nested_lists(sample: list[Tree], traces: bool) -> None:
    statistics = TreebankStatistics(no_traces=not traces)
    source = [SourceTree(f"{number % 2}.mrg", 1, tree) for number, tree in enumerate(sample)]
    assert len(list(statistics.watch(source))) <= len(source)
    lists = list(map(nested, sample))
    figures, counts = naive(
        lists if traces else [kept for kept in map(without_traces, lists) if kept is not None]
    )
    found = statistics.counts()
    for name in TABLES:
        if name not in ("functions", "traces", "removed"):
            assert found[name] == counts[name], name
            order = (
                [int(key) for key in found[name]] if name in NUMBERED else [-n for n in found[name].values()]
            )
            assert order == sorted(order)
    if statistics.files:
        shown = statistics.figures()
        assert {name: shown[name] for name in figures} == figures
        assert sum(counts["trees"] for counts in statistics.files.values()) == figures["trees"]


# --- mbrparse stats ------------------------------------------------------------------------

ONE = "( (S (NP-SBJ (DT the) (N dog)) (VP (V barks))))\n(S (NP (N dogs)) (VP (V bark)))\n"
TWO = "(S (NP (N dogs)) (VP (V bark)))\n(FRAG (NP (N dogs)))\n"


@pytest.fixture
def corpus(working_folder: None) -> None:  # noqa: ARG001
    Path("bank").mkdir()
    Path("bank/1.mrg").write_text(ONE)
    Path("bank/2.mrg").write_text(TWO)


@pytest.mark.usefixtures("corpus")
def test_one_table_in_each_format(command: Command) -> None:
    assert command("stats bank --table rules --top 2").output.splitlines() == [
        "rules       count  percent",
        "NP -> N         3    27.27",
        "S -> NP VP      3    27.27",
    ]
    rows = list(csv.reader(command("stats bank/1.mrg bank/2.mrg --format csv").output.splitlines()))
    assert rows == [
        ["file", "trees", "words", "constituents"], ["bank/1.mrg", "2", "5", "6"],
        ["bank/2.mrg", "2", "3", "5"], ["total", "4", "8", "11"],
    ]  # fmt: skip
    found = json.loads(command("stats - --format json", stdin=ONE + TWO).output)
    assert found["labels"] == {"NP": 4, "S": 3, "VP": 3, "FRAG": 1}
    assert found["files"] == {"<stdin>": {"trees": 4, "words": 8, "constituents": 11}}
    kept = json.loads(command("stats bank --table labels --functions keep --format json").output)
    assert kept == {"labels": {"NP": 3, "S": 3, "VP": 3, "FRAG": 1, "NP-SBJ": 1}}
    assert "| NP " in command("stats bank --format markdown").output
    assert r"\toprule" in command("stats bank --table tags --format latex").output


GOOD = b"(S (NP (N dogs)) (V bark))"
#: Texts of one tree, and what is wrong with it.
FAULTS = {
    b"(S (NP (N dogs)) (V bark)": "unbalanced brackets",
    b"(S (NP (N dogs))) (V bark))": "closing bracket without an opening one",
    b"(S (NP ) (V bark))": "constituent 'NP' without children",
    b"(S\n  (A\n    (B ))\n  (C x)\n  (D ))": "constituent 'B' without children",
    b"(S (N \xe9) (V bark))": "bytes that are not utf-8",
}
ODD = {
    b"(S (NN a b) (V c))": ["several words"],
    b"(S (NN a (lemma b)) (V c))": ["a word beside", "a word under (lemma)"],
    b"((S (N a) (V c)) (ID x))": ["a constituent without a label", "a word under (ID)"],
    b"(S (COMMENT a) (CODE-1 c))": ["a word under (COMMENT)", "a word under (CODE-1)"],
}


@given(st.lists(st.sampled_from([GOOD, *FAULTS, *ODD])))
def test_all_that_is_wrong_and_nothing_else(texts: list[bytes]) -> None:
    """Each malformed tree once, at the line it begins on (children that lack: on their own)."""
    malformed: list[tuple[int, str]] = []
    odd, first, line = Counter[str](), dict[str, int](), 1
    for text in [GOOD, *texts]:
        if text in FAULTS:
            malformed.append((line + (2 if b"(B )" in text else 0), FAULTS[text]))
        for what in ODD.get(text, []):
            odd[what] += 1
            first.setdefault(what, line)
        line += text.count(b"\n") + 1
    Path("a.mrg").write_bytes(b"\n".join([GOOD, *texts]) + b"\n")
    found = list(check_treebank("a.mrg"))
    wrong = [one for one in found if one.kind == "malformed"]
    assert [(one.source, one.line) for one in wrong] == [("a.mrg", place) for place, _ in malformed]
    assert all(one.what.startswith(what) for one, (_, what) in zip(wrong, malformed, strict=True))
    suspicious = [one for one in found if one.kind == "suspicious" and one.line]
    assert len(suspicious) == len(odd)
    for what, number in odd.items():
        [one] = [one for one in suspicious if one.what.startswith(what)]
        assert (one.number, one.source, one.line) == (number, "a.mrg", first[what])
    errors: list[MbrparseError] = []
    trees = [tree for _, _, tree, _ in read_corpus("a.mrg", on_error=errors.append)]
    assert len(errors) == len(malformed)
    assert len(trees) + len(errors) == len(texts) + 1


def test_a_file(command: Command) -> None:
    Path("a.mrg").write_bytes(b"\n".join([GOOD, *FAULTS, *ODD, b"( (S (N a) (V b)))"]))
    outcome = command("check a.mrg")
    assert outcome.code == 1
    lines = outcome.out.splitlines()
    assert lines[:3] == [
        "a.mrg:2: unbalanced brackets: 1 opened here or later, never closed",
        "a.mrg:3: closing bracket without an opening one",
        "a.mrg:4: constituent 'NP' without children",
    ]
    assert "a.mrg:15: removed (1): wrapper ( )" in lines
    assert outcome.err.endswith("mbrparse: malformed trees: 5\n")
    found = list(map(json.loads, command("check a.mrg --format json").out.splitlines()))
    assert found[4] == {
        "kind": "malformed", "number": 1, "source": "a.mrg", "line": 10, "what": "bytes that are not utf-8",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "reader"),
    [
        ("( (IP (N hundar) (V gelta)) (ID A,.1))", "penn-historical:a.psd"),
        ("( (IP (N hundar-hundur) (V gelta-gelta)) (ID A,.1))", "icepahc:a.psd"),
        ("(ROOT (IP (N dogs) (V well-fed)))", None),
    ],
)
def test_the_reader_of_another_style_is_named(command: Command, text: str, reader: str | None) -> None:
    Path("a.psd").write_text(f"{text}\n" * 120)
    noted = [line for line in command("check a.psd").err.splitlines() if "another style" in line]
    expected = f"mbrparse: a.psd looks like another style: name its reader, {reader}"
    assert noted == ([expected] if reader else [])


def test_a_tag_that_does_not_end_is_counted(command: Command) -> None:
    Path("a.mrg").write_text("(S (A a) (B b))\n<S ID=1 (S (A a) (B b))\n")
    assert command("stats a.mrg --table removed").output.endswith(
        "line or tag of SGML between trees      1   100.00\n"
    )
    assert command("check a.mrg").output == "a.mrg:2: removed (1): line or tag of SGML between trees\n"


def test_removals_are_first_where_there_are_some() -> None:
    removed = Removals()
    for removed.place, number in ((("a", 1), 0), (("a", 2), 2), (("a", 3), 1)):
        removed["x"] += number
        removed["y"] += 0
    assert (dict(removed), removed.first) == ({"x": 3}, {"x": ("a", 2)})
