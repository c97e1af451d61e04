"""Valid files of every kind, made once by the program itself, and the commands that read them."""

from __future__ import annotations

import io
import os
import re
from pathlib import Path

import numpy as np
from commandline import run

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

PALINDROMES = (
    "experiment palindromes --runs 2 --train 4 --test 3 --nonterminals 2 --iterations 2 -o palindromes"
)
#: What makes the files, in this order; each line is a command.
RECIPES = f"""
binarize trees.mrg -o bin.mrg
binarize trees.mrg --head-rules collins --subcat --annotate parent,head-tag -o head.mrg
binarize trees.mrg --unary keep -o unary.mrg
binarize trees.mrg --unary join -o join.mrg
train bin.mrg --statistics bin.stat -o tags.txt
train bin.mrg --terminals words -o words.txt
train bin.mrg --terminals words --unknown collins --rare 2 -o collins.txt
train unary.mrg -o unary.txt
train head.mrg -o head.txt
train bin.mrg --method inside-outside --nonterminals 3 --iterations 2 -o io.txt
grammar convert tags.txt --to bitpar -o rules.bitpar --lexicon-output lexicon.bitpar
grammar convert words.txt --to nltk -o words.nltk
parse bin.mrg -g tags.txt --objective labelled-tree -o one.mrg
parse bin.mrg -g tags.txt --objective bracketed-recall --write-posteriors posteriors.npz -o two.mrg
parse bin.mrg -g tags.txt --objective labelled-recall --details out --shard 1/1 --work work
debinarize one.mrg -o one.orig
debinarize bin.mrg -o gold.orig
{PALINDROMES}
experiment pereira-schabes trees.mrg --runs 1 --train 3 --test 2 --nonterminals 2 --iterations 2 -o brackets
experiment figures-of-merit trees.mrg --sentences 2 --test-fraction 0.2 --merit boundary-trigram -o merits
experiment dop trees.mrg --runs 1 --train 0.7 --test 0.3 --samples 5 --resamples 20 --no-speed -o dop
experiment simaan trees.mrg --test-fraction 0.3 --resamples 20 --unknown signature -o simaan
""".strip().splitlines()


def _weighed(text: str) -> list[tuple[int, str]]:
    """Lines of a number and a command."""
    return [(int(line.split()[0]), line.split(maxsplit=1)[1]) for line in text.strip().splitlines()]


#: Commands to try, and how often: a name of a file or folder of the seeds is the (mutated) file.
COMMANDS = _weighed(f"""
6 binarize trees.mrg -o out
4 binarize trees.mrg --head-rules heads.txt --on-error skip -o out
3 binarize trees.mrg --head-rules collins --subcat --annotate parent,head-tag -o out
4 debinarize head.mrg -o out
2 debinarize join.mrg
3 split bin.mrg --test-fraction 0.3 --train-output out.train --test-output out.test
2 split bin.mrg --test-random 2 --seed 1 --train-output out.train --test-output out.test
4 train bin.mrg --statistics out.stat -o out
4 train bin.mrg --terminals words -o out
2 train bin.mrg --terminals words --unknown collins --rare 2 -o out
3 train trees.mrg --method inside-outside --nonterminals 2 --iterations 2 --curve out.csv -o out
6 train bin.mrg --method inside-outside --nonterminals 3 --iterations 3 --resume -o io.txt
3 train bin.mrg --method inside-outside --init tags.txt --iterations 1 --heldout two.mrg -o out
4 grammar info tags.txt
4 grammar convert collins.txt
6 grammar convert rules.bitpar --from bitpar --lexicon lexicon.bitpar -o out
6 grammar convert words.nltk --from nltk --terminals words -o out
3 grammar convert unary.txt --to bitpar -o out --lexicon-output out.lex
3 grammar convert head.txt --to nltk -o out
5 sample unary.txt -n 3 --seed 1 -o out
8 parse tokens.txt -g tags.txt --details out.json -o out
6 parse bin.mrg -g tags.txt --objective labelled-tree --objective bracketed-recall -o out.{{objective}}
8 parse words.tokens -g words.txt -o out
5 parse words.tokens -g collins.txt -o out
6 parse bin.mrg -g unary.txt --objective labelled-tree --details out.json -o out
4 parse bin.mrg -g unary.txt --objective parent-child --space grammar -o out
4 parse bin.mrg -g head.txt --objective productions --debinarize -o out
3 parse bin.mrg -g tags.txt --write-posteriors out.npz -o out
1 parse bin.mrg -g tags.txt --jobs 2 -o out
6 parse bin.mrg -g tags.txt --work work --resume --details out.json -o out
6 merge work --details out.json -o out
10 parse bin.mrg --posteriors posteriors.npz --details out.json -o out
4 parse bin.tokens --posteriors posteriors.npz --debinarize
6 parse bin.mrg -g tags.txt --engine best-first --statistics bin.stat -o out
3 parse bin.mrg -g words.txt --engine best-first --merit prefix --until mass:0.9 -o out
5 score bin.mrg -g tags.txt -o out
4 score gold.orig -g unary.txt --format tsv
3 score bin.mrg -g collins.txt --no-items
3 posteriors tokens.txt -g tags.txt --line 2 --svg out.svg
4 posteriors bin.mrg --posteriors posteriors.npz --format tsv
6 evaluate bin.mrg one.mrg two.mrg --resamples 20 --format json --per-sentence out.csv
4 evaluate bin.mrg one.mrg --by confusions --format json
3 evaluate bin.mrg one.mrg --by label --format csv
3 evaluate gold.orig one.orig --form original --all
6 evaluate --evalb rules.prm gold.orig one.orig
3 evaluate --evalb rules.prm gold.orig one.orig two.mrg --format csv --resamples 10
4 report bin.mrg one.mrg two.mrg --resamples 10 --posteriors posteriors.npz -o out.html
2 report gold.orig one.orig --form original -o out.html
4 show bin.mrg one.mrg two.mrg --line 2 --svg out.svg
3 show bin.mrg one.mrg two.mrg --differing --png out.png
3 show trees.mrg
3 {PALINDROMES}
""")
#: The same for commands that take a second each.
SLOW_COMMANDS = [
    *((2, line) for line in RECIPES if line.split()[1] in ("pereira-schabes", "figures-of-merit", "simaan")),
    (1, "experiment calibration trees.mrg --samples 5 --test-fraction 0.2 -o out"),
]

Files = dict[str, bytes]


class SeedError(RuntimeError):
    """A command that makes a seed, or is to be tried on one, does not work as it is."""


def make_seeds(folder: Path) -> Files:
    """Make all files in a folder; their contents by path. Everything is run here once, so it is warm."""
    os.chdir(folder)
    for name, text in (("trees.mrg", TREES), ("heads.txt", HEADS), ("rules.prm", EVALB)):
        Path(name).write_text(text, "utf-8")
    Path("tokens.txt").write_text("DT NN VBD DT NN .\nPRP VBZ VBN VBN .\n\nNN VBZ\nXX DT NN\n")
    Path("words.tokens").write_text("The dog saw the bird .\nShe barks\ndog\nthe (old) cat has 1,200\n")
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
