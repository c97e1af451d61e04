"""Corpora with conventions of their own, by options, by a file of options, and by the name of a preset."""

from pathlib import Path

import pytest
from commandline import Command

TREE = "( (S (CODE <P_1>) (NP (NN (form dogs) (lemma dog))) (VP (VB (form bark) (lemma bark)))) (ID A,.1))\n"
OWN = "--drop CODE --ids ID --terminals-below lemma=form"
READ = "(S (NN dogs) (VB bark))\n"
GREYNIR = r"""( (META (ID-CORPUS a7c9.2) (ID-LOCAL x.psd,.1) (COMMENT ))
  (S0 (S-MAIN (NP-SUBJ (no_et Hundur (lemma hundur))) (VP (so geltir (lemma gelta)))) (grm \))))

( (META (ID-LOCAL x.psd,.2)) (S0 (S-HEADING (lo Mjög (lemma mjög)) (no góð verkefni (lemma verkefni)))))
"""


@pytest.fixture(autouse=True)
def own(folder: Path) -> None:
    (folder / "own.psd").write_text(TREE)
    (folder / "greynir").mkdir()
    (folder / "greynir" / "1.gld").write_text(GREYNIR)


def test_options_for_an_own_convention(command: Command) -> None:
    outcome = command(f"binarize own.psd {OWN} -o out")
    assert outcome.output == ""
    assert Path("out").read_text() == READ
    assert Path("out.places").read_text().splitlines()[-1] == "own.psd\t1\tA,.1"
    assert outcome.err == (
        "mbrparse: read 1 tree, kept 1, dropped 0\n"
        "mbrparse: taken out or changed: lemma 2, (CODE) 1, (ID) 1, wrapper ( ) 1\n"
    )
    assert command(f"binarize - {OWN} --leaves lemma", stdin=TREE).output == "(S (NN dog) (VB bark))\n"
    assert command(f"binarize own.psd {OWN} --leaves both").output == "(S (NN dogs-dog) (VB bark-bark))\n"
    assert "elsewhere --terminals-below says" in command("binarize own.psd --leaves lemma").error


def test_a_label_that_never_occurs_is_printed(command: Command) -> None:
    outcome = command("binarize own.psd --drop CODE,X,NP-* --ids ID --terminals-below lemma=form")
    assert outcome.err.endswith("mbrparse: warning: no label fits --drop X,NP-*\n")


def test_files_in_several_encodings(command: Command) -> None:
    Path("bank").mkdir()
    Path("bank/1.mrg").write_bytes("(S (A é) (B b))\n".encode())
    Path("bank/2.mrg").write_bytes("(S (A a) (B b))\n(S (A é) (B b))\n".encode("latin-1"))
    outcome = command("binarize bank --encoding utf-8,latin-1")
    assert outcome.output == "(S (A é) (B b))\n(S (A a) (B b))\n(S (A é) (B b))\n"
    assert outcome.err.endswith("taken out or changed: file read as latin-1 1\n")
    wrong = [
        ("bank", "utf-8", "bank/2.mrg:2: bytes that are not utf-8"),
        ("bank", "utf-16,ascii", "bank/1.mrg:1: bytes that are not ascii"),
        ("bank", "utf-9,latin-1", "there is no encoding 'utf-9'"),
        ("none.mrg", "utf-8,latin-1", "none.mrg: no such file"),
        ("-", "utf-8,latin-1", "<stdin>: can be read once, and is to be read several times"),
    ]
    for name, encodings, message in wrong:
        outcome = command(f"binarize {name} --encoding {encodings} -o out", stdin="(S a b)")
        assert outcome.last_error.startswith(f"mbrparse: {message}")


def test_reproduce_reads_own_conventions(command: Command) -> None:
    Path("own.psd").write_text(TREE * 20)
    words = [f"--binarize {word.removeprefix('--')}" for word in OWN.replace(" ", "=").split("=--")]
    outcome = command(f"reproduce own.psd -o out {' '.join(words)} --test-fraction .2 --binarize drop=CODE,X")
    assert "lemma 40, (CODE) 20, (ID) 20" in outcome.err
    assert Path("out/binarized.mrg").read_text() == READ * 20
