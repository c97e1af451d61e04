"""Statistics of treebanks against those of a reader that walks nested lists, and ``mbrparse stats``."""

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from commandline import Command
from hypothesis import given
from hypothesis import strategies as st
from test_known_corpora import spec_of
from tree_strategies import labels, trees

from mbrparse.treebank.corpora.known_corpora import CORPORA, Corpus
from mbrparse.treebank.corpora.reading import SourceTree
from mbrparse.treebank.corpora.treebank_statistics import (
    NUMBERED,
    TABLES,
    TreebankStatistics,
    treebank_statistics,
)
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
    return category(node[0]) if isinstance(node, list) else str(node[0])


def words_of(node: Nested) -> list[tuple[str, str]]:
    return [leaf for child in node[1:] for leaf in words_of(child)] if isinstance(node, list) else [node]


def constituents_of(node: Nested) -> list[Nested]:
    return (
        [node, *(one for child in node[1:] for one in constituents_of(child))]
        if isinstance(node, list)
        else []
    )


def depth_of(node: Nested) -> int:
    return 1 + max(map(depth_of, node[1:])) if isinstance(node, list) else 0


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
        counts["tags"].update(tag for tag, _ in leaves)
        counts["lengths"][str(len(words))] += 1
        counts["depths"][str(depth_of(tree))] += 1
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


def test_functions_traces_and_corpora_of_two_conventions() -> None:
    statistics = TreebankStatistics()
    tree = Tree(
        "NP-LOC-PRD=2", [Tree("-NONE-", word="*T*-1"), Tree("-NONE-", word="0"), Tree("N-x", word="a")]
    )
    list(statistics.watch([SourceTree("a", 1, tree)] * 2))
    list(statistics.watch([SourceTree("b", 1, Tree("UTT+np", [Tree(">N+art", word="o")]))], "before:+"))
    statistics.removed["*con*"] += 1
    statistics.removed["(ID)"] += 1
    found = statistics.counts()
    assert found["functions"] == {"LOC": 2, "PRD": 2, "UTT": 1}
    assert found["traces"] == {"*T*": 2, "0": 2, "*con*": 1}
    assert found["labels"] == {"NP": 2, "np": 1}
    assert found["tags"] == {"-NONE-": 4, "N-x": 2, "art": 1}
    assert found["rules"] == {"NP -> -NONE- -NONE- N-x": 2, "np -> art": 1}
    assert statistics.figures()["traces"] == 5


@pytest.mark.parametrize(
    "corpus",
    [
        pytest.param(corpus, id=corpus.name, marks=() if "flights" in corpus.name else pytest.mark.long)
        for corpus in CORPORA
        if corpus.trees is not None
    ],
)
def test_the_sizes_that_the_docs_state(corpus: Corpus) -> None:
    figures = treebank_statistics(spec_of(corpus), on_error="skip").figures()
    assert (figures["trees"], figures["words"]) == (corpus.trees, corpus.words)


# --- mbrparse stats ------------------------------------------------------------------------

ONE = "( (S (NP-SBJ (DT the) (N dog)) (VP (V barks))))\n(S (NP (N dogs)) (VP (V bark)))\n"
TWO = "(S (NP (N dogs)) (VP (V bark)))\n(FRAG (NP (N dogs)))\n"


@pytest.fixture
def corpus(working_folder: None) -> None:  # noqa: ARG001
    Path("bank").mkdir()
    Path("bank/1.mrg").write_text(ONE)
    Path("bank/2.mrg").write_text(TWO)


@pytest.mark.usefixtures("corpus")
def test_a_folder(command: Command) -> None:
    lines = command("stats bank").output.splitlines()
    figures = dict(line.rsplit(maxsplit=1) for line in lines[1 : lines.index("")])
    assert figures["files"] == "2"
    assert (figures["trees"], figures["words"], figures["words a tree"]) == ("4", "8", "2.00")
    assert (figures["repeated trees"], figures["repeated sentences"]) == ("1", "1")
    for line in (
        "file        trees  words  constituents",
        "total           4      8            11",
        "FRAG NP N      1   100.00",
        "( )           1   100.00",
        "1-10         4   100.00",
    ):
        assert line in lines, line


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


def test_what_cannot_be_counted(command: Command) -> None:
    Path("bad.mrg").write_bytes(b"(S (N a) (N b))\n(S (N \xe9) x)\n(S (N c)\n(S (N a) (N b))\n")
    assert "bad.mrg:2: bytes that are not utf-8" in command("stats bad.mrg").error
    outcome = command("stats bad.mrg --on-error skip --table figures --format csv")
    assert dict(csv.reader(outcome.output.splitlines()))["malformed trees left out"] == "2"
    assert "no trees in the input" in command("stats -").error
    assert command("stats none.mrg").error == "none.mrg: no such file"
    assert "Missing argument 'TREEBANK...'" in command("stats").usage_error
    assert "--output would overwrite TREEBANK" in command("stats bad.mrg -o bad.mrg").usage_error


def test_lemmas(command: Command) -> None:
    Path("a.psd").write_text("( (IP-MAT (N hundar-hundur) (V gelta-gelta)) (ID A,.1))\n")
    assert "hundur" in command("stats icepahc:a.psd --leaves lemma --table words").output
    assert "(ID)" in command("stats icepahc:a.psd --table removed").output
