"""HTML pages: all goes in as text; nothing is loaded from elsewhere, and a policy within forbids it."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any


def data_text(package: str, name: str) -> str:
    """The text of a file in a package's data."""
    return (files(package) / "data" / name).read_text("utf-8")


@cache  # compiling one takes longer than filling it in
def page_template(package: str, name: str, **filters: Any) -> Any:
    """A jinja template of a package, which extends ``frame.html``: it takes title, style, script."""
    import jinja2

    environment = jinja2.Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
        loader=jinja2.DictLoader({"frame.html": data_text(__package__, "frame.html")}),
    )
    environment.filters |= filters
    return environment.from_string(data_text(package, name))
