"""Compiles most kernels before the tests start: ``python tests/compile_kernels.py``.

Two processes compile, each what the other does not need. Processes that run tests then load machine code, and
need neither compile the same twice nor the memory that compiling takes. Where all this has been done for the
kernels as they are now, nothing is.
"""

import hashlib
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from mbrparse.charts import kernel

TREES = "(S (NP DT NN) (VP VB (NP (NP DT NN) (PP IN NN))))\n" * 9 + "(S (NP DT NN) (VP VB NN))\n"
CHAINS = "(S (NP (NN NN)) (VP VB (NP (NP DT NN) (PP IN (NP (NN NN))))))\n(S (VP VB (NP DT NN)))\n"
# What dense charts, DOP and best-first search take, and what forests do.
PARTS = (
    """train trees -o grammar --statistics statistics
    parse -g grammar trees --objective labelled-tree --objective labelled-recall -o a-{objective}
    train trees --method inside-outside --nonterminals 3 --iterations 1 -o trained
    train trees --method dop -o dop
    parse -g dop trees --objective labelled-tree --objective most-probable-tree --prune 0.01 -o b-{objective}
    parse -g grammar trees --engine best-first --statistics statistics --until exhausted -o c
    surprisal -g grammar trees""",
    """train chains -o unary
    parse -g unary chains --objective labelled-recall --objective productions -o d-{objective}
    parse -g unary chains --objective labelled-tree -o e
    train trees --method split-merge --cycles 1 --merge 0 -o states
    parse -g states trees --objective max-rule-product --prune 0.01 -o f
    train trees -o plain
    parse -g plain -g plain trees --objective max-rule-product --objective labelled-recall -o g-{objective}
    parse -g plain trees --objective consistent-brackets --objective bracketed-tree -o h-{objective}
    parse -g plain trees --objective labelled-f --exact -o i
    parse -g plain trees --objective minimum-risk --risk labelled-f --k-best 5 -o j
    parse -g plain trees --objective minimum-risk --risk labelled-f --samples 5 -o k
    masked -g unary chains""",
)


def digest() -> str:
    """A digest of the package's files and of where they are, by which numba keeps machine code."""
    found = hashlib.sha256(str(kernel.PACKAGE).encode())
    for path in sorted(kernel.PACKAGE.rglob("*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()[:16]


def run(commands: str) -> None:
    """Run commands one after the other; what fails here fails in a test too."""
    from mbrparse.cli.main import cli

    with (
        open(os.devnull, "w", encoding="utf-8") as nothing,
        redirect_stdout(nothing),
        redirect_stderr(nothing),
    ):
        for command in commands.splitlines():
            with suppress(Exception, SystemExit):
                cli.main(command.split(), standalone_mode=False)


def main() -> None:
    done = kernel.folder() / f"compiled-for-tests-{digest()}"
    if done.exists():
        return
    print("compiling kernels ...", file=sys.stderr, flush=True)
    with TemporaryDirectory() as folder:
        Path(folder, "trees").write_text(TREES)
        Path(folder, "chains").write_text(CHAINS)
        processes = [
            subprocess.Popen([sys.executable, str(Path(__file__).resolve()), part], cwd=folder)
            for part in PARTS
        ]
        for process in processes:
            process.wait()
    if done.parent.exists():  # kernels can be kept here
        done.touch()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        run(sys.argv[1])
    else:
        main()
