"""Numbers of a page are explained by its URL, its links, dates, clocks and lists, or are news."""

from datetime import UTC, datetime
from email.utils import formatdate

import pytest
from hypothesis import given, strategies as st

from minicrawl.web.html.page_numbers import NumberHistory, Numbers, numbers_of_url, page_numbers

URL = "http://a.example/match/17"
DATE = formatdate(datetime(2026, 11, 29, 10, 48, 3, tzinfo=UTC).timestamp(), usegmt=True)
MORE = "http://a.example/match/"


@pytest.mark.parametrize(
    ("markup", "numbers"),
    [
        ("<title>No 5</title><p>Home 3, away -1</p>", (5, 3, -1)),
        ("34,223 tickets, 1.784,20 or 9&nbsp;000 &euro;, 0.25", (34223, 1784, 20, 9000, 0.25)),
        ("score 3:1", (3, 1)),
        ("6:05 and 23:59:58", (21900, 86398)),
        ("12345678901234567890", (123456789012345,)),
        (
            "<script>x = 5;</script><style>b{top:6px}</style><!-- 7 - 8 --><template>9</template>",
            (),
        ),
        ("<a href='/8'>8</a> 8", (None, 8)),
        ("<a href='/8'><b>No 8</b></a> 9", (None, 9)),
        ("number 5500 <a href='/s/5500/x'>on</a>", (None,)),
        ("number 550 <a href='/s/550/x'>on</a>", (550,)),
        ("<a href='/red'>Red (5)</a>, <a href='/x'>Blue</a> <i>(7)</i>, goals (8)", (None, 8)),
        ("Match 17, after 16", (None,)),
        ("Match -17", (None,)),
        ("Match 017 and 19", (None, 19)),
        ("<a href='/o'>Overview</a> <a href='/p'>Next</a> Chapter 73", (73,)),  # no "view"
        ("\0<a href='/8'>\0 5</a>\1 6", (5, 6)),
    ],
)
def test_numbers_of_the_text_are_news_but_for_those_of_urls(markup: str, numbers: Numbers) -> None:
    assert page_numbers(markup, URL) == numbers


@pytest.mark.parametrize(
    "text",
    [
        "2003-05-30",
        "30.5.2003",
        "5/30/03",
        "30 May 2003",
        "30th of May, 2003",
        "30 de mayo de 2003",
        "May 30, 2003",
        "2003年5月30日",
        "05/2003",
        "in 2003",
    ],
)
def test_dates_are_explained(text: str) -> None:
    assert page_numbers(f"<p>{text}</p>", URL) == (None,)


@pytest.mark.parametrize("text", ["2003.5", "12003", "20035", "2,003"])
def test_other_numbers_are_no_years(text: str) -> None:
    assert None not in page_numbers(text, URL)


@pytest.mark.parametrize(
    "text", ["10:48", "11:48:30", "16:18", "1795949283", "1795949283117", "at 10:47:59"]
)
def test_the_time_is_explained_by_the_date_header(text: str) -> None:
    assert page_numbers(text, URL, DATE) == (None,)
    assert None not in page_numbers(text, URL)


@pytest.mark.parametrize("text", ["10:55", "1795849283", "1795949", "17:00:00"])
def test_another_time_is_not_explained(text: str) -> None:
    assert None not in page_numbers(text, URL, DATE)
    assert None not in page_numbers(text, URL, "yesterday")


@pytest.mark.parametrize(
    "text",
    [
        "Generated in 0.0341 s, with 23 queries",
        "<b>300</b> users online",
        "Views: <b>300</b>",
        "20 of 340 results",
    ],
)
def test_numbers_in_footers_and_counts_of_results_are_explained(text: str) -> None:
    assert page_numbers(text, URL) == (None,)


def test_lists_of_consecutive_numbers_say_nothing_whatever_their_length() -> None:
    for days in ([*range(1, 29), 1, 2], [*range(28, 32), *range(1, 31), *range(1, 6)]):
        cells = "".join(f"<td>{day} <i>0</i>" for day in days)
        assert page_numbers(f"<table>{cells}</table> 99", URL) == (0, 99)
    weeks = "".join(
        f"<tr>{week}<td>{day}<td>{day + 1}" for week, day in zip(range(40, 45), days, strict=False)
    )
    assert 40 not in page_numbers(weeks, URL)
    assert page_numbers("1 2 3", URL) == (1, 2, 3)
    assert page_numbers("1 7 8 8 8 8 2 7 7 9 9 3", URL) == (1, 7, 8, 2, 7, 9, 3)


def test_only_the_first_numbers_count() -> None:
    assert len(page_numbers(" ".join(str(2 * n) for n in range(5000)), URL)) == 128


@given(st.text("<a>!-/ script&#0123456789:.,-(%)\u00a0\u2212'\nM"), st.sampled_from(["", DATE]))
def test_any_text_has_numbers(text: str, date: str) -> None:
    numbers = page_numbers(text, URL, date)
    history = NumberHistory()
    assert history.judge(numbers, URL, 1) is None
    assert history.judge(numbers, f"{URL}1", 2) is False


def test_numbers_of_a_url_are_those_after_its_origin() -> None:
    assert numbers_of_url("http://a1.example:80/2003/05?n=7") == (2003, 5, 7)


def verdicts(*pages: Numbers, step: int = 1) -> list[bool | None]:
    """Compare pages /match/1, /match/2, …, with `step` pages of the host read for each."""
    history = NumberHistory()
    return [
        history.judge(numbers, f"{MORE}{place}", place * step)
        for place, numbers in enumerate(pages, 1)
    ]


def test_other_numbers_are_news_once_two_pages_are_known() -> None:
    assert verdicts((3, 1), (2, 5), (2, 4), (2, 4), (0, 9)) == [None, None, True, False, True]


def test_a_number_that_follows_from_the_url_is_explained() -> None:
    assert verdicts((1, 20), (21, 40), (41, 60), (61, 80), (81, 99)) == [
        None, None, False, False, True,
    ]  # fmt: skip


def test_without_numbers_in_urls_two_pages_are_enough() -> None:
    history = NumberHistory()
    assert history.judge((3, 1), "http://a.example/one", 1) is None
    assert history.judge((5, 4), "http://a.example/two", 2) is True
    assert history.judge((5, 0), "http://a.example/2", 2) is True


def test_a_number_that_grows_with_the_pages_read_counts_visits() -> None:
    assert verdicts((7, 100), (7, 101), (7, 104), (7, 105)) == [None, None, False, False]
    assert verdicts((100,), (101,), (100,)) == [None, None, True]
    assert verdicts((100,), (107,), (117,)) == [None, None, True]
    assert verdicts((100,), (107,), (117,), step=5) == [None, None, False]
    history = NumberHistory()
    assert history.judge((100,), "http://a.example/one", 1) is None
    assert history.judge((101,), "http://a.example/two", 2) is None
    assert history.judge((103,), "http://a.example/three", 3) is False


def test_two_numbers_that_grow_are_news() -> None:
    assert verdicts((100, 7), (101, 9), (103, 10))[-1] is True


def test_explained_numbers_are_no_news() -> None:
    assert verdicts((7, None), (7, 9), (None, 9), (7, 9)) == [None, False, False, False]


def test_pages_with_fewer_or_more_numbers_are_compared_by_their_numbers() -> None:
    assert verdicts((1, 2, 3), (1, 2)) == [None, False]
    assert verdicts((1, 2, 3), (1, 2, 9, 9), (2, 1, 3, 50, 50)) == [None, True, True]
    assert verdicts((1, 2, 3), (1, 1, 2, 9, None)) == [None, True]
    assert verdicts((100, 2), (101, None, 2)) == [None, False]  # counts visits
    assert verdicts((100, 2), (101, 50, 2)) == [None, True]  # one of two may count visits
