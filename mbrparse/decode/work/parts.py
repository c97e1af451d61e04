"""The parts that shards have left, checked to be all of one run, and what they found in the input's order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from mbrparse.decode.lines import Lines
from mbrparse.decode.posteriors.posteriors_writer import PosteriorsWriter
from mbrparse.decode.run import numbered
from mbrparse.decode.work.blocks_file import Block, BlocksFile, End
from mbrparse.decode.work.manifest import NAME, Manifest
from mbrparse.decode.work.shard import Shard
from mbrparse.decode.work.work_folder import BLOCKS
from mbrparse.errors import FileError, InputMismatchError
from mbrparse.reporting import Progress, show_nothing

_NAMED = 5


class Part(NamedTuple):
    """What one shard has left."""

    folder: Path
    manifest: Manifest
    sentences: int
    end: End

    @property
    def shard(self) -> Shard:
        """Which shard's it is."""
        return self.manifest.shard


class Parts:
    """All parts of a run."""

    def __init__(self, folders: Iterable[str | Path], progress: Progress = show_nothing) -> None:
        """Read the parts through, whatever their order.

        Raises FileError for a folder that is no part, not finished or damaged, and InputMismatchError for
        parts of different runs, for shards that are missing and for those that are there twice.
        """
        paths = list(map(Path, folders))
        manifests = [_manifest(path) for path in paths]
        _check_one_run(paths, manifests)
        pairs = sorted(zip(manifests, paths, strict=True), key=lambda pair: pair[0].shard)
        self._parts = [_part(path, manifest) for manifest, path in progress(pairs, "checking", len(pairs))]
        first = self._parts[0]
        for part in self._parts:
            if part.end != first.end:
                raise InputMismatchError(
                    f"parsed from another input than {first.folder}",
                    source=str(part.folder),
                    remedy=f"parse shard {part.shard} again, into another folder",
                )
        self.manifest = first.manifest
        self.sentences = sum(part.sentences for part in self._parts)

    def lines(self) -> Iterator[Lines]:
        """Yield the lines of all sentences, numbered, as one run would; raises FileError for damage."""
        return numbered(self._lines())

    def writer(self) -> PosteriorsWriter | None:
        """What posteriors are collected with, if the parts have some."""
        written = self.manifest.settings["posteriors written"]
        return None if written is None else PosteriorsWriter(tuple(written["labels"]), written["consistent"])

    def _lines(self) -> Iterator[Lines]:
        files = [BlocksFile(part.folder / BLOCKS) for part in self._parts]
        places = [0] * len(files)
        for number in range(self._parts[0].end.blocks):
            shard = number % len(files)
            block = files[shard].at(places[shard])
            if not isinstance(block, Block) or block.number != number:
                raise _unfinished(self._parts[shard].folder, self._parts[shard].shard, number // len(files))
            places[shard] = block.place + block.size
            yield from files[shard].lines(block)


def _manifest(folder: Path) -> Manifest:
    if not (folder / NAME).exists():
        raise FileError(
            f"not a part: there is no {NAME}" if folder.is_dir() else "not a part: no such folder",
            source=str(folder),
            remedy="a part is the folder that mbrparse parse --shard I/N --work FOLDER leaves",
        )
    return Manifest.read(folder)


def _check_one_run(folders: Sequence[Path], manifests: Sequence[Manifest]) -> None:
    """Raise InputMismatchError unless these are all shards of one run."""
    first, count = manifests[0], manifests[0].shard.of
    seen: dict[int, Path] = {}
    for folder, manifest in zip(folders, manifests, strict=True):
        if manifest.shard.of != count:
            raise InputMismatchError(
                f"this is shard {manifest.shard}, but {folders[0]} is {first.shard}",
                source=str(folder),
                remedy="give the parts of one run",
            )
        if differing := manifest.unlike(first):
            raise InputMismatchError(
                f"parsed with other settings than {folders[0]} ({differing})",
                source=str(folder),
                remedy=f"parse shard {manifest.shard} again with the same, into another folder",
            )
        if manifest.shard.number in seen:
            raise InputMismatchError(
                f"shard {manifest.shard} is there twice, here and in {seen[manifest.shard.number]}",
                source=str(folder),
                remedy="give one of them",
            )
        seen[manifest.shard.number] = folder
    missing = [index for index in range(1, count + 1) if index not in seen]
    if missing:
        shown = ", ".join(map(str, missing[:_NAMED])) + (", ..." if len(missing) > _NAMED else "")
        raise InputMismatchError(
            f"{len(missing)} of {count} shards {'is' if len(missing) == 1 else 'are'} missing: {shown}",
            remedy=f"parse them (--shard {missing[0]}/{count}), and give all parts",
        )


def _part(folder: Path, manifest: Manifest) -> Part:
    """A part, read through; raises FileError unless it is finished and whole."""
    shard, blocks = manifest.shard, BlocksFile(folder / BLOCKS)
    count = sentences = 0
    for one in blocks.records():
        if isinstance(one, End):
            if count == len(shard.blocks(one.blocks)):
                return Part(folder, manifest, sentences, one)
            break
        if one.number != shard.number - 1 + count * shard.of:
            break
        count, sentences = count + 1, sentences + one.sentences
    raise _unfinished(folder, shard, count)


def _unfinished(folder: Path, shard: Shard, count: int) -> FileError:
    return FileError(
        f"shard {shard} is not finished, or was damaged, after {count} blocks",
        source=str(folder),
        remedy="give the command that parsed it again, with --resume: it goes on from there",
    )
