"""Comparison of a loaded frontier with a live one."""

from collections.abc import Iterable

import numpy as np

from minicrawl.frontier.page_table import Frontier


def assert_same(loaded: Frontier, live: Frontier, urls: Iterable[str] = ()) -> None:
    """Check that both are the same, and so are their indexes if `urls` are given."""
    for name in ("state", "counts", "last_seq"):
        assert getattr(loaded, name) == getattr(live, name), name
    pages = range(len(live))
    assert [*map(loaded.spendings.__getitem__, pages)] == [*map(live.spendings.__getitem__, pages)]
    assert loaded.ledger.key == live.ledger.key
    assert loaded.ledger.flags == live.ledger.flags
    assert loaded.ledger.totals == live.ledger.totals
    assert loaded.ledger.missing() == 0
    assert loaded.books.forwards == live.books.forwards
    assert [*map(loaded.window.past, pages)] == [*map(live.window.past, pages)]
    assert (loaded.channels is None) == (live.channels is None)
    if loaded.channels and live.channels:
        assert loaded.channels.as_rows() == live.channels.as_rows()
    np.testing.assert_array_equal(loaded.importance(), live.importance())
    if urls:
        assert loaded.urls.host_of == live.urls.host_of
        assert loaded.urls.depth == live.urls.depth
        assert loaded.urls.origins == live.urls.origins
        assert [loaded.urls.find(url) for url in urls] == [live.urls.find(url) for url in urls]
