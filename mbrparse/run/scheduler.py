"""Where a cluster's scheduler is found: the value of ``--scheduler``."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from mbrparse.io.errors import FileError
from mbrparse.run.pool import WorkersError

_ADDRESS = re.compile(r"[a-z]+://.+|[\w.-]+:[0-9]+|\[[0-9a-f:]+\]:[0-9]+")


@dataclass(frozen=True)
class Scheduler:
    """A Dask scheduler, by its address (``tcp://host:8786``) or the file that it wrote (scheduler.json)."""

    place: str

    def __str__(self) -> str:
        return self.place

    def address(self) -> str:
        """Its present address: a scheduler that is restarted writes its file anew.

        Raises FileError for a file that is not a scheduler's, WorkersError for a malformed address.
        """
        path = Path(self.place)
        if "://" not in self.place and path.exists():
            return _address_in(path)
        if _ADDRESS.fullmatch(self.place):
            return self.place
        raise WorkersError(
            "neither a scheduler's address nor its file",
            source=self.place,
            remedy="give tcp://HOST:PORT, or the file of: dask scheduler --scheduler-file FILE",
        )


def _address_in(path: Path) -> str:
    try:
        content = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise FileError(f"cannot be read ({error.strerror})", source=str(path)) from None
    except ValueError:
        content = None
    address = content.get("address") if isinstance(content, dict) else None
    if not isinstance(address, str):
        raise FileError(
            "no scheduler's file: it names no address",
            source=str(path),
            remedy="give the file of: dask scheduler --scheduler-file FILE",
        )
    return address
