"""Run a command and print its wall seconds, CPU seconds and peak memory (MB).

A process of its own, for a new process remembers the memory of the one that started it:
python launched.py COMMAND ARGUMENT ...
"""

from __future__ import annotations

import json
import os
import sys
import time


def main() -> int:
    """Wait for the command and all that it starts."""
    began = time.perf_counter()
    child = os.spawnv(os.P_NOWAIT, sys.argv[1], sys.argv[1:])
    _, status, usage = os.wait4(child, 0)
    wall = time.perf_counter() - began
    memory = usage.ru_maxrss / (1024 if sys.platform != "darwin" else 1024**2)
    print(json.dumps([wall, usage.ru_utime + usage.ru_stime, memory]))
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(main())
