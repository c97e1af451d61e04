"""Compiles most kernels before the tests start: ``python tests/compile_kernels.py``.

Each command runs in a process of its own, as many at a time as there are cores. Processes that run tests then
load machine code, and need neither compile the same twice nor the memory that compiling takes. Where all this
has been done for the kernels as they are now, nothing is.
"""

import hashlib
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from zlib import crc32

from mbrparse.charts import kernel

TREES = "(S (NP DT NN) (VP VB (NP (NP DT NN) (PP IN NN))))\n" * 9 + "(S (NP DT NN) (VP VB NN))\n"
CHAINS = "(S (NP (NN NN)) (VP VB (NP (NP DT NN) (PP IN (NP (NN NN))))))\n(S (VP VB (NP DT NN)))\n"
# Each stage needs what the one before it has made. What shares much is one command.
STAGES = (
    """train trees -o grammar --statistics statistics
    train chains -o unary
    train trees --method dop -o dop""",
    """parse -g grammar trees --objective labelled-tree --objective labelled-recall
    parse -g unary chains --objective labelled-recall --objective productions --objective max-rule-product
    train trees --method inside-outside --nonterminals 3 --iterations 1 -o trained
    train trees --method split-merge --cycles 1 --merge 0 -o states""",
    """parse -g unary chains --objective labelled-tree
    parse -g states trees --objective max-rule-product --prune 0.01
    parse -g grammar -g grammar trees --objective max-rule-product --objective labelled-recall
    parse -g dop trees --objective labelled-tree --objective most-probable-tree --prune 0.01
    parse -g grammar trees --engine best-first --statistics statistics --until exhausted
    parse -g grammar trees --objective consistent-brackets --objective bracketed-tree --objective labelled-f
    parse -g grammar trees --objective labelled-f --exact
    parse -g grammar trees --objective minimum-risk --risk labelled-f --k-best 5
    parse -g grammar trees --objective minimum-risk --risk labelled-f --samples 5
    surprisal -g grammar trees
    masked -g unary chains""",
)


def digest() -> str:
    """A digest of the package's files and of where they are, by which numba keeps machine code."""
    found = hashlib.sha256(str(kernel.PACKAGE).encode())
    for path in sorted(kernel.PACKAGE.rglob("*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()[:16]


def main() -> None:
    done = kernel.folder() / f"compiled-for-tests-{digest()}"
    if done.exists():
        return
    print("compiling kernels ...", file=sys.stderr, flush=True)
    with TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as processes:
        Path(folder, "trees").write_text(TREES)
        Path(folder, "chains").write_text(CHAINS)

        def run(command: str) -> None:
            # What fails here fails in a test too.
            program = [sys.executable, "-m", "mbrparse", *command.split()]
            parses = command.lstrip().startswith("parse")
            output = ["-o", f"{crc32(command.encode())}-{{objective}}"] if parses else []
            subprocess.run([*program, *output], cwd=folder, capture_output=True, check=False)

        for stage in STAGES:
            list(processes.map(run, stage.splitlines()))
    if done.parent.exists():  # kernels can be kept here
        done.touch()


if __name__ == "__main__":
    main()
