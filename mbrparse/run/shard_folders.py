"""The work folders of all shards of a run, checked and read in the order of the input."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from mbrparse.errors import FileError, InputMismatchError
from mbrparse.log import Progress, no_progress
from mbrparse.run.blocks_file import Block, BlocksFile, End
from mbrparse.run.manifest import NAME, Manifest, Shard, differences
from mbrparse.run.work_folder import BLOCKS, Codec

Line = TypeVar("Line")
_SHOWN = 5


class ShardFolder(NamedTuple):
    """The work folder of one shard."""

    folder: Path
    shard: Shard
    sentences: int
    end: End


class ShardFolders(Generic[Line]):
    """All parts of a run."""

    def __init__(
        self, folders: Iterable[str | Path], codec: Codec[Line], progress: Progress = no_progress
    ) -> None:
        """Read the parts, in any order.

        Raises FileError for a folder that is no part, not finished or damaged, and InputMismatchError for
        parts of different runs, for missing shards and for shards that are there twice.
        """
        paths = list(map(Path, folders))
        manifests = [_manifest(path) for path in paths]
        _check_one_run(paths, manifests)
        pairs = sorted(zip(manifests, paths, strict=True), key=lambda pair: pair[0].shard)
        self.manifest = pairs[0][0]
        self._codec = codec
        self._parts = [
            _part(path, manifest.shard) for manifest, path in progress(pairs, "checking", len(pairs))
        ]
        first = self._parts[0]
        for part in self._parts:
            if part.end != first.end:
                raise InputMismatchError(
                    f"parsed from another input than {first.folder}",
                    source=str(part.folder),
                    remedy=f"parse shard {part.shard} again, into another folder",
                )
        self.sentences = sum(part.sentences for part in self._parts)

    def lines(self) -> Iterator[Line]:
        """Yield the results of all sentences, in the order of the input; raises FileError for damage."""
        files = [BlocksFile(part.folder / BLOCKS) for part in self._parts]
        offsets = [0] * len(files)
        for number in range(self._parts[0].end.blocks):
            place = number % len(files)
            block = next(files[place].records(offsets[place]), None)
            if not isinstance(block, Block) or block.number != number:
                raise _unfinished(self._parts[place].folder, self._parts[place].shard, number // len(files))
            offsets[place] = block.end
            yield from self._codec.read(files[place], block)


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
        shard = manifest.shard
        if shard.of != count:
            wrong = f"this is shard {shard}, but {folders[0]} is {first.shard}"
            remedy = "give the parts of one run"
        elif differing := differences(first.settings, manifest.settings, "here"):
            wrong = f"parsed with other settings than {folders[0]} ({differing})"
            remedy = f"parse shard {shard} again with the same, into another folder"
        elif shard.number in seen:
            wrong = f"shard {shard} is there twice, here and in {seen[shard.number]}"
            remedy = "give one of them"
        else:
            seen[shard.number] = folder
            continue
        raise InputMismatchError(wrong, source=str(folder), remedy=remedy)
    missing = [index for index in range(1, count + 1) if index not in seen]
    if missing:
        shown = ", ".join(map(str, missing[:_SHOWN])) + (", ..." if len(missing) > _SHOWN else "")
        raise InputMismatchError(
            f"{len(missing)} of {count} shards {'is' if len(missing) == 1 else 'are'} missing: {shown}",
            remedy=f"parse them (--shard {missing[0]}/{count}), and give all parts",
        )


def _part(folder: Path, shard: Shard) -> ShardFolder:
    """Read a part through; raises FileError unless it is finished and whole."""
    count = sentences = 0
    for one in BlocksFile(folder / BLOCKS).records():
        if isinstance(one, End):
            if count == len(shard.blocks(one.blocks)):
                return ShardFolder(folder, shard, sentences, one)
            break
        if one.number != shard.number - 1 + count * shard.of:
            break
        count, sentences = count + 1, sentences + one.sentences
    raise _unfinished(folder, shard, count)


def _unfinished(folder: Path, shard: Shard, count: int) -> FileError:
    return FileError(
        f"shard {shard} is not finished, or was damaged, after {count} blocks",
        source=str(folder),
        remedy="repeat the command that parsed it with --resume: it goes on from there",
    )
