"""A web in a dict, and crawls of that web into a real store, by a clock that jumps."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

from minicrawl import Asked, Event, Reason, Settled
from minicrawl.checking.links import check_links
from minicrawl.crawl.admission.scope import gate_for
from minicrawl.crawl.loop import Crawler
from minicrawl.crawl.record.recorder import Recorder
from minicrawl.crawl.start.opening import plant
from minicrawl.crawl.workers.visitor import Visitor, WorkerConfig
from minicrawl.errors import NoRoom
from minicrawl.frontier.loading import load_frontier
from minicrawl.frontier.page_table import Frontier
from minicrawl.model import Failed, FetchResult, Moved, Refused, Request, Response
from minicrawl.opic.importance.expected_value import ValueEstimate
from minicrawl.opic.siblings.siblings import Siblings
from minicrawl.states import State
from minicrawl.store import step_log, tables
from minicrawl.store.reader import connect, reading
from minicrawl.store.records import Batch, StoreTerms
from minicrawl.store.writer import StoreReplica, StoreWriter
from minicrawl.web.urls import ResolvedUrl
from tests.crawl.jumping_clock import FakeClock, in_time
from tests.limits import settings_of
from tests.stores import urls_of

Answer = FetchResult | Callable[[Request], FetchResult | Awaitable[FetchResult]]


class Visit(NamedTuple):
    """A request that has ended."""

    url: str
    began: float
    ended: float
    request: Request


def html(*links: str, title: str = "", head: str = "", body: str = "", **headers: str) -> Response:
    """Return a page. Names of headers are written with underscores."""
    anchors = "\n".join(f'<a href="{link}">to {link}</a>' for link in links)
    text = f"<title>{title}</title>{head}<body>{body}\n{anchors}"
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(
        status=200,
        headers={"content-type": "text/html", **named},
        body=text.encode(),
        wire_bytes=len(text.encode()),
    )


def text(body: str) -> Response:
    """Return a robots.txt or a sitemap."""
    return Response(status=200, headers={}, body=body.encode(), wire_bytes=len(body.encode()))


def failed(kind: State, retry_after: str | None = None) -> Failed:
    return Failed(kind=kind, retry_after=retry_after)


def moved(target: str) -> Moved:
    return Moved(status=301, target=target)


def canonical(target: str) -> str:
    return f'<link rel="canonical" href="{target}">'


def in_turn(*answers: Answer) -> Answer:
    """Return these answers one after the other, then the last one for ever."""
    waiting = list(answers)

    def answer(request: Request) -> FetchResult | Awaitable[FetchResult]:
        chosen = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        return chosen(request) if callable(chosen) else chosen

    return answer


def web_of(links: Mapping[str, Sequence[str]]) -> dict[str, Answer]:
    """Return pages with these links, each with content of its own."""
    return {url: html(*ends, title=url) for url, ends in links.items()}


def waits(visits: Iterable[Visit]) -> list[float]:
    """Return the times from the end of each request to the start of the next."""
    in_order = sorted(visits, key=lambda visit: visit.began)
    return [after.began - before.ended for before, after in pairwise(in_order)]


def intervals(visits: Iterable[Visit]) -> list[float]:
    """Return the times between the starts of consecutive requests."""
    return [later - before for before, later in pairwise(sorted(visit.began for visit in visits))]


_NOT_FOUND = failed(State.NOT_FOUND)


@dataclass
class FakeWeb:
    """A `Fetcher`. URLs without an answer, robots.txt too, get `elsewhere`, usually not found."""

    answers: dict[str, Answer]
    elsewhere: Answer = _NOT_FOUND
    takes_s: float = 0.0
    places: dict[str, str | Refused | Failed] = field(default_factory=dict)
    visits: list[Visit] = field(default_factory=list)
    under_way: list[str] = field(default_factory=list)
    most_at_once: int = 0

    async def fetch(self, request: Request) -> FetchResult:
        began = asyncio.get_running_loop().time()
        self.under_way.append(request.url)
        self.most_at_once = max(self.most_at_once, len(self.under_way))
        try:
            await asyncio.sleep(self.takes_s)
            answer = self.answers.get(request.url, self.elsewhere)
            found = answer(request) if callable(answer) else answer
            return await found if isinstance(found, Awaitable) else found
        finally:
            self.under_way.remove(request.url)
            ended = asyncio.get_running_loop().time()
            self.visits.append(Visit(request.url, began, ended, request))

    async def locate(self, url: str) -> str | Refused | Failed:
        origin = url[: url.index("/", 8)]
        return self.places.get(origin, origin.partition("//")[2])

    @property
    def asked(self) -> list[str]:
        """Requested pages in the order of their requests, without robots.txt and sitemaps."""
        return [visit.url for visit in self.page_visits]

    @property
    def page_visits(self) -> list[Visit]:
        """Requests of `asked`."""
        return [
            visit
            for visit in sorted(self.visits, key=lambda visit: visit.began)
            if not visit.url.endswith(("/robots.txt", ".xml"))
        ]

    def visits_of(self, origin: str) -> list[Visit]:
        return [visit for visit in self.visits if visit.url.startswith(f"{origin}/")]


@dataclass
class Disk:
    """A disk that tests can fill; `tries` counts failed writes, and hooks run before a write."""

    takes_batches: bool = True
    takes_checkpoints: bool = True
    failure: type[NoRoom] = NoRoom
    tries: int = 0
    before_commit: Callable[[Batch], None] = lambda _: None
    before_checkpoint: Callable[[StoreWriter], None] = lambda _: None

    def take(self, takes: bool) -> None:
        if not takes:
            self.tries += 1
            raise self.failure("crawl.db: full")


def frontier_of(path: Path) -> Frontier:
    """Return the frontier that a resumed crawl would load."""
    with reading(path) as connection:
        return _load(connection, partial(step_log.spending, connection))


def _load(connection: tables.Connection, *memory: Any) -> Frontier:
    terms = tables.terms(connection) or StoreTerms()
    return load_frontier(connection, terms, *memory, siblings=True)


def loaded_and_folded(path: Path) -> tuple[Frontier, Frontier]:
    """Return a frontier from the last checkpoint, and one from all steps of the log."""
    with reading(path) as connection:
        spending_at = partial(step_log.spending, connection)
        loaded = _load(connection, spending_at)
        folded = Frontier(tables.terms(connection) or StoreTerms(), spending_at)
        folded.urls.load_hosts(connection)
        folded.siblings = Siblings(folded.ledger, folded.urls.host_of, folded.urls.sites)
        if loaded.values is not None:
            folded.values = ValueEstimate(folded.siblings, folded.urls.load_traits(connection))
        for row in step_log.steps_after(connection, 0):
            folded.apply(row)
    return loaded, folded


@contextmanager
def keeping(
    path: Path, terms: StoreTerms | None = None, replica: StoreReplica | None = None
) -> Iterator[Recorder]:
    """Open a store with a recorder, as `app` does."""
    with ExitStack() as leaving:
        store = StoreWriter.open(path, replica)
        leaving.callback(store.close)
        # Waiting for the real disk would test nothing here.
        store.connection.execute("PRAGMA synchronous = OFF")
        store.agree(terms or StoreTerms())
        connection = connect(path)
        leaving.callback(connection.close)
        recorder = Recorder(store, connection, partial(_load, store.connection))
        leaving.callback(recorder.close)
        yield recorder


def books_balance(frontier: Frontier) -> bool:
    ledger = frontier.ledger
    return ledger.missing() == 0 and ledger.unread == frontier.state.count(State.UNREAD)


@dataclass
class Run:
    """A crawl that ended."""

    reason: Reason
    events: list[Event]
    path: Path
    recorder: Recorder
    ended_at: float
    web: FakeWeb

    @property
    def asked(self) -> list[str]:
        """Requested URLs, in the order of the crawl's events."""
        return [event.url for event in self.events if isinstance(event, Asked)]

    @property
    def settled(self) -> dict[str, State]:
        return {event.url: event.state for event in self.events if isinstance(event, Settled)}

    @property
    def states(self) -> dict[str, State]:
        """States of all known pages in the store."""
        return states_of(self.path)


def states_of(path: Path) -> dict[str, State]:
    states = frontier_of(path).states().tolist()
    with reading(path) as connection:
        return {tables.url_of(connection, page): State(state) for page, state in enumerate(states)}


def links_of(path: Path, url: str) -> list[str]:
    """Return the links that get the cash of the page."""
    with reading(path) as connection:
        memory = partial(step_log.spending, connection), partial(urls_of, connection)
        frontier = _load(connection, *memory)
        page = frontier.urls.find(url)
        assert page is not None
        return [tables.url_of(connection, link) for link in frontier.spendings.of(page).links]


@dataclass
class Scene:
    """Parts of a running crawl that a test may look at."""

    crawler: Crawler
    recorder: Recorder
    web: FakeWeb
    clock: FakeClock


During = Callable[[Scene], Coroutine[Any, Any, None]]
Hear = Callable[[Scene, Event], None]


async def crawling(
    web: FakeWeb,
    path: Path,
    seeds: Sequence[str],
    during: During | None = None,
    hear: Hear | None = None,
    later_s: float = 0.0,
    replica: StoreReplica | None = None,
    **settings: Any,
) -> Run:
    """Run a crawl as `app` does, and `during` beside it. The books must balance at the end."""
    chosen = settings_of(**{"delay": 0, "address_delay": 0, "store": path, **settings})
    order, storing = chosen.order, chosen.storing
    terms = StoreTerms(
        small_edge=order.small_edge,
        window=order.window,
        width=order.width,
        links=storing.links,
        strip_marks=storing.strip_marks,
    )
    events: list[Event] = []
    with keeping(path, terms, replica) as recorder:
        await plant(recorder, map(ResolvedUrl, seeds), order.endowment)
        clock, gate = FakeClock(later_s), gate_for(recorder, chosen.scope)

        def tell(event: Event) -> None:
            events.append(event)
            if hear:
                hear(scene, event)

        # The jumping clock would never wait for another process.
        config = replace(WorkerConfig.of(chosen), scorers=())
        visitor = Visitor(web, config, enough_s=inf)
        crawler = Crawler(chosen, recorder, visitor, gate, clock, tell)
        scene = Scene(crawler, recorder, web, clock)
        beside = during and asyncio.ensure_future(during(scene))
        try:
            reason, ended_at = await crawler.run(), clock.now()
            if chosen.asks_beside:
                await crawler.attend(check_links(crawler))
        finally:
            await visitor.aclose()
            if beside:
                beside.cancel()
                await asyncio.wait((beside,))
        if beside and not beside.cancelled():
            beside.result()
        assert books_balance(recorder.frontier)
        loaded = frontier_of(path)
        assert loaded.ledger.totals == recorder.frontier.ledger.totals
        assert loaded.ledger.key == recorder.frontier.ledger.key
        assert loaded.state == recorder.frontier.state
    return Run(reason, events, path, recorder, ended_at, web)


def crawl(
    web: FakeWeb | dict[str, Answer],
    path: Path,
    *seeds: str,
    during: During | None = None,
    hear: Hear | None = None,
    later_s: float = 0.0,
    replica: StoreReplica | None = None,
    **settings: Any,
) -> Run:
    """Run a crawl with `crawling` in a loop whose time jumps, begun `later_s` after noon."""
    fake = web if isinstance(web, FakeWeb) else FakeWeb(web)
    return in_time(crawling(fake, path, seeds, during, hear, later_s, replica, **settings))
