"""Pages of the site that are made of other files: the README, and the Python interface.

mkdocs calls on_config and on_files (mkdocs.yml, hooks); nothing is written into the repository.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from markdown import Extension, Markdown
from markdown.preprocessors import Preprocessor
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}


class _Examples(Preprocessor):
    """Fences around the examples of docstrings, which Markdown would take for quotations."""

    def run(self, lines: list[str]) -> list[str]:
        """From ``>>>`` to the next empty line, where no fence is open already."""
        found: list[str] = []
        fenced = example = False
        for line in [*lines, ""]:
            fenced ^= line.startswith("```")
            if not fenced and not example and line.startswith(">>> "):
                found.append("```pycon")
                example = True
            elif example and not line.strip():
                found.append("```")
                example = False
            found.append(line)
        return found


class _ExamplesOfDocstrings(Extension):
    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 (Markdown's name)
        """Before fences are looked for (25)."""
        md.preprocessors.register(_Examples(md), "examples", 35)


def on_config(config: Any) -> Any:
    """Add what the pages' Markdown needs besides mkdocs.yml."""
    config.markdown_extensions.append(_ExamplesOfDocstrings())
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the pages."""
    for name, page in PAGES.items():
        text = (ROOT / name).read_text("utf-8")
        text = re.sub(r"\]\(docs/", "](", text)
        for other, target in PAGES.items():
            text = text.replace(f"]({other})", f"]({target})")
        files.append(File.generated(config, page, content=text))
    files.append(File.generated(config, "api.md", content=_interface()))
    return files


def _interface() -> str:
    """The public names of ``mbrparse/__init__.pyi``, each where it is defined."""
    source = (ROOT / "mbrparse" / "__init__.pyi").read_text("utf-8")
    imports = re.findall(r"^from ([\w.]+) import ([a-zA-Z]\w*) as \2$", source, flags=re.MULTILINE)
    names = [
        f"## {name}\n\n::: mbrparse{module}.{name}" for name, module in sorted((n, m) for m, n in imports)
    ]
    about = "`import mbrparse as mp`; [In Python](python.md) shows how they go together."
    return "\n\n".join(["# The Python interface", about, *names, ""])
