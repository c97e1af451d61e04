"""Models of unknown words: what stands for rare and unseen words, and what grammars say of them."""

import pickle
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tree_strategies import labels, tokens

from mbrparse.errors import GrammarError
from mbrparse.grammar.grammar_files import read_grammar, read_rules, write_grammar, write_rules
from mbrparse.grammar.pcfg import PCFG, UNKNOWN_TERMINAL
from mbrparse.grammar.rules import RuleSet, is_terminal, unquote
from mbrparse.grammar.tagger import Tagger
from mbrparse.grammar.unknown_words import ENOUGH, MODELS, Collins, UnknownKind, classes, is_unknown
from mbrparse.training.count import induce
from mbrparse.treebank.binarize import binarize
from mbrparse.treebank.corpora.reading import SourceTree
from mbrparse.treebank.labels import escape
from mbrparse.treebank.tree import Tree

Leaf = tuple[str, str | None]  # tag and word; None: a bare terminal
KINDS: list[UnknownKind] = ["signature", "collins"]

words = st.sampled_from(
    ["the", "dog", "Dogs", "B-52", "1990", "re-opened", "x(y", "(UNKNOWN)", "UNKNOWN", "''"]
)
words |= tokens
leaves = st.tuples(st.sampled_from(["NN", "VB"]) | labels, words) | st.tuples(tokens, st.none())
sentences = st.lists(leaves, min_size=2)
treebanks = st.lists(sentences, min_size=1, max_size=5)


def source_trees(treebank: Sequence[Sequence[Leaf]]) -> list[SourceTree]:
    """A binary tree over each sentence."""
    return [
        SourceTree("t", line, binarize(Tree("S", [Tree(tag, word=word) for tag, word in sentence])))
        for line, sentence in enumerate(treebank, start=1)
    ]


def trained(kind: UnknownKind, treebank: Sequence[Sequence[Leaf]], rare: int) -> RuleSet:
    trees = source_trees(treebank)
    replaced, model = MODELS[kind].learn(trees, rare)
    if isinstance(model, Collins):
        model = model.with_tagger(Tagger.train(tree for _, _, tree, _ in trees))
    rules = replace(induce(replaced, "words"), unknown=model)
    rules.check()
    return rules


def lexicon(rules: RuleSet) -> dict[str, set[str]]:
    """The tags of each terminal, as rules name them."""
    found: dict[str, set[str]] = defaultdict(set)
    for rule in rules.rules:
        if len(rule.children) == 1 and is_terminal(rule.children[0]):
            found[unquote(rule.children[0])].add(rule.parent)
    return found


def escaped(word: str) -> str:
    return word.replace("(", "-LRB-").replace(")", "-RRB-")


def sentence_of(text: str, times: int = 1) -> list[list[Leaf]]:
    """``the/DT dog/NN``, so many times."""
    pairs = [token.rsplit("/", 1) for token in text.split()]
    return [[(tag, word) for word, tag in pairs]] * times


@pytest.mark.parametrize("kind", KINDS)
@given(treebank=treebanks, unseen=st.lists(words, min_size=1), rare=st.integers(2, 4))
def test_whatever_words_there_are(
    kind: UnknownKind, treebank: list[list[Leaf]], unseen: list[str], rare: int
) -> None:
    rules = trained(kind, treebank, rare)
    totals: dict[str, float] = defaultdict(float)
    for rule, weight in rules.rules.items():
        totals[rule.parent] += weight.probability
    assert all(abs(total - 1) < 1e-9 for total in totals.values())

    seen = Counter(escaped(word) for sentence in treebank for _, word in sentence if word is not None)
    bare = {tag for sentence in treebank for tag, word in sentence if word is None}
    lost = {word for word, count in seen.items() if count < rare and word not in bare}
    found = lexicon(rules)
    grammar = PCFG.from_rules(rules)
    for word in seen.keys() - lost:
        tags = {escape(t) for s in treebank for t, w in s if w is not None and escaped(w) == word}
        assert found[word] == tags
        assert grammar.terminals_of([word]) == [word]
    assert not lost & found.keys() - bare
    sentence = [*unseen, *seen]
    terminals = grammar.terminals_of(sentence)
    assert len(terminals) == len(sentence)
    known = grammar.encode(terminals) != UNKNOWN_TERMINAL
    if lost:
        assert known.all()
    else:
        assert list(known) == [escaped(word) in seen or escaped(word) in bare for word in sentence]


@pytest.mark.parametrize("kind", KINDS)
@given(treebank=treebanks, unseen=st.lists(words, min_size=1))
def test_files_keep_the_model(
    kind: UnknownKind, treebank: list[list[Leaf]], unseen: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "words.grammar"
    rules = trained(kind, treebank, 2)
    write_rules(rules, path)
    assert read_rules(path) == rules
    text = path.read_bytes()
    grammar = read_grammar(path)
    assert grammar.terminals_of(unseen) == PCFG.from_rules(rules).terminals_of(unseen)
    assert pickle.loads(pickle.dumps(grammar)).terminals_of(unseen) == grammar.terminals_of(unseen)
    write_grammar(grammar, path)
    assert path.read_bytes() == text


# Signatures


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("dogs", "lower/-s"),
        ("re-opened", "lower/hyphen/-ed"),
        ("-", "symbol"),
        ("Anglo-Saxon", "Capital/hyphen"),
        ("U.S.", "capitals"),
        ("eBay", "mixed/-y"),
        ("訳", "lower"),
    ],
)
def test_classes_of_words(word: str, expected: str) -> None:
    assert classes(word, False)[0] == f"(UNKNOWN/{expected})"
    parts = expected.split("/")
    assert classes(word, False) == (
        *(f"(UNKNOWN/{'/'.join(parts[:size])})" for size in range(len(parts), 0, -1)),
        "(UNKNOWN)",
    )
    assert classes(word, True) == tuple(name.replace("Capital", "Initial") for name in classes(word, False))


def class_counts(rules: RuleSet) -> dict[str, float]:
    """Rare occurrences by class, whatever their tags."""
    found: dict[str, float] = defaultdict(float)
    for rule, weight in rules.rules.items():
        if is_unknown(unquote(rule.children[0])):
            found[unquote(rule.children[0])] += weight.count or 0
    return found


REGULAR = " ".join(f"b{'c' * n}ed/V" for n in range(1, ENOUGH + 1))
NUMBERS = " ".join(f"{n}/C" for n in range(ENOUGH + 1))


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        # The two in -ing and the one without a suffix are too few: they fall under their shape.
        (
            f"a/X {REGULAR} a/X bring/V swing/V fun/V IBM/N",
            {"(UNKNOWN/lower/-ed)": ENOUGH - 1, "(UNKNOWN/lower)": 2, "(UNKNOWN)": 3},
        ),
        # The first of each class is (UNKNOWN), which is there whenever a word was rare.
        (f"a/X {REGULAR} a/X", {"(UNKNOWN/lower/-ed)": ENOUGH - 1, "(UNKNOWN)": 1}),
        (
            f"a/X {REGULAR} {NUMBERS} a/X",
            {"(UNKNOWN/lower/-ed)": ENOUGH - 1, "(UNKNOWN/number)": ENOUGH, "(UNKNOWN)": 2},
        ),
    ],
)
def test_classes_that_too_few_share_are_made_coarser(text: str, counts: dict[str, int]) -> None:
    rules = trained("signature", sentence_of(text), 2)
    assert class_counts(rules) == counts
    number = "(UNKNOWN/number)" if NUMBERS in text else "(UNKNOWN)"
    found = PCFG.from_rules(rules).terminals_of(["a", "77", "walked", "?"])
    assert found == ["a", number, "(UNKNOWN/lower/-ed)", "(UNKNOWN)"]


# Collins's

SENTENCES = [
    *sentence_of("the/DT dog/NN barks/VBZ ./.", 6),
    *sentence_of("the/DT cat/NN purrs/VBZ ./.", 2),
    *sentence_of("the/DT lion/NN roars/VBZ ./.", 2),
    *sentence_of("the/DT bird/NN sings/VBZ ./.", 2),
]


def test_the_taggers_tag_decides() -> None:
    rules = trained("collins", SENTENCES, 6)
    known = {"the": {"DT"}, "dog": {"NN"}, "barks": {"VBZ"}, ".": {"."}}
    assert lexicon(rules) == {**known, "(UNKNOWN/NN)": {"NN"}, "(UNKNOWN/VBZ)": {"VBZ"}}
    weights = {str(rule): weight for rule, weight in rules.rules.items()}
    assert weights["NN -> '(UNKNOWN/NN)'"].probability == pytest.approx(6 / 12)
    grammar = PCFG.from_rules(rules)
    for rare_or_unseen in ("the cat roars .", "the wolf howls ."):
        assert grammar.terminals_of(rare_or_unseen.split()) == ["the", "(UNKNOWN/NN)", "(UNKNOWN/VBZ)", "."]
    assert grammar.terminals_of(["the", "dog", "barks", "."]) == ["the", "dog", "barks", "."]


HEADER = "mbrparse-grammar 1\nterminals words\n{}start S 1 1\nrules 1\n1 1 S -> 'a' 'b'\nend\n"


@pytest.mark.parametrize("model", ["", "words 2", "signature 1", "collins 6"])
def test_header_lines_that_name_no_model(model: str, tmp_path: Path) -> None:
    path = tmp_path / "g"
    path.write_text(HEADER.format(f"unknown {model}\n"))
    with pytest.raises(GrammarError, match=f"{path}:3: not a model of unknown words: '{model}'; it reads"):
        read_rules(path)
