"""The public search page of `search --serve`, by HTTP requests and in a browser."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import httpx
import pytest

pytest.importorskip("tantivy")
pytest.importorskip("selectolax")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from minicrawl.cli import main
from minicrawl.errors import UsageError
from minicrawl.search.beside_crawl import Indexing
from minicrawl.search.indexing.rounds import bring_up_to_date
from minicrawl.search.public import guard
from minicrawl.search.public.guard import (
    BURST,
    MOST_AT_ONCE,
    RATE_S,
    RateLimit,
    Turns,
    client_of,
)
from minicrawl.search.public.search import PublicSearch
from tests.dashboard.servers import ARGUMENTS, CHROMIUM, PATIENCE_MS, needs_chromium
from tests.processes import killed_on_failure
from tests.search.stored.stores import indexed, read_into

BASE = "http://search.example/find/"
EVIL = "<script>alert(1)</script>"
PAGES = {
    "http://a.example/evil": f"<html lang=en><title>{EVIL} harbour</title>".replace("<s", "&lt;s")
    + "<p>&lt;b&gt; a harbour \u202e with crabs and management of quays",
    **{
        f"http://b.example/{n}": f"<html lang=de><title>Quay {n}</title><p>harbour {n * 'x'}"
        for n in range(14)
    },
}


LOOK = {"title": "Find <quays>", "logo": "Quays", "text": "All & quays", "colors": ["link=#800"]}
"""Options of the look of a page."""


def test_a_page_has_the_look_of_its_options_or_of_the_file_beside_the_store(store: Path) -> None:
    file = store.with_name("crawl.db-search.toml")
    search = PublicSearch(store, BASE, look=LOOK)
    page, style, description = asked_of(search, "/", "/style.css", "/opensearch.xml")
    assert "<title>Find &lt;quays&gt;</title>" in page.text
    assert ">Quays</a></h1>" in page.text
    assert "All &amp; quays" in page.text
    assert "--link: #800" in style.text
    root = ElementTree.fromstring(description.text)
    assert [root[at].text for at in (0, 1)] == ["Quays", "All & quays"]
    file.write_text('[page]\ntitle = "Of the file"\nlogo = "File"')
    try:
        (page,) = asked_of(PublicSearch(store, look={"logo": "Quays"}), "/")
        assert "<title>Of the file</title>" in page.text
        assert ">Quays</a></h1>" in page.text
        file.write_text("[page]\nfont = 3")
        with pytest.raises(UsageError, match="page may have title"):
            PublicSearch(store)
    finally:
        file.unlink()
    (page,) = asked_of(PublicSearch(store), "/")
    assert "<title>Search</title>" in page.text  # not the name of a file
    with pytest.raises(UsageError, match="is not a colour"):
        PublicSearch(store, look={"colors": ["link=red;x"]})


def test_a_feed_has_the_pages_that_match_the_latest_first(store: Path) -> None:
    feed, refused = asked_of(PublicSearch(store, BASE), "/feed.xml?q=harbour", "/feed.xml?q=-x")
    channel = ElementTree.fromstring(feed.text)[0]
    dates = [parsedate_to_datetime(item.findtext("pubDate") or "") for item in channel.iter("item")]
    assert len(dates) == len(PAGES)
    assert dates == sorted(dates, reverse=True)
    assert EVIL in {
        (item.findtext("title") or "").partition(" ")[0] for item in channel.iter("item")
    }
    assert channel.findtext("link") == f"{BASE}?q=harbour"
    assert refused.status_code == 422


def test_a_feed_leaves_out_pages_that_are_known_only_by_links(path: Path) -> None:
    page = "<title>Quay</title><p>the harbour <a href=/unread>an unread harbour</a>"
    linked = indexed(path, {"http://a.example/": page})
    (search,) = asked_of(PublicSearch(linked, BASE), "/search.json?q=harbour")
    assert len(search.json()["results"]) == 2
    (feed,) = asked_of(PublicSearch(linked, BASE), "/feed.xml?q=harbour")
    assert [item.findtext("title") for item in ElementTree.fromstring(feed.text).iter("item")] == [
        "Quay"
    ]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return indexed(tmp_path_factory.mktemp("public") / "crawl.db", PAGES)


def client_for(search: PublicSearch, limit: RateLimit | None = None) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(search.app(limit or RateLimit()))
    return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1")


def asked(store: Path, *urls: str) -> list[httpx.Response]:
    return asked_of(PublicSearch(store, BASE), *urls)


def asked_of(search: PublicSearch, *urls: str) -> list[httpx.Response]:
    """Return the responses of one server whose clock stands still."""

    async def ask() -> list[httpx.Response]:
        async with client_for(search, RateLimit(lambda: 0.0)) as client:
            return [await client.get(url) for url in urls]

    return asyncio.run(ask())


def found(store: Path, query: str, **more: str) -> Any:
    address = httpx.URL("/search.json", params={"q": query} | more)
    return asked(store, str(address))[0].json()


def test_json_has_totals_pages_and_facets(store: Path) -> None:
    answer = found(store, "harbour", page="2", n="4")
    assert (answer["total"], answer["page"], answer["pages"], answer["per_page"]) == (15, 2, 4, 4)
    assert [one["rank"] for one in answer["results"]] == [5, 6, 7, 8]
    assert answer["facets"]["host"] == [
        {"value": "b.example", "pages": 14},
        {"value": "a.example", "pages": 1},
    ]
    assert answer["facets"]["language"][0] == {"value": "de", "pages": 14}
    assert answer["facets"]["type"] == [{"value": "html", "pages": 15}]
    (year,) = answer["facets"]["year"]
    assert found(store, f"harbour year:{year['value']} lang:en type:html")["total"] == 1
    assert found(store, "harbour -type:html")["total"] == 0


def test_a_misspelt_query_is_corrected_with_a_message(store: Path) -> None:
    answer = found(store, "managment")
    assert answer["answered_instead"] == "management"
    assert answer["results"][0]["url"] == "http://a.example/evil"
    (page,) = asked(store, "/?q=managment")
    assert "<b>management</b>" in page.text


def test_a_bad_query_has_an_error_and_no_results(store: Path) -> None:
    for query in ("", "?!", "\0", "-x", "after:never", "year:1", "a" * 20_000):
        answer = found(store, query)
        assert ("error" in answer) != ("results" in answer), query
        assert str(store) not in str(answer)
    for page, n in (("-3", "x"), ("9" * 99, "9" * 99), ("²", "0")):
        assert 1 <= found(store, "harbour", page=page, n=n)["per_page"] <= 50, page


def test_text_of_pages_is_escaped(store: Path) -> None:
    (page,) = asked(store, f"/?q=harbour {EVIL} lang:en")
    assert "<script" not in page.text
    assert "\u202e" not in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert page.text.count("<mark>") > 0


def test_the_page_is_the_same_with_and_without_the_path_of_a_proxy(store: Path) -> None:
    whole, short, moved = asked(store, "/find/?q=quay", "/?q=quay", "/find?q=harbour")
    assert whole.text == short.text
    assert (moved.status_code, moved.headers["location"]) == (308, "/find/?q=harbour")


def test_opensearch_describes_search_and_suggestions(store: Path) -> None:
    description, suggestions, none = asked(
        store, "/opensearch.xml", "/suggest?q=a quay har", "/suggest?q=a "
    )
    space = {"": "http://a9.com/-/spec/opensearch/1.1/"}
    urls = ElementTree.fromstring(description.text).findall("Url", space)
    assert {one.attrib["type"] for one in urls} >= {"text/html", "application/x-suggestions+json"}
    assert all(one.attrib["template"].startswith(BASE) for one in urls)
    assert suggestions.json() == ["a quay har", ["a quay harbour"]]
    assert none.json() == ["a ", []]


def test_the_rate_limit_is_per_client_and_post_is_refused(store: Path) -> None:
    async def ask() -> list[httpx.Response]:
        async with client_for(PublicSearch(store), RateLimit(lambda: 0.0)) as client:
            answers = [await client.post("/search.json")]
            return answers + [await client.get(f"/suggest?q={n}") for n in range(BURST)]

    refused, *answers, last = asyncio.run(ask())
    assert refused.status_code == 405
    assert {one.status_code for one in answers} == {200}
    assert (last.status_code, last.headers["retry-after"]) == (429, "1")
    now = [0.0]
    limit = RateLimit(lambda: now[0])
    assert [limit.wait_s("a") > 0 for _ in range(BURST + 1)][-2:] == [False, True]
    assert limit.wait_s("b") == 0
    now[0] += 1 / RATE_S
    assert limit.wait_s("a") == 0


def test_a_client_pays_for_the_processor_time_of_its_searches() -> None:
    now = [0.0]
    limit = RateLimit(lambda: now[0])
    for client, dearer, requests in (("quick", 0, BURST), ("dear", 4, BURST // 5)):
        allowed = 0
        while limit.wait_s(client) == 0:
            limit.charge(client, dearer)
            allowed += 1
        assert allowed == requests
    limit.charge("dear", 2 * BURST)  # more than it had: it owes
    assert limit.wait_s("dear") > BURST / RATE_S
    assert limit.used("new") < limit.used("quick") < limit.used("dear")
    now[0] += (2 * BURST + 1) / RATE_S
    assert limit.used("quick") == limit.used("new") == 0
    assert limit.wait_s("dear") == 0


def test_a_search_is_charged_even_if_it_fails(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    charges = list[float]()
    monkeypatch.setattr(RateLimit, "charge", lambda _limit, _client, cost: charges.append(cost))
    monkeypatch.setattr(guard, "REQUEST_CPU_S", 1e-9)
    answers = asked(store, "/?q=harbour", "/search.json?q=after:never", "/suggest?q=q", "/?q=%00")
    assert [one.status_code for one in answers] == [200, 422, 200, 422]
    assert len(charges) == 8
    assert set(charges[::2]) == {1}
    assert all(cost > 0 for cost in charges[1::2])


def test_the_next_turn_is_that_of_the_client_that_has_used_least() -> None:
    async def order() -> list[float]:
        turns, taken = Turns(), list[float]()

        async def take(due: float) -> None:
            async with turns.turn(due):
                taken.append(due)
                await asyncio.sleep(0)

        waiting = [asyncio.create_task(take(due)) for due in (5.0, 4.0, 9.0, 1.0, 4.0)]
        await asyncio.sleep(0)
        assert len(turns) == 5
        waiting[2].cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        assert len(turns) == 0
        return taken

    assert asyncio.run(order()) == [5.0, 1.0, 4.0, 4.0]


def test_a_client_has_few_requests_at_a_time(store: Path) -> None:
    async def ask() -> list[int]:
        async with client_for(PublicSearch(store)) as client:
            many = (client.get("/?q=quay") for _ in range(MOST_AT_ONCE + 3))
            return [one.status_code for one in await asyncio.gather(*many)]

    statuses = asyncio.run(ask())
    assert statuses.count(200) == MOST_AT_ONCE
    assert statuses.count(429) == 3


@pytest.mark.parametrize(
    ("peer", "forwarded", "has_proxy", "client"),
    [
        ("192.0.2.1", "", False, "192.0.2.1"),
        ("127.0.0.1", "6.6.6.6, 8.8.8.8", True, "8.8.8.8"),
        ("127.0.0.1", "8.8.8.8", False, "127.0.0.1"),
        ("8.8.8.8", "9.9.9.9", True, "8.8.8.8"),
        ("10.0.0.1", "nonsense", True, "10.0.0.1"),
        ("2001:db8:1:2::3", "", False, "2001:db8:1:2::/64"),
        ("", "", False, ""),
    ],
)
def test_only_a_private_proxy_can_name_the_client(
    peer: str, forwarded: str, has_proxy: bool, client: str
) -> None:
    assert client_of(peer, forwarded, has_proxy=has_proxy) == client


def test_the_server_survives_a_rebuilt_index_and_invalid_synonyms(store: Path) -> None:
    messages = list[str]()
    search = PublicSearch(store, say=messages.append)
    file = store.with_name(f"{store.name}-search.toml")

    async def ask() -> list[httpx.Response]:
        async with client_for(search) as client:
            answers = [await client.get("/search.json?q=quay")]
            file.write_text("pins = 3")
            answers += [await client.get("/search.json?q=quay") for _ in range(2)]
            file.unlink()
            bring_up_to_date(store, fresh=True)
            return [*answers, await client.get("/search.json?q=quay")]

    assert [one.json()["total"] for one in asyncio.run(ask())] == [15] * 4
    assert len(messages) == 1
    assert str(file) in messages[0]


@pytest.mark.parametrize("options", [["--host", "127.0.0.1"], ["--base-url", BASE]])
def test_options_of_the_public_page_need_serve(store: Path, options: list[str]) -> None:
    assert main(["search", "words", *options, "--store", str(store)]) == 2
    assert main(["search", "--serve", "--base-url", "nonsense", "--store", str(store)]) == 2


@pytest.fixture(scope="module")
def address(store: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "minicrawl", "search", "--serve", "--host", "127.0.0.1"]
    with killed_on_failure(
        subprocess.Popen(
            [*command, "--port", "0", "--store", str(store)], stdout=subprocess.PIPE, text=True
        )
    ) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.terminate()


@pytest.mark.slow
@needs_chromium
@pytest.mark.timeout(300)
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_the_page_is_accessible(address: str, colours: Any) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        page = opened.new_page(viewport={"width": 360, "height": 740}, color_scheme=colours)
        page.set_default_timeout(PATIENCE_MS)
        page.goto(address)
        page.get_by_label("Words to find").fill("harbor")
        page.keyboard.press("Enter")
        page.wait_for_selector("#results > li")
        for place in ("", "/?q=harbour&page=2", "/?q=after:never"):
            page.goto(f"{address.rstrip('/')}{place}" if place else page.url)
            wrong = axe.run(page).response["violations"]
            assert wrong == [], [one["id"] for one in wrong]
            width = page.evaluate("document.documentElement.scrollWidth")
            assert width <= 360


@pytest.mark.slow
def test_pages_and_next_steps_say_if_the_index_lacks_pages(tmp_path: Path) -> None:
    store, companion = tmp_path / "crawl.db", Indexing()
    assert not companion.next_commands(store)
    indexed(store, dict(list(PAGES.items())[:4]))
    assert found(store, "harbour")["indexed"] is None
    assert "indexed " not in asked(store, "/?q=harbour")[0].text
    assert companion.next_commands(store) == ("search WORDS",)
    read_into(store, {url: text.encode() for url, text in list(PAGES.items())[4:]})
    count = found(store, "harbour")["indexed"]
    assert count == {"pages": 4, "of": len(PAGES)}
    text = f"indexed {count['pages']} of {count['of']} pages; the rest follows"
    assert text in asked(store, "/?q=harbour")[0].text
    assert not companion.next_commands(store)
    (tmp_path / "crawl.db-search" / "notes.db").write_bytes(b"damaged")
    assert not companion.next_commands(store)
