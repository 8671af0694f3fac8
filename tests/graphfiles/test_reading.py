"""Graph files are read with names, or refused with one line."""

import gzip
import os
import sys
from pathlib import Path

import pytest

from minicrawl.errors import GraphFileError
from minicrawl.graphfiles import ALWAYS_UNPACKED, MOST_SWELLING, blocks, read

TEXT = b"# a web\n10 20\n20 10\n20 30\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "web"


@pytest.mark.parametrize(
    "content", [TEXT, gzip.compress(TEXT, mtime=0), TEXT.replace(b"\n", b"\r\n")]
)
def test_nodes_have_the_names_of_the_file_plain_or_packed(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    named = read(file)
    assert named.graph.adjacency() == [[1], [0, 2], []]
    assert named.names.of([0, 1, 2]) == ["10", "20", "30"]
    assert named.weights is None


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a_byte_order_mark_and_a_missing_line_end_are_ignored(file: Path, mark: bytes) -> None:
    file.write_bytes(mark + b"source,target,weight\na,b,2\nb,c,1")
    named = read(file)
    assert named.names.of([0, 1, 2]) == ["a", "b", "c"]
    assert named.weights is not None
    assert named.weights.tolist() == [2, 1]


@pytest.mark.parametrize("at_once", [1, 3, 8, 1000])
def test_blocks_are_whole_lines_and_count_the_lines_before(file: Path, at_once: int) -> None:
    file.write_bytes(b"1 2\r\n3 4\n\n5 6")
    found = list(blocks(file, at_once=at_once))
    assert b"".join(block.text for block in found) == b"1 2\n3 4\n\n5 6\n"
    lines = [block.line_count for block in found]
    assert [block.before for block in found] == [sum(lines[:place]) for place in range(len(lines))]
    assert all(block.text.endswith(b"\n") for block in found)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_progress_is_the_share_that_was_read(file: Path, pack: type[bytes]) -> None:
    file.write_bytes(pack(b"1 2\n" * 1000))
    shares: list[float] = []
    assert read(file, shares.append).graph.nodes == 2
    assert 0 < shares[-1] <= 1


@pytest.mark.parametrize("content", [TEXT, gzip.compress(TEXT, mtime=0)])
def test_a_dash_reads_standard_input(content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    end, other_end = os.pipe()
    os.write(other_end, content)
    os.close(other_end)
    told: list[float] = []
    with os.fdopen(end) as pipe:
        monkeypatch.setattr(sys, "stdin", pipe)
        assert read(Path("-"), told.append).graph.edges == 3
    assert told == []


@pytest.mark.parametrize(
    "content",
    [
        b"1 2\nhello\n",
        gzip.compress(TEXT, mtime=0)[:-9],
        gzip.compress(TEXT, mtime=0)[:30] + bytes(30),
        b"",
    ],
)
def test_a_file_that_is_no_graph_is_refused_by_name_in_one_line(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(GraphFileError) as refused:
        read(file)
    assert str(file) in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for absent in (tmp_path / "absent.txt", tmp_path):
        with pytest.raises(GraphFileError, match=str(absent)):
            read(absent)


def test_an_endless_line_is_refused_before_it_fills_the_memory(file: Path) -> None:
    with gzip.open(file, "wb") as packed:
        packed.write(b"1 2\n" + bytes(3 << 20))
    with pytest.raises(GraphFileError, match=r"web.*line 2.* 1,048,576 bytes"):
        read(file)


@pytest.mark.parametrize("line", [b"0 1\n", b"#\n", b"\n", b"a" * 900_000 + b"\tb\n"])
def test_a_packed_file_that_swells_beyond_the_limit_is_refused_there(
    file: Path, line: bytes
) -> None:
    """400 MB of equal lines are 400 kB packed; once they took 811 MB of memory."""
    times = (ALWAYS_UNPACKED + (ALWAYS_UNPACKED >> 2)) // len(line)
    file.write_bytes(gzip.compress(b"0 1\n" + line * times, mtime=0))
    unpacked: list[int] = []
    with pytest.raises(GraphFileError, match=f"web.* {MOST_SWELLING} times"):
        unpacked.extend(len(block.text) for block in blocks(file))
    assert sum(unpacked) <= ALWAYS_UNPACKED + MOST_SWELLING * file.stat().st_size


@pytest.mark.slow
def test_a_packed_file_may_swell_a_little_or_be_small(file: Path) -> None:
    file.write_bytes(gzip.compress(b"0 1\n" * 1_000_000, mtime=0))
    assert sum(block.line_count for block in blocks(file)) == 1_000_000
    text = b"".join(b"%d %d\n" % (n, n * 7919 % 1_000_003) for n in range(1_500_000))
    assert len(text) > ALWAYS_UNPACKED
    file.write_bytes(gzip.compress(text, 1, mtime=0))
    assert sum(len(block.text) for block in blocks(file)) == len(text)
