"""Verdict on a crawl: its outcome for each fault, and complaints."""

import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from minicrawl.states import State
from tests.crawl.fakes import states_of
from tests.proofs.hostile.fault import DEADLINE_S, Fault
from tests.proofs.hostile.faults import INSIDE
from tests.proofs.hostile.sites import HEALTHY_PAGES, Sites

LAG_S = 0.25
"""Limit of the 99th percentile of the lag."""
GROWTH_BYTES = 64 << 20
_BOMB = re.compile(r"(?<=cut: a bomb): .*")
"""Matches the number of bytes received so far, which varies."""


class Row(NamedTuple):
    """Outcome of a request."""

    outcome: str
    elapsed_s: float


class Line(NamedTuple):
    """Final outcome of a fault, and the time of its longest request."""

    fault: str
    outcome: str
    longest_s: float
    requests: int
    complaint: str


def rows_of(store: Path) -> dict[str, list[Row]]:
    """Return the requests for each URL, in order."""
    found = defaultdict(list)
    with closing(sqlite3.connect(store)) as connection:
        for url, outcome, detail, elapsed_s in connection.execute(
            "SELECT origin || path, outcome, detail, elapsed_s FROM fetches "
            "JOIN urls ON urls.id = page JOIN hosts ON hosts.id = host ORDER BY fetches.id"
        ):
            text = f"page, {detail}" if outcome == "page" and detail else outcome
            found[url].append(Row(_BOMB.sub("", text), elapsed_s))
    return found


def judge(catalogue: Mapping[str, Fault], sites: Sites, store: Path) -> list[Line]:
    """Return a line for each fault."""
    rows, states = rows_of(store), states_of(store)
    return [
        _line(name, fault, rows[sites.seeds[name]], states[sites.seeds[name]])
        for name, fault in catalogue.items()
    ]


def _line(name: str, fault: Fault, rows: list[Row], state: State) -> Line:
    outcome = rows[-1].outcome if rows else _outcome_without_request(state)
    longest_s = max((row.elapsed_s for row in rows), default=0.0)
    return Line(name, outcome, longest_s, len(rows), _complaint(fault, outcome, longest_s))


def _outcome_without_request(state: State) -> str:
    return f"{'failed' if state.is_failure else 'refused'}:{state.label}"


def _complaint(fault: Fault, outcome: str, longest_s: float) -> str:
    if outcome not in fault.outcomes:
        return f"not {' or '.join(fault.outcomes)}"
    if longest_s > DEADLINE_S + 1:
        return "too late"
    return ""


def complaints(sites: Sites, store: Path) -> Iterable[str]:
    """Yield requests to private addresses, and healthy hosts that were not read completely."""
    rows, states = rows_of(store), states_of(store)
    for url in INSIDE:
        if states.get(url, State.ADDRESS) is not State.ADDRESS:
            yield f"{url} is {states[url].label}"
    for home in sites.healthy:
        read = [url for url in rows if url.startswith(home)]
        whole = [url for url in read if [row.outcome for row in rows[url]] == ["page"]]
        if not len(read) == len(whole) == HEALTHY_PAGES:
            yield f"of {home} {len(whole)} pages were read at once, of {HEALTHY_PAGES}"
