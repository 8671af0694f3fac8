import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicrawl.opic.ledger import Spending
from minicrawl.store.stored_links import (
    has_self_link,
    is_plain,
    pack,
    pack_plain,
    unpack,
    unpack_plain,
    unpack_written,
)

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


def test_links_are_packed_as_differences() -> None:
    assert pack(Spending([3, 5, 200])) == bytes([3, 0, 3, 2, 0b1000_0000 | (195 & 127), 1])


def test_weights_and_idle_cash_follow_the_links() -> None:
    assert pack(Spending([1], [7], (), 9)) == bytes([1, 1, 1, 7, 9])


def test_focus_comes_last() -> None:
    assert pack(Spending([1], (), [5])) == bytes([1, 2, 1, 5])


def test_a_self_link_is_a_flag() -> None:
    assert pack(Spending([3], self_link=True)) == bytes([1, 4, 3])


def test_unpaid_links_come_last() -> None:
    assert pack(Spending([3], unpaid=(1, 200))) == bytes([1, 8, 3, 2, 1, 128 | (199 & 127), 1])


@given(spendings())
def test_unpack_reverses_pack(spending: Spending) -> None:
    assert unpack(pack(spending)) == spending


@given(spendings(), st.data())
def test_a_truncated_blob_is_refused(spending: Spending, data: st.DataObject) -> None:
    blob = pack(spending)
    cut = data.draw(st.integers(0, len(blob) - 1))
    with pytest.raises(ValueError, match="link blob"):
        unpack(blob[:cut])


@given(spendings(), st.binary(min_size=1, max_size=3))
def test_a_blob_with_trailing_bytes_is_refused(spending: Spending, more: bytes) -> None:
    with pytest.raises(ValueError, match="link blob"):
        unpack(pack(spending) + more)


@given(st.binary(max_size=40))
def test_any_bytes_are_a_spending_or_refused(blob: bytes) -> None:
    try:
        links = unpack(blob).links
    except ValueError:
        return
    assert list(links) == sorted(links)


# ---------------------------------------------------------------- batches

PLAIN = st.sets(st.integers(0, 1 << 31), min_size=1, max_size=200).map(sorted)


@given(spendings())
def test_a_blob_is_plain_without_weights_focus_and_unpaid_links(spending: Spending) -> None:
    assert is_plain(pack(spending)) == (
        not any((spending.weights, spending.focus, spending.unpaid))
    )


@given(spendings())
def test_a_self_link_is_found_without_unpacking(spending: Spending) -> None:
    assert has_self_link(pack(spending)) == spending.self_link


ROWS = st.lists(
    st.tuples(st.sets(st.integers(0, 1 << 31), max_size=200).map(sorted), st.booleans()),
    min_size=1,
    max_size=5,
)


@given(ROWS)
def test_a_batch_is_unpacked_like_single_blobs(rows: list[tuple[list[int], bool]]) -> None:
    blobs = [pack(Spending(each, self_link=own)) for each, own in rows]
    counts, found = unpack_plain(blobs)
    assert counts.tolist() == [len(each) for each, _ in rows]
    assert found.tolist() == [link for each, _ in rows for link in each]
    pages = np.arange(len(rows))
    counts, found = unpack_written(pages, blobs)
    assert counts.tolist() == [len(each) + own for each, own in rows]
    written = [[*each, *[page] * own] for page, (each, own) in enumerate(rows)]
    assert found.tolist() == [link for each in written for link in each]


@given(ROWS)
def test_a_batch_is_packed_like_single_blobs(rows: list[tuple[list[int], bool]]) -> None:
    counts = np.array([len(each) for each, _ in rows], dtype=np.int64)
    together = np.array([link for each, _ in rows for link in each], dtype=np.int64)
    own = np.array([own for _, own in rows])
    found = pack_plain(counts, together, own)
    assert found == [pack(Spending(each, self_link=own)) for each, own in rows]


@given(st.lists(st.binary(max_size=6), min_size=1, max_size=4))
def test_any_batch_of_bytes_is_unpacked_or_refused(blobs: list[bytes]) -> None:
    try:
        counts, links = unpack_plain(blobs)
    except ValueError:
        return
    assert links.tolist() == [link for blob in blobs for link in unpack(blob).links]
    assert len(counts) == len(blobs)


@given(st.lists(PLAIN, min_size=1, max_size=3), st.data())
def test_a_truncated_blob_in_a_batch_is_refused(
    links: list[list[int]], data: st.DataObject
) -> None:
    blobs = [pack(Spending(each)) for each in links]
    broken = data.draw(st.integers(0, len(blobs) - 1))
    blobs[broken] = blobs[broken][: data.draw(st.integers(0, len(blobs[broken]) - 1))]
    with pytest.raises(ValueError, match="link blob"):
        unpack_plain(blobs)
