"""``mbrparse corpora``, and what ``binarize`` says of corpora of other traditions."""

import zipfile
from pathlib import Path

import nltk
import pytest
from commandline import Command

from mbrparse.treebank.known_corpora import CORPORA

HISTORICAL = """( (IP-MAT (NP-SBJ (NPR-N Hans-hans) (NP-PRN *ICH*-1)) (CODE <P_1>)
  (HVDI hafði-hafa) (. .-.)) (ID A,.1))
( (CODE {COM:empty}) (ID A,.2))
( (IP-MAT (CONJ og-og) (NP-SBJ *con*) (CP (C 0) (VBN raulað-raula)) (. .-.)) (ID A,.3))
"""


@pytest.fixture
def zipped(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("icecorpus/finished/1.psd", HISTORICAL)
        archive.writestr("icecorpus/README", "( not a tree")
    return path


def test_what_is_known_and_how_to_get_it(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    outcome = command("corpora")
    assert (outcome.code, outcome.err) == (0, "")
    for corpus in CORPORA:
        assert corpus.spec in outcome.out
        assert corpus.citation in outcome.out
        assert (f"not here  {corpus.get}" in outcome.out) == (corpus.name != "embedded:flights")


def test_what_is_here(
    command: Command, tmp_path: Path, zipped: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    section = tmp_path / "ldc" / "wsj" / "02"
    for folder in (section, tmp_path / "CRAFT" / "penn", tmp_path / "corpora" / "alpino", tmp_path / "ppc"):
        folder.mkdir(parents=True)
    (section / "wsj_0200.mrg").write_text("(S a b)")
    (tmp_path / "CRAFT" / "penn" / "1.tree").write_text("(S a b)")
    (tmp_path / "ppc" / "1.psd").write_text("(S a b)")
    places = [tmp_path / name for name in ("ldc", "CRAFT", "ppc", "corpus.zip")]
    outcome = command("corpora", *places)
    here = [line.split()[-1] for line in outcome.out.splitlines() if line.startswith("    here")]
    assert here == [
        "embedded:flights",
        f"craft:{tmp_path}/CRAFT",
        f"icepahc:{zipped}",
        f"penn-historical:{tmp_path}/ppc",
        f"wsj:{tmp_path}/ldc",
        "nltk:alpino",
    ]
    folder = zipped.parent / "zips"
    folder.mkdir()
    zipped.rename(folder / "a.zip")
    assert f"here      mbrparse binarize icepahc:{folder}/a.zip" in command("corpora", folder).out
    assert command("corpora", tmp_path / "none").error.endswith("none: no such file or folder")


def test_figures_of_what_is_here(
    command: Command, tmp_path: Path, zipped: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    outcome = command("corpora", "--check", zipped)
    figures = [line.split() for line in outcome.out.partition("icepahc:PATH")[2].splitlines()[4:12]]
    assert [line[-1 if line[-1] != "%" else -2] for line in figures] == [
        "2", "6", "3.0", "5", "5", "33.3", "50.0", "0.0",
    ]  # fmt: skip
    assert f"icepahc:{zipped}: read 2 trees, kept 2, dropped 0" in outcome.err


def test_each_thing_that_goes_is_counted(command: Command, zipped: Path) -> None:
    outcome = command("binarize", f"icepahc:{zipped}")
    assert outcome.out == (
        "(IP (NPR-N Hans) (IP_Cont (HVDI hafði) (. .)))\n(IP (CONJ og) (IP_Cont (VBN raulað) (. .)))\n"
    )
    assert outcome.err == (
        "mbrparse: read 2 trees, kept 2, dropped 0\n"
        "mbrparse: taken out or changed: (ID) 3, (CODE) 2, wrapper 2, *ICH* 1, token without text 1, "
        "*con* 1, 0 1\n"
    )
    assert "(NPR-N hans)" in command("binarize", f"icepahc:{zipped}", "--leaves", "lemma").out
    assert "(NPR-N Hans-hans)" in command("binarize", f"penn-historical:{zipped}").out
    plain = command("binarize", zipped)
    assert plain.err.endswith(
        "warning: trees hold (ID ...): read the Penn-Helsinki style as penn-historical:PATH or icepahc:PATH\n"
    )


def test_a_corpus_is_not_overwritten(command: Command, zipped: Path) -> None:
    before = zipped.read_bytes()
    outcome = command("binarize", f"icepahc:{zipped}", "-o", zipped)
    assert outcome.code == 2
    assert "--output would overwrite INPUT" in outcome.err
    assert zipped.read_bytes() == before


def test_labels_of_other_traditions(command: Command, tmp_path: Path) -> None:
    names = tmp_path / "names"
    names.write_text("np NP\nvp VP\n")
    text = "(UTT+np (>N+art Um) (H+n dia) (. .))\n"
    outcome = command("binarize", "-", "--functions", "before:+", "--label-map", names, stdin=text)
    assert outcome.out == "(NP (art Um) (NP_Cont (n dia) (. .)))\n"
    assert outcome.err.endswith(f"mbrparse: warning: no label fits these lines of {names}: 2\n")
    outcome = command("binarize", "-", "--functions", "cut", stdin=text)
    assert (outcome.code, outcome.out) == (2, "")
    assert "Invalid value for '--functions'" in outcome.err


def test_options_that_a_corpus_has_no_use_for(command: Command, zipped: Path) -> None:
    assert "gives no lemmas" in command("binarize", zipped, "--leaves", "lemma").error
    outcome = command("binarize", f"icepahc:{zipped}", "--head-rules", "collins")
    assert f"warning: Collins's rules know no labels of icepahc:{zipped}" in outcome.err
    assert "Collins" not in command("binarize", "embedded:flights", "--head-rules", "collins").err
