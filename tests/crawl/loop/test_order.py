"""Orders in which a crawl reads pages."""

from pathlib import Path
from typing import Any

import pytest

from minicrawl import Asked, Event, Noted
from minicrawl.config.table import BY_NAME
from minicrawl.crawl.hosts.host import Host
from minicrawl.states import State
from tests.crawl.fakes import FakeWeb, Scene, crawl, web_of
from tests.crawl.loop.webs import A, B, C, reach, star, tangle

WINDOWS, STRATEGIES = (BY_NAME[name].kind.names for name in ("window", "strategy"))


@pytest.mark.parametrize(
    ("strategy", "window"),
    [*((one, WINDOWS[0]) for one in STRATEGIES), *((STRATEGIES[0], one) for one in WINDOWS[1:])],
)
def test_all_orders_and_windows_read_the_same_pages(strategy: str, window: str, path: Path) -> None:
    links = tangle(20, hosts=3, links=4)
    run = crawl(web_of(links), path, next(iter(links)), strategy=strategy, window=window)
    assert {url for url, state in run.states.items() if state is State.FETCHED} == reach(links)


@pytest.mark.usefixtures("cheap_hosts")
@pytest.mark.parametrize("strategy", ["siblings", "greedy"])
@pytest.mark.parametrize(("concurrency", "delay"), [(1, 0), (3, 2)])
def test_the_next_page_is_the_best_of_all_whose_host_may_be_asked(
    concurrency: int, delay: int, strategy: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compare each choice with a search over the whole ledger at that moment."""
    links = tangle(30, hosts=5, links=6)
    chosen: dict[int, int] = {}
    asked: list[int] = []

    async def search(scene: Scene) -> None:
        frontier, parts = scene.recorder.frontier, scene.crawler.parts
        hosts, queue = parts.hosts, parts.leases.queue
        begin = hosts.begin

        def compare(host: Host, now: float) -> None:
            ready = [
                page
                for page, other in enumerate(frontier.urls.host_of)
                if frontier.state[page] == State.UNREAD
                and page not in asked  # its host may be free before the page is settled
                and hosts[other].rules
                and hosts.may_be_asked(hosts[other], now)
                and (
                    other == host.id or queue.is_ready(other)
                )  # turns of others may just be ending
            ]
            if host.rules:
                worth = queue.key if strategy == "siblings" else frontier.ledger.cash
                chosen[host.id] = max(ready, key=worth)
                assert frontier.urls.host_of[chosen[host.id]] == host.id
            begin(host, now)

        monkeypatch.setattr(hosts, "begin", compare)

    def hear(scene: Scene, event: Event) -> None:
        if isinstance(event, Asked):
            page = scene.recorder.frontier.urls.find(event.url)
            assert page is not None
            assert chosen.pop(scene.recorder.frontier.urls.host_of[page]) == page
            asked.append(page)

    web = FakeWeb(web_of(links), takes_s=0.3)
    order: dict[str, Any] = {"delay": delay, "concurrency": concurrency, "strategy": strategy}
    crawl(web, path, next(iter(links)), during=search, hear=hear, **order)
    assert len(asked) == len(reach(links))
    assert asked != sorted(asked)


def test_breadth_first_reads_pages_in_the_order_in_which_they_were_found(path: Path) -> None:
    links = tangle(30, hosts=1, links=4)
    web = FakeWeb(web_of(links))
    crawl(web, path, next(iter(links)), strategy="breadth-first")
    found: dict[str, None] = {next(iter(links)): None}
    for url in web.asked:
        found |= dict.fromkeys(links[url])
    assert web.asked == list(found)


def test_the_random_order_is_the_same_in_every_run(tmp_path: Path) -> None:
    orders = []
    for name, strategy in (("1", "random"), ("2", "random"), ("3", "breadth-first")):
        web = FakeWeb(star(A, 30))
        crawl(web, tmp_path / name, f"{A}/", strategy=strategy)
        orders.append(web.asked)
    assert orders[0] == orders[1]
    assert orders[0] != orders[2]
    assert sorted(orders[0]) == sorted(orders[2])


@pytest.mark.usefixtures("cheap_hosts")
@pytest.mark.parametrize(
    ("order_by", "strategy", "sites"),
    [
        ("page", "greedy", "aaaabcccc"),
        ("site", "greedy", "aaaaccccb"),
        ("site", "siblings", "aaaaccccb"),
    ],
)
def test_the_site_given_most_is_first(order_by: str, strategy: str, sites: str, path: Path) -> None:
    """Site b has the richest page, c got more as a whole, and a got cash from the user alone."""
    pages_of_c = [f"{C}/{name}" for name in ("", "1", "2", "3")]
    links = {f"{A}/": ["/1", "/2", "/3"], f"{A}/1": pages_of_c, f"{A}/2": pages_of_c}
    links |= {f"{A}/3": [f"{B}/"], f"{B}/": []} | {page: [] for page in pages_of_c}
    order: dict[str, Any] = {"order_by": order_by, "strategy": strategy, "endowment": 90}
    run = crawl(web_of(links), path, f"{A}/", concurrency=1, **order)
    assert "".join(url.removeprefix("http://")[0] for url in run.asked) == sites


@pytest.mark.parametrize(("concurrency", "is_said"), [(2, True), (1, False)])
def test_an_order_without_effect_is_noted(concurrency: int, is_said: bool, path: Path) -> None:
    """With two slots, each of the two known hosts has one of its own."""
    web = star(A, 3) | star(B, 3)
    seeds = f"{A}/", f"{B}/"
    run = crawl(web, path, *seeds, order_by="site", concurrency=concurrency)
    notes = [event.text for event in run.events if isinstance(event, Noted)]
    assert any("--order-by site" in note and "2 hosts" in note for note in notes) == is_said
