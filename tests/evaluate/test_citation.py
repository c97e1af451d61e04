"""``cite``: BibTeX and a paragraph on methods, of a signature or of a folder."""

import re
from collections import Counter
from pathlib import Path

import pytest
from commandline import Command, run

from mbrparse.evaluate.citation import citation
from mbrparse.evaluate.compare.profiles import PROFILES
from mbrparse.program import signature, sources
from mbrparse.treebank.corpora.known_corpora import CORPORA

TREES = "( (S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (DT a) (NN cat))) (. .)) )\n" * 12


def keys(text: str) -> list[str]:
    """The entries' keys; each entry has its braces."""
    entries = re.findall(r"^@\w+\{([^,]+),\n(?:.*\n)*?\}$", text, re.MULTILINE)
    assert text.count("\n@") + text.startswith("@") == len(entries)
    assert text.count("{") == text.count("}")
    assert max(Counter(entries).values()) == 1
    return entries


@pytest.fixture(scope="module")
def folder_of_reproduce(tmp_path_factory: pytest.TempPathFactory) -> Path:
    at = tmp_path_factory.mktemp("reproduced")
    (at / "trees.mrg").write_text(TREES, encoding="utf-8")
    options = "--test-fraction 0.25 --seed 7 --max-length 33 -o"
    assert run("reproduce", at / "trees.mrg", *options.split(), at / "made").code == 0
    return at / "made"


def test_a_folder_and_its_tables_signature(command: Command, folder_of_reproduce: Path) -> None:
    text = command("cite", folder_of_reproduce).output
    line = (folder_of_reproduce / "table.txt").read_text("utf-8").splitlines()[-1]
    assert command("cite", line).output == text
    assert keys(text) == ["mbrparse", "goodman-1996-parsing", "efron-tibshirani-1993", "noreen-1989"]
    paragraph = " ".join(text.rpartition("}\n")[2].split())
    for part in (
        f"Trees of {folder_of_reproduce.parent}/trees.mrg were read and binarized.",
        "Trees of more than 33 terminals were left out.",
        "Of the trees 0.25, drawn at random (seed 7), were held out and parsed.",
        "10000 resamples, seed 0",
        "3 sentences were compared; 100.00% have a tree.",
        f"sources {sources()}",
    ):
        assert part in paragraph
    assert command("cite", line, "-o", "refs.bib").code == 0
    assert Path("refs.bib").read_text("utf-8") == text


@pytest.mark.parametrize("text", ["nothing", "criteria:x|gold:y"])
def test_what_is_no_signature(command: Command, text: str) -> None:
    assert command("cite", text).error == (
        "no signature of a table; give the last line of a table, in quotes, or the folder of an experiment"
    )


def test_a_signatures_escapes_are_shown(command: Command) -> None:
    text = command("cite", "criteria:x\x1b[31m\u202e|gold:y|sentences:1|version:mbrparse-0").output
    assert r"The criteria were x\x1b[31m\u202e." in " ".join(text.split())


@pytest.mark.parametrize("name", [name for name in PROFILES if name != "goodman"])
def test_each_profile_has_a_paper(name: str) -> None:
    found = keys(citation([signature({"criteria": "x", "profile": name, **PROFILES[name].how.signature()})]))
    assert len(found) > 1


@pytest.mark.parametrize("corpus", CORPORA, ids=lambda corpus: corpus.name)
def test_corpora_are_cited_as_they_are_known(corpus: object) -> None:
    name, cited = corpus.name, corpus.citation  # type: ignore[attr-defined]
    said = citation(
        [signature({"table": "x", "run": {"name": f"{name}:some/path" if ":" not in name else name}})]
    )
    assert keys(said) == ["mbrparse", name.replace(":", "-")]
    assert cited.replace("&", r"\&").split(",")[0] in said
