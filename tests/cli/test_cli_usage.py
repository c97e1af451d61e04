"""Command lines that are refused with exit code 2, before anything is read or written."""

from pathlib import Path

import numpy as np
import pytest
from commandline import Command

from mbrparse.decode.objectives import OBJECTIVES, Kind

GRAMMAR_OBJECTIVES = [row.name for row in OBJECTIVES.values() if row.kind in (Kind.DERIVATION, Kind.FOREST)]

MISSPELT = [
    ("binarise", "No such command 'binarise'. Did you mean 'binarize'?"),
    ("binarize t --unari top", "'--unari'. Did you mean '--unary'?"),
    ("binarize t --unary botom", "Did you mean 'bottom'?"),
    ("grammar convrt", "Did you mean 'convert'?"),
    ("parse -g g t --objective max-rule", "Did you mean 'max-rule-sum'?"),
]

NUMBERS = [
    ("binarize t --hmarkov -1", "'-1' is neither 0, 1, 2, ... nor inf"),
    ("binarize t --max-length 0", "0 is not in the range 1<=x<="),
    *(
        (f"train t --method inside-outside --tolerance {number}", "Invalid value for '--tolerance'")
        for number in ("nan", "inf", "-inf", "-1", "1e999")
    ),
    ("sample g -n -1", "-n"),
    ("parse -g g t --shard 3/2", "--shard is I/N, the I-th of N from 1/N to N/N, not '3/2'."),
]

TREEBANKS = [
    ("binarize t --sections 23", "--sections needs wsj:DIR."),
    ("binarize t --functions cut", "Invalid value for '--functions'"),
    ("binarize t --subcat", "--subcat and --annotate head-tag need --head-rules."),
    ("binarize t --head-rules collins --hmarkov 0", "--hmarkov cannot be combined with --head-rules."),
    ("binarize t --annotate parent --vmarkov 3", "--vmarkov cannot be combined with --annotate parent"),
    ("split t --test-output -", "Give one of --test-fraction, --test-last, --test-random and --fold."),
    ("split t --test-random 1 --test-output -", "--test-random needs --seed."),
    ("split t --test-last 1", "--train-output"),
    ("split t --test-last 1 --dev-output -", "--dev-fraction and --dev-output need each other."),
    ("baseline t --kind left --seed 1", "--seed"),
    ("baseline t --kind random --runs 2", "{seed}"),
    ("baseline t --kind left --label (", "label"),
]

GRAMMARS = [
    ("grammar convert g --from bitpar", "--from bitpar and --lexicon need each other."),
    ("grammar convert g --to bitpar", "--to bitpar and --lexicon-output need each other."),
    ("train t --unknown collins", "--unknown needs --terminals words."),
    ("train t --terminals words --unknown none --rare 3", "--rare needs --unknown"),
    ("train t --terminals words --unknown collins", "--unknown collins needs --output FILE"),
    ("train t --scheduler x", "--method inside-outside"),
    ("train t --cycles 2", "--cycles needs --method split-merge."),
    ("train t --method split-merge --merge 1.5", "Invalid value for '--merge'"),
    ("train t --method split-merge --resume", "--resume needs --output FILE"),
]

PARSING = [
    ("parse t", "Missing option '-g' / '--grammar' (or '--posteriors')"),
    ("posteriors t -g g --posteriors p.npz", "--posteriors"),
    ("parse -g g t --objective labelled-tree --objective labelled-recall", "{objective}"),
    ("parse -g g t --jobs 2 --scheduler x", "Give --jobs or --scheduler, not both."),
    ("parse -g g t --write-posteriors -", "--write-posteriors"),
    ("parse -g g t --resume", "an output that is no file"),
    # Objectives, spaces and items.
    *(
        (f"parse -g g t --objective {name} --space free", f"{name} has no meaning in the space free")
        for name in ("parent-child", "productions", "labelled-tree", "max-rule-sum", "minimum-risk")
    ),
    ("parse -g g t --objective labelled-tree --items symbol", "--items symbol needs another objective"),
    ("parse -g g t --objective parent-child --engine best-first", "need an exhaustive chart"),
    ("parse -g g t --labels none --objective labelled-tree", "bracketed-recall"),
    ("parse -g g t --objective mbr", "Choose labelled-recall for constituents with their labels"),
    # N-ary objectives.
    ("parse -g g t --objective labelled-f --node-cost 1", "labelled-f does not add up posteriors"),
    ("parse -g g t --objective general-recall --weight labels=1", "none of labelled=W, bracketed=W"),
    ("parse -g g t --objective general-recall --weight labelled=nan", "a weight that is no number"),
    ("parse -g g t --exact", "--exact needs --objective labelled-f or bracketed-f"),
    (
        "parse --posteriors p.npz t --objective labelled-f --exact",
        "labelled-f with exact F needs a PCFG, not given posteriors",
    ),
    # Candidates.
    ("parse -g g t --candidates c.tsv", "--candidates needs --k-best or --samples"),
    ("parse -g g t --k-best 2 --samples 2", "give one"),
    ("parse -g g t --k-best 2 --seed 1", "--seed needs --samples, or"),
    ("parse -g g t --objective minimum-risk", "Error: --objective minimum-risk needs candidates"),
    ("parse -g g t --k-best 2 --objective minimum-risk --risk beauty", "no criterion"),
    ("parse --posteriors p.npz t --k-best 2", "--k-best needs a PCFG or a DOP grammar, not given posteriors"),
    # Posteriors from elsewhere.
    ("parse --posteriors p.npz t --grammar g", "give one of them"),
    ("parse --posteriors p.npz t --jobs 2", "--jobs needs --grammar"),
    ("parse --posteriors p.npz t --labels none", "--labels none needs"),
    ("parse --posteriors -", "INPUT and --posteriors: <stdin> can be read only once"),
    *(
        (f"parse --posteriors p.npz t --objective {name}", f"--objective {name} needs a PCFG")
        for name in GRAMMAR_OBJECTIVES
    ),
]

EVALUATION = [
    ("evaluate t", "PARSES"),
    ("evaluate - -", "GOLD and PARSES: <stdin> can be read only once"),
    ("evaluate t t --criteria labelled-f --all", "--all"),
    ("evaluate --strict t t", "--strict"),
    ("evaluate t --runs =t", "--runs"),
    ("evaluate t --runs a=t --runs a=g", "--runs"),
    ("evaluate t --runs a=t --by label", "--runs"),
    ("show t --differing", "--differing"),
    ("report t t -o x.html --about corpus", "--about"),
    ("reproduce t -o x --sections 02", "--sections"),
]


@pytest.fixture(scope="module")
def files(command: Command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with trees ``t``, their grammar ``g`` and posteriors ``p.npz``."""
    folder = tmp_path_factory.mktemp("usage")
    (folder / "t").write_text("(S (A x y) z)\n")
    assert command("train", folder / "t", "-o", folder / "g").code == 0
    none = np.zeros(0, np.int32)
    np.savez(
        folder / "p.npz", lengths=[3], labels=["S"], sentence=none, start=none, end=none, label=none, g=[]
    )
    return folder


@pytest.mark.parametrize(
    ("line", "message"), [*MISSPELT, *NUMBERS, *TREEBANKS, *GRAMMARS, *PARSING, *EVALUATION]
)
def test_usage_errors(
    line: str, message: str, command: Command, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    before = {path.name: path.read_bytes() for path in files.iterdir()}
    assert message in command(line).usage_error
    assert {path.name: path.read_bytes() for path in files.iterdir()} == before
