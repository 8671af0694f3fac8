"""The cash that a page received, by giver and over time."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from minicrawl.ports import unreported
from minicrawl.report.links.backlinks import linking_pages, standing_for
from minicrawl.report.saved_ranks import Floats
from minicrawl.report.snapshot import Numbers, Snapshot, page_of, snapshot
from minicrawl.report.states.explanation import MOST_MOMENTS, gifts_to, history_of
from minicrawl.web.urls import split
from tests.stores import B, HandCrawl


@contextmanager
def given(folder: Path, pages: int) -> Iterator[tuple[Snapshot, list[str], tuple[Numbers, Floats]]]:
    """Yield a store in which pages gave to B, the last one first, these pages and their gifts."""
    givers = [f"http://a.example/{number}" for number in range(pages)]
    with closing(HandCrawl(folder / "crawl.db")) as crawl:
        crawl.seeds([B, *givers], endowment=90)
        for giver in reversed(givers):
            crawl.read(giver, [B])
    with snapshot(crawl.path) as seen:
        yield seen, givers, gifts_to(seen, page_of(seen, B), unreported)


def test_the_history_adds_up_gifts_in_order_of_time(tmp_path: Path) -> None:
    with given(tmp_path, 9) as (seen, names, (givers, units)):
        assert [seen.url(giver) for giver in givers.tolist()] == names
        history = history_of(seen, givers, units)
    assert [moment.pages for moment in history] == list(range(1, 10))
    assert [moment.at for moment in history] == sorted(moment.at for moment in history)
    assert np.diff([0, *(moment.units for moment in history)]) == pytest.approx(units[::-1])


def test_a_thinned_history_keeps_its_ends(tmp_path: Path) -> None:
    with given(tmp_path, 2 * MOST_MOMENTS) as (seen, _, (givers, units)):
        pages = [moment.pages for moment in history_of(seen, givers, units)]
    assert (pages[0], len(pages), pages[-1]) == (1, MOST_MOMENTS, len(givers))
    assert {later - earlier for earlier, later in pairwise(pages)} == {2, 3}


def test_an_index_of_links_finds_the_gifts_of_a_scan(seen: Snapshot) -> None:
    for page in range(len(seen)):
        linking = linking_pages(seen, standing_for(seen, page), unreported)
        (givers, units), (scanned, sums) = (
            gifts_to(seen, page, unreported, pages) for pages in (linking, None)
        )
        assert givers.tolist() == scanned.tolist()
        assert units == pytest.approx(sums)
        assert len(set(givers.tolist())) == len(givers)


def test_a_page_is_found_by_its_checksum_as_by_a_scan(seen: Snapshot) -> None:
    pages = range(len(seen))
    assert [seen.find(split(seen.url(page))) for page in pages] == list(pages)
    assert seen.find(("http://a.example", "/absent")) is None
