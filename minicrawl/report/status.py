"""How far a crawl has come, from what it counted and from the pages themselves.

N   pages known      G   units recorded in histories, the clock
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import NamedTuple

import numpy as np

from minicrawl.frontier.pages import STANDS_FOR_ANOTHER
from minicrawl.model import FailureKind, Refusal, State
from minicrawl.opic.money import UNIT
from minicrawl.report.snapshot import Snapshot
from minicrawl.store import questions, tables

_FEWEST_PAGES = 5
_MOST_OF_A_HOST = 0.8


class Mirror(NamedTuple):
    """A host that repeats another one."""

    host: str
    of_host: str
    pages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """All in one moment of the store."""

    pages_known: int
    pages_fetched: int
    pages_unread: int
    standing_for_others: dict[str, int]
    failures: dict[str, int]
    refusals: dict[str, int]
    hosts: int
    bytes: int
    requests: int | None
    running_s: float | None
    fetches_per_second: float | None
    found_per_fetch: float | None
    g: float
    error_factor: float | None
    cash_exact: bool
    importance_gathered: float
    mirrors: list[Mirror]
    store_bytes: int
    command: str | None  # that goes on, as it was given last

    def as_json(self) -> dict[str, object]:
        """Its numbers by their names."""
        return asdict(self) | {"mirrors": [mirror._asdict() for mirror in self.mirrors]}


def status(snapshot: Snapshot) -> Status:
    """Counts that the crawl did not leave behind are made here, or absent."""
    connection, ledger = snapshot.connection, snapshot.frontier.ledger
    counters = tables.counters(connection)
    counted = {name: number for name, number in counters.items() if isinstance(number, int | float)}
    known = len(snapshot)
    fetched = int(np.count_nonzero(snapshot.was_read))
    g = ledger.recorded / UNIT
    requests, running_s = counted.get("requests"), counted.get("running_s")
    wire_bytes = counted.get("wire_bytes")
    return Status(
        pages_known=known,
        pages_fetched=fetched,
        pages_unread=int(np.count_nonzero(snapshot.states == State.UNREAD)),
        standing_for_others=_counts(snapshot, (state.name for state in STANDS_FOR_ANOTHER)),
        failures=_counts(snapshot, FailureKind.__members__),
        refusals=_counts(snapshot, Refusal.__members__),
        hosts=questions.hosts_known(connection),
        bytes=questions.bytes_fetched(connection) if wire_bytes is None else int(wire_bytes),
        requests=None if requests is None else int(requests),
        running_s=running_s,
        fetches_per_second=requests / running_s if requests and running_s else None,
        found_per_fetch=known / fetched if fetched else None,
        g=g,
        error_factor=known / g if g else None,
        cash_exact=ledger.missing() == 0,
        importance_gathered=float(snapshot.importance[snapshot.was_read].sum()),
        mirrors=_mirrors(snapshot),
        store_bytes=snapshot.path.stat().st_size,
        command=str(counters.get(tables.COMMAND) or "") or None,
    )


def _counts(snapshot: Snapshot, names: Iterable[str]) -> dict[str, int]:
    """How many pages are in each of these states, if any is."""
    pages = np.bincount(snapshot.states, minlength=max(State) + 1).tolist()
    states = [State[name] for name in names]
    return {state.label: pages[state] for state in states if pages[state]}


def _mirrors(snapshot: Snapshot) -> list[Mirror]:
    """Pairs of hosts with so many pages in common that the smaller one may be all of it a mirror.

    Which page of two was read first is chance, so what they have in common is counted both ways.
    """
    common = Counter[tuple[int, int]]()
    for host, of_host, pages in tables.mirrors(snapshot.connection):
        common[min(host, of_host), max(host, of_host)] += pages
    candidates = [pair for pair in common.most_common() if pair[1] >= _FEWEST_PAGES]
    if not candidates:
        return []
    fetched = np.bincount(snapshot.host_of[snapshot.was_read], minlength=len(snapshot.origins))
    found = []
    for pair, pages in candidates:
        original, mirror = sorted(pair, key=lambda host: (-fetched[host], host))
        if pages >= _MOST_OF_A_HOST * fetched[mirror]:
            found.append(Mirror(snapshot.origins[mirror], snapshot.origins[original], pages))
    return found
