"""Archives of numbers are read, and traps with numbers end.

Sites whose pages differ only in numbers: archives, which end, and traps, which do not.

Law: a page is a function of its target and of the number of pages sent before. Archives have
`PAGES` pages, each with links to the next ones.
"""

import re
from calendar import Calendar
from collections import deque
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta
from email.utils import formatdate
from itertools import count
from random import Random
from typing import Final
from zlib import crc32

import pytest

from minicrawl.crawl.admission.novelty import NoveltyTracker
from minicrawl.web.html.page import parse_page

PAGES: Final = 200
NOW: Final = datetime(2026, 11, 29, 10, 48, 3, tzinfo=UTC)
DATE: Final = formatdate(NOW.timestamp(), usegmt=True)
"""The Date header of all responses."""
_FIRST_DAY: Final = date(2012, 1, 1)
_MONTHS: Final = [date(2003, month, 1).strftime("%B") for month in range(1, 13)]

Answer = Callable[[str, int], str | None]
"""Body of a target, given the number of pages sent before; None if it does not exist."""


def _page(title: str, *parts: str, ways: Iterable[tuple[str, str]] = ()) -> str:
    links = " ".join(f'<a href="{target}">{name}</a>' for target, name in ways)
    return (
        f"<!doctype html><title>{title}</title><script>var build = 20260317;</script>"
        f"<h1>{title}</h1>{''.join(parts)}<nav>{links}</nav>"
        "<footer>&copy; 2019 Example Ltd, 030 123 45 67</footer>"
    )


def _numbers(target: str) -> list[int]:
    return list(map(int, re.findall("[0-9]+", target))) or [0]


def _archive(
    path: Callable[[int], str], body: Callable[[int, Random], tuple[str, str]]
) -> tuple[str, Answer]:
    """Return the first target and the pages of an archive, each with links to the next three."""
    places = {path(place): place for place in range(1, PAGES + 1)}

    def answer(target: str, _sent: int) -> str | None:
        place = places.get(target)
        if place is None:
            return None
        following = range(place + 1, min(place + 4, PAGES + 1))
        return _page(*body(place, Random(place)), ways=[(path(at), str(at)) for at in following])

    return path(1), answer


def _day(place: int) -> date:
    return _FIRST_DAY + timedelta(days=place)


def _result(place: int, rng: Random) -> tuple[str, str]:
    home, away, visitors = rng.randrange(5), rng.randrange(5), rng.randrange(9000, 60000)
    return f"Match {place}", f"<p>Home {home}, away {away}, attendance {visitors:,}.</p>"


def _price(place: int, rng: Random) -> tuple[str, str]:
    price = rng.randrange(178_000, 199_000) / 100
    return f"Copper, {_day(place):%d.%m.%Y}", f"<p>Closing price: <b>&euro; {price:,.2f}</b></p>"


def _weather(place: int, rng: Random) -> tuple[str, str]:
    rows = (
        f"<tr><td>{day}<td>{rng.randrange(-9, 30)}<td>{rng.randrange(300) / 10} mm"
        for day in ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
    )
    return f"Week {place}", f"<table>{''.join(rows)}</table>"


def _law(place: int, rng: Random) -> tuple[str, str]:
    amended, page = rng.randrange(400), 7 * place + rng.randrange(6)
    facts = f"<dt>Amends</dt><dd>section {amended}</dd><dt>Gazette</dt><dd>page {page}</dd>"
    return f"Act {place % 20 + 1} of {1990 + place // 20}", f"<dl>{facts}</dl>"


def _minutes(place: int, rng: Random) -> tuple[str, str]:
    votes = "".join(f"<li>{rng.randrange(9)} : {rng.randrange(9)}</li>" for _ in range(3))
    present = rng.randrange(20, 40)
    return f"Minutes no. {place}", f"<p>Present: {present} members</p><ol>{votes}</ol>"


def _timetable(place: int, rng: Random) -> tuple[str, str]:
    times = "\n".join(f"{hour:02}:{rng.randrange(60):02}" for hour in range(5, 24, 6))
    return f"Line {place}", f"<pre>{times}</pre>"


ARCHIVES: Final = {
    "results": _archive(lambda place: f"/match/{place}", _result),
    "prices": _archive(lambda place: f"/prices/{_day(place):%Y/%m/%d}", _price),
    "weather": _archive(lambda place: f"/w?station=7&week={place}", _weather),
    "laws": _archive(lambda place: f"/act/{1990 + place // 20}/{place % 20 + 1}.html", _law),
    "minutes": _archive(lambda place: f"/minutes-{place:04}.html", _minutes),
    "timetable": _archive(lambda place: f"/line/{place}/", _timetable),
}
"""First target and pages of each archive."""


def _month(number: int) -> tuple[int, int]:
    year, month = divmod(number, 12)
    return year, month + 1


def _grid(year: int, month: int, cell: str = "") -> str:
    """Return a month with its weeks, and with days of its neighbours."""
    rows = []
    for week in Calendar().monthdatescalendar(year, month):
        days = "".join(f"<td>{day.day}{cell}" for day in week)
        rows.append(f"<tr><th>{week[0].isocalendar().week}{days}")
    return f"<table>{''.join(rows)}</table>"


def _calendar(footer: Callable[[int], str] = lambda _sent: "", cell: str = "") -> Answer:
    def answer(target: str, sent: int) -> str:
        year, month = _numbers(target)
        number = 12 * year + month - 1
        others = [_month(number - 1), _month(number + 1)]
        ways = [(f"/cal/{y}/{m}", f"{_MONTHS[m - 1]} {y}") for y, m in others]
        title = f"{_MONTHS[month - 1]} {year}"
        return _page(title, _grid(year, month, cell), footer(sent), ways=ways)

    return answer


def _by_offset(target: str, _sent: int) -> str:
    offset = _numbers(target)[0]
    year, month = _month(12 * 2003 + offset)
    ways = [(f"/cal?offset={offset + 1}", "next month")]
    return _page(f"{month:02}/{year}", _grid(year, month, " events: 0"), ways=ways)


def _day_by_offset(target: str, _sent: int) -> str:
    day = _day(offset := _numbers(target)[0])
    ways = [(f"/day?offset={offset + 1}", "tomorrow")]
    return _page("Events", f"<p>{day.day} {_MONTHS[day.month - 1]} {day.year}: none</p>", ways=ways)


def _missing(target: str, _sent: int) -> str:
    number, rng = _numbers(target)[0], Random(target)
    others = [rng.randrange(10**6) for _ in range(4)]
    ways = [(f"/item/{other}", str(other)) for other in others]
    return _page(f"Item {number}", f"<p>Item no. {number:,} was not found.</p>", ways=ways)


def _pages_behind_the_last(target: str, _sent: int) -> str:
    page = _numbers(target)[0]
    said = f"<p>Page {page} of 3, {20 * page - 19} to {20 * page}: nothing</p>"
    return _page(f"Page {page}", said, ways=[(f"/list?page={page + 1}", "next")])


def _sessions(target: str, _sent: int) -> str:
    session = Random(target).randrange(10**9)
    ways = [(f"/s/{session}/item/{item}", "item") for item in range(5)]
    return _page("Shop", f"<p>Your session is {session}.</p>", ways=ways)


def _filters(target: str, _sent: int) -> str:
    rng = Random(target)
    colours = [f"{target}&f{rng.randrange(50)}={rng.randrange(20)}" for _ in range(6)]
    ways = [(colour, f"Colour</a> <span>({rng.randrange(99)})</span><a>") for colour in colours]
    return _page("Goods", f"<p>{rng.randrange(340)} of 340 results</p>", ways=ways)


def _clock(sent: int) -> str:
    now = NOW + timedelta(seconds=sent)
    return f"<p>{now:%H:%M:%S}, {now.timestamp():.0f}</p>"


def _visits(sent: int) -> str:
    return f"<p>You are visitor no. {10_233 + sent}</p>"


def _views(sent: int) -> str:
    return f"<p>This page has <b>{Random(sent).randrange(9000)}</b> views</p>"


def _generation(sent: int) -> str:
    took = Random(sent).random()
    return f"<p>Generated in {took:.4f} s with {Random(sent).randrange(99)} queries</p>"


TRAPS: Final[dict[str, tuple[str, Answer]]] = {
    "calendar": ("/cal/2003/5", _calendar()),
    "calendar without events": ("/cal/2003/5", _calendar(cell=" <i>events: 0</i>")),
    "calendar by offset": ("/cal?offset=0", _by_offset),
    "days by offset": ("/day?offset=0", _day_by_offset),
    "visits": ("/cal/2003/5", _calendar(_visits)),
    "views": ("/cal/2003/5", _calendar(_views)),
    "clock": ("/cal/2003/5", _calendar(_clock)),
    "generation time": ("/cal/2003/5", _calendar(_generation)),
    "missing items": ("/item/1", _missing),
    "pages behind the last": ("/list?page=1", _pages_behind_the_last),
    "sessions": ("/s/1/item/1", _sessions),
    "filters": ("/list?a=1", _filters),
}
"""First target and pages of each trap."""


HOST = "http://a.example"
LEAST_READ = 0.95
LIMIT, MOST_TRAPPED = 20, 72
"""Limit of barren pages, and most pages of a trap: one of each month's name, two limits, and a few
until there is something to compare."""


def crawl(start: str, answer: Answer, most: int, limit: int = LIMIT) -> int:
    """Read a site breadth first. Return the number of pages read."""
    novelty = NoveltyTracker(limit)
    known, waiting = {f"{HOST}{start}": 0}, deque([f"{HOST}{start}"])
    for read in count():
        while waiting and novelty.refusal(known[waiting[0]], 1, waiting[0]) is not None:
            waiting.popleft()
        if not waiting or read == most:
            return read
        page = known[url := waiting.popleft()]
        body = answer(url.removeprefix(HOST), read) or ""
        headers = {"content-type": "text/html; charset=utf-8", "date": DATE}
        parsed = parse_page(body.encode(), url, headers, suspicious=novelty.suspicious(1))
        verdict = novelty.read(page, 1, url, parsed, None)
        new = [link for link in parsed.links if link not in known]
        known |= {link: len(known) + place for place, link in enumerate(new)}
        waiting.extend(new)
        pages = [known[link] for link in parsed.links]
        novelty.found(pages, [known[link] for link in new], is_barren=verdict.is_barren)
    raise AssertionError


@pytest.mark.parametrize("name", ARCHIVES)
def test_an_archive_of_numbers_is_read(name: str) -> None:
    assert crawl(*ARCHIVES[name], most=2 * PAGES) >= LEAST_READ * PAGES


@pytest.mark.parametrize("name", TRAPS)
def test_a_trap_whose_numbers_are_explained_ends(name: str) -> None:
    assert crawl(*TRAPS[name], most=1000) <= MOST_TRAPPED


def test_numbers_in_urls_alone_are_no_news() -> None:
    def same(target: str, _sent: int) -> str:
        return f'<title>A</title>Text<a href="/{int(target[1:]) + 1}">on</a>'

    assert crawl("/1", same, most=1000) <= MOST_TRAPPED


def test_numbers_in_titles_alone_are_news() -> None:
    start, results = ARCHIVES["results"]

    def titled(target: str, sent: int) -> str:
        body = results(target, sent) or ""
        title, rest = f"<title>{crc32(body.encode()) % 9973} people", body.partition("<h1>")[2]
        return f"{title}</title>{rest.partition('</p>')[2]}"

    assert crawl(start, titled, most=2 * PAGES) >= LEAST_READ * PAGES
