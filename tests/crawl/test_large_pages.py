"""Pages with many new URLs or hosts wait until these are paid for; other pages do not wait."""

from contextlib import closing
from pathlib import Path

import pytest

from minicrawl import Event, Settled
from minicrawl.crawl.settle.posting import LINKS_AT_ONCE
from minicrawl.crawl.turns import large_pages
from minicrawl.crawl.turns.large_pages import A_HOST, LITTLE, URLS_A_SECOND, Growth
from minicrawl.frontier.url_table import UrlTable
from tests.crawl.fakes import Answer, FakeWeb, Scene, crawl, html, links_of, text
from tests.stores import HandCrawl

A, B, C, D = (f"http://{name}.test" for name in "abcd")


def new_hosts(name: str, count: int) -> list[str]:
    return [f"http://{name}{n}.test/" for n in range(count)]


def test_new_hosts_and_urls_are_paid_for_by_time() -> None:
    urls = UrlTable()
    growth = Growth(urls)
    for second in range(10):  # these become known slowly
        urls.meet(new_hosts(f"x{second}-", 1000), 1)
        growth.look(float(second))
        assert not growth.is_late
    urls.meet(new_hosts("x", 5000), 1)
    assert growth.has_grown()
    growth.look(100.0, URLS_A_SECOND)
    assert growth.is_late
    assert not growth.has_grown()
    price_s = 1 + 5000 * A_HOST / URLS_A_SECOND
    assert growth.wait_s(100.0) == pytest.approx(price_s - 1)
    growth.look(100.0 + price_s)
    assert not growth.is_late
    assert growth.wait_s(100.0 + price_s) == 0


def test_no_wait_is_longer_than_ten_seconds() -> None:
    growth = Growth(UrlTable())
    growth.look(0.0, 1000 * URLS_A_SECOND)
    assert growth.wait_s(0.0) == 10


def test_only_new_hosts_and_pages_count() -> None:
    urls = UrlTable()
    growth = Growth(urls)
    hosts, pages = new_hosts("x", LITTLE), [f"{A}/{n}" for n in range(LINKS_AT_ONCE + 1)]
    assert growth.brings_much(hosts)
    assert not growth.brings_much(hosts[: LITTLE // A_HOST])
    assert growth.brings_much(pages)
    assert not growth.brings_much(pages[:LINKS_AT_ONCE])  # no more than one block
    urls.meet([*hosts, *pages], 1)
    assert not growth.brings_much(hosts)
    assert not growth.brings_much(pages)


def test_pages_that_only_the_store_knows_are_not_new(path: Path) -> None:
    pages = [f"{A}/{n}" for n in range(LINKS_AT_ONCE + 1)]
    with closing(HandCrawl(path)) as by_hand:
        by_hand.seeds(pages)
        by_hand.commit()
        assert not Growth(by_hand.loaded().urls).brings_much(pages)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a new host cost eight seconds, which are counted after each page."""
    monkeypatch.setattr(large_pages, "URLS_A_SECOND", 1)
    monkeypatch.setattr(large_pages, "LITTLE", A_HOST)
    monkeypatch.setattr(large_pages, "_UNCOUNTED", 0)


def settled(
    answers: dict[str, Answer], path: Path, *seeds: str
) -> tuple[dict[str, float], set[str]]:
    """Crawl, and return when each page was settled, and all known pages."""
    times: dict[str, float] = {}

    def hear(scene: Scene, event: Event) -> None:
        if isinstance(event, Settled):
            times[event.url] = scene.clock.now()

    run = crawl(FakeWeb(answers, elsewhere=html()), path, *seeds, hear=hear, scope="domain")
    return times, set(run.states)


@pytest.mark.usefixtures("slow")
def test_a_page_with_many_new_hosts_waits_until_earlier_ones_are_paid_for(path: Path) -> None:
    """A page with few new hosts, or with known ones, does not wait."""
    answers: dict[str, Answer] = {
        f"{A}/": html(*new_hosts("x", 3)),
        f"{B}/": html(*new_hosts("y", 3)),
        f"{C}/": html(f"{C}/1", f"{C}/2", *new_hosts("z", 1)),
        f"{D}/": html(*new_hosts("x", 3)),
    }
    times, known = settled(answers, path, *(f"{host}/" for host in (A, B, C, D)))
    assert known >= {*new_hosts("y", 3)}  # B kept its links while it waited on disk
    assert times[f"{B}/"] - times[f"{A}/"] >= 9
    assert times[f"{C}/"] - times[f"{A}/"] < 1
    assert times[f"{D}/"] - times[f"{A}/"] < 1


def test_an_index_that_is_read_again_lists_the_same_sitemaps(path: Path) -> None:
    index, sitemaps = f"{A}/index.xml", [f"{A}/{n}.xml" for n in range(4)]
    listed = "".join(f"<sitemap><loc>{one}</loc></sitemap>" for one in sitemaps)
    answer = text(f"<sitemapindex>{listed}</sitemapindex>")
    web = FakeWeb({index: answer._replace(headers={"content-type": "text/xml"})})
    run = crawl(web, path, index, max_sitemaps=3, continuous=True, for_=10, delay=1)
    assert run.asked.count(index) > 1
    assert links_of(path, index) == sitemaps[:3]
    cut = [
        event.detail for event in run.events if isinstance(event, Settled) and event.url == index
    ]
    assert all("3 sitemaps" in detail for detail in cut)
