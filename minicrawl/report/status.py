"""Progress of a crawl, and hosts that mirror others.

Laws: `status` reads what the crawl itself counted, so it is immediate for a store of any size;
anything else is unknown. Only the convergence of the importance may take longer, in a store with a
short log, where it is converged for each report. `mirrors` compares pages by their content.

G   units of cash recorded in histories, the clock of OPIC      M   all units minted
"""

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from minicrawl.frontier.importance import converges_anew
from minicrawl.model import READ_STATES, STANDS_FOR_ANOTHER, FailureKind, Refusal, State
from minicrawl.opic.money import UNIT
from minicrawl.report.kept import Convergence, convergence
from minicrawl.report.snapshot import Snapshot
from minicrawl.store import questions, tables
from minicrawl.store.derived import OPIC, RankRow, gathered, rank_row, reading_beside
from minicrawl.store.files import bytes_of, files_of
from minicrawl.store.reader import reading, real_path, search_folder
from minicrawl.store.records import reporting_damage
from minicrawl.wording import counted

Counts = dict[str, int]

_STORE = "--store"


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Figures as of the last commit. The importance is updated from time to time.

    The error factor is M / G. `importance_gathered` is that of the converged importance if it
    includes all steps, otherwise an estimate.
    """

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
    convergence: Convergence | None
    store_bytes: int
    beside_bytes: Counts  # sizes of the files beside the store, by suffix
    pruning_waits: bool  # deletion waits until nobody reads the archive
    command: str | None  # resumes the crawl from the current folder

    def as_json(self) -> dict[str, object]:
        """Return the figures by name."""
        return asdict(self)


def status(path: Path) -> Status:
    """Return the status of a store, which a crawl may be writing."""
    with reading(path) as connection, reporting_damage(path):
        found = _status(path, connection, _converged(path, connection))
    others, name = files_of(path)[:-1], real_path(path).name
    sizes = {file.name.removeprefix(name): bytes_of(file) for file in others}
    return replace(found, beside_bytes=sizes)


def _converged(path: Path, connection: tables.Connection) -> RankRow | None:
    """Return the converged ranks on which the shown importance is based, or None."""
    with reading_beside(path, connection) as derived:
        row = rank_row(derived, OPIC)
    return Snapshot(path, connection).converged if converges_anew(row, connection) else row


def _status(path: Path, connection: tables.Connection, converged: RankRow | None) -> Status:
    counters = tables.counters(connection)
    counted = {name: number for name, number in counters.items() if isinstance(number, int | float)}
    pages = _pages_by_state(counters)
    known = questions.pages_known(connection) - (pages or {}).get(State.FOREIGN, 0)
    fetched = None if pages is None else sum(pages.get(state, 0) for state in READ_STATES)
    recorded, minted = counted.get(tables.RECORDED), counted.get(tables.MINTED)
    g = None if recorded is None else recorded / UNIT
    found = convergence(converged, known, tables.last_step(connection))
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
        error_factor=minted / recorded if minted and recorded else None,
        importance_gathered=_gathered(converged, found) or counted.get(tables.GATHERED),
        convergence=found,
        store_bytes=path.stat().st_size,
        beside_bytes={},
        pruning_waits=counters.get(tables.PRUNING_WAITS) is True,
        command=_command(counters, path),
    )


def _command(counters: Mapping[str, object], path: Path) -> str | None:
    """Return the command that resumes the crawl from the current folder."""
    command, here = str(counters.get(tables.COMMAND) or ""), Path.cwd()
    folder, store = counters.get(tables.BEGUN_IN), counters.get(tables.BEGUN_AS)
    if not command or (folder, store) in ((None, None), (str(here), str(real_path(path)))):
        return command or None
    words = _without_store(shlex.split(command))
    is_elsewhere = folder != str(here) and Path(str(folder)).is_dir()
    named = shlex.join([*words, "--store", str(real_path(path) if is_elsewhere else path)])
    return f"cd {shlex.quote(str(folder))} && {named}" if is_elsewhere else named


def _without_store(words: list[str]) -> list[str]:
    pairs = pairwise(("", *words))
    return [word for before, word in pairs if not word.startswith(_STORE) and before != _STORE]


def _gathered(converged: RankRow | None, found: Convergence | None) -> float | None:
    if converged is None or found is None or found.steps_since:
        return None
    return gathered(converged)


def _pages_by_state(counters: Mapping[str, object]) -> dict[State, int] | None:
    found = counters.get(tables.STATES)
    if not isinstance(found, dict):
        return None
    return {State(int(state)): int(pages) for state, pages in found.items()}


def _named(pages: Mapping[State, int] | None, names: Iterable[str]) -> Counts | None:
    """Return the number of pages in each of these states, without zeros."""
    if pages is None:
        return None
    states = [State[name] for name in names]
    return {state.label: pages[state] for state in states if state in pages}


def _whole(number: float | None) -> int | None:
    return None if number is None else int(number)


# ---------------------------------------------------------------- mirrors

_FEWEST_PAGES = 5
_MOST_OF_A_HOST = 0.8


class Mirror(NamedTuple):
    """Host that mirrors another."""

    host: str
    of_host: str
    pages: int

    def __str__(self) -> str:
        return f"{self.host} mirrors {self.of_host} ({counted(self.pages, 'page')})"


def mirrors(path: Path) -> list[Mirror]:
    """Return the probable mirrors, largest first.

    Near-duplicates according to the search index count as well.
    """
    with reading(path) as connection, reporting_damage(path):
        return _mirrors(connection, _alike_across_hosts(path, connection))


def _alike_across_hosts(path: Path, connection: tables.Connection) -> Counter[tuple[int, int]]:
    """Return the number of near-duplicates between each pair of hosts."""
    folder = search_folder(path)
    if not folder.exists():
        return Counter()
    from minicrawl.report.near_duplicates import NONE, kept

    found = kept(folder, tables.birth(connection)) or NONE
    host_of = tables.whole(tables.urls(connection, "host"), "host")
    pairs = zip(host_of[found.pages].tolist(), host_of[found.originals].tolist(), strict=True)
    return Counter((min(pair), max(pair)) for pair in pairs if pair[0] != pair[1])


def _duplicates_across_hosts(connection: tables.Connection) -> Counter[tuple[int, int]]:
    """Return the number of copies between pairs of hosts, with the host of the copy first."""
    leads_to: dict[int, int] = {}
    for pages, states in tables.frontier(connection, "id", "state"):
        found = pages[states == State.ALIAS].tolist()
        spendings = tables.spendings_of(connection, found)
        leads_to |= {
            page: spending.links[0] for page, spending in zip(found, spendings, strict=True)
        }
    ends = np.fromiter((_end(page, leads_to) for page in leads_to), dtype=np.int64)
    host_of = tables.whole(tables.urls(connection, "host"), "host")
    pairs = zip(host_of[[*leads_to]].tolist(), host_of[ends].tolist(), strict=True)
    return Counter(pair for pair in pairs if pair[0] != pair[1])


def _end(page: int, leads_to: Mapping[int, int]) -> int:
    while page in leads_to:
        page = leads_to[page]
    return page


def _mirrors(connection: tables.Connection, alike: Counter[tuple[int, int]]) -> list[Mirror]:
    """Return pairs of hosts that have most pages of one in common, whichever was read first.

    The mirror is the host with more duplicates of the other one, as `duplicates` lists them; if
    both have the same number, the smaller one.
    """
    common = Counter(alike)
    for host, of_host, pages in tables.mirrors(connection):
        common[min(host, of_host), max(host, of_host)] += pages
    candidates = [pair for pair in common.most_common() if pair[1] >= _FEWEST_PAGES]
    if not candidates:
        return []
    origins, read = questions.origins(connection), questions.pages_read_by_host(connection)
    copies, found = _duplicates_across_hosts(connection), []
    for (one, other), pages in candidates:
        more = {one: copies[one, other], other: copies[other, one]}
        original, mirror = sorted(more, key=lambda host: (more[host], -read.get(host, 0), host))
        if pages >= _MOST_OF_A_HOST * read.get(mirror, 0):
            found.append(Mirror(origins[mirror], origins[original], pages))
    return found
