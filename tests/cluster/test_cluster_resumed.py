"""A client of a cluster that is killed goes on from what it had kept."""

import os
import threading
from pathlib import Path

from children import started
from commandline import Command

from mbrparse.decode.work.blocks_file import BlocksFile


def test_a_client_that_is_killed_goes_on(tmp_path: Path, address: str, command: Command) -> None:
    """Its input does not end before it is dead, so that it is in the middle of its work."""
    for arguments in (
        ("sample", "embedded:flights", "-n", 150, "--seed", 4, "-o", tmp_path / "trees"),
        ("binarize", tmp_path / "trees", "-o", tmp_path / "binary"),
        ("train", tmp_path / "binary", "-o", tmp_path / "grammar"),
    ):
        assert command(*arguments).code == 0
    (tmp_path / "input").write_text((tmp_path / "binary").read_text() * 14)
    os.mkfifo(tmp_path / "pipe")
    parse = ("parse", "-g", tmp_path / "grammar", "-o")
    work = (tmp_path / "out", "--work", tmp_path / "work", "--scheduler", address)
    blocks = BlocksFile(tmp_path / "work" / "blocks")
    with started(*parse, *work, tmp_path / "pipe") as child, (tmp_path / "pipe").open("w") as stream:
        stream.write((tmp_path / "input").read_text())
        stream.flush()
        while len(list(blocks.records())) < 2:
            assert child.poll() is None, child.stderr and child.stderr.read()
            threading.Event().wait(0.05)
        child.kill()
        child.wait()
    assert not (tmp_path / "out").exists()
    alone = command(*parse, tmp_path / "alone", tmp_path / "input")
    resumed = command(*parse, *work, "--resume", tmp_path / "input")
    assert (resumed.code, resumed.err) == (0, alone.err)
    assert (tmp_path / "out").read_bytes() == (tmp_path / "alone").read_bytes()
