"""``python -m mbrparse`` is the ``mbrparse`` command."""

from mbrparse.cli.main import main

if __name__ == "__main__":
    main()
