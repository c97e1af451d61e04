"""``python -m mbrparse`` is the ``mbrparse`` command."""

import os
import signal
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line, and react to Ctrl-C from the first moment on."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, end_at_once)
    from mbrparse.cli.main import main as run

    try:
        run(end_at_once)
    finally:
        # All is done and said; Python's own end would die of the signal.
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def end_at_once(*_: object) -> NoReturn:
    """Leave: there is nothing to put in order yet."""
    os.write(2, b"mbrparse: interrupted\n")
    os._exit(130)


if __name__ == "__main__":
    main()
