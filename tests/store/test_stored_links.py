"""Links and their texts are stored without loss."""

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from minicrawl.opic.ledger.books import Spending
from minicrawl.store import written_links
from minicrawl.store.records import Batch, WrittenRow, check_of
from minicrawl.store.stored_links import (
    has_self_link,
    is_plain,
    pack,
    pack_plain,
    unpack,
    unpack_plain,
    unpack_written,
)
from minicrawl.store.writer import StoreWriter
from minicrawl.store.written_links import WrittenLinks, written_bytes, wrong_blocks

NUMBERS = st.integers(0, 1 << 40)


@st.composite
def spendings(draw: st.DrawFn) -> Spending:
    links = sorted(draw(st.sets(st.integers(0, 1 << 31), max_size=30)))
    values = st.lists(NUMBERS, min_size=len(links), max_size=len(links))
    has_weights, has_focus = draw(st.tuples(st.booleans(), st.booleans()))
    weights = draw(values) if links and has_weights else ()
    focus = draw(values) if links and has_focus else ()
    idle = draw(NUMBERS) if weights else 0
    unpaid = tuple(sorted(draw(st.sets(st.integers(0, 1 << 31), max_size=30))))
    is_copy = len(links) == 1 and not weights and not focus
    return Spending(links, weights, focus, idle, draw(st.booleans()), unpaid if is_copy else ())


@pytest.mark.parametrize(
    ("spending", "packed"),
    [
        pytest.param(Spending([3, 5, 200]), [3, 0, 3, 2, 128 | (195 & 127), 1], id="differences"),
        pytest.param(Spending([1], [7], (), 9), [1, 1, 1, 7, 9], id="weights and idle cash"),
        pytest.param(Spending([1], (), [5]), [1, 2, 1, 5], id="focus"),
        pytest.param(Spending([3], self_link=True), [1, 4, 3], id="a self-link is a flag"),
        pytest.param(
            Spending([3], unpaid=(1, 200)), [1, 8, 3, 2, 1, 128 | (199 & 127), 1], id="unpaid"
        ),
    ],
)
def test_the_format_of_a_blob_does_not_change(spending: Spending, packed: list[int]) -> None:
    assert pack(spending) == bytes(packed)


@pytest.mark.parametrize("count", [127, 128, 132, 16_384])
@pytest.mark.parametrize("self_link", [False, True])
def test_flags_are_found_whatever_the_number_of_links(count: int, self_link: bool) -> None:
    blob = pack(Spending(list(range(count)), self_link=self_link))
    assert is_plain(blob)
    assert has_self_link(blob) == self_link


@given(spendings())
def test_unpack_reverses_pack(spending: Spending) -> None:
    blob = pack(spending)
    assert unpack(blob) == spending
    assert is_plain(blob) == (not any((spending.weights, spending.focus, spending.unpaid)))
    assert has_self_link(blob) == spending.self_link


@given(spendings(), st.data(), st.binary(min_size=1, max_size=3))
def test_a_truncated_blob_and_one_with_trailing_bytes_are_refused(
    spending: Spending, data: st.DataObject, more: bytes
) -> None:
    blob = pack(spending)
    cut = data.draw(st.integers(0, len(blob) - 1))
    for wrong in (blob[:cut], blob + more):
        with pytest.raises(ValueError, match="link blob"):
            unpack(wrong)


@given(st.binary(max_size=40))
def test_any_bytes_are_a_spending_or_refused(blob: bytes) -> None:
    try:
        links = unpack(blob).links
    except ValueError:
        return
    assert list(links) == sorted(links)


ROWS = st.lists(
    st.tuples(st.sets(st.integers(0, 1 << 31), max_size=200).map(sorted), st.booleans()),
    min_size=1,
    max_size=5,
)


@given(ROWS)
def test_a_batch_is_packed_and_unpacked_like_single_blobs(
    rows: list[tuple[list[int], bool]],
) -> None:
    blobs = [pack(Spending(each, self_link=own)) for each, own in rows]
    counts, found = unpack_plain(blobs)
    assert counts.tolist() == [len(each) for each, _ in rows]
    assert found.tolist() == [link for each, _ in rows for link in each]
    assert pack_plain(counts, found, np.array([own for _, own in rows])) == blobs
    counts, found = unpack_written(np.arange(len(rows)), blobs)
    assert counts.tolist() == [len(each) + own for each, own in rows]
    written = [[*each, *[page] * own] for page, (each, own) in enumerate(rows)]
    assert found.tolist() == [link for each in written for link in each]


@given(st.lists(st.binary(max_size=6), min_size=1, max_size=4))
def test_any_batch_of_bytes_is_unpacked_or_refused(blobs: list[bytes]) -> None:
    try:
        counts, links = unpack_plain(blobs)
    except ValueError:
        return
    assert links.tolist() == [link for blob in blobs for link in unpack(blob).links]
    assert len(counts) == len(blobs)


@given(ROWS, st.data())
def test_a_truncated_blob_in_a_batch_is_refused(
    rows: list[tuple[list[int], bool]], data: st.DataObject
) -> None:
    blobs = [pack(Spending(each, self_link=own)) for each, own in rows]
    broken = data.draw(st.integers(0, len(blobs) - 1))
    blobs[broken] = blobs[broken][: data.draw(st.integers(0, len(blobs[broken]) - 1))]
    with pytest.raises(ValueError, match="link blob"):
        unpack_plain(blobs)


@pytest.fixture
def store(path: Path) -> Iterator[StoreWriter]:
    with closing(StoreWriter.open(path)) as opened:
        yield opened


def written(store: StoreWriter, *rows: tuple[int, str]) -> None:
    store.commit(
        Batch(written=[WrittenRow(page, check_of([page]), text.encode()) for page, text in rows])
    )


def rows(store: StoreWriter) -> list[tuple[int, int]]:
    """Return for each block whether it is closed, and its number of pages."""
    found = store.connection.execute("SELECT closed, length(pages) / 8 FROM written ORDER BY id")
    return list(found)


def texts(store: StoreWriter, *pages: int) -> list[str | None]:
    links = WrittenLinks(store.connection)
    found = [links.of(page, [page]) for page in pages]
    return [None if one is None else one.decode() for one in found]


def test_texts_are_found_by_page(store: StoreWriter) -> None:
    assert len(WrittenLinks(store.connection)) == 0
    assert WrittenLinks(store.connection).of(0, [0]) is None
    written(store, (7, "seven"), (3, ""))
    written(store, (5, "five"))
    written(store)
    assert texts(store, 3, 5, 7) == ["", "five", "seven"]
    assert texts(store, 0, 4, 8) == [None, None, None]


def test_the_last_version_of_a_page_counts(store: StoreWriter) -> None:
    written(store, (1, "first"), (2, "other"), (1, "second"))
    assert texts(store, 1) == ["second"]
    written(store, (1, "third"))
    assert (texts(store, 1), len(WrittenLinks(store.connection))) == (["third"], 2)


def test_texts_of_a_page_are_ignored_if_its_links_have_changed(store: StoreWriter) -> None:
    written(store, (1, "one"))
    found = WrittenLinks(store.connection)
    assert (found.of(1, [1]), found.of(1, [2]), found.of(1, [])) == (b"one", None, None)


def test_small_blocks_are_joined_if_there_are_many_and_at_the_end(store: StoreWriter) -> None:
    for page in range(written_links.MOST_PIECES):
        written(store, (page, f"p{page}"))
    assert rows(store) == [(0, 1)] * written_links.MOST_PIECES
    written(store, (99, "p99"))
    assert rows(store) == [(0, written_links.MOST_PIECES + 1)]
    written(store, (100, "p100"))
    store.compact()
    assert rows(store) == [(0, written_links.MOST_PIECES + 2)]
    assert texts(store, 0, 99, 100) == ["p0", "p99", "p100"]


def test_a_large_block_is_closed(store: StoreWriter) -> None:
    long = written_links.BLOCK_BYTES * 2 // 5
    for page in range(6):
        written(store, (page, f"{page}" * long))
    assert rows(store) == [(1, 3), (1, 3)]
    many = range(8, 8 + written_links.MOST_PAGES)
    written(store, *((page, f"x{page}") for page in many))
    assert rows(store)[-1] == (1, len(many))
    assert texts(store, 5, many[-1]) == ["5" * long, f"x{many[-1]}"]


def test_the_next_run_joins_small_blocks_of_earlier_ones(path: Path) -> None:
    for page in range(3):
        with closing(StoreWriter.open(path)) as store:
            written(store, (page, f"p{page}"))
            store.compact()
    with closing(StoreWriter.open(path)) as store:
        assert rows(store) == [(0, 3)]
        assert texts(store, *range(3)) == ["p0", "p1", "p2"]


def test_a_failed_commit_can_be_repeated(store: StoreWriter) -> None:
    filling = "two" * written_links.BLOCK_BYTES
    written(store, (1, "one"))
    bad = Batch(written=[WrittenRow(2, check_of([2]), filling.encode())], counters={"x": object()})
    with pytest.raises(TypeError):
        store.commit(bad)
    assert texts(store, 1, 2) == ["one", None]
    bad.counters.clear()
    store.commit(bad)
    assert texts(store, 1, 2) == ["one", filling]


def test_pages_with_the_same_menu_compress_well(store: StoreWriter) -> None:
    rng = random.Random(1)
    words = ["".join(rng.choices("abcdefgh", k=8)) for _ in range(400)]
    for _ in range(40):
        menu = "\x1e".join(words[:60])
        written(store, *((page, menu) for page in range(50)))
    assert written_bytes(store.connection) < 40 * 50 * 60  # one byte per link


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("data = x'00'", "cannot be decompressed"),
        ("pages = x'01000000000000000200000000000000'", "does not match"),
        ("pages = x'ff00000000000000'", "does not match"),
    ],
)
def test_a_damaged_block_is_reported(store: StoreWriter, change: str, reason: str) -> None:
    written(store, (1, "one"))
    assert list(wrong_blocks(store.connection, 2)) == []
    with closing(sqlite3.connect(store.path)) as connection, connection:
        connection.execute(f"UPDATE written SET {change}")
    (wrong,) = wrong_blocks(store.connection, 2)
    assert reason in wrong
