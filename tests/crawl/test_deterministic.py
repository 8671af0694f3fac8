"""`--deterministic`: the same pages in the same order, however long servers take."""

import random
import time
from collections import defaultdict
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from minicrawl import Crawl, MinicrawlError, Settings, Settled, Store
from minicrawl.demo.pages import DemoResponse
from minicrawl.demo.server import DemoServer
from minicrawl.demo.web import DemoWeb

DELAY_S = 0.02


class Jittery:
    """The demo web, whose servers take a random time, and fail at first now and then.

    `asked` has the times of requests.
    """

    def __init__(self) -> None:
        self.web = DemoWeb(200)
        self.asked: defaultdict[str, list[float]] = defaultdict(list)

    def answer(
        self, host: str, target: str, headers: Mapping[str, str], visits: int, /
    ) -> DemoResponse:
        self.asked[host].append(time.monotonic())
        if not visits and crc32(f"{host}{target}".encode()) % 6 == 0:
            return DemoResponse(503, {}, delay_s=random.random() * 0.01)
        found = self.web.answer(host, target, headers, 0)
        return found._replace(delay_s=random.random() * 0.01)


def order(store: Path, **settings: Any) -> tuple[list[str], list[str], Jittery]:
    """Crawl; return the pages in the order of their turns, the known pages by ID, and the web."""
    web, turns = Jittery(), list[str]()
    with DemoServer(web) as server:
        chosen = {"pages": 150, "delay": DELAY_S, "address_delay": 0, **settings}
        crawl = Crawl(
            web.web.seeds, Settings.of(store=store, resolve=[f"*={server.address}"], **chosen)
        )
        crawl.subscribe(lambda event: turns.append(str(getattr(event, "url", ""))), (Settled,))
        crawl.run()
    with Store.open(store) as found:
        return turns, found.graph.urls(), web


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        {"pages": 150},
        {"pages": 40, "max_rate": "60,400kB"},
        {
            "pages": 40,
            "check": ("external", "assets"),
            "requisites": True,
            "sitemaps": True,
            "workers": 2,
        },
    ],
    ids=["plain", "rate", "checks"],
)
def test_two_crawls_have_the_same_pages_in_the_same_order(
    tmp_path: Path, settings: Mapping[str, Any]
) -> None:
    first, known, web = order(tmp_path / "a.db", deterministic=True, **settings)
    second, known_again, _ = order(tmp_path / "b.db", deterministic=True, **settings)
    assert len(first) >= settings["pages"]
    assert first == second
    assert known == known_again
    gaps = [late - early for times in web.asked.values() for early, late in pairwise(times)]
    assert len(gaps) > settings["pages"] / 2
    assert min(gaps) > DELAY_S * 0.9  # the times are those at which the server had read a request


@pytest.mark.parametrize(
    ("setting", "value", "flag"),
    [
        ("for_", 5, "--for"),
        ("until", 0.5, "--until"),
        ("delay", "auto", "--delay auto"),
        ("refresh", 1, "--refresh"),
        ("render", "auto", "--render"),
    ],
)
def test_settings_that_depend_on_time_are_refused(
    tmp_path: Path, setting: str, value: object, flag: str
) -> None:
    settings = Settings.of(store=tmp_path / "a.db", deterministic=True, **{setting: value})  # type: ignore[arg-type]
    with pytest.raises(MinicrawlError, match=f"{flag} cannot"):
        Crawl(["http://a.example/"], settings).run()
