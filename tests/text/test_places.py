"""What the pages of a site have in common tells where their main text is."""

from statistics import mean

import pytest

pytest.importorskip("selectolax")

from minicrawl.text.main import NO_PLACES
from minicrawl.text.places import FEWEST_PAGES, MAIN, learned
from tests.text.sites import pages

URL = "http://news.example/"
SENTENCE = "This sentence number {} is long enough to be one, and it tells about its own subject."


def right(found: str, expected: str) -> float:
    """Return F of lines."""
    lines, wanted = set(found.splitlines()), set(expected.splitlines())
    return 2 * len(lines & wanted) / (len(lines) + len(wanted))


@pytest.mark.parametrize("is_veiled", [False, True])
@pytest.mark.parametrize("count", [20, 60])
def test_the_main_text_of_a_news_site_is_found(count: int, is_veiled: bool) -> None:
    site = list(pages(count, is_veiled=is_veiled))
    make = MAIN.for_site([page.markup for page in site])
    assert mean(right(make(page.markup, URL), page.main) for page in site) >= 0.99
    alone = mean(right(MAIN(page.markup, URL), page.main) for page in site)
    assert (alone < 0.9) == is_veiled  # so that there was something to learn


def test_of_few_pages_nothing_is_learned() -> None:
    few = [page.markup for page in pages(FEWEST_PAGES - 1, is_veiled=True)]
    assert learned(tuple(few)) == NO_PLACES


def manual(number: int) -> str:
    """A page of which parts that are main text repeat on others: headings, code, cells, terms."""
    own = "".join(f"<p>{SENTENCE.format(number + part / 10)}" for part in range(4))
    return (
        f"<div class=top><p>{SENTENCE.format('x')}</div><div class=body id=page-{number}>{own}"
        f"<h2>Usage</h2><p>{SENTENCE.format(number)}<pre>import it</pre>"
        f"<table><tr><td>name<td>type</table><dl><dt>Returns<dd>{SENTENCE.format(number)}</dl></div>"
    )


def test_headings_code_cells_and_terms_stay_though_they_repeat() -> None:
    make = MAIN.for_site([manual(number) for number in range(FEWEST_PAGES)])
    found = make(manual(3), URL).splitlines()
    assert SENTENCE.format("x") not in found
    assert {"Usage", "import it", "name", "type", "Returns"} <= set(found)


def test_what_repeats_on_few_pages_stays() -> None:
    """The same warning is in every eighth page of a manual: it says something of those."""

    def page(number: int) -> str:
        warning = f"<div class=warning><p>{SENTENCE.format('x')}</div>" if number % 8 == 0 else ""
        return manual(number).replace("<h2>", f"{warning}<h2>")

    make = MAIN.for_site([page(number) for number in range(3 * FEWEST_PAGES)])
    assert SENTENCE.format("x") in make(page(8), URL)


def test_of_several_boxes_at_one_place_none_is_the_main_text() -> None:
    def page(number: int) -> str:
        times = 1 if number % 2 else 3
        sections = "".join(
            f"<div class=part><p>{SENTENCE.format(number + part / 10)}</div>"
            for part in range(times)
        )
        return f"<body><div class=all>{sections}</div></body>"

    make = MAIN.for_site([page(number) for number in range(FEWEST_PAGES)])
    assert len(make(page(2), URL).splitlines()) == 3


def test_pages_whose_main_text_is_all_of_them_do_not_vote() -> None:
    site = [
        f"<p>{SENTENCE.format(number)}<p>{SENTENCE.format(-number)}"
        for number in range(1, 1 + FEWEST_PAGES)
    ]
    assert not learned(tuple(site)).main
