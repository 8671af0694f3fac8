"""Groups of pages that repeat themselves are given up, but never a host with news."""

from collections.abc import Iterable
from itertools import islice, product
from string import ascii_lowercase

import pytest

from minicrawl.crawl.admission.novelty import (
    MOST_GROUPS,
    MOST_HOSTS,
    MOST_SUSPECTS,
    MOST_TEMPLATES,
    Novelty,
    NoveltyTracker,
)
from minicrawl.model import ParsedPage
from minicrawl.web.html.hashes import title_bit

HOST, OTHER = 1, 2
LIMIT = 5


class Site:
    """A site with numbered pages: the text is a number, the template a hundredth of that."""

    def __init__(self, limit: int | None = LIMIT) -> None:
        self.barren = NoveltyTracker(limit)
        self.pages = 0

    def read(
        self,
        target: str,
        says: int = 0,
        *,
        page: int | None = None,
        title: str = "A page",
        first: int | None = None,
        host: int = HOST,
        numbers: tuple[float, ...] = (),
    ) -> Novelty:
        self.pages += 1
        number = self.pages if page is None else page
        is_suspicious = self.barren.suspicious(host) & title_bit(title)
        text, template = (says, says // 100) if is_suspicious else (0, 0)
        reading = ParsedPage(title=title, text=text, template=template, numbers=numbers)
        return self.barren.read(number, host, f"http://a.example{target}", reading, first)

    def refuses(self, target: str, page: int = 0) -> bool:
        return self.barren.refusal(page, HOST, f"http://a.example{target}") is not None

    def watched(self) -> "Site":
        """Read three pages with the usual title, so that others with this title are compared."""
        for says in (101_101, 202_202, 303_303):
            self.read("/first", says)
        return self

    def copies(self, target: str, count: int) -> None:
        for number in range(count + 1):
            self.read(target.format(number), 777_777)


@pytest.fixture
def site() -> Site:
    return Site().watched()


def test_a_title_that_occurs_again_with_other_numbers_is_suspicious() -> None:
    site = Site()
    site.read("/1", title="May 2003")
    site.read("/2", title="June 2003")
    assert not site.barren.suspicious(HOST)
    site.read("/3", title="May 2004")
    assert site.barren.suspicious(HOST) == title_bit("May 2005")
    assert not site.barren.suspicious(OTHER)


def test_a_page_with_a_title_of_its_own_is_new(site: Site) -> None:
    assert site.read("/x", 101, title="Another") == Novelty(None, True, False)


def test_a_missing_title_is_not_suspicious() -> None:
    site = Site()
    for number in range(9):
        site.read(f"/{number}", title="")
    assert not site.barren.suspicious(HOST)


def test_pages_that_cannot_be_compared_yet_are_neither_new_nor_counted() -> None:
    site = Site()
    assert site.read("/1", 501) == Novelty(None, True, False)
    assert site.read("/2", 501) == Novelty(None, False, True)
    assert site.read("/3", 501) == Novelty(None, False, True)
    copy = site.read("/4", 501)
    assert copy.copy_of == 3
    assert not copy.is_new


def test_a_group_is_given_up_after_enough_copies(site: Site) -> None:
    site.copies("/s/{}/item", LIMIT - 1)
    assert not site.refuses("/s/99/item")
    site.copies("/s/{}/item", 0)
    assert site.refuses("/s/99/item")
    assert not site.refuses("/s/99/item/more")
    assert not site.refuses("/other")


def test_copies_of_bodies_count_without_a_comparison_of_texts() -> None:
    site = Site()
    for number in range(LIMIT):
        site.read(f"/copy/{number}", title=f"{'x' * number}", first=1)
    assert site.refuses("/copy/9")


def test_a_group_with_one_new_page_in_five_is_not_given_up(site: Site) -> None:
    for number in range(400):
        site.read(f"/s/{number}", 10_000 + 1000 * number if number % 5 == 0 else 777_777)
    assert not site.refuses("/s/1")


def test_a_group_that_was_given_up_stays_given_up(site: Site) -> None:
    site.copies("/s/{}", LIMIT)
    site.read("/s/1", 999_999)
    assert site.refuses("/s/2")


def test_pages_that_differ_only_in_numbers_are_no_copies(site: Site) -> None:
    """Tables with other figures are pages of their own."""
    for number in range(40):
        site.read(f"/month/{number}", 500 + number)
    assert not site.refuses("/month/41")


def test_pages_that_differ_in_numbers_of_their_own_are_new(site: Site) -> None:
    for number in range(2):
        assert site.read("/match", 500 + number, numbers=(number,)).is_barren is bool(number)
    assert site.read("/match", 502, numbers=(900,)) == Novelty(None, True, False)
    assert site.read("/match", 503, numbers=(900,)) == Novelty(None, True, True)


def test_numbers_of_long_ago_are_forgotten(site: Site) -> None:
    for number in range(3):
        site.read("/match", 500 + number, numbers=(900 * number,))
    for number in range(MOST_TEMPLATES):
        site.read("/x", 1000 + 100 * number)
    assert site.read("/match", 503, numbers=(7,)) == Novelty(None, False, True)


def chain(site: Site, pages: Iterable[int]) -> None:
    """Read a chain of pages with one template, each of which links to the next."""
    for page in pages:
        verdict = site.read(f"/month/{page}", 500 + page % 100, page=page)
        site.barren.found([page + 1], [page + 1], is_barren=verdict.is_barren)


def test_pages_linked_only_from_barren_ones_are_given_up_together(site: Site) -> None:
    chain(site, range(1000, 1001 + LIMIT))
    assert not site.refuses("/month/x", page=1001 + LIMIT)
    chain(site, [1001 + LIMIT])
    assert site.refuses("/month/x", page=1002 + LIMIT)
    assert not site.refuses("/month/x", page=5)
    reason = site.barren.refusal(1002 + LIMIT, HOST, "http://a.example/") or ""
    assert f"--barren-pages {LIMIT}" in reason


def test_a_page_linked_from_a_page_with_news_is_no_suspect(site: Site) -> None:
    chain(site, range(1000, 1020))
    assert site.refuses("/month/x", page=1020)
    site.barren.found([1020], [], is_barren=False)
    assert not site.refuses("/month/x", page=1020)


def test_suspects_with_news_clear_other_suspects(site: Site) -> None:
    for number in range(100):
        site.barren.found([], [1000 + number], is_barren=True)
        says = 500 if number % 5 else 10_000 + 1000 * number
        site.read(f"/x/{number}/y", says + number % 100, page=1000 + number)
    site.barren.found([], [9], is_barren=True)
    assert not site.refuses("/z", page=9)


def test_without_a_limit_no_copy_counts_and_no_title_is_suspicious() -> None:
    site = Site(limit=None).watched()
    assert site.read("/x", first=1) == Novelty(1, False, False)
    for number in range(99):
        site.copies("/s/{}", 1)
        site.barren.led_on(0, HOST, f"http://a.example/door/{number}")
    assert not site.barren.suspicious(HOST)
    assert not site.refuses("/s/1")


def test_hosts_not_read_lately_are_forgotten(site: Site) -> None:
    site.copies("/s/{}", LIMIT)
    for host in range(7, 7 + MOST_HOSTS):
        assert site.refuses("/s/1")
        site.read("/", first=1, host=host)
    assert not site.barren.suspicious(HOST)
    assert not site.refuses("/s/1")


def test_of_too_many_groups_the_first_ones_are_forgotten_but_not_the_suspects(site: Site) -> None:
    chain(site, range(1000, 1020))
    site.copies("/s/{}", LIMIT)
    folders = ("".join(letters) for letters in product(ascii_lowercase, repeat=2))
    for folder in islice(folders, MOST_GROUPS - 1):  # beside the suspects
        assert site.refuses("/s/1")
        site.read(f"/{folder}/x", first=1)
    assert not site.refuses("/s/1")
    assert site.refuses("/month/x", page=1020)


def test_suspects_of_long_ago_are_forgotten(site: Site) -> None:
    chain(site, range(1000, 1020))
    site.barren.found([], range(2000, 2000 + MOST_SUSPECTS), is_barren=True)
    assert site.refuses("/month/x", page=1020)
    site.barren.found([], range(-MOST_SUSPECTS, 0), is_barren=True)
    assert not site.refuses("/month/x", page=1020)
