"""Numbers in the text of a page: do they say anything that its URL and the clock do not?

Archives of results, prices or laws have pages that differ in nothing but numbers. So do calendars,
soft 404s and pages with a visit counter, which have no end. Where a number comes from tells them
apart:

    /match/17   Match 17, 3 May 2003: 2 to 1, 34,223 tickets, next: <a href="/match/18">18</a>
                      URL  date       left    left                                      link

A number is explained if it occurs in the URL of the page or is next to one that does, belongs to a
date or is the time in the Date header, names the target of its link, continues a list (1 2 3 4), or
stands beside a word of footers, such as "views" and "generated". `page_numbers` returns the others,
with None for explained ones, so that numbers of pages of one template are aligned.

`NumberHistory` compares them with those of earlier pages with the same words. There, a number is
explained, too, if it follows from the URL (page 7 has items 121 to 140), or if it grows by about
the number of pages that were read, as a visit counter does. A number that is left is news.
"""

import re
from array import array
from calendar import timegm
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from email.utils import parsedate
from itertools import pairwise
from math import isclose, isnan, nan
from typing import NamedTuple

from minicrawl.web.html.attributes import STOP, unescaped
from minicrawl.web.urls import split

Numbers = tuple[float | None, ...]
"""Numbers of a text in order; None stands for explained numbers."""

_READ = 1 << 17
"""Characters of a page that are examined."""
_MOST_FIGURES, _MOST_NUMBERS = 1024, 128
"""Most numbers of a page that are examined, and that are returned."""
_DIGITS = re.compile("[0-9]+")
_MOST_DIGITS = 15
"""Digits of a number that count. A float is exact for so many."""


def _raw(name: str) -> str:
    return rf"<{name}{STOP}(?:[^<]++|<(?!/{name}))*+"


_RAW = re.compile(
    rf"{_raw('script')}|{_raw('style')}|{_raw('template')}|<!--(?:[^-]++|-(?!->))*+(?:-->)?",
    re.IGNORECASE | re.ASCII,
)
_LINK = re.compile(rf"<a({STOP}[^>]*+)>?", re.IGNORECASE | re.ASCII)
_END_OF_LINK = re.compile(rf"</a{STOP}[^>]*+>?", re.IGNORECASE | re.ASCII)
_TAGS = re.compile(r"(?:<[^>]*+>?)++")
_BEGIN_MARK, _END_MARK = "\0", "\1"
"""Characters that stand for tags of links in a text, as no page has them."""

_YEAR = r"(?:1[89]|2[01])[0-9]{2}(?![0-9])"
_MONTH = r"[^\W\d_]{3,12}[.,]{0,2}"
_NUMBER = re.compile(
    r"(?=[0-9\N{MINUS SIGN}-])(?<![0-9])(?:(?P<date>"
    r"(?:1[89]|2[01])[0-9]{2}(?P<mark>[-/.])[0-9]{1,2}(?P=mark)[0-9]{1,2}(?![0-9])"
    r"|[0-9]{1,2}(?P<dot>[-/.])[0-9]{1,2}(?P=dot)(?:[0-9]{4}|[0-9]{2})(?![0-9])"
    rf"|[0-9]{{1,2}}[-/.]{_YEAR}"
    rf"|[0-9]{{1,2}}(?:st|nd|rd|th|\.)?,? (?:(?:of|de) )?(?:{_MONTH} )?(?:de )?{_YEAR}"
    r"|(?:1[89]|2[01])[0-9]{2}[^\d\n]{1,3}[0-9]{1,2}[^\d\n]{1,3}[0-9]{1,2}(?![0-9])"
    rf"|{_YEAR}(?![.,:][0-9]))"
    r"|(?P<time>(?P<hour>[01]?[0-9]|2[0-3]):(?P<minute>[0-5][0-9])(?::(?P<second>[0-5][0-9]))?)"
    r"(?![0-9])"
    r"|(?P<grouped>(?:(?<![\w)])[-\N{MINUS SIGN}])?"
    r"[0-9]{1,3}(?:[,.'\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}][0-9]{3})+(?![0-9]))"
    r"|(?P<plain>(?:(?<![\w)])[-\N{MINUS SIGN}])?[0-9]++(?:[.,][0-9]++)?))"
)
_GROUPING = str.maketrans(dict.fromkeys(",.'\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}"))
_DECIMAL = str.maketrans({",": ".", "\N{MINUS SIGN}": "-"})

# Numbers that no page is about. A counter of visits needs no word, as it grows.
_FOOTER = (
    r"(?:views?|viewed|online|generated|rendered|load(?:ed|ing)|execut(?:ed|ion)|processed|queries"
    r"|aufrufe?|generiert|erzeugt|geladen|vues?|générée?|visitas|vistas|generad[ao]|просмотр\w*)"
)
_NEAR = 24
_AFTER_FOOTER = re.compile(rf"\b{_FOOTER}\b[^\d]*\Z", re.IGNORECASE)
# Numbers of pages behind filters: "1-20 of 340 results"; behind links, they are in parentheses.
_BEFORE_FOOTER_OR_COUNT = re.compile(
    rf"[^\d]*?\b{_FOOTER}\b|(?: (?:of|von|sur|de|из) [0-9.,]+)? "
    r"(?:results?|items?|entries|treffer|ergebnisse|résultats?|resultados?|результат\w*)\b",
    re.IGNORECASE,
)

_CLOCK_STEP_S, _CLOCK_ERROR_S = 15 * 60, 90
"""Difference of time zones, and of clocks."""
_DAY_S = 86_400
_LEAST_TARGET = 1000
"""Least number that is explained by the target of any link. Smaller ones are equal by chance."""
_LISTS = ((4, 7), (3, 4))
"""Largest distance of two numbers of a list, as cells have counts, too, and its least length: first
for the days of a calendar, then for the weeks, which stand between them."""
_SHORTEST_MONTH = 28

_Figure = tuple[float, bool]
"""Number in a text, and whether it is explained."""


def page_numbers(text: str, url: str, date: str = "") -> Numbers:
    """Return the numbers of a page; `date` is the Date header."""
    figures: Sequence[_Figure] = list(_figures(text[:_READ], url, date))
    for gap, least in _LISTS:
        figures = _without_repeats(_without_lists(figures, gap, least))
    numbers = (None if is_explained else value for value, is_explained in figures)
    return tuple(numbers)[:_MOST_NUMBERS]


def numbers_of_url(url: str) -> tuple[float, ...]:
    """Return the numbers in a canonical URL after its origin."""
    return tuple(_numbers(split(url)[1]))


def _whole(digits: str) -> float:
    return float(digits[:_MOST_DIGITS])


def _figures(markup: str, url: str, date: str) -> Iterator[_Figure]:
    text, links = _text(markup)
    near_url = {number + step for number in numbers_of_url(url) for step in (-1, 0, 1)}
    of_links = {number for number in _numbers(" ".join(links)) if number >= _LEAST_TARGET}
    clock = parsedate(date)
    now = None if clock is None else timegm(clock)
    links_before = begin = end = 0
    for _, match in zip(range(_MOST_FIGURES), _NUMBER.finditer(text), strict=False):
        value = _value(match)
        start = match.start()
        links_before += text.count(_BEGIN_MARK, end, start)
        begin = max(begin, text.rfind(_BEGIN_MARK, end, start), text.rfind(_END_MARK, end, start))
        end = start
        link = links[links_before - 1] if text[begin] == _BEGIN_MARK else ""
        is_explained = (
            match["date"] is not None
            or abs(value) in near_url
            or value in of_links
            or (bool(link) and value in _numbers(link))
            or (now is not None and _is_now(match, value, now))
            or _counts_pages_behind_link(text, match, begin)
            or _is_of_no_page(text, match)
        )
        yield value, is_explained


def _text(markup: str) -> tuple[str, list[str]]:
    """Return the text, where marks stand for the tags of links, and the attributes of links."""
    markup = markup.replace(_BEGIN_MARK, "").replace(_END_MARK, "")
    markup = _RAW.sub("<>", markup)
    between, links = (parts := _LINK.split(markup))[::2], parts[1::2]
    markup = _END_OF_LINK.sub(f"<>{_END_MARK}<>", f"<>{_BEGIN_MARK}<>".join(between))
    return unescaped(_TAGS.sub("\n", markup)), links


def _numbers(digits: str) -> Iterator[float]:
    return map(_whole, _DIGITS.findall(digits))


def _value(number: re.Match[str]) -> float:
    if number["time"] is not None:
        hour, minute, second = (int(number[name] or 0) for name in ("hour", "minute", "second"))
        return 3600.0 * hour + 60 * minute + second
    if number["grouped"] is not None:
        return float(number["grouped"].translate(_GROUPING).translate(_DECIMAL)[:_MOST_DIGITS])
    return float((number["plain"] or "0").translate(_DECIMAL)[:_MOST_DIGITS])


def _is_now(number: re.Match[str], value: float, now: int) -> bool:
    """Return whether a number is the time, in any time zone, or in seconds since 1970."""
    if number["time"] is None:
        return any(abs(value - unit * now) < unit * _DAY_S for unit in (1, 1000))
    late = (now - value + _CLOCK_ERROR_S) % _CLOCK_STEP_S
    return late < 2 * _CLOCK_ERROR_S


def _counts_pages_behind_link(text: str, number: re.Match[str], mark: int) -> bool:
    """Return whether a number is in parentheses in a link or beside one; the mark is before it."""
    start, end = number.span()
    if text[start - 1 : start] != "(" or text[end : end + 1] != ")":
        return False
    is_beside = text[mark] == _END_MARK and "\n" not in text[mark + 1 : start].lstrip()
    return is_beside or text[mark] == _BEGIN_MARK


def _is_of_no_page(text: str, number: re.Match[str]) -> bool:
    """Return whether a number is in a footer, or counts the results of a filter."""
    start, end = number.span()
    return bool(
        _AFTER_FOOTER.search(text, max(start - _NEAR, 0), start)
        or _BEFORE_FOOTER_OR_COUNT.match(text, end, end + _NEAR)
    )


def _without_lists(figures: Sequence[_Figure], gap: int, least: int) -> Iterator[_Figure]:
    """Drop lists of consecutive numbers, such as the days and weeks of a month.

    They differ in length: a month has 28 to 31 days, and some of its neighbours.
    """
    lists: list[list[int]] = []
    open_lists: dict[float, list[int]] = {}  # by the number that continues the list
    for place, (value, _) in enumerate(figures):
        if not value:
            continue
        items = open_lists.pop(value, [])
        if not items or place - items[-1] > gap:
            lists.append(items := [])
        items.append(place)
        for following in (value + 1, *((1.0,) if value >= _SHORTEST_MONTH else ())):
            other = open_lists.get(following, [])
            if len(items) >= len(other) or place - other[-1] > gap:
                open_lists[following] = items
    listed = {place for items in lists if len(items) >= least for place in items}
    return (figure for place, figure in enumerate(figures) if place not in listed)


def _without_repeats(figures: Iterable[_Figure]) -> list[_Figure]:
    """Drop numbers that one of the two before them equals, such as zeros in cells of a table."""
    left: list[_Figure] = []
    for figure in figures:
        if all(figure != other and not (figure[1] and other[1]) for other in left[-2:]):
            left.append(figure)
    return left


# A counter of visits grows by the pages that this crawl read of the host, and by other visits.
_VISITS_PER_PAGE = 3
_MOST_READINGS = 5


class _Reading(NamedTuple):
    """Numbers of a page, with NaN for explained ones, and those of its URL."""

    order: int
    of_url: tuple[float, ...]
    values: "array[float]"


class NumberHistory:
    """Numbers of the latest pages with the same words."""

    def __init__(self) -> None:
        self._readings: deque[_Reading] = deque(maxlen=_MOST_READINGS)

    def judge(self, numbers: Numbers, url: str, order: int) -> bool | None:
        """Add a page. Return whether its numbers are news; None if it is too early to tell.

        `order` is the number of pages of the host that were read before.
        """
        values = array("d", (nan if number is None else number for number in numbers))
        reading = _Reading(order, numbers_of_url(url), values)
        aligned = [other for other in self._readings if len(other.values) == len(values)]
        if aligned:
            is_new = _is_new(reading, aligned)
        else:
            is_new = self._has_more(reading) if self._readings else None
        self._readings.append(reading)
        return is_new

    def _has_more(self, reading: _Reading) -> bool:
        """Return whether a page has numbers more often than any page before it had."""
        before: Counter[float] = Counter()
        for other in self._readings:
            before |= Counter(other.values)
        more = Counter(value for value in reading.values if not isnan(value)) - before
        last = self._readings[-1]
        most = _VISITS_PER_PAGE * (reading.order - last.order)
        is_counter = len(more) == 1 and any(
            0 < value - other <= most for value in more for other in last.values
        )
        return bool(more) and not is_counter


def _is_new(reading: _Reading, aligned: Sequence[_Reading]) -> bool | None:
    """Compare a page with the latest ones that have as many numbers."""
    *earlier, last = aligned
    changed = [
        place
        for place, (value, before) in enumerate(zip(reading.values, last.values, strict=True))
        if value != before and not isnan(value) and not isnan(before)
    ]
    if changed and not earlier and reading.of_url != last.of_url:
        return None  # two points are on a line
    left = changed
    if earlier:
        left = [place for place in changed if not _follows(place, reading, last, earlier[-1])]
    if len(left) == 1 and _counts_visits(left[0], reading, aligned):
        return False if earlier else None
    return bool(left)


def _follows(place: int, reading: _Reading, last: _Reading, earlier: _Reading) -> bool:
    """Return whether a number is on one line with its predecessors, over a number of the URL."""
    if not len(reading.of_url) == len(last.of_url) == len(earlier.of_url):
        return False
    step = last.values[place] - earlier.values[place]
    return any(
        before != first
        and isclose(
            reading.values[place], last.values[place] + step * (now - before) / (before - first)
        )
        for now, before, first in zip(reading.of_url, last.of_url, earlier.of_url, strict=True)
    )


def _counts_visits(place: int, reading: _Reading, aligned: Sequence[_Reading]) -> bool:
    series = [*aligned, reading]
    steps = [(b.values[place] - a.values[place], b.order - a.order) for a, b in pairwise(series)]
    return all(0 <= step <= _VISITS_PER_PAGE * pages for step, pages in steps)
