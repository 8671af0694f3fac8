"""A crawl of the web of traps, and its outcome."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from minicrawl import Crawl, Settings
from minicrawl.demo.server import DemoServer
from minicrawl.report.snapshot import snapshot
from minicrawl.states import State
from minicrawl.store import tables
from tests.proofs.traps.web import TrapWeb

ASIDE = (State.TRAP, State.ALLOWANCE, State.TWIN)
OFF: Mapping[str, str] = {"barren_pages": "none", "site_pages": "none"}
"""Settings without the limits that end traps."""
LEAST_HEALTHY, MOST_TRAPPED = 0.9, 0.1
"""Least share of healthy pages that are read, and largest share of requests that traps may get."""


class Outcome(NamedTuple):
    """Requests and pages put aside, by kind of trap."""

    requests: Counter[str]
    healthy_share: float
    aside: Mapping[str, Counter[str]]
    """Number of pages by the limit that put them aside."""
    examples: Mapping[tuple[str, str], str]
    """URL of a page for each kind and limit."""

    @property
    def trapped_share(self) -> float:
        """Share of all requests that traps got."""
        return 1 - self.requests["healthy"] / self.requests.total()


def crawl(store: Path, **limits: Any) -> Outcome:
    """Crawl with a budget of twice the healthy pages."""
    web = TrapWeb()
    with DemoServer(web) as server:
        settings = Settings.of(
            pages=2 * len(web.healthy),
            store=store,
            delay=0,
            per_address=64,
            workers=0,
            allow_private=True,
            resolve=[f"*={server.address}"],
            **limits,
        )
        Crawl(web.seeds, settings).run()
    requests = Counter[str]()
    for url, times in server.requests.items():
        requests[web.kind_of(url)] += times
    asked = server.requests.keys() & web.healthy
    return Outcome(requests, len(asked) / len(web.healthy), *_aside(web, store))


def _aside(web: TrapWeb, store: Path) -> tuple[dict[str, Counter[str]], dict[tuple[str, str], str]]:
    aside: dict[str, Counter[str]] = defaultdict(Counter)
    examples: dict[tuple[str, str], str] = {}
    with snapshot(store) as seen:
        for page, state in enumerate(seen.frontier.state):
            if state in ASIDE:
                url = seen.url(page)
                (row,) = tables.last_fetches(seen.connection, page, 1)
                limit = row.detail.rpartition(": ")[2]
                aside[web.kind_of(url)][limit] += 1
                examples.setdefault((web.kind_of(url), limit), url)
    return aside, examples
