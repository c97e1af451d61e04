"""``python -m mbrparse`` is the ``mbrparse`` command."""

import signal
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line, and react to Ctrl-C from the first moment on."""
    from mbrparse.cli.interrupts import end_at_once

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, end_at_once)
    from mbrparse.cli.main import main as run

    try:
        run()
    finally:
        # All is done and said; Python's own end would die of the signal.
        signal.signal(signal.SIGINT, signal.SIG_IGN)


if __name__ == "__main__":
    main()
