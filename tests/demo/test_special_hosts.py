import codecs
from itertools import pairwise

import pytest

from minicrawl.demo.pages import COMMONS, DIRECTORY, SHORT, SPAM
from minicrawl.demo.special_hosts import CALENDAR, INDEXED, LETTERS, PORTAL
from minicrawl.demo.web import DemoWeb
from tests.demo.asking import WEB, ask, link_graph, links

PAGES = 500


def hops(url: str, most: int) -> list[str]:
    """Return the URLs of a chain of redirects, up to a number of hops."""
    visited = [url]
    while len(visited) <= most and "Location" in (answer := ask(visited[-1])).headers:
        location = answer.headers["Location"]
        visited.append(location if "//" in location else f"{SHORT}{location[1:]}")
    return visited


def test_redirects_chain_loop_and_lead_to_pages() -> None:
    chain = hops(f"{SHORT}chain/1", most=9)
    assert chain[-1] == DIRECTORY
    assert [ask(url).status for url in chain] == [301, 302, 301, 200]
    loop = hops(f"{SHORT}round", most=6)
    assert loop == [f"{SHORT}round", f"{SHORT}and-round"] * 3 + [f"{SHORT}round"]
    targets = [hops(f"{SHORT}{page}", most=1)[-1] for page in range(PAGES)]
    assert len(set(targets)) == PAGES
    assert all(ask(url, visits=1).status == 200 for url in targets)
    moved = ask("http://old.harbour-museum.example/boats/")
    assert (moved.status, moved.headers["Location"][:12]) == (301, "http://www.h")


@pytest.mark.parametrize(
    "url",
    [
        *(f"{SHORT}{path}" for path in ("", str(PAGES), "9" * 5000, "٣", "x", "-1")),
        *(f"{CALENDAR}{path}" for path in ("2003/13", "2003/0", "2003", "x")),
        f"{LETTERS}lost",
    ],
)
def test_other_paths_are_missing(url: str) -> None:
    assert ask(url).status == 404


def test_the_calendar_is_endless_and_begins_with_the_year_0() -> None:
    months = ["/2003/11"]
    for _ in range(30):
        url = f"{CALENDAR[:-1]}{months[-1]}"
        months.append(links(url, ask(url))[0].removeprefix(CALENDAR[:-1]))
    assert months[1:4] == ["/2003/12", "/2004/1", "/2004/2"]
    assert len(set(months)) == 31
    assert all(before != after for before, after in pairwise(months))
    assert f"{CALENDAR}0/0" not in links(CALENDAR, ask(f"{CALENDAR}0/1"))
    assert ask(f"{CALENDAR}2003/5/28").status == 200


def test_every_room_links_to_three_deeper_rooms() -> None:
    url = f"{CALENDAR}rooms/hall"
    for depth in range(50):
        rooms = links(url, ask(url))
        assert len(rooms) == 3
        url = rooms[depth % 3]
    assert url.count("/") == 4 + 50


def test_letters_have_different_encodings() -> None:
    latin, wide = ask(f"{LETTERS}latin"), ask(f"{LETTERS}wide")
    assert "crème brûlée" in latin.body.decode("latin-1")
    assert b'<meta charset="iso-8859-1">' in latin.body
    assert wide.body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    assert 'href="/wide/answer"' in wide.body.decode("utf-16")
    assert latin.headers["Content-Type"] == wide.headers["Content-Type"] == "text/html"
    assert ask(f"{LETTERS}wide/answer").status == 200
    assert set(links(LETTERS, ask(LETTERS))) == {f"{LETTERS}latin", f"{LETTERS}wide"}


def test_only_nofollow_links_lead_to_spam() -> None:
    assert ask(f"{SPAM}best-offers").status == 200
    assert not any(
        target.startswith(SPAM)
        for url in link_graph(WEB)
        for target in links(url, ask(url, visits=1))
    )


def links_of(url: str, visits: int = 0, web: DemoWeb = WEB) -> set[str]:
    return set(links(url, ask(url, visits=visits, web=web)))


def test_the_directory_links_to_every_ordinary_host_and_to_two_thousand_pages() -> None:
    topics = {url for url in links_of(DIRECTORY) if url.startswith(DIRECTORY)} - {DIRECTORY}
    found = set().union(*map(links_of, topics))
    assert {f"http://{host}/" for host in WEB.hosts[:20]} <= found
    for pages in (2000, 5999):
        url = f"{DIRECTORY}everything"
        entries = links_of(url, web=DemoWeb(pages)) - links_of(DIRECTORY, web=DemoWeb(pages))
        assert INDEXED - 20 <= len(entries) <= INDEXED


def test_the_portal_has_new_headlines_at_each_visit() -> None:
    first, second = links_of(PORTAL), links_of(PORTAL, visits=1)
    assert len(first - second) > 10
    assert all(ask(url).status in {200, 301, 302} for url in first | second if "crackle" not in url)
    assert any(not url.startswith(COMMONS) for url in links_of(f"{COMMONS}licence"))
    for hub in (DIRECTORY, PORTAL, COMMONS):
        assert ask(f"{hub}else").status == 404
