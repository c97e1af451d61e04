"""Fixtures that all rooms share: real treebanks, and the command line in this process."""

import os
import signal
from pathlib import Path
from typing import NoReturn

import pytest
from commandline import Command, run
from hypothesis import HealthCheck, settings

from mbrparse.errors import CorpusError
from mbrparse.treebank.corpora.reading import read_corpus
from mbrparse.treebank.tree import Tree

# make test draws the same examples each time, few of each property: it passes for everyone or for nobody.
# make test-long (--hypothesis-profile=long) draws many, anew each time, and prints how to repeat a failure.
# No example has a deadline: a busy machine is slow.
_COMMON = settings(deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("short", _COMMON, max_examples=12, derandomize=True)
settings.register_profile("long", _COMMON, max_examples=100, print_blob=True)
settings.load_profile("short")

# A shell in the background (``make test &``) lets its children ignore Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def missing_data(what: str) -> NoReturn:
    """Skip a test whose data is not there; fail it where MBRPARSE_REQUIRE_DATA is set."""
    if os.environ.get("MBRPARSE_REQUIRE_DATA"):
        pytest.fail(f"data is missing: {what}", pytrace=False)
    pytest.skip(f"data is missing: {what}")


def _raw_trees(spec: str) -> tuple[Tree, ...]:
    try:
        return tuple(tree for _, _, tree, _ in read_corpus(spec))
    except CorpusError as error:
        missing_data(str(error))


@pytest.fixture(scope="session")
def whole_treebank_sample() -> tuple[Tree, ...]:
    """All 3,914 of them: for tests of counts, which take long."""
    return _raw_trees("nltk:treebank")


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
