"""Valid files of every kind, most of them made by the program itself."""

from __future__ import annotations

import io
import os
import re
import zipfile
from pathlib import Path

import numpy as np
from commandline import run
from commands import COMMANDS, RECIPES, SLOW_COMMANDS

TREES = """
( (S (NP-SBJ (DT The) (NN dog)) (VP (VBD saw)
    (NP (NP (DT the) (NN bird)) (PP-LOC (IN in) (NP (NN town))))) (. .)) )
( (S (NP-SBJ-1 (PRP She)) (VP (VBZ has) (VP (VBN been) (VP (VBN seen) (NP (-NONE- *-1))))) (. .)) )
( (SBARQ (WHNP-1 (WP What)) (SQ (VBD did) (NP-SBJ (PRP they)) (VP (VB buy) (NP (-NONE- *T*-1)))) (. ?)) )
( (S (`` ``) (S-TPC (NP-SBJ (NNP Mr.) (NNP Vinken)) (VP (VBZ is) (NP-PRD (NN chairman)))) (, ,) ('' '')
     (NP-SBJ (PRP he)) (VP (VBD said)) (. .)) )
( (NP (NP (CD 1,200) (NNS cafés)) (-LRB- -LRB-) (PP (IN of) (NP (NNP Elsevier))) (-RRB- -RRB-)) )
( (S (NP (NN dog)) (VP (VBZ barks))) )
( (S (NP (DT the) (JJ big) (JJ old) (NN cat))
  (VP (VBD saw) (NP (DT the) (NN dog)) (PP (IN in) (NP (DT a) (NN bird))))) )
( (S (NP (DT a) (JJ big) (JJ old) (NN dog))
  (VP (VBD saw) (NP (DT a) (NN dog)) (PP (IN in) (NP (DT the) (NN town))))) )
(())
""".lstrip()

HEADS = (
    "% rules\nS LEFT TO IN VP S\nVP LEFT TO VBD VBN VB\nNP RIGHTDIS NN NNS NNP\nPP RIGHT IN TO\nNX LIKE NP\n"
)
EVALB = (
    "DEBUG 0\nMAX_ERROR 10\nCUTOFF_LEN 40\nLABELED 1\nDELETE_LABEL TOP\nDELETE_LABEL -NONE-\nDELETE_LABEL ,\n"
    "DELETE_LABEL_FOR_LENGTH -NONE-\nQUOTE_LABEL ``\nQUOTE_LABEL ''\nEQ_LABEL ADVP PRT\nEQ_WORD dog cat\n"
)
# The Penn-Helsinki style.
ICEPAHC = """
/*
( (IP (N comment)))
*/
( (IP-MAT (NP-SBJ (PRO-N Hann-hann)) (VBDI sagði-segja) (CP-THT (C að-að) (IP-SUB (NP-SBJ *con*) (NUM-N 0-0)
  (VB$ fara$-fara) (NP (ORTHO $num) (LEMMA hinn)))) (. .-.)) (ID A,.1))
( (CODE <P_3>) (ID A,.2))
""".lstrip()
LABELS = "# to\nNP* N*\nVP V\nVB? VERB\n\\* STAR\n"
FOREIGN = "(ROOT (S (NP (DT the) (NN dog)) (S|<> (VP::VB barks) (. .))))\n(S::NP x)\n"
OPTIONS = """
[binarize]
unary = "keep"
max-length = 30
on-error = "skip"

[parse]
objective = ["labelled-tree", "bracketed-recall"]
fallback = "flat"
debinarize = true
max-seconds = 5.0

[evaluate]
resamples = 10
all = true

[grammar.convert]
to = "nltk"
""".lstrip()
EXPORT = """#FORMAT 3
#BOS 1 0 0 0
Was\tPWS\t--\tOA\t500
sah\tVVFIN\t--\tHD\t501
gern\tADV\t--\tMO\t500
.\t$.\t--\t--\t0
#500\tVP\t--\tOC\t501
#501\tS\t--\t--\t0
#EOS 1
"""
TIGER = """<corpus id="c"><body>
<s id="s1"><graph root="n2"><terminals>
<t id="w1" word="Was" pos="PWS"/><t id="w2" word="sah" pos="VVFIN"/></terminals>
<nonterminals><nt id="n1" cat="VP"><edge idref="w1" label="OA"/></nt>
<nt id="n2" cat="S"><edge idref="n1" label="OC"/><edge idref="w2" label="HD"/></nt></nonterminals></graph></s>
</body></corpus>
"""
TEXTS = {
    "trees.export": EXPORT,
    "trees.xml": TIGER,
    "trees.conll": "a (S(X*)\nb *)\n\nc (S*\nd *)\n",
    "trees.jsonl": '{"id": "a", "tree": "(S (A a) (B b))"}\n{"id": "b", "tree": [["a", "b"], "c"]}\n',
    "trees.mrg": TREES,
    "heads.txt": HEADS,
    "rules.prm": EVALB,
    "labels.map": LABELS,
    "options.toml": OPTIONS,
    "foreign.mrg": FOREIGN,
    "foreign.tokens": "she saw stars at night\n",
    "corpus/a.mrg": TREES[:400],
    "corpus/b/c.txt": "# comment\n(S (NP x) (VP y z))\n",
    "wsj/00/wsj_0001.mrg": "( (S (NP (NN x)) (VP (VB y))) )\n",
    "wsj/01/wsj_0101.mrg": "( (S (NP (NN x)) (VP (VB y))) )\n",
    "icepahc/psd/a.psd": ICEPAHC,
    "tokens.txt": "DT NN VBD DT NN .\nPRP VBZ VBN VBN .\n\nNN VBZ\nXX DT NN\n",
    "items.csv": "item,condition,text\n1,a,The dog | barks .\n1,b,dog|barks .\n",
    "words.tokens": "The dog saw the bird .\nShe barks\ndog\nthe (old) cat has 1,200\n",
}
#: Posteriors of another program, with labels of its own.
ARRAYS = {
    "lengths": [5],
    "labels": ["SBAR::S", "VP|<>", "NP^x", "S::VP|<>", "S", "NN"],
    "sentence": [0] * 6,
    "start": [0, 1, 1, 3, 3, 4],
    "end": [5, 5, 3, 5, 5, 5],
    "label": [0, 1, 2, 3, 4, 5],
    "g": [1.0, 0.75, 0.5, 0.25, 0.5, 1.0],
}

Files = dict[str, bytes]


class SeedError(RuntimeError):
    """A command that makes a seed, or is to be tried on one, does not work as it is."""


def make_seeds(folder: Path) -> Files:
    """Make all files in a folder; their contents by path. Everything is run here once, so it is warm."""
    os.chdir(folder)
    for name, text in TEXTS.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text, "utf-8")
    np.savez("foreign.npz", **ARRAYS)  # type: ignore[arg-type]
    with zipfile.ZipFile("corpus.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x/a.mrg", TREES)
        archive.writestr("x/b.mrg", TEXTS["corpus/b/c.txt"])
    for line in RECIPES:
        _run(line)
    binarized = Path("bin.mrg").read_text("utf-8").splitlines()
    sentences = (" ".join(re.findall(r" ([^() ]+)\)", line)) for line in binarized)
    Path("bin.tokens").write_text("".join(f"{line}\n" for line in sentences), "utf-8")
    files = {str(path): path.read_bytes() for path in sorted(Path().rglob("*")) if path.is_file()}
    for _, line in (*COMMANDS, *SLOW_COMMANDS):
        _run(line)
    return files


def _run(line: str) -> None:
    """Run a command in this process, its streams in memory."""
    done = run(line)
    if done.code != 0:
        raise SeedError(f"mbrparse {line}\n{done.err}")


def arrays_of(data: bytes) -> dict[str, np.ndarray]:
    """The arrays of an .npz archive."""
    with np.load(io.BytesIO(data)) as archive:
        return {name: archive[name] for name in archive.files}
