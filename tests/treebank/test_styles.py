"""CESS's and Floresta's style, by hand."""

from collections import Counter

from style_reading import read_style

from mbrparse.treebank.formats.conventions import CorpusReading, Leaves


def read(style: str, text: str, leaves: Leaves | None = None) -> tuple[list[tuple[int, str]], Counter[str]]:
    found, removed = read_style(style, text, CorpusReading(leaves=leaves))
    return [(line, str(tree)) for line, tree, _ in found], removed


# --- CESS ----------------------------------------------------------------------------------

CESS = """
(
  (S
    (sn.e-SUJ *0*)
    (grup.verb
      (vmis3s0 anunció anunciar))
    (sn (Fpa -Fpa- -Fpa-) (np00000 EDF EDF) (Fpt -Fpt- -Fpt-))
    (Fp . .)))
"""


def test_cess_has_one_word_a_tag() -> None:
    trees, removed = read("cess", CESS)
    text = "( (S (grup.verb (vmis3s0 anunció)) (sn (Fpa -LRB-) (np00000 EDF) (Fpt -RRB-)) (Fp .)))"
    assert trees == [(2, text)]
    assert removed == {"*0*": 1, "lemma": 5}


# --- Floresta ------------------------------------------------------------------------------


def test_floresta_has_punctuation_under_itself_and_comments() -> None:
    text = """# Sintá(c)tica
#1 CF1-1 Um (dia
(UTT+np
  (>N+art Um) (()
  (H+n dia) ()) (...)
  (N</ADVL[-1]+pp (H+prp de)) (.))
(STA+fcl (P+v-fin é) («) (ACC+np x) (.))
"""
    first = "(>N+art Um) (-LRB- -LRB-) (H+n dia) (-RRB- -RRB-) (... ...) (N</ADVL+pp (H+prp de)) (. .)"
    assert read("floresta", text)[0] == [
        (3, f"(UTT+np {first})"),
        (7, "(STA+fcl (P+v-fin é) (« «) (ACC+np x) (. .))"),
    ]
