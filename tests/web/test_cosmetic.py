"""Cosmetic filters: the elements that a filter list hides on a page."""

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
def test_a_filter_applies_to_its_domains(url: str, hidden: set[str]) -> None:
    assert set(CosmeticFilters(LIST.splitlines()).selectors(url)) == hidden


def test_the_default_list_has_only_filters_for_all_sites() -> None:
    found = CosmeticFilters(USUAL.splitlines()).selectors("https://a.example/")
    assert len(found) == len(USUAL.split()) - 1  # one has a space
    assert "#onetrust-banner-sdk" in found
