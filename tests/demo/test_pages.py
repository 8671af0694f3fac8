"""Pages of the demo web: a function of the seed and of the number of visits."""

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, strategies as st

from minicrawl.config.parts.storage import FEWEST_DEMO_PAGES
from minicrawl.demo.pages import Author, Sheet, html
from minicrawl.demo.sites import Atlas, Quirk, Site
from minicrawl.demo.words import TOPICS
from minicrawl.errors import UsageError

ATLAS = Atlas(2000, Random(1))
AUTHOR = Author(ATLAS, Random(2))


def first_of(kind: str) -> Site:
    return next(site for site in ATLAS.sites if site.kind == kind)


def hrefs(sheet: Sheet) -> list[str]:
    listed = (anchor for _, anchors in sheet.lists for anchor in anchors)
    return [anchor.href for anchor in (*sheet.menu, *listed, *sheet.footer)]


@given(pages=st.integers(FEWEST_DEMO_PAGES, 3_000_000))
def test_the_sites_have_the_requested_number_of_pages(pages: int) -> None:
    sites = Atlas(pages, Random(1)).sites
    assert sum(site.size for site in sites) == pages
    assert all(site.first + site.size == after.first for site, after in pairwise(sites))
    assert all(site.size >= 2 + site.sections for site in sites)
    assert len({site.host for site in sites}) == len(sites)


def test_few_hosts_are_large_and_each_quirk_has_one_host() -> None:
    sizes = [site.size for site in ATLAS.sites]
    assert sum(sizes[:4]) > 2000 / 3
    assert sizes[:36] == sorted(sizes[:36], reverse=True)
    quirks = [site.quirk for site in ATLAS.sites if site.quirk is not Quirk.NONE]
    assert quirks == [Quirk.SLOW, Quirk.PATIENT, Quirk.SHUT, Quirk.FLAKY]
    with pytest.raises(UsageError, match="at least 100 pages, not 99"):
        Atlas(FEWEST_DEMO_PAGES - 1, Random(1))


def test_every_page_is_found_by_its_path_and_by_its_number() -> None:
    for page in range(ATLAS.pages):
        site, place = ATLAS.find(page)
        assert site.place(site.path(place)) == place
        assert ATLAS.url(page) == f"http://{site.host}{site.path(place)}"
    assert len({ATLAS.url(page) for page in range(ATLAS.pages)}) == ATLAS.pages
    for path in ("", "//", "/boats", "/boats/x-7", "/7", "/-7", "/-007", "/-٣", f"/-{'9' * 99}"):
        assert ATLAS.sites[0].place(path) is None, path


def test_no_page_needs_escaping_in_html() -> None:
    assert {site.topic for site in ATLAS.sites} == set(TOPICS)
    for site in ATLAS.sites:
        sheet = AUTHOR.sheet(site, site.size - 1)
        words = "".join([site.name, sheet.title, *sheet.prose])
        assert not set('<>&"') & set(words), words
        assert html(sheet).count("<a href=") == len(hrefs(sheet))


def test_the_front_page_of_news_changes_at_each_visit_and_links_to_new_articles() -> None:
    site = first_of("news")
    assert [AUTHOR.version(site, 0, visits) for visits in range(6)] == [0, 1, 2, 3, 4, 5]
    assert {AUTHOR.version(first_of("www"), 0, visits) for visits in range(6)} == {0}
    before, after = AUTHOR.sheet(site, 0), AUTHOR.sheet(site, 0, version=1)
    assert after.prose == ("This is edition 2 of this page.", *before.prose)
    assert len(set(hrefs(before)) - set(hrefs(after))) == 3
    assert len(set(hrefs(after)) - set(hrefs(before))) == 3


def test_some_articles_are_dead_ends() -> None:
    site = ATLAS.sites[0]
    dead_ends = [place for place in range(site.size) if not hrefs(AUTHOR.sheet(site, place))]
    assert len(dead_ends) > 5
    assert not any(site.below(place) for place in dead_ends)
