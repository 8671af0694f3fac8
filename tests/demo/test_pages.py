from itertools import product
from random import Random

import pytest

from minicrawl.demo.small_web import VISITS_PER_VERSION, Atlas, Author, Sheet, Site

ATLAS = Atlas(1000, Random(1))
AUTHOR = Author(ATLAS, Random(2))


def first_of(kind: str) -> Site:
    return next(site for site in ATLAS.sites if site.kind == kind)


def hrefs(sheet: Sheet) -> list[str]:
    return [anchor.href for anchor in sheet.anchors()]


def test_a_page_does_not_depend_on_pages_made_earlier() -> None:
    again = Author(ATLAS, Random(2))
    site = ATLAS.sites[3]
    backwards = [again.sheet(site, place) for place in reversed(range(site.size))]
    assert [AUTHOR.sheet(site, place) for place in range(site.size)] == backwards[::-1]


def test_another_seed_makes_other_pages() -> None:
    other = Author(ATLAS, Random(3))
    assert other.sheet(ATLAS.sites[0], 9) != AUTHOR.sheet(ATLAS.sites[0], 9)


def test_some_pages_change_after_a_number_of_visits() -> None:
    versions = {
        (kind, sort): [AUTHOR.version(first_of(kind), place, visits) for visits in range(6)]
        for kind, (sort, place) in product(("www", "news", "blog"), (("front", 0), ("section", 1)))
    }
    assert versions == {
        ("www", "front"): [0] * 6,
        ("www", "section"): [0] * 6,
        ("news", "front"): [0, 1, 2, 3, 4, 5],
        ("news", "section"): [0, 0, 0, 1, 1, 1],
        ("blog", "front"): [0, 0, 0, 0, 1, 1],
        ("blog", "section"): [0] * 6,
    }
    assert all(visits > 0 for visits in VISITS_PER_VERSION.values())


def test_a_new_version_is_marked_and_links_to_new_articles() -> None:
    site = first_of("news")
    before, after = AUTHOR.sheet(site, 0), AUTHOR.sheet(site, 0, version=1)
    assert after.prose == ("This is edition 2 of this page.", *before.prose)
    assert len(set(hrefs(before)) - set(hrefs(after))) == 3
    assert len(set(hrefs(after)) - set(hrefs(before))) == 3


def test_some_articles_are_dead_ends() -> None:
    site = ATLAS.sites[0]
    dead_ends = [place for place in range(site.size) if not hrefs(AUTHOR.sheet(site, place))]
    assert len(dead_ends) > 5
    assert not any(site.below(place) for place in dead_ends)


def test_the_largest_host_has_far_more_links_than_a_small_one() -> None:
    sheets = [AUTHOR.sheet(site, place) for site in ATLAS.sites for place in range(site.size)]
    linked = [href for sheet in sheets for href in hrefs(sheet)]
    largest, smallest = ATLAS.sites[0], ATLAS.sites[len(ATLAS.sites) - 5]
    assert linked.count(largest.url) > 5 * linked.count(smallest.url) > 0


@pytest.mark.parametrize(
    ("place", "href"),
    [
        (42, "/members/letter-42"),
        (72, "http://www.cheap-anchors.example/best-offers"),
        (33, "/index.html"),
        (48, "/lost/page-48"),
        (57, "/download/57"),
        (46, "/picture/46"),
    ],
)
def test_some_articles_have_unusual_links(place: int, href: str) -> None:
    assert href in hrefs(AUTHOR.sheet(ATLAS.sites[0], place))
