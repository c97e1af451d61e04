"""``mbrparse corpora``, and what ``binarize`` says of corpora of other traditions."""

import zipfile
from pathlib import Path

import nltk
import pytest
from commandline import Command

from mbrparse.treebank.corpora.known_corpora import CORPORA

HISTORICAL = """( (IP-MAT (NP-SBJ (NPR-N Hans-hans) (NP-PRN *ICH*-1)) (CODE <P_1>)
  (HVDI hafði-hafa) (. .-.)) (ID A,.1))
( (CODE {COM:empty}) (ID A,.2))
( (IP-MAT (CONJ og-og) (NP-SBJ *con*) (CP (C 0) (VBN raulað-raula)) (. .-.)) (ID A,.3))
"""


@pytest.fixture(autouse=True)
def corpora(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``corpus.zip`` in the working folder, which is also NLTK's."""
    monkeypatch.setattr(nltk.data, "path", [str(folder)])
    with zipfile.ZipFile("corpus.zip", "w") as archive:
        archive.writestr("icecorpus/finished/1.psd", HISTORICAL)
        archive.writestr("icecorpus/README", "( not a tree")


def test_what_is_known_and_how_to_get_it(command: Command) -> None:
    text = command("corpora").output
    for corpus in CORPORA:
        assert corpus.spec in text
        assert corpus.citation in text
        assert (f"not here  {corpus.get}" in text) == (corpus.name != "embedded:flights")


def test_what_is_here(command: Command) -> None:
    for name in ("ldc/wsj/02/wsj_0200.mrg", "CRAFT/penn/1.tree", "ppc/1.psd"):
        Path(name).parent.mkdir(parents=True)
        Path(name).write_text("( (S (A a) (B b)) (ID A,.1))" if name.endswith("psd") else "(S (A a) (B b))")
    found = command("corpora ldc CRAFT ppc corpus.zip").output
    assert [line.split()[-1] for line in found.splitlines() if line.startswith("    read as")] == [
        "wsj:ldc", "craft:CRAFT", "penn-historical:ppc", "icepahc:corpus.zip",
    ]  # fmt: skip
    Path("zips").mkdir()
    Path("corpus.zip").rename("zips/a.zip")
    assert "read as   mbrparse binarize icepahc:zips/a.zip" in command("corpora zips").out
    assert command("corpora none").error.endswith("none: no such file or folder")
    Path("corpora/alpino").mkdir(parents=True)
    assert "here      mbrparse binarize nltk:alpino" in command("corpora").out


def test_an_own_folder(command: Command) -> None:
    Path("own").mkdir()
    Path("own/1.mrg").write_text("(ROOT (S (NP-SBJ (-NONE- *)) (VP (V go)) (. !)))\n(ROOT (S (V go)\n")
    Path("own/2.mrg").write_text("(ROOT (S (V go) (. !)))\n")
    assert command("corpora own").output.splitlines() == [
        "own  plain brackets",
        "    read as   mbrparse binarize own",
        "    holds     files 2, trees 2, words 4, different tags 2, different labels 3, "
        "malformed trees left out 1",
        "    removed   none",
        "    wrappers  ROOT 2",
        "    traces    * 1",
        "    functions SBJ 1",
        "    format    brackets",
        "    written   (ROOT (S (NP-SBJ (-NONE- *)) (VP (V go)) (. !))) (ROOT (S (V go)",
        "    first     (ROOT (S (NP-SBJ (-NONE- *)) (VP (V go)) (. !)))",
        "    its words * go !",
        "    cut       functions, as after:-= says, by --functions strip",
        "    more      mbrparse stats own; mbrparse check own",
    ]
    Path("empty").mkdir()
    assert "holds no file of trees" in command("corpora empty").error
    assert "icepahc" not in command("corpora own/1.mrg").output


def test_each_thing_that_goes_is_counted(command: Command) -> None:
    outcome = command("binarize icepahc:corpus.zip")
    assert outcome.output == (
        "(IP (NPR-N Hans) (IP_Cont (HVDI hafði) (. .)))\n(IP (CONJ og) (IP_Cont (VBN raulað) (. .)))\n"
    )
    assert outcome.err == (
        "mbrparse: read 2 trees, kept 2, dropped 0\n"
        "mbrparse: taken out or changed: (ID) 3, (CODE) 2, wrapper 2, *ICH* 1, token without text 1, "
        "*con* 1, 0 1\n"
    )
    assert "(NPR-N hans)" in command("binarize icepahc:corpus.zip --leaves lemma").out
    assert "(NPR-N Hans-hans)" in command("binarize penn-historical:corpus.zip").out
    assert command("binarize corpus.zip").err.endswith(
        "warning: trees hold (ID ...): read the Penn-Helsinki style as penn-historical:PATH or icepahc:PATH\n"
    )


def test_bytes_that_are_no_text_are_malformed_wherever_they_are(command: Command) -> None:
    Path("g.psd").write_bytes(b"(META (COMMENT \xe9a))\n((S (no_et dogs)) (ID a))\n")
    done = command("check greynir:g.psd --ids ID")
    assert done.code == 1
    assert "g.psd:1: line with bytes that are not utf-8\n" in done.out
    assert command("binarize greynir:g.psd --ids ID").code == 1


def test_a_corpus_is_not_overwritten(command: Command) -> None:
    before = Path("corpus.zip").read_bytes()
    refused = command("binarize icepahc:corpus.zip -o corpus.zip").usage_error
    assert "--output would overwrite INPUT" in refused
    assert Path("corpus.zip").read_bytes() == before
