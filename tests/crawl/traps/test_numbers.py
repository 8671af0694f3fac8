"""Archives of numbers are read, and traps with numbers end."""

from collections import deque
from itertools import count
from zlib import crc32

import pytest

from minicrawl.crawl.admission.novelty import NoveltyTracker
from minicrawl.web.html.page import parse_page
from tests.crawl.traps.numbers import ARCHIVES, DATE, PAGES, TRAPS, Answer

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
