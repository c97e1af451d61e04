"""Work in blocks: whatever is killed, and however many the shards, each sentence comes out once, in order."""

import random
import re
import tempfile
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mbrparse.decode.parser.parse_files import Lines
from mbrparse.decode.parser.sentences import read_chunks
from mbrparse.decode.parser.stored_lines import CODEC
from mbrparse.errors import FileError, InputMismatchError, MbrparseError, OptionsError
from mbrparse.run.manifest import WHOLE, Manifest, Shard
from mbrparse.run.shard_folders import ShardFolders
from mbrparse.run.work_folder import WorkFolder, work_folder

SIZE = 3
OUTPUTS = {"details": False, "candidates": False, "posteriors written": None}
SETTINGS = {"sentences a block": SIZE, "objectives": ["labelled-recall"], **OUTPUTS}


class Killed(Exception):  # noqa: N818  # it is no mistake
    """In the middle of the work."""


def parsed(folder: WorkFolder[Lines], path: Path, limit: int | None = None) -> Iterator[Lines]:
    """What a parser would find that gives words back; it dies after some blocks."""
    blocks = read_chunks(path, "tokens", first_size=SIZE, size=SIZE)
    wanted = (chunk for chunk in folder.wanted(blocks) if chunk.wanted)
    results = ([Lines((line.rstrip("\n"),), None, None) for line in chunk.lines] for chunk in wanted)
    return chain.from_iterable(folder.kept(results if limit is None else dying(results, limit)))


def dying(results: Iterator[list[Lines]], limit: int) -> Iterator[list[Lines]]:
    for number, lines in enumerate(results):
        if number == limit:
            raise Killed
        yield lines


def trees(results: Iterator[Lines]) -> list[str]:
    return [lines.trees[0] for lines in results]


@given(st.integers(1, 9), st.integers(0, 40))
def test_each_block_is_one_shards(of: int, total: int) -> None:
    shards = [Shard(number, of) for number in range(1, of + 1)]
    assert all(sum(shard.has(block) for shard in shards) == 1 for block in range(total))
    for shard in shards:
        assert list(shard.blocks(total)) == [block for block in range(total) if shard.has(block)]
    sizes = [len(shard.blocks(total)) for shard in shards]
    assert max(sizes) - min(sizes) <= 1
    assert [Shard.parse(str(shard)) for shard in shards] == shards


@pytest.mark.parametrize("text", ["0/3", "4/3", "3", "1/0", "a/b", "1/2/3", "-1/2", "01/2", "1 /2", ""])
def test_what_is_no_shard(text: str) -> None:
    with pytest.raises(OptionsError, match="shard is I/N"):
        Shard.parse(text)


@given(
    st.integers(1, 40),
    st.integers(1, 7),
    st.lists(st.integers(0, 8), max_size=6),
    st.randoms(use_true_random=False),
)
def test_killed_resumed_and_merged(count: int, of: int, limits: list[int], chance: random.Random) -> None:
    """Sentence by sentence the same as the input, however often a shard was killed, in any order."""
    sentences = [f"w{number}" for number in range(count)]
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "input"
        path.write_text("".join(f"{sentence}\n" for sentence in sentences))
        shards = [Shard(number, of) for number in range(1, of + 1)]
        chance.shuffle(shards)
        for shard in shards:
            manifest, part = Manifest(SETTINGS, shard), Path(place) / str(shard.number)
            mine = [name for k, name in enumerate(sentences) if k // SIZE % of == shard.number - 1]
            before = 0
            for limit in limits:
                try:
                    with work_folder(part, manifest, CODEC, resume=True) as folder:
                        assert folder.sentences >= before
                        before = folder.sentences
                        assert trees(parsed(folder, path, limit)) == mine
                except Killed:
                    pass
            with work_folder(part, manifest, CODEC, resume=True) as folder:
                assert trees(parsed(folder, path)) == mine
            with work_folder(part, manifest, CODEC, resume=True) as folder:
                # All is there, and nothing is parsed.
                assert trees(parsed(folder, path, 0)) == mine
        chance.shuffle(shards)
        parts = ShardFolders((Path(place) / str(shard.number) for shard in shards), CODEC)
        assert parts.sentences == count
        assert trees(parts.lines()) == sentences


INPUT = Path("input")
WORK = Path("work")


@pytest.fixture(autouse=True)
def twenty_words(folder: Path) -> None:
    (folder / "input").write_text("".join(f"w{number}\n" for number in range(20)))


def work(folder: Path = WORK, shard: Shard = WHOLE, limit: int | None = None, **changed: object) -> None:
    manifest = Manifest({**SETTINGS, **changed}, shard)
    with work_folder(folder, manifest, CODEC, resume=True) as opened:
        list(parsed(opened, INPUT, limit))


def begun(limit: int = 3) -> None:
    with pytest.raises(Killed):
        work(limit=limit)


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (lambda lines: ["other\n", *lines[1:]], "differs before line 4"),
        (lambda lines: [*lines[:7], "w\n", *lines[8:]], "differs before line 10"),
        (lambda lines: lines[:6], "differs at its end"),
        (lambda lines: lines[:8], "differs before line 9"),
    ],
)
def test_another_input_is_told_before_anything_is_parsed(
    change: Callable[[list[str]], list[str]], where: str
) -> None:
    begun()
    INPUT.write_text("".join(change(INPUT.read_text().splitlines(keepends=True))))
    with pytest.raises(InputMismatchError, match=where):
        work(limit=0)


@pytest.mark.parametrize("more", ["w20\n", "w20\nw21\nw22\nw23\nw24\n"])
def test_an_input_that_has_grown(more: str) -> None:
    work()
    INPUT.write_text(INPUT.read_text() + more)
    with pytest.raises(InputMismatchError, match="the input is not the one"):
        work()


def test_an_input_that_differs_in_another_shards_block() -> None:
    """A shard's digests speak of what is not its own, too."""
    with pytest.raises(Killed):
        work(shard=Shard(2, 2), limit=1)
    INPUT.write_text("W" + INPUT.read_text()[1:])
    with pytest.raises(InputMismatchError, match="before line 7"):
        work(shard=Shard(2, 2))


def test_folders_that_cannot_be_gone_on_with() -> None:
    begun()
    for changed, message in (
        ({"fallback": "flat"}, 'work: made with other settings (fallback: not given, now "flat"); give'),
        (
            {"a": 1, "b": 2, "c": 3, "d": 4},
            "(a: not given, now 1; b: not given, now 2; c: not given, now 3; ...)",
        ),
        ({"details": True}, "(details: false, now true)"),
        ({"shard": Shard(2, 3)}, "this folder is shard 1/1's, not 2/3's"),
    ):
        with pytest.raises(InputMismatchError, match=re.escape(message)):
            work(**changed)
    with (
        pytest.raises(FileError, match="there is work in this folder already; --resume goes on with it"),
        work_folder(WORK, Manifest(SETTINGS), CODEC),
    ):
        pass
    with pytest.raises(FileError, match="input: folder cannot be made"):
        work(INPUT)


def test_a_folder_in_which_nothing_is_finished_is_as_good_as_new() -> None:
    begun(0)
    with work_folder(WORK, Manifest({**SETTINGS, "fallback": "flat"}), CODEC) as folder:
        assert len(trees(parsed(folder, INPUT))) == 20


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not a work folder's manifest: it is no JSON"),
        ('{"format": 2, "what": "ever"}', "work of another format (2, where 1 is read)"),
        ("{}", "there is no 'format'"),
        ('{"format": 1, "shard": "1/1"}', "there is no 'settings'"),
        ('{"format": 1, "shard": "1/1", "settings": {}}', "there is no 'sentences a block'"),
        ('{"format": 1, "shard": "9/1", "settings": 1}', "settings: 1, where an object is wanted"),
    ],
)
def test_manifests_that_are_none(text: str, message: str) -> None:
    begun()
    Path("work/manifest.json").write_text(text)
    with pytest.raises(FileError, match=re.escape(message)):
        work()


def test_what_was_cut_off_is_parsed_again() -> None:
    begun()
    blocks, told = WORK / "blocks", list[str]()
    blocks.write_bytes(blocks.read_bytes()[:-1])
    with work_folder(WORK, Manifest(SETTINGS), CODEC, resume=True, log=told.append) as opened:
        assert opened.sentences == 6
        assert len(trees(parsed(opened, INPUT))) == 20
    assert told == ["work/blocks: damaged after 2 blocks; the rest is parsed again"]
    assert ShardFolders([WORK], CODEC).sentences == 20


def parts() -> list[Path]:
    folders = [Path(f"part-{number}") for number in range(1, 4)]
    for number, folder in enumerate(folders, start=1):
        work(folder, Shard(number, 3))
    return folders


def refused(folders: list[Path], *messages: str) -> None:
    with pytest.raises(MbrparseError) as raised:
        ShardFolders(folders, CODEC)
    for message in messages:
        assert message in str(raised.value)


def test_parts_that_are_not_all_of_one_run() -> None:
    one, two, three = parts()
    refused([one, two], "1 of 3 shards is missing: 3; parse them (--shard 3/3)")
    refused([two], "2 of 3 shards are missing: 1, 3")
    refused([one, two, three, two], "shard 2/3 is there twice, here and in", "part-2; give one")
    other, flat, more = Path("other"), Path("flat"), Path("more")
    work(other, Shard(2, 4))
    refused([one, two, three, other], "other: this is shard 2/4, but", "part-1 is 1/3")
    work(flat, Shard(2, 3), fallback="flat")
    refused([one, flat, three], "flat: parsed with other settings than", '(fallback: not given, here "flat")')
    INPUT.write_text(INPUT.read_text() + "more\n")
    work(more, Shard(2, 3))
    refused([one, more, three], "more: parsed from another input than", "parse shard 2/3 again")
    refused([one, Path("none")], "none: not a part: no such folder; a part is")
    refused([one, Path()], "not a part: there is no manifest.json")
    assert ShardFolders([three, one, two], CODEC).sentences == 20


def test_parts_that_are_not_whole() -> None:
    one, two, three = parts()
    unfinished = "part-2: shard 2/3 is not finished, or was damaged, after"
    blocks = two / "blocks"
    data = blocks.read_bytes()
    blocks.write_bytes(data[:-1])
    refused([one, two, three], f"{unfinished} 2 blocks", "--resume")
    middle = bytearray(data)
    middle[len(data) // 2] ^= 1
    blocks.write_bytes(middle)
    refused([one, two, three], unfinished)
    blocks.unlink()
    refused([one, two, three], f"{unfinished} 0 blocks")
    work(two, Shard(2, 3))
    # Another shard's blocks under this one's manifest.
    blocks.write_bytes((three / "blocks").read_bytes())
    refused([one, two, three], f"{unfinished} 0 blocks")
    blocks.write_bytes(data)
    merged = ShardFolders([one, two, three], CODEC)
    blocks.write_bytes(data[:20])
    with pytest.raises(FileError, match="part-2: shard 2/3 is not finished"):
        list(merged.lines())
