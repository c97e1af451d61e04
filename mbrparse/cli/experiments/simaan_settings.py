"""What an experiment's folder was made with: it goes on only with the same."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mbrparse.errors import FileError, InputMismatchError
from mbrparse.files import open_output

_ANOTHER = "give another folder: -o DIR"


def check_settings(folder: Path, settings: dict[str, Any], parsers: Iterable[str]) -> None:
    """Keep the settings in a new folder; in one that has some, raise InputMismatchError for others."""
    path = folder / "settings.json"
    if not path.exists():
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(f"folder cannot be made ({error.strerror})", source=str(folder)) from None
        for name in parsers:
            if (folder / name).exists():
                raise FileError(
                    "results, but no settings.json says of what", source=str(folder / name), remedy=_ANOTHER
                )
        with open_output(path) as stream:
            json.dump(settings, stream, indent=2)
            stream.write("\n")
        return
    try:
        there = dict(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        raise FileError(
            "not the settings of this experiment", source=str(path), remedy="remove its folder"
        ) from None
    for name in {**settings, **there}:
        if settings.get(name) != there.get(name):
            raise InputMismatchError(
                f"this was made with other {name}: {there.get(name)}, now {settings.get(name)}",
                source=str(path),
                remedy=f"give the same input and options, or {_ANOTHER}",
            )
