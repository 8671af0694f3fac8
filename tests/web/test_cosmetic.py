"""Filters of a list, and what they hide on a page."""

import pytest

from minicrawl.web.cosmetic import USUAL, CosmeticFilters

LIST = """[Adblock Plus 2.0]
! Title: a list
##.everywhere
example.org,other.example##.there
~www.example.org##.but
a.example,~b.a.example##.below
example.org#@#.everywhere
||ads.example^$third-party
example.org#?#div:-abp-has(> .x)
##+js(set-cookie, a, 1)
##^script:has-text(x)
"""


@pytest.mark.parametrize(
    ("url", "hidden"),
    [
        ("https://new.example/a", {".everywhere", ".but"}),
        ("https://example.org/", {".there", ".but"}),
        ("https://www.example.org:8080/a", {".there"}),
        ("https://a.example/", {".everywhere", ".but", ".below"}),
        ("https://c.a.example/", {".everywhere", ".but", ".below"}),
        ("https://b.a.example/", {".everywhere", ".but"}),
    ],
)
def test_a_filter_hides_where_it_says(url: str, hidden: set[str]) -> None:
    assert set(CosmeticFilters(LIST.splitlines()).selectors(url)) == hidden


def test_the_usual_list_has_filters_of_every_site_alone() -> None:
    found = CosmeticFilters(USUAL.splitlines()).selectors("https://a.example/")
    assert len(found) == len(USUAL.split()) - 1  # one has a space
    assert "#onetrust-banner-sdk" in found
