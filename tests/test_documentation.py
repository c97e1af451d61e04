"""The commands of README and docs run, and print what the pages say they print."""

import copy
import doctest
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from commandline import commands_below
from nbclient import NotebookClient

import mbrparse as mp
from mbrparse.charts import kernel
from mbrparse.cli.main import cli

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SCRIPT = re.compile(r"^```(?:python|r)\n# (\S+\.(?:py|R))\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Seconds after which a command hangs: compiling kernels takes minutes on a busy machine.
LIMIT = 3600
GRAMMAR = re.compile(r"^```\n(mbrparse-grammar.*?)^```$", re.MULTILINE | re.DOTALL)


def steps(page: Path) -> list[tuple[str, str]]:
    """The commands of a page and what is printed below each."""
    found: list[tuple[str, str]] = []
    for block in BLOCK.findall(page.read_text("utf-8")):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output))
    return found


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.stem, marks=() if page.name == "README.md" else pytest.mark.long)
        for page in PAGES
        if steps(page)
    ],
)
def test_commands_of_the_page_run(page: Path, tmp_path: Path) -> None:
    for name, text in zip(["four.txt"], GRAMMAR.findall(page.read_text("utf-8")), strict=False):
        (tmp_path / name).write_text(text, "utf-8")
    for name, text in SCRIPT.findall(page.read_text("utf-8")):
        (tmp_path / name).write_text(text, "utf-8")
    programs = Path(sys.executable).parent
    (tmp_path / ".venv").symlink_to(programs.parent)  # the environment that make sets up
    assert shutil.which("mbrparse", path=str(programs)), "the package is not installed beside this Python"
    without_r = shutil.which("Rscript") is None
    found = [one for one in steps(page) if not (without_r and one[0].startswith("Rscript"))]
    for command, output in found:
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            cwd=tmp_path,
            env={
                "PATH": f"{programs}:/usr/bin:/bin",
                "HOME": str(tmp_path),
                "PYTHONPATH": str(ROOT),
                # Kernels are those of the other tests.
                "NUMBA_CACHE_DIR": str(kernel.folder().parents[2]),
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT,
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        if output:
            assert unnamed(done.stdout) == unnamed(output), command


def unnamed(text: str) -> str:
    """A text without the sources and the commit that its signatures name."""
    return re.sub(r"\|(sources|commit):[0-9a-f]+\+?", "", text)


@pytest.mark.parametrize("page", [page for page in PAGES if ">>> " in page.read_text("utf-8")])
def test_examples_of_the_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # what they write is left there
    found = doctest.testfile(str(page), False, encoding="utf-8", optionflags=doctest.ELLIPSIS)
    assert found.attempted
    assert not found.failed


@pytest.mark.long
def test_the_tour_runs_and_prints_what_it_shows() -> None:
    """Every cell of the notebook, in a kernel of its own; its pictures may be drawn otherwise."""
    shown = nbformat.read(ROOT / "docs" / "tour.ipynb", as_version=4)  # type: ignore[no-untyped-call]
    run = copy.deepcopy(shown)
    client = NotebookClient(run, timeout=LIMIT, kernel_name="python3")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        client.execute()
    assert [_texts(cell) for cell in run.cells] == [_texts(cell) for cell in shown.cells]
    assert sum(bool(_texts(cell)) for cell in shown.cells) > 8


def _texts(cell: Any) -> list[str]:
    outputs = cell.get("outputs", [])
    return [unnamed(str(output.get("text") or output["data"]["text/plain"])) for output in outputs]


def test_pages_are_linked() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    assert all(f"docs/{page.name}" in text for page in PAGES[1:])
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_site_has_every_page() -> None:
    """``make docs`` ends with an error where one is in no menu."""
    menu = (ROOT / "mkdocs.yml").read_text("utf-8")
    assert all(f": {page.name}\n" in menu for page in PAGES[1:])


def test_each_command_and_each_name_of_the_package_is_listed() -> None:
    page = (ROOT / "docs" / "python.md").read_text("utf-8")
    rows = re.findall(r"^\| (`.+) \| (.+) \|$", page, re.MULTILINE)
    listed = [name for names, _ in rows for name in re.findall("`([^`]+)`", names)]
    assert sorted(listed) == sorted(" ".join(names) for names, _ in commands_below(cli))
    for _, functions in rows:
        named = re.findall(r"`(\w+)`", functions)
        assert not named or hasattr(mp, named[0]), functions
    assert [name for name in dir(mp) if name not in page and not name.startswith("_")] == []
