from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicrawl.config.parts import FEWEST_DEMO_PAGES
from minicrawl.demo.small_web import Atlas, Quirk
from minicrawl.errors import UsageError

ATLAS = Atlas(2000, Random(1))


@given(pages=st.integers(FEWEST_DEMO_PAGES, 3_000_000))
def test_the_sites_have_the_requested_number_of_pages(pages: int) -> None:
    sites = Atlas(pages, Random(1)).sites
    assert sum(site.size for site in sites) == pages
    assert all(site.first + site.size == after.first for site, after in pairwise(sites))
    assert all(site.size >= 2 + site.sections for site in sites)
    assert len({site.host for site in sites}) == len(sites)


def test_few_hosts_are_large_and_many_are_small() -> None:
    sizes = [site.size for site in ATLAS.sites]
    assert len(sizes) == 40
    assert sum(sizes[:4]) > 2000 / 3
    assert sum(size < 50 for size in sizes) > 20
    assert sizes[:36] == sorted(sizes[:36], reverse=True)


def test_there_is_one_host_of_each_quirk() -> None:
    quirks = [site.quirk for site in ATLAS.sites if site.quirk is not Quirk.NONE]
    assert quirks == [Quirk.SLOW, Quirk.PATIENT, Quirk.SHUT, Quirk.FLAKY]


def test_a_web_that_is_too_small_is_refused() -> None:
    with pytest.raises(UsageError, match="at least 100 pages, not 99"):
        Atlas(FEWEST_DEMO_PAGES - 1, Random(1))


def test_every_page_is_found_by_its_path_and_by_its_number() -> None:
    for page in range(ATLAS.pages):
        site, place = ATLAS.find(page)
        assert site.place(site.path(place)) == place
        assert ATLAS.url(page) == f"http://{site.host}{site.path(place)}"
    assert len({ATLAS.url(page) for page in range(ATLAS.pages)}) == ATLAS.pages


@pytest.mark.parametrize(
    "path", ["", "//", "/boats", "/boats/x-7", "/7", "/-7", "/-007", "/-٣", f"/-{'9' * 99}"]
)
def test_other_paths_have_no_page(path: str) -> None:
    assert ATLAS.sites[0].place(path) is None


def test_each_article_is_linked_from_its_section_or_one_other_article() -> None:
    for site in ATLAS.sites:
        shown = [
            place for section in range(1, site.sections + 1) for place in site.on_show(section)
        ]
        articles = range(site.sections + 1, site.size)
        below = [lower for place in articles for lower in site.below(place)]
        assert sorted(shown + below) == list(articles)
