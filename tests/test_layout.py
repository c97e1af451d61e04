"""The structure of the package: folders import in one direction, names say where a thing is."""

import ast
from collections import Counter, defaultdict
from graphlib import TopologicalSorter
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "mbrparse"
# What a package's __init__ offers is its door, not a part of it.
MODULES = {
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts): path
    for path in PACKAGE.rglob("*.py")
    if path.name not in ("__init__.py", "__main__.py")
}


def imports() -> dict[str, set[str]]:
    """By module the modules that it imports, in functions and for type checkers too."""
    found: dict[str, set[str]] = defaultdict(set)
    for module, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                names = {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
                found[module] |= names & MODULES.keys() - {module}
    return found


def test_no_folders_import_each_other() -> None:
    """A folder's loose files count as a folder: they are the base of the folders in it, or above them."""
    folders: dict[Path, set[Path]] = defaultdict(set)
    for module, others in imports().items():
        here = MODULES[module].parent
        folders[here] |= {MODULES[other].parent for other in others} - {here}
    order = list(TopologicalSorter(folders).static_order())  # raises CycleError
    assert len(order) > 20


def test_names_of_files_and_classes_are_unique() -> None:
    files = Counter(path.name for path in MODULES.values())
    classes = Counter(
        node.name
        for path in MODULES.values()
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, count in (files + classes).items() if count > 1] == []
