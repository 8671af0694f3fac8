"""Common structure of a site's pages reveals where their main text is."""

from statistics import mean

import pytest

pytest.importorskip("selectolax")

from minicrawl.text.main import MAIN
from minicrawl.text.main_box import NO_PLACES
from minicrawl.text.site_places import FEWEST_PAGES, learned
from tests.text.sites import pages

URL = "http://news.example/"
SENTENCE = "This sentence number {} is long enough to be one, and it tells about its own subject."


def f_score(found: str, expected: str) -> float:
    """Return the F score of lines found, compared with the expected lines."""
    lines, wanted = set(found.splitlines()), set(expected.splitlines())
    return 2 * len(lines & wanted) / (len(lines) + len(wanted))


@pytest.mark.large
@pytest.mark.parametrize("is_veiled", [False, True])
@pytest.mark.parametrize("count", [20, 60])
def test_the_main_text_of_a_news_site_is_found(count: int, is_veiled: bool) -> None:
    site = list(pages(count, is_veiled=is_veiled))
    make = MAIN.for_site([page.markup for page in site])
    assert mean(f_score(make(page.markup, URL), page.main) for page in site) >= 0.99
    alone = mean(f_score(MAIN(page.markup, URL), page.main) for page in site)
    assert (alone < 0.9) == is_veiled  # otherwise there would be nothing to learn


def test_nothing_is_learned_from_few_pages() -> None:
    few = [page.markup for page in pages(FEWEST_PAGES - 1, is_veiled=True)]
    assert learned(tuple(few)) == NO_PLACES


def manual(number: int) -> str:
    """Return a page whose headings, code, cells and terms repeat on other pages."""
    own = "".join(f"<p>{SENTENCE.format(number + part / 10)}" for part in range(4))
    return (
        f"<div class=top><p>{SENTENCE.format('x')}</div><div class=body id=page-{number}>{own}"
        f"<h2>Usage</h2><p>{SENTENCE.format(number)}<pre>import it</pre>"
        f"<table><tr><td>name<td>type</table><dl><dt>Returns<dd>{SENTENCE.format(number)}</dl></div>"
    )


def test_repeated_headings_code_cells_and_terms_are_kept() -> None:
    make = MAIN.for_site([manual(number) for number in range(FEWEST_PAGES)])
    found = make(manual(3), URL).splitlines()
    assert SENTENCE.format("x") not in found
    assert {"Usage", "import it", "name", "type", "Returns"} <= set(found)


def test_text_that_repeats_on_few_pages_is_kept() -> None:
    """A warning on every eighth page of a manual is about those pages."""

    def page(number: int) -> str:
        warning = f"<div class=warning><p>{SENTENCE.format('x')}</div>" if number % 8 == 0 else ""
        return manual(number).replace("<h2>", f"{warning}<h2>")

    make = MAIN.for_site([page(number) for number in range(3 * FEWEST_PAGES)])
    assert SENTENCE.format("x") in make(page(8), URL)


def test_several_boxes_at_one_place_are_all_kept() -> None:
    def page(number: int) -> str:
        times = 1 if number % 2 else 3
        sections = "".join(
            f"<div class=part><p>{SENTENCE.format(number + part / 10)}</div>"
            for part in range(times)
        )
        return f"<body><div class=all>{sections}</div></body>"

    make = MAIN.for_site([page(number) for number in range(FEWEST_PAGES)])
    assert len(make(page(2), URL).splitlines()) == 3


def article(number: int, *, is_print: bool = False) -> str:
    """Return an article with a lead that six articles share, and a notice that a third has."""
    body = "".join(f"<p>{SENTENCE.format(number + part / 10)}" for part in range(1, 5))
    notice = "" if number % 3 else f"<p class=notice>{SENTENCE.format('notice')}"
    story = (
        f"<h1>Report {number}</h1><p class=lead>{SENTENCE.format(f'lead {number // 6}')}"
        f"{notice}<div class=text>{body}</div>"
    )
    others = "".join(f"<p>{SENTENCE.format(f'teaser {number + one}')}" for one in range(3))
    sides = f"<div class=css-1>{others}</div><div class=css-2><p>{SENTENCE.format('foot')}</div>"
    return f"<div class=story>{story}</div>{'' if is_print else sides}"


def test_what_other_pages_repeat_between_title_and_body_is_kept() -> None:
    """Lists, series and print versions quote leads, and many pages may have one notice."""
    count = 3 * FEWEST_PAGES
    articles = [article(number) for number in range(count)]
    prints = [article(number, is_print=True) for number in range(count)]
    lists = [
        "".join(one.replace("h1>", "h2>") for one in prints[start : start + 10])
        for start in range(0, count, 10)
    ]
    make = MAIN.for_site([*lists, *articles, *prints])
    for number, markup in enumerate(articles):
        lines = make(markup, URL).splitlines()
        body = [SENTENCE.format(number + part / 10) for part in range(1, 5)]
        lead = SENTENCE.format(f"lead {number // 6}")
        notice = [] if number % 3 else [SENTENCE.format("notice")]
        assert lines == [f"Report {number}", lead, *notice, *body]


@pytest.mark.parametrize("is_lead_plain", [False, True])
def test_a_notice_stays_where_lead_and_body_are_paragraphs_of_one_box(
    is_lead_plain: bool,
) -> None:
    def page(number: int) -> str:
        lead = f"<p{'' if is_lead_plain else ' class=lead'}>{SENTENCE.format(f'lead {number}')}"
        body = "".join(f"<p>{SENTENCE.format(number + part / 10)}" for part in range(1, 5))
        notice = f"<p class=notice>{SENTENCE.format('notice')}"
        foot = f"<div class=css-2><p>{SENTENCE.format('foot')}</div>"
        return f"<div class=css-1><h1>Report</h1>{lead}{notice}{body}{foot}</div>"

    make = MAIN.for_site([page(number) for number in range(FEWEST_PAGES)])
    lines = make(page(3), URL).splitlines()
    assert lines[1:3] == [SENTENCE.format("lead 3"), SENTENCE.format("notice")]
    assert SENTENCE.format("foot") not in lines


def test_a_banner_between_the_head_of_a_page_and_its_text_is_dropped() -> None:
    def page(number: int) -> str:
        body = "".join(f"<p>{SENTENCE.format(number + part / 10)}" for part in range(1, 5))
        banner = f"<div class=banner><p>{SENTENCE.format('banner')}</div>"
        return f"<div class=head><h1>Report</h1></div>{banner}<div class=text>{body}</div>"

    make = MAIN.for_site([page(number) for number in range(FEWEST_PAGES)])
    assert SENTENCE.format("banner") not in make(page(3), URL).splitlines()


def test_pages_without_boilerplate_do_not_vote() -> None:
    site = [
        f"<p>{SENTENCE.format(number)}<p>{SENTENCE.format(-number)}"
        for number in range(1, 1 + FEWEST_PAGES)
    ]
    assert not learned(tuple(site)).main
