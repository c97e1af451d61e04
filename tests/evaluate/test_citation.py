"""``cite``: BibTeX and a paragraph on methods, of a signature or of a folder."""

import re
import shlex
import shutil
from collections import Counter
from pathlib import Path

import pytest
from children import finished
from commandline import Command, run

from mbrparse.errors import MbrparseError
from mbrparse.evaluate.citation import citation
from mbrparse.evaluate.compare.profiles import PROFILES
from mbrparse.program import signature, sources
from mbrparse.treebank.corpora.known_corpora import CORPORA, Corpus

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
    assert command("cite", folder_of_reproduce / "table.txt").output == text
    assert str(folder_of_reproduce.parent) not in text
    for part in (
        "Trees of trees.mrg were read and binarized.",
        "Trees of more than 33 terminals were left out.",
        "Of the trees 0.25, drawn at random (seed 7), were held out and parsed.",
        "10000 resamples, seed 0",
        "approximate randomization [@noreen-1989]",
        "P-values are not corrected",
        "3 sentences were compared; 100.00% have a tree.",
        f"sources {sources()}",
    ):
        assert part in paragraph
    assert command("cite", line, "-o", "refs.bib").code == 0
    assert Path("refs.bib").read_text("utf-8") == text


@pytest.mark.parametrize("text", ["nothing", "criteria:x|gold:y"])
def test_what_is_no_signature(command: Command, text: str) -> None:
    assert command("cite", text).error == (
        "no signature of a table; give the last line of a table, in quotes, its file, or the folder of an "
        "experiment"
    )


def test_a_signatures_escapes_are_shown(command: Command) -> None:
    text = command("cite", "criteria:x\x1b[31m\u202e|gold:y|sentences:1|version:mbrparse-0").output
    assert r"The criteria were x\x1b[31m\u202e." in " ".join(text.split())


@pytest.mark.parametrize("name", [name for name in PROFILES if name != "goodman"])
def test_each_profile_has_a_paper(name: str) -> None:
    found = keys(citation([signature({"criteria": "x", "profile": name, **PROFILES[name].how.signature()})]))
    assert len(found) > 1


@pytest.mark.parametrize("corpus", CORPORA, ids=lambda corpus: corpus.name)
def test_corpora_are_cited_as_they_are_known(corpus: Corpus) -> None:
    """With a paper as one, and not for a file that is called like a corpus."""
    spec = f"{corpus.name}:path" if corpus.takes_path else corpus.name
    said = citation([signature({"table": "x", "made": f"mbrparse binarize {spec} --output=b.mrg"})])
    assert len(keys(said)) == 2
    kind, author = said.split("@")[2], re.split("[, ]", corpus.citation)[0]
    venue = r"\b(LREC|IALP|ACL|Linguistics|Bioinformatics|pilot corpus|Dependency|Marcinkiewicz)\b"
    paper = re.search(venue, corpus.citation)
    assert kind.startswith(("inproceedings{", "article{") if paper else "misc{")
    assert author.replace("\N{LATIN SMALL LETTER DOTLESS I}", r"{\i}") in said
    if corpus.takes_path:
        other = f"mbrparse binarize {corpus.name}.mrg"
        assert keys(citation([signature({"table": "x", "made": other})])) == ["mbrparse"]


def test_commands_with_what_separates_them_and_open_quotation_marks() -> None:
    made = "mbrparse binarize 'a; mbrparse b|c.mrg' --output=c; mbrparse train c"
    said = citation([signature({"table": "x", "made": made})])
    assert said.endswith(
        ":\n\n    mbrparse binarize 'a; mbrparse b|c.mrg' --output=c\n    mbrparse train c\n"
    )
    with pytest.raises(MbrparseError, match="open quotation mark: mbrparse train c'"):
        citation([signature({"table": "x", "made": f"{made}'"})])


SIGNED = (
    r"table:grid|made:mbrparse grid nltk:treebank '--bundle=a=hmarkov=0 unary=top' --folds=3 "
    "--train=method=split-merge --train=cycles=4 --train=seed=1,2 --binarize=on-error=skip --max-length=40 "
    "--objective=labelled-tree --objective=labelled-f|from:nltk:treebank=0123456789|cells:0123456789"
    "|sentences:3|coverage:100.00|fell_back:2.00|runs:6"
    "|baseline:hmarkov=0, train_size=1; viterbi:labelled-tree"
    "|significance:bootstrap+randomization,resamples=99,seed=0,level=0.05,correction=holm"
    "|version:mbrparse-0|sources:abc"
)


def test_a_grids_methods_and_commands() -> None:
    text = citation([SIGNED])
    assert keys(text) == [
        *("mbrparse", "goodman-1996-parsing", "petrov-2006", "efron-tibshirani-1993", "noreen-1989"),
        *("holm-1979", "marcus-1993"),
    ]
    paragraph = " ".join(text.rpartition("}\n")[2].split())
    for part in (
        "Trees of nltk:treebank were read and binarized. Trees of more than 40 terminals were left out.",
        "Malformed trees were left out. They were divided into 3 folds;",
        "[@petrov-2006]; cycles: 4. Each parser was trained with the seeds 1, 2.",
        "are means and standard deviations of 6 runs. F was compared with that of the baseline, hmarkov=0, "
        "train_size=1, and of labelled-tree in the same row.",
        "P-values are corrected for the number of tests by Holm's procedure [@holm-1979].",
    ):
        assert part in paragraph
    assert "held out" not in paragraph
    command = text.split("order:\n")[1].replace("\\\n", " ")
    assert shlex.split(command) == [
        *("mbrparse", "grid", "nltk:treebank", "--bundle=a=hmarkov=0 unary=top", "--folds=3"),
        *("--train=method=split-merge", "--train=cycles=4", "--train=seed=1,2", "--binarize=on-error=skip"),
        *("--max-length=40", "--objective=labelled-tree", "--objective=labelled-f", "--output=grid"),
    ]
    markdown = citation([SIGNED], "markdown")
    assert [line for line in markdown.splitlines() if line.startswith("```")] == [
        *("```bash", "```", "```bibtex", "```")
    ]


@pytest.mark.parametrize("signed", [SIGNED, SIGNED.replace("nltk:treebank", "icepahc:50%_of~#1 & {x}^2")])
def test_latex_compiles(signed: str, folder: Path) -> None:
    document = citation([signed], "latex")
    body = document.split(r"\sloppy")[1].split(r"\begin{verbatim}")[0]
    bibliography = document.split(r"\documentclass")[0]
    cited = re.findall(r"\\cite\{([^}]+)\}", body)
    assert len(cited) > 4
    assert set(cited) <= set(re.findall(r"^@\w+\{([^,]+),", bibliography, re.MULTILINE))
    if shutil.which("pdflatex") is None or shutil.which("bibtex") is None:
        pytest.skip("no LaTeX: pdflatex and bibtex")
    (folder / "paper.tex").write_text(document, "utf-8")
    for tool in ("pdflatex -halt-on-error -draftmode", "bibtex", "pdflatex -halt-on-error -draftmode"):
        done = finished(*tool.split(), "paper", cwd=folder)
        assert (done.returncode, "Warning" in done.stdout and tool == "bibtex") == (0, False), done.stdout
    again = finished("pdflatex", "-halt-on-error", "-draftmode", "paper", cwd=folder).stdout
    assert "undefined" not in again
