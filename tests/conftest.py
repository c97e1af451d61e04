"""Fixtures that all rooms share: real treebanks, and the command line in this process."""

import gc
import os
from pathlib import Path
from typing import NoReturn

import pytest
from commandline import Command, run
from hypothesis import HealthCheck, settings

from mbrparse.errors import CorpusError
from mbrparse.treebank.corpora import read_corpus
from mbrparse.treebank.tree import Tree

# How many examples hypothesis tries: few, or with --hypothesis-profile=long (make test-long) many.
# No example has a deadline: a busy machine is slow.
settings.register_profile(
    "short", max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("long", settings.get_profile("short"), max_examples=100)
settings.load_profile("short")


def missing_data(what: str) -> NoReturn:
    """Skip a test whose data is not there; fail it where MBRPARSE_REQUIRE_DATA is set."""
    if os.environ.get("MBRPARSE_REQUIRE_DATA"):
        pytest.fail(f"data is missing: {what}", pytrace=False)
    pytest.skip(f"data is missing: {what}")


def _raw_trees(spec: str) -> tuple[Tree, ...]:
    try:
        trees = tuple(tree for _, _, tree, _ in read_corpus(spec))
    except CorpusError as error:
        missing_data(str(error))
    # They stay until the end: the garbage collector need not go through them again and again.
    gc.collect()
    gc.freeze()
    return trees


@pytest.fixture(scope="session")
def treebank_sample() -> tuple[Tree, ...]:
    """All raw trees of NLTK's Penn Treebank sample."""
    return _raw_trees("nltk:treebank")


@pytest.fixture(scope="session")
def sinica_sample() -> tuple[Tree, ...]:
    """All raw trees of NLTK's Sinica Treebank sample."""
    return _raw_trees("nltk:sinica_treebank")


@pytest.fixture(scope="session")
def command() -> Command:
    """Run ``mbrparse`` in this process: ``command("split --test-last 3", path, stdin="...")``."""
    return run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, empty."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(autouse=True)
def working_folder(request: pytest.FixtureRequest) -> None:
    """Tests of commands run in working folders of their own."""
    if request.path.parent.name in ("cli", "evaluate", "treebank"):
        request.getfixturevalue("folder")


@pytest.fixture
def toy_folder(folder: Path) -> Path:
    """The working folder: ``grammar.txt``, counted from six trees, and ``tags.txt``, half of it parsable."""
    trees = ["(S (NP DT JJ NN) (VP V (NP DT NN)))", "(S (NP DT NN) (VP V (NP DT JJ JJ NN) (PP P NN)))"] * 2
    trees += ["(S (NP DT JJ NN NN) (VP V (NP DT NN (PP P NN))))", "(S (NP DT NN) (VP V DT NN))"]
    (folder / "trees.mrg").write_text("\n".join(trees) + "\n")
    assert run("binarize trees.mrg -o train.mrg").code == 0
    assert run("train train.mrg -o grammar.txt").code == 0
    (folder / "tags.txt").write_text("DT JJ NN V DT JJ NN P NN\n\nQQ DT\nDT NN V DT NN\n")
    return folder
