"""Machine code of kernels is kept, and never stale: a little package with the real decorator."""

import ast
import os
import pickle
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from children import LIMIT

from mbrparse.grammar import kernel, kernel_cache

ROOT = str(kernel_cache.PACKAGE.parent)
CALLEE = """
from little.grammar.kernel import kernel
from little.steps import STEP
@kernel
def grow(value):
    return value + STEP
"""
CALLER = """
from little.callee import grow
from little.grammar.kernel import announced, kernel
@kernel
def twice(value):
    return 2 * grow(value)
def show():
    with announced(lambda: print("compiled", end=" ")):
        print(twice(1))
"""


@pytest.fixture
def little(tmp_path: Path) -> Path:
    """A folder that holds a package of two kernels, in two files."""
    room = tmp_path / "here" / "little" / "grammar"
    room.mkdir(parents=True)
    for name in ("kernel", "kernel_cache", "kernel_compiler", "machine_code"):
        text = (kernel_cache.PACKAGE / "grammar" / f"{name}.py").read_text(encoding="utf-8")
        (room / f"{name}.py").write_text(text.replace("mbrparse.grammar", "little.grammar"))
    for name, text in {"callee": CALLEE, "caller": CALLER, "steps": "STEP = 1\n", "notes": ""}.items():
        (room.parent / f"{name}.py").write_text(text)
    return tmp_path / "here"


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """Where numba is told to keep what it compiles."""
    return tmp_path / "cache"


def show(folder: Path, cache: Path, before: str = "pass") -> tuple[str, str]:
    """What the outer kernel makes of 1, and stderr; the output says whether it had to be compiled."""
    done = child(folder, cache, f"from little.caller import show, twice; {before}; show()")
    return done.stdout.strip(), done.stderr


def run(folder: Path, cache: Path, script: str) -> str:
    """What a script prints."""
    return child(folder, cache, script).stdout


def child(folder: Path, cache: Path, script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), ROOT]), "NUMBA_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=True,
        timeout=LIMIT,
    )


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def folders(cache: Path) -> set[Path]:
    return set((cache / "mbrparse" / "kernels").iterdir())


def test_what_a_kernel_calls_and_the_constants_it_sees_are_compiled_in(little: Path, cache: Path) -> None:
    assert show(little, cache) == ("compiled 4", "")
    assert show(little, cache) == ("4", "")
    edit(little / "little" / "callee.py", "value + STEP", "value + 10 * STEP")
    assert show(little, cache) == ("compiled 22", "")
    edit(little / "little" / "steps.py", "1", "2")
    assert show(little, cache) == ("compiled 42", "")
    # A file that no kernel sees changes nothing.
    edit(little / "little" / "notes.py", "", "NOTE = 1\n")
    assert show(little, cache) == ("42", "")
    assert len(folders(cache)) == 3


def test_two_clones_share_their_kernels(little: Path, cache: Path, tmp_path: Path) -> None:
    assert show(little, cache) == ("compiled 4", "")
    shutil.copytree(little, tmp_path / "there", ignore=shutil.ignore_patterns("__pycache__"))
    assert show(tmp_path / "there", cache) == ("4", "")


def test_folders_that_nobody_used_for_long_are_removed(little: Path, cache: Path) -> None:
    kernels = cache / "mbrparse" / "kernels"
    old, recent, other = kernels / ("0" * 32), kernels / ("1" * 32), kernels / "of-mine"
    for folder in (old, recent, other):
        folder.mkdir(parents=True)
        (folder / "code.bin").touch()
    long_ago = time.time() - kernel_cache.MAX_AGE - 1000
    for folder in (old, other):
        os.utime(folder, (long_ago, long_ago))
    show(little, cache)
    [own] = folders(cache) - {old, recent, other}
    assert not old.exists()
    assert recent.exists()
    assert other.exists()
    # To use kernels is enough to keep them.
    os.utime(own, (long_ago, long_ago))
    assert show(little, cache) == ("4", "")
    assert own.stat().st_mtime > long_ago + 500


def test_where_no_place_is_writable_kernels_are_compiled_in_memory(little: Path, cache: Path) -> None:
    cache.write_text("a file, so that no folder can be made here")
    out, err = show(little, cache)
    assert out == "compiled 4"
    [line] = err.splitlines()
    assert line.startswith("mbrparse: kernels are compiled in memory")
    assert str(cache) in line
    assert "set NUMBA_CACHE_DIR" in line


def test_what_was_edited_under_a_running_process_is_not_kept(little: Path, cache: Path) -> None:
    steps = little / "little" / "steps.py"
    overwrite = f"open({str(steps)!r}, 'w').write('STEP = 5')"
    assert show(little, cache, before=overwrite) == ("compiled 4", "")
    assert show(little, cache) == ("compiled 12", "")


def test_a_spoilt_file_is_compiled_anew(little: Path, cache: Path) -> None:
    show(little, cache)
    [folder] = folders(cache)
    [path] = folder.iterdir()
    path.write_bytes(path.read_bytes()[:100])
    assert show(little, cache) == ("compiled 4", "")
    assert show(little, cache) == ("4", "")


def test_a_file_of_other_bytes_is_compiled_anew(little: Path, cache: Path) -> None:
    """Damaged machine code would end the process, or worse."""
    show(little, cache)
    [folder] = folders(cache)
    [path] = folder.iterdir()
    content = bytearray(path.read_bytes())
    content[-len(content) // 2 :] = bytes(len(content[-len(content) // 2 :]))
    path.write_bytes(content)
    assert show(little, cache) == ("compiled 4", "")
    assert show(little, cache) == ("4", "")


def test_code_that_needs_what_is_not_there_is_compiled_anew(little: Path, cache: Path) -> None:
    """LLVM would end the process."""
    show(little, cache)
    [folder] = folders(cache)
    [path] = folder.iterdir()
    script = f"""
import hashlib, pathlib, pickle
path = pathlib.Path({str(path)!r})
types, code = pickle.loads(path.read_bytes()[32:])
kept = pickle.dumps((types, code._replace(needed=(*code.needed, "nobody_has_this"))))
path.write_bytes(hashlib.sha256(kept).digest() + kept)
print("PyArg_UnpackTuple" in code.needed)
"""
    assert run(little, cache, script) == "True\n"
    assert show(little, cache) == ("compiled 4", "")


ANSWERS = """
from typing import NamedTuple
import numpy as np
from little.grammar.kernel import array_kernel
class Pair(NamedTuple):
    first: np.ndarray
    second: float
@array_kernel
def paired(values, factor):
    return Pair(values * factor, values.sum())
@array_kernel
def kinds(number, array, pair):
    if number < 0:
        raise ValueError("negative")
    return array[0] + number, pair.first[::2], number > 1
@array_kernel
def later(array):
    return array.sum()
@array_kernel
def vast(n):
    return np.zeros(n)
values = np.arange(4.0)
fixed = np.arange(4.0)
fixed.flags.writeable = False
"""


def test_what_is_kept_runs_without_numba_and_gives_the_same(little: Path, cache: Path) -> None:
    (little / "little" / "answers.py").write_text(ANSWERS)
    script = """
import sys
from little.answers import *
for array in (values, fixed, values[::2], values.astype(np.float32)):
    pair = paired(array, 2)
    print(type(pair).__name__, type(pair.first).__name__, pair.first, pair.second, pair.first.dtype)
    print(*kinds(np.int32(1), array, pair), *kinds(True, array, pair), *kinds(2, array, pair))
print("numba" in sys.modules)
try:
    kinds(-1, values, Pair(values, 1.0))
except ValueError as error:
    print(error)
try:
    vast(1 << 50)
except MemoryError as error:
    print(type(error).__name__)
held = [paired(np.full(1000, 7.0), n).first for n in range(50)]
print(sum(array.sum() for array in held))
"""
    first, second = run(little, cache, script), run(little, cache, script)
    assert "True" in first
    assert first.splitlines()[:-4] == second.splitlines()[:-4]
    assert first.splitlines()[-4:] == ["True", "negative", "MemoryError", "8575000.0"]
    assert second.splitlines()[-4:] == ["False", "negative", "MemoryError", "8575000.0"]
    # What is compiled after something was loaded does not mind.
    after = run(little, cache, script + "print(later(values), 'numba' in sys.modules, later(values[::2]))")
    assert after.splitlines()[-1] == "6.0 True 2.0"


def test_what_kernels_return_is_given_back(little: Path, cache: Path) -> None:
    (little / "little" / "answers.py").write_text(ANSWERS)
    script = """
import resource
from little.answers import *
many = np.zeros(1 << 16)
for n in range(20_000):
    paired(many, 2)
    try:
        kinds(-1, many, Pair(many, 1.0))
    except ValueError:
        pass
    if n == 100:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 14)
"""
    assert [run(little, cache, script) for _ in range(2)] == ["True\n", "True\n"]


def test_threads_load_kernels_at_once_and_processes_by_name(little: Path, cache: Path) -> None:
    (little / "little" / "answers.py").write_text(ANSWERS)
    script = """
import pickle, threading
from little.answers import *
from little.caller import twice
assert pickle.loads(pickle.dumps(twice)) is twice
found = []
gate = threading.Barrier(8)
def work(n):
    gate.wait()
    found.append((twice(n), later(values), paired(values, n).second))
threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(sorted(found) == [(2 * n + 2, 6.0, 6.0) for n in range(8)])
"""
    assert [run(little, cache, script) for _ in range(2)] == ["True\n", "True\n"]


def test_a_kernel_takes_arrays_numbers_tuples_and_what_draws() -> None:
    @kernel.kernel
    def drawn(random: np.random.Generator) -> float:
        return random.random()

    assert drawn(np.random.default_rng(3)) == np.random.default_rng(3).random()

    @kernel.kernel
    def same(value: object) -> object:
        return value

    with pytest.raises(TypeError, match="no kernel takes a dict"):
        same({})
    assert same(3) == 3
    assert isinstance(same(np.float64(3)), float)


def test_who_debugs_runs_python(little: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert show(little, cache, before="print(type(twice).__name__, end=' ')") == ("function 4", "")
    assert not cache.exists()


def test_the_key_holds_every_file_that_kernels_load() -> None:
    sources = kernel_cache.kernel_sources()
    decorated = [
        path
        for path in kernel_cache.PACKAGE.rglob("*.py")
        if re.search(r"^@(array_)?kernel$", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    names = [
        ".".join(path.relative_to(kernel_cache.PACKAGE.parent).with_suffix("").parts) for path in decorated
    ]
    assert len(names) > 20
    script = f"""
import importlib, sys
for name in {names!r}:
    importlib.import_module(name)
loaded = {{name for name, module in sys.modules.items() if not hasattr(module, "__path__")}}
print(*(name for name in loaded if name.startswith("mbrparse.")))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=LIMIT
    )
    # The face of the package is loaded before any kernel, and none sees it.
    assert set(done.stdout.split()) - {"mbrparse.version"} <= set(sources)


@kernel.steady
class Table(NamedTuple):
    values: Any
    number: float


@kernel.steady
class OtherTable(NamedTuple):
    values: Any
    number: float


@kernel.kernel
def plus_number(state: Any) -> Any:
    return state[0].values[1] + state[0].number + state[1]


def test_tables_that_stay_are_looked_at_once() -> None:
    table = Table(np.arange(2.0), 3)
    assert plus_number((table, 0.5)) == plus_number((table, 0.5)) == 4.5
    types = kernel._type_of(table)
    assert kernel._type_of(table) is kernel._type_of(Table(np.zeros(5), 1)) is types
    for other in (Table(np.zeros(2), 3.0), Table(np.zeros(2, int), 3), OtherTable(*table)):
        assert kernel._type_of(other) not in (types, None)
    assert plus_number((Table(np.arange(2), 3), 0.5)) == 4.5
    # To another process goes what is in it; another process finds the same machine code.
    copied = pickle.loads(pickle.dumps(table))
    assert (type(copied), copied.number, vars(copied)) == (Table, 3, {})
    plain = (Table, kernel._type_of(table.values), int)
    assert kernel._described(types) == kernel._described(plain)


NUMBERS = {"None", "int", "float", "bool", "Any"}  # Any: a vector


def returns_numbers(function: ast.FunctionDef) -> bool:
    assert function.returns is not None
    text = ast.unparse(function.returns)
    return NUMBERS.issuperset(text.removeprefix("tuple[").removesuffix("]").split(", "))


def test_arrays_are_passed_between_kernels_that_count_references_or_between_those_that_do_not() -> None:
    functions = [
        node
        for path in sorted(kernel_cache.PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef)
    ]

    def decorated(name: str) -> list[ast.FunctionDef]:
        return [
            function
            for function in functions
            if any(isinstance(node, ast.Name) and node.id == name for node in function.decorator_list)
        ]

    def returning_arrays(kernels: list[ast.FunctionDef]) -> set[str]:
        return {function.name for function in kernels if not returns_numbers(function)}

    def called(callers: list[ast.FunctionDef]) -> set[str]:
        return {
            node.func.id
            for function in callers
            for node in ast.walk(function)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }

    counting, borrowing = decorated("array_kernel"), decorated("kernel")
    assert counting
    assert borrowing
    # References that one without was given would stay for ever; those that one returns were never counted.
    assert not called(borrowing) & returning_arrays(counting)
    others = [function for function in functions if function not in borrowing]
    assert not called(others) & returning_arrays(borrowing)
