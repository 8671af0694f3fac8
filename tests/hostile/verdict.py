"""What a store says of each fault, and what of that is wrong."""

import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from minicrawl.model import State
from tests.crawl.fakes import states_of
from tests.hostile.fault import DEADLINE_S, Fault
from tests.hostile.faults import INSIDE
from tests.hostile.sites import HEALTHY_PAGES, Sites

LAG_S = 0.25
"""The loop may be so late, 99 times of 100."""
GROWTH_BYTES = 64 << 20
_BOMB = re.compile(r"(?<=cut: a bomb): .*")
"""It says how many bytes had come by then, which is chance."""


class Row(NamedTuple):
    """A request for a page."""

    outcome: str
    elapsed_s: float


class Line(NamedTuple):
    """One fault: how its page's turn ended, and how long its longest request took."""

    fault: str
    outcome: str
    longest_s: float
    requests: int
    complaint: str


def rows_of(store: Path) -> dict[str, list[Row]]:
    """All requests for pages, by URL, in their order."""
    found = defaultdict(list)
    with closing(sqlite3.connect(store)) as connection:
        for url, outcome, detail, elapsed_s in connection.execute(
            "SELECT origin || path, outcome, detail, elapsed_s FROM fetches "
            "JOIN urls ON urls.id = page JOIN hosts ON hosts.id = host ORDER BY fetches.id"
        ):
            told = f"page, {detail}" if outcome == "page" and detail else outcome
            found[url].append(Row(_BOMB.sub("", told), elapsed_s))
    return found


def judge(catalogue: Mapping[str, Fault], sites: Sites, store: Path) -> list[Line]:
    """A line for each fault."""
    rows, states = rows_of(store), states_of(store)
    return [
        _line(name, fault, rows[sites.seeds[name]], states[sites.seeds[name]])
        for name, fault in catalogue.items()
    ]


def _line(name: str, fault: Fault, rows: list[Row], state: State) -> Line:
    outcome = rows[-1].outcome if rows else _settled_unasked(state)
    longest_s = max((row.elapsed_s for row in rows), default=0.0)
    return Line(name, outcome, longest_s, len(rows), _complaint(fault, outcome, longest_s))


def _settled_unasked(state: State) -> str:
    return f"{'failed' if state.is_failure else 'refused'}:{state.label}"


def _complaint(fault: Fault, outcome: str, longest_s: float) -> str:
    if outcome not in fault.outcomes:
        return f"not {' or '.join(fault.outcomes)}"
    if longest_s > DEADLINE_S + 1:
        return "too late"
    return ""


def complaints(sites: Sites, store: Path) -> Iterable[str]:
    """What is wrong with all the rest: who went inside, which healthy page was not read."""
    rows, states = rows_of(store), states_of(store)
    for url in INSIDE:
        if states.get(url, State.ADDRESS) is not State.ADDRESS:
            yield f"{url} is {states[url].label}"
    for home in sites.healthy:
        read = [url for url in rows if url.startswith(home)]
        whole = [url for url in read if [row.outcome for row in rows[url]] == ["page"]]
        if not len(read) == len(whole) == HEALTHY_PAGES:
            yield f"of {home} {len(whole)} pages were read at once, of {HEALTHY_PAGES}"
