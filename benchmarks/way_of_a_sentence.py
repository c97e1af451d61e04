"""The way of one sentence through the code: python benchmarks/way_of_a_sentence.py [-v].

One sentence is parsed twice, by a parser for labelled-recall and by the command, and the second time is
followed: how many files of mbrparse it enters, how often it moves from one file to another, and how many of
the functions are wrappers, which only pass a call on. Imports and kernels are not in it; the command also
reads its grammar.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, FrameType

import mbrparse
from mbrparse.cli.main import cli

PACKAGE = str(Path(mbrparse.__file__).parent)
GRAMMAR = """S -> NP VP [1.0]
VP -> 'VB' NP [0.5] | VP NP [0.5]
NP -> 'DT' 'NN' [1.0]
"""
SENTENCE = "DT NN VB DT NN\n"


class Way:
    """What was entered, in its order."""

    def __init__(self) -> None:
        self.files: list[str] = []
        self.functions = Counter[CodeType]()

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            self.functions[frame.f_code] += 1
            self._enter(frame.f_code.co_filename)
        elif event == "return" and frame.f_back is not None:
            back = frame.f_back.f_code.co_filename
            if back.startswith(PACKAGE) and frame.f_code.co_filename.startswith(PACKAGE):
                self._enter(back)

    def _enter(self, file: str) -> None:
        if not self.files or self.files[-1] != file:
            self.files.append(file)


@cache
def functions_of(file: str) -> dict[int, ast.FunctionDef]:
    """The functions of a file, by the line where their code begins."""
    tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    known = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return {min([node.lineno, *(one.lineno for one in node.decorator_list)]): node for node in known}


def is_wrapper(code: CodeType) -> bool:
    """Whether a function does nothing but to return what another one returns."""
    function = functions_of(code.co_filename).get(code.co_firstlineno)
    if function is None:
        return False
    body = [one for one in function.body if not _is_preface(one)]
    only = body[0].value if len(body) == 1 and isinstance(body[0], ast.Return | ast.Expr) else None
    return isinstance(only, ast.Call)


def _is_preface(statement: ast.stmt) -> bool:
    """Whether it is a docstring or an import."""
    text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return text or isinstance(statement, ast.ImportFrom)


def follow(work: Callable[[], object]) -> Way:
    """Do something twice, and follow the second time."""
    work()
    way = Way()
    sys.setprofile(way)
    work()
    sys.setprofile(None)
    return way


def show(title: str, way: Way) -> None:
    """Print the counts, and with -v what was counted."""
    wrappers = [code for code in way.functions if is_wrapper(code)]
    if "-v" in sys.argv:
        for file, count in Counter(way.files).most_common():
            print(f"{count:>4}  {file.removeprefix(PACKAGE)}")
        for code in wrappers:
            print(f"      {code.co_filename.removeprefix(PACKAGE)}: {code.co_qualname}")
    counts = f"{len(set(way.files))} files, {len(way.files)} moves between files, {len(wrappers)} wrappers"
    print(f"{title}: {counts}")


def main() -> None:
    """Follow the sentence through the parser, and through the whole command."""
    parser = mbrparse.Parser(mbrparse.grammar(GRAMMAR), "labelled-recall")
    show("the parser", follow(lambda: str(parser.parse(SENTENCE)[0].tree)))
    with TemporaryDirectory() as folder:
        grammar, text = Path(folder, "toy.nltk"), Path(folder, "text")
        grammar.write_text(GRAMMAR)
        text.write_text(SENTENCE)
        command = ["parse", "-g", str(grammar), str(text), "--objective", "labelled-recall"]
        command += ["-o", str(Path(folder, "trees"))]
        show("the command", follow(lambda: cli.main(command, standalone_mode=False)))


if __name__ == "__main__":
    main()
