"""Lines of text in any encoding: decoded as a stream, split at newlines alone, errors with their line."""

import io
import tempfile
from pathlib import Path

import pytest
from children import finished
from commandline import Command, grammar_text
from hypothesis import example, given
from hypothesis import strategies as st

from mbrparse.errors import FileError
from mbrparse.files import read_lines

TREES = "(S (NN café) x)\n(S (NN 東京) y)\r\n(S a\u2028b \x85)\n\n(S \u0a0a c\rd)"
UNICODE = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be"]
ENCODINGS = [*UNICODE, "utf-7", "gb18030"]
BYTES = [b"a", b"\n", b"\r", b"\xe6\x9d\xb1", b"\xc3", b"\xa9", b"\xff", b"\xf0"]
# Bytes read at a time are fewer than this.
PADDING = 2**17


def read(data: bytes, encoding: str) -> tuple[list[str], FileError | None]:
    """The lines of a file with these bytes, and the error after them."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text"
        path.write_bytes(data)
        try:
            for line in read_lines(path, encoding):
                found.append(line)
        except FileError as error:
            return found, error
    return found, None


def lines_of(text: str) -> list[str]:
    """What the lines of a text are."""
    whole = [f"{line}\n" for line in text.split("\n")]
    return [line for line in [*whole[:-1], whole[-1][:-1]] if line]


@pytest.mark.parametrize("encoding", [*ENCODINGS, "iso2022_jp_2"])
def test_encodings(encoding: str) -> None:
    text = TREES if encoding in ENCODINGS else "(S (NN 東京) y)\n(S x (NN 東"
    assert read(text.encode(encoding), encoding) == (lines_of(text), None)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le"])
def test_a_byte_order_mark_is_dropped_once(encoding: str) -> None:
    assert read("\ufeffx\n\ufeffy\n".encode(encoding), encoding) == (["x\n", "\ufeffy\n"], None)


@given(st.text(st.characters(exclude_categories=["Cs"])), st.integers(0, 20), st.sampled_from(ENCODINGS[:-2]))
def test_text_longer_than_is_read_at_a_time(text: str, before: int, encoding: str) -> None:
    long = "x" * (PADDING // 2 - before) + text + "é\n" * 10 + "y" * PADDING + text
    assert read(long.encode(encoding), encoding) == (lines_of(long), None)


@given(st.lists(st.sampled_from(BYTES)), st.booleans())
@example([b"\xc3", b"\n", b"a"], False)
@example([b"\n", b"a", b"\xc3"], True)
def test_bad_bytes_as_if_each_line_were_decoded_by_itself(parts: list[bytes], far: bool) -> None:
    data = b"ab\n" * (PADDING // 3 if far else 0) + b"".join(parts)
    expected: list[str] = []
    bad = None
    for number, raw in enumerate(io.BytesIO(data), start=1):
        try:
            expected.append(raw.decode())
        except UnicodeDecodeError:
            bad = number
            break
    found, error = read(data, "utf-8")
    assert found == expected
    assert (error and error.line) == bad


@pytest.mark.parametrize("encoding", ["latin-l", "base64", "é"])
def test_what_is_no_text_encoding(encoding: str) -> None:
    found, error = read(b"(S x y)\n", encoding)
    assert found == []
    assert str(error) == f"there is no encoding {encoding!r}; e.g. `encoding=latin-1`"


@pytest.mark.parametrize(
    ("words", "advice"), [("stats", "this is no text, or UTF-16"), ("grammar info", "this is no text")]
)
def test_pictures(words: str, advice: str, command: Command, folder: Path) -> None:
    """Their first line has bytes that are not UTF-8, and no zero."""
    (folder / "it.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    error = command(f"{words} it.png").error
    assert error.startswith(f"it.png:1: bytes that are not utf-8; {advice}")


def test_a_kind_of_file_in_no_other_encoding(command: Command, folder: Path) -> None:
    """Grammars are in UTF-8: no option reads another encoding, so that none is named."""
    (folder / "grammar").write_text(grammar_text("1 - S -> 'é' 'x'", terminals="words"), "latin-1")
    error = command("grammar info grammar").error
    assert error == "grammar:5: bytes that are not utf-8; convert it: iconv -f latin1 -t utf-8"
    converted = finished("bash", "-c", f"{error.rpartition(': ')[2]} < grammar > converted")
    assert (converted.returncode, command("grammar info converted").code) == (0, 0)
