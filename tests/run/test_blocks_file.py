"""Finished blocks in a file: what comes back was written, wherever the file was cut off or damaged."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mbrparse.charts.spans import SpanEntries
from mbrparse.decode.parser.parse_files import Lines
from mbrparse.decode.parser.stored_lines import CODEC, decode, encode
from mbrparse.errors import FileError
from mbrparse.run.blocks_file import Block, BlocksFile, End
from mbrparse.run.manifest import content_digest

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NUMBERS = st.floats(width=64)


def columns(kind: type, size: int) -> st.SearchStrategy[np.ndarray]:
    return arrays(kind, size)


@st.composite
def some_lines(draw: st.DrawFn) -> Lines:
    size = draw(st.integers(0, 3))
    ints, floats = columns(np.int32, size), columns(draw(st.sampled_from([np.float32, np.float64])), size)
    return Lines(
        tuple(draw(st.lists(TEXTS, min_size=1, max_size=3))),
        draw(st.none() | TEXTS.filter(bool)),
        draw(st.none() | TEXTS.filter(bool)),
        draw(st.integers(0, 9)),
        draw(st.none() | st.builds(SpanEntries, ints, ints, ints, floats, floats)),
        tuple(draw(st.lists(TEXTS, max_size=2))),
        draw(st.none() | floats),
        tuple(draw(st.lists(st.tuples(TEXTS, st.booleans()), max_size=2))),
    )


def bits(value: object) -> object:
    """A value with the bytes of its arrays, so that it can be compared: NaN is NaN, and -0 is not 0."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.tobytes()
    if isinstance(value, tuple):
        return tuple(map(bits, value))
    return repr(value)


@given(some_lines())
def test_lines_come_back_bit_by_bit(lines: Lines) -> None:
    text = encode(lines)
    assert "\n" not in text
    found = decode(text)
    assert bits(found) == bits(lines)
    if found.entries is not None:
        assert all(column.flags.writeable for column in found.entries)


BLOCKS = st.lists(st.lists(st.builds(lambda text: Lines((text,), None, None), TEXTS), max_size=3), max_size=4)


@given(BLOCKS, st.data())
def test_a_file_is_believed_as_far_as_it_is_whole(blocks: list[list[Lines]], data: st.DataObject) -> None:
    """Cut off at any byte, or changed in one."""
    with tempfile.TemporaryDirectory() as folder:
        file, ends = BlocksFile(Path(folder) / "blocks"), [0]
        for number, lines in enumerate(blocks):
            file.add(number, f"digest {number}", list(map(encode, lines)))
            ends.append(file.path.stat().st_size)
        file.finish(End(len(blocks), "all"))
        written = file.path.read_bytes()
        ends.append(len(written))
        assert [found(file, one) for one in file.records()] == [*blocks, End(len(blocks), "all")]
        assert (file.good, file.truncate()) == (len(written), False)

        length = data.draw(st.integers(0, len(written)))
        file.path.write_bytes(written[:length])
        whole = max(place for place, end in enumerate(ends) if end <= length)
        assert [found(file, one) for one in file.records()] == [*blocks, End(len(blocks), "all")][:whole]
        assert file.truncate() is (length > ends[whole])
        assert file.path.read_bytes() == written[: ends[whole]]
        for number, lines in list(enumerate(blocks))[whole:]:
            file.add(number, f"digest {number}", list(map(encode, lines)))
        if whole <= len(blocks):
            file.finish(End(len(blocks), "all"))
        assert file.path.read_bytes() == written

        place = data.draw(st.integers(0, len(written) - 1))
        changed = bytearray(written)
        changed[place] ^= data.draw(st.integers(1, 255))
        file.path.write_bytes(changed)
        there = [found(file, one) for one in file.records()]
        # White space may be another in a line that means the same.
        assert there == [*blocks, End(len(blocks), "all")][: len(there)]
        assert len(there) >= max(number for number, end in enumerate(ends) if end <= place)


def found(file: BlocksFile, one: Block | End) -> list[Lines] | End:
    return one if isinstance(one, End) else CODEC.read(file, one)


def test_no_file_has_no_records_and_a_damaged_block_is_named(tmp_path: Path) -> None:
    file = BlocksFile(tmp_path / "blocks")
    assert (list(file.records()), file.truncate()) == ([], False)
    file.add(3, "digest", [encode(Lines(("(S x x)",), None, None))])
    [block] = file.records()
    assert isinstance(block, Block)
    block = block._replace(data=block.data[:-1])
    with pytest.raises(FileError, match="blocks: block 3 is damaged; parse this shard again"):
        CODEC.read(file, block)
    with pytest.raises(FileError, match="cannot be written"):
        BlocksFile(tmp_path / "no" / "blocks").finish(End(0, ""))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.lists(inner, max_size=3).map(tuple)
    | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@given(VALUES, VALUES)
def test_digests_tell_values_apart(one: object, other: object) -> None:
    """By what Python writes of them, which tells 1 from 1.0 and from True."""
    assert (content_digest(one) == content_digest(other)) == (repr(one) == repr(other))


def test_digests_of_arrays_and_of_what_has_none() -> None:
    digests = {
        content_digest(np.array(row, kind))
        for row in ([1, 2], [2, 1], [[1, 2]])
        for kind in (np.int32, np.int64)
    }
    assert len(digests) == 6
    assert content_digest(np.arange(6).reshape(2, 3).T) == content_digest(np.array([[0, 3], [1, 4], [2, 5]]))
    with pytest.raises(TypeError, match="no digest of a function"):
        content_digest(found)
