"""How far a crawl has come, as it was counted while it crawled.

Law: nothing is counted here, so that the answer comes at once however large the store is; what a
store did not count is unknown.

N   pages known      G   units recorded in histories, the clock

Hosts that repeat another one, by the pages that have the same content.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from minicrawl.model import READ_STATES, STANDS_FOR_ANOTHER, FailureKind, Refusal, State
from minicrawl.opic.money import UNIT
from minicrawl.store import questions, tables
from minicrawl.store.reader import reading
from minicrawl.store.trouble import reporting_damage

_FEWEST_PAGES = 5
_MOST_OF_A_HOST = 0.8


class Mirror(NamedTuple):
    """A host that repeats another one."""

    host: str
    of_host: str
    pages: int

    @property
    def in_words(self) -> str:
        """On one line."""
        return f"{self.host} repeats {self.of_host} ({self.pages:,} pages)"


def mirrors(path: Path) -> list[Mirror]:
    """The hosts that may be mirrors, the largest first. Looks at every page that was read."""
    with reading(path) as connection, reporting_damage(path):
        return _mirrors(connection)


def _mirrors(connection: tables.Connection) -> list[Mirror]:
    """Pairs of hosts with so many pages in common that the smaller one may be all of it a mirror.

    Which page of two was read first is chance, so what they have in common is counted both ways.
    """
    common = Counter[tuple[int, int]]()
    for host, of_host, pages in tables.mirrors(connection):
        common[min(host, of_host), max(host, of_host)] += pages
    candidates = [pair for pair in common.most_common() if pair[1] >= _FEWEST_PAGES]
    if not candidates:
        return []
    origins, read = questions.origins(connection), questions.pages_read_by_host(connection)
    found = []
    for pair, pages in candidates:
        original, mirror = sorted(pair, key=lambda host: (-read.get(host, 0), host))
        if pages >= _MOST_OF_A_HOST * read.get(mirror, 0):
            found.append(Mirror(origins[mirror], origins[original], pages))
    return found


Counts = dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """All as of the last commit, but for the importance: that is added up now and then."""

    pages_known: int
    pages_fetched: int | None
    pages_unread: int | None
    standing_for_others: Counts | None
    failures: Counts | None
    refusals: Counts | None
    hosts: int
    bytes: int | None
    requests: int | None
    running_s: float | None
    fetches_per_second: float | None
    found_per_fetch: float | None
    g: float | None
    error_factor: float | None
    importance_gathered: float | None
    store_bytes: int
    command: str | None  # that goes on, as it was given last

    def as_json(self) -> dict[str, object]:
        """Its numbers by their names."""
        return asdict(self)


def status(path: Path) -> Status:
    """The store as it is now; a crawl may go on writing it."""
    with reading(path) as connection, reporting_damage(path):
        return _status(path, connection)


def _status(path: Path, connection: tables.Connection) -> Status:
    counters = tables.counters(connection)
    counted = {name: number for name, number in counters.items() if isinstance(number, int | float)}
    pages = _pages_by_state(counters)
    known = questions.pages_known(connection)
    fetched = None if pages is None else sum(pages.get(state, 0) for state in READ_STATES)
    recorded = counted.get(tables.RECORDED)
    g = None if recorded is None else recorded / UNIT
    requests, running_s = counted.get("requests"), counted.get("running_s")
    return Status(
        pages_known=known,
        pages_fetched=fetched,
        pages_unread=None if pages is None else pages.get(State.UNREAD, 0),
        standing_for_others=_named(pages, (state.name for state in STANDS_FOR_ANOTHER)),
        failures=_named(pages, FailureKind.__members__),
        refusals=_named(pages, Refusal.__members__),
        hosts=questions.hosts_known(connection),
        bytes=_whole(counted.get("wire_bytes")),
        requests=_whole(requests),
        running_s=running_s,
        fetches_per_second=requests / running_s if requests and running_s else None,
        found_per_fetch=known / fetched if fetched else None,
        g=g,
        error_factor=known / g if g else None,
        importance_gathered=counted.get(tables.GATHERED),
        store_bytes=path.stat().st_size,
        command=str(counters.get(tables.COMMAND) or "") or None,
    )


def _pages_by_state(counters: Mapping[str, object]) -> dict[State, int] | None:
    found = counters.get(tables.STATES)
    if not isinstance(found, dict):
        return None
    return {State(int(state)): int(pages) for state, pages in found.items()}


def _named(pages: Mapping[State, int] | None, names: Iterable[str]) -> Counts | None:
    """How many pages are in each of these states, if any is."""
    if pages is None:
        return None
    states = [State[name] for name in names]
    return {state.label: pages[state] for state in states if state in pages}


def _whole(number: float | None) -> int | None:
    return None if number is None else int(number)
