"""The table of known corpora against what is read, what is found and what the docs say."""

import os
from pathlib import Path

import pytest
from conftest import missing_data

from mbrparse.errors import CorpusError, MbrparseError
from mbrparse.treebank.corpora.known_corpora import CORPORA, Corpus
from mbrparse.treebank.corpora.prepare import Preparation, PreparationStatistics, Sanity, prepare_corpora
from mbrparse.treebank.corpora.reading import find_corpora, read_corpus
from mbrparse.treebank.formats.conventions import CorpusReading
from mbrparse.treebank.formats.discontinuous import LOWERED, RAISED
from mbrparse.treebank.formats.xml_formats import COINDEXED
from mbrparse.treebank.tree import Tree

DOCS = Path(__file__).parents[2] / "docs" / "treebanks.md"


def spec_of(corpus: Corpus) -> str:
    """A corpus on this machine: MBRPARSE_TREEBANKS is a folder of zips, as the docs name them."""
    folder = os.environ.get("MBRPARSE_TREEBANKS")
    found = find_corpora([folder] if folder else [])[corpus.name]
    if found:
        return found[0]
    pytest.skip(f"{corpus.name} is not here")


def prepared(spec: str) -> tuple[list[Tree], PreparationStatistics]:
    statistics = PreparationStatistics()
    found = prepare_corpora([spec], Preparation(), statistics, on_error="skip")
    return [one.tree for one in found], statistics


@pytest.mark.parametrize(
    "corpus",
    [
        pytest.param(
            corpus, id=corpus.name, marks=() if corpus.name == "embedded:flights" else pytest.mark.long
        )
        for corpus in CORPORA
    ],
)
def test_every_corpus_that_is_here_is_sane(corpus: Corpus) -> None:
    _, statistics = prepared(spec_of(corpus))
    sanity = statistics.sanity
    assert not any(remark.startswith("warning") for remark in statistics.notes())
    assert 9 <= sanity.words / sanity.trees <= 35
    assert len(sanity.tag_types) < len(sanity.word_types) / 10
    assert sanity.unary < 0.6 * sanity.constituents
    assert not sanity.in_pairs
    if corpus.trees is not None:
        assert (sanity.trees, sanity.words) == (corpus.trees, corpus.words)


@pytest.mark.long
def test_alpinos_words_are_in_the_order_of_its_sentences() -> None:
    try:
        first = next(iter(read_corpus("nltk:alpino"))).tree
    except CorpusError as error:
        missing_data(str(error))
    assert first.words()[:4] == ("De", "verzekeringsmaatschappijen", "verhelen", "niet")
    statistics = prepared("nltk:alpino")[1]
    assert not statistics.first_error
    assert statistics.removed == {RAISED: 9419, COINDEXED: 8577, LOWERED: 7514}


def test_lemmas_where_there_are_none() -> None:
    with pytest.raises(CorpusError, match=r"embedded:flights gives no lemmas.*icepahc:PATH"):
        read_corpus("embedded:flights", CorpusReading(leaves="lemma"))
    with pytest.raises(MbrparseError, match="`leaves` is one of word, lemma, both, not 'root'"):
        CorpusReading(leaves="root")  # type: ignore[arg-type]


def test_the_docs_name_every_corpus_as_the_table_does() -> None:
    text = DOCS.read_text("utf-8")
    for corpus in CORPORA:
        for part in (f"`{corpus.spec}`", corpus.size, corpus.licence, corpus.get, corpus.functions):
            assert part in text, (corpus.name, part)


# --- sanity --------------------------------------------------------------------------------

LEAF = Tree("N", word="dog")


def warned(tree: Tree, count: int = 100) -> list[str]:
    sanity = Sanity()
    for _ in range(count):
        sanity.see(tree)
    return sanity.warnings()


@pytest.mark.parametrize(
    ("tree", "warning"),
    [
        (Tree("S", [Tree("N", [Tree("dogs"), Tree("dog")])] * 3), "most tags have two words below them"),
        (LEAF, "100 of 100 trees are single words"),
        (Tree("S", [Tree("A", [Tree("B", [LEAF])])] * 2), "400 of 500 constituents have one child"),
    ],
)
def test_what_is_strange(tree: Tree, warning: str) -> None:
    assert any(text.startswith(warning) for text in warned(tree))
    assert not warned(tree, 99)
