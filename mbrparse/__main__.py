"""``python -m mbrparse`` is the ``mbrparse`` command."""

import os
import signal
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line, and react to Ctrl-C from the first moment on."""
    try:
        from mbrparse.cli.main import main as run

        run()
    except KeyboardInterrupt as interruption:  # before the command began, or after its end
        os.write(2, b"mbrparse: interrupted\n")
        os._exit(128 + next(iter(interruption.args), signal.SIGINT))
    finally:
        # All is done and said; Python's own end would die of the signals, with a traceback.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        # Nor does it remember an interruption within exec, of which dataclasses and named tuples are made.
        exec("")


if __name__ == "__main__":
    main()
