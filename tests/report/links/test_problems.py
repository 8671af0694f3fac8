"""Broken links, redirects and duplicates, with links as their pages have them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from minicrawl.errors import UsageError
from minicrawl.report.links.problems import (
    BrokenLink,
    Duplicate,
    Redirect,
    broken_links,
    duplicates,
    linked_verdicts,
    redirects,
)
from minicrawl.report.selected_pages import PageSelection, sorted_rows
from minicrawl.report.snapshot import Snapshot, snapshot
from minicrawl.states import State
from minicrawl.store.records import StoreTerms
from tests.stores import HandCrawl

SITE = "http://a.example"
HOME, NEWS, OLD, OLDER = f"{SITE}/", f"{SITE}/news", f"{SITE}/old", f"{SITE}/older"
GONE, LOST, LOOP, COPY, ALONE = (f"{SITE}/{name}" for name in ("gone", "lost", "loop", "copy", "1"))
ELSEWHERE, INTERN = "http://b.example/", "http://intranet.example/"

Find = Callable[[Snapshot, str | None], Sequence[object]]


@pytest.fixture
def seen(path: Path) -> Iterator[Snapshot]:
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds([HOME], endowment=1)
        crawl.seeds([ALONE])  # as from a sitemap
        crawl.read(HOME, [NEWS, GONE, OLDER, LOOP, COPY, ELSEWHERE])
        crawl.read(NEWS, [HOME, GONE, OLD])
        crawl.read(ELSEWHERE, [GONE])
        crawl.moved(OLDER, OLD)
        crawl.moved(OLD, LOST)
        crawl.moved(COPY, NEWS, State.ALIAS)
        crawl.ended(GONE, State.NOT_FOUND)
        crawl.ended(LOST, State.SERVER_ERROR)
        crawl.ended(LOOP, State.BAD_REDIRECT)
    with snapshot(path) as found:
        yield found


class TestBrokenLinks:
    def test_a_link_is_broken_if_its_target_failed_and_most_links_come_first(
        self, seen: Snapshot
    ) -> None:
        rows = broken_links(seen)
        assert {(row.source, row.target, row.through) for row in rows} == {
            (HOME, GONE, ""),
            (NEWS, GONE, ""),
            (ELSEWHERE, GONE, ""),
            (HOME, LOOP, ""),
            (HOME, LOST, f"{OLDER} > {OLD}"),
            (NEWS, LOST, OLD),
        }
        assert [row.links for row in rows] == [3, 3, 3, 1, 1, 1]
        assert {row.state for row in rows[:3]} == {"not-found"}
        of_host = [BrokenLink(1, None, "not-found", GONE, ELSEWHERE, "")]
        assert broken_links(seen, "b.example") == of_host

    def test_a_link_to_a_private_address_is_broken(self, tmp_path: Path) -> None:
        with closing(HandCrawl(tmp_path / "private.db")) as crawl:
            crawl.seeds([HOME], endowment=1)
            crawl.read(HOME, [INTERN, NEWS, ELSEWHERE])
            crawl.ended(INTERN, State.ADDRESS)
            crawl.ended(NEWS, State.ROBOTS)  # visitors may read this page
            crawl.ended(ELSEWHERE, State.SCOPE)
        with snapshot(tmp_path / "private.db") as found:
            assert broken_links(found) == [BrokenLink(1, None, "address", INTERN, HOME, "")]

    def test_a_page_that_was_read_exists_even_if_its_canonical_url_does_not(
        self, tmp_path: Path
    ) -> None:
        """A dead canonical URL is a fault of the page that names it, not of links to that page."""
        with closing(HandCrawl(tmp_path / "copies.db")) as crawl:
            crawl.seeds([HOME], endowment=1)
            crawl.read(HOME, [COPY, OLD])
            crawl.moved(COPY, GONE, State.ALIAS)
            crawl.moved(OLD, GONE, State.CANONICAL)
            crawl.ended(GONE, State.NOT_FOUND)
        with snapshot(tmp_path / "copies.db") as found:
            assert broken_links(found) == []
            assert linked_verdicts(found)["alive"] == 2

    def test_a_dead_end_of_redirects_counts_once_as_it_is_listed_once(self, seen: Snapshot) -> None:
        targets = {link.target for link in broken_links(seen)}
        assert linked_verdicts(seen)["dead"] == len(targets) == 3


def test_each_redirect_has_its_end_and_each_duplicate_its_original(seen: Snapshot) -> None:
    assert set(redirects(seen)) == {
        Redirect(1, 301, 2, "server-error", OLDER, LOST, OLD),
        Redirect(1, 301, 1, "server-error", OLD, LOST, ""),
        Redirect(1, None, 1, "bad-redirect", LOOP, "", ""),
    }
    assert duplicates(seen) == [Duplicate(1, "alias", COPY, NEWS)]
    assert duplicates(seen, "b.example") == []


@pytest.mark.parametrize("falling", [False, True])
def test_pages_are_sorted_by_a_column_with_missing_values_last(
    seen: Snapshot, falling: bool
) -> None:
    wanted = PageSelection(states=frozenset({State.MOVED, State.NOT_FOUND}))
    pages = [(OLDER, LOST), (OLD, LOST), (GONE, "")]
    rows = sorted_rows(seen, wanted, "url", falling=falling)
    found = [(row["url"], row["stands_for"]) for row in rows]
    assert found == (pages if falling else pages[::-1])
    rows = sorted_rows(seen, PageSelection(), "status", falling=falling)
    statuses = [row["status"] for row in rows]
    known = [status for status in statuses if status is not None]
    assert statuses == [*sorted(known, reverse=falling), *[None] * (10 - len(known))]
    assert len(known) == 5


@pytest.mark.parametrize("find", [broken_links, redirects])
def test_a_store_without_links_is_refused(path: Path, find: Find) -> None:
    with closing(HandCrawl(path, StoreTerms(links=False))) as crawl:
        crawl.seeds([HOME])
    with snapshot(path) as empty, pytest.raises(UsageError, match="--no-links"):
        find(empty, None)
