"""Progress of a crawl, finished or running: `minicrawl status`.

Laws: `status` reads what the crawl itself counted, so it is immediate for a store of any size;
anything else is unknown. Only the convergence of the importance may take longer, in a store with
a short log, where it is converged for each report. `mirrors` compares pages by their content.

G   units of cash recorded in histories, the clock of OPIC      M   all units minted
"""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from minicrawl import ext
from minicrawl.archive.reader import ArchiveReader
from minicrawl.frontier.importance import converges_anew, gathered_now
from minicrawl.opic.ledger.money import UNIT
from minicrawl.report.saved_ranks import Convergence, convergence
from minicrawl.report.snapshot import Snapshot
from minicrawl.states import FAILURES, READ_STATES, REFUSALS, STANDS_FOR_ANOTHER, State
from minicrawl.store import questions, tables
from minicrawl.store.derived.file import reading_beside
from minicrawl.store.derived.ranks import OPIC, RankRow, guaranteed, rank_row
from minicrawl.store.disk.files import bytes_of, files_of
from minicrawl.store.disk.trouble import reporting_damage
from minicrawl.store.reader import archive_folder, reading, real_path
from minicrawl.store.written_links import WrittenLinks, written_bytes

Counts = dict[str, int]

_STORE = "--store"


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Figures as of the last commit. The importance is updated from time to time.

    The error factor is M / G. `importance_gathered` is the share of the importance of readable
    pages that is on pages read, by converged importance if that includes all steps, otherwise by
    the crawl's estimate. `importance_guaranteed` is a lower bound of the same share by PageRank
    with jumps to the seeds alone, as of the last time the importance converged.
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
    importance_guaranteed: float | None
    convergence: Convergence | None
    store_bytes: int
    beside_bytes: Counts  # sizes of the files beside the store, by suffix
    pruning_waits: bool  # deletion waits until nobody reads the archive
    taken_down: Sequence[tables.Takedown]  # oldest first
    command: str | None  # resumes the crawl from the current folder
    goes_on_until: str | None  # with this --until, if that of the command has ended the crawl


def status(path: Path) -> Status:
    """Return the status of a store, which a crawl may be writing."""
    with reading(path) as connection, reporting_damage(path):
        with reading_beside(path, connection) as derived:
            row = rank_row(derived, OPIC)
        proven = None if row is None else guaranteed(row, connection)
        if converges_anew(row, connection):
            snapshot = Snapshot(path, connection)
            row, proven = snapshot.converged, snapshot.guaranteed
        status = _status(path, connection, row, proven)
    beside, name = files_of(path)[:-1], real_path(path).name
    sizes = {file.name.removeprefix(name): bytes_of(file) for file in beside}
    return replace(status, beside_bytes=sizes)


def _status(
    path: Path,
    connection: tables.Connection,
    converged: RankRow | None,
    proven: float | None,
) -> Status:
    counters = tables.counters(connection)
    counted = {name: number for name, number in counters.items() if isinstance(number, int | float)}
    pages: dict[State, int] | None = None
    if isinstance(of_states := counters.get(tables.STATES), dict):
        pages = {State(int(state)): int(number) for state, number in of_states.items()}
    known = questions.pages_known(connection) - (pages or {}).get(State.FOREIGN, 0)
    fetched = None if pages is None else sum(pages.get(state, 0) for state in READ_STATES)
    recorded, minted = counted.get(tables.RECORDED), counted.get(tables.MINTED)
    until = counters.get(tables.GOES_ON_UNTIL)
    requests, running_s = counted.get("requests"), counted.get("running_s")
    return Status(
        pages_known=known,
        pages_fetched=fetched,
        pages_unread=None if pages is None else pages.get(State.UNREAD, 0),
        standing_for_others=_named(pages, STANDS_FOR_ANOTHER),
        failures=_named(pages, FAILURES),
        refusals=_named(pages, REFUSALS),
        hosts=questions.hosts_known(connection),
        bytes=_whole(counted.get("wire_bytes")),
        requests=_whole(requests),
        running_s=running_s,
        fetches_per_second=requests / running_s if requests and running_s else None,
        found_per_fetch=known / fetched if fetched else None,
        g=None if recorded is None else recorded / UNIT,
        error_factor=minted / recorded if minted and recorded else None,
        importance_gathered=gathered_now(converged, connection),
        importance_guaranteed=proven,
        convergence=convergence(converged, known, tables.last_step(connection)),
        store_bytes=path.stat().st_size,
        beside_bytes={},
        pruning_waits=counters.get(tables.PRUNING_WAITS) is True,
        taken_down=tables.takedowns(counters),
        command=_command(counters, path),
        goes_on_until=str(until) if until else None,
    )


def _command(counters: Mapping[str, object], path: Path) -> str | None:
    """Return the command that resumes the crawl from the current folder."""
    command, here = str(counters.get(tables.COMMAND) or ""), Path.cwd()
    folder, store = counters.get(tables.BEGUN_IN), counters.get(tables.BEGUN_AS)
    if not command or (folder, store) in ((None, None), (str(here), str(real_path(path)))):
        return command or None
    pairs = pairwise(("", *shlex.split(command)))
    words = [word for before, word in pairs if not word.startswith(_STORE) and before != _STORE]
    is_elsewhere = folder != str(here) and Path(str(folder)).is_dir()
    named = shlex.join([*words, "--store", str(real_path(path) if is_elsewhere else path)])
    return f"cd {shlex.quote(str(folder))} && {named}" if is_elsewhere else named


def _named(pages: Mapping[State, int] | None, states: Iterable[State]) -> Counts | None:
    """Return the number of pages in each of these states, without zeros."""
    if pages is None:
        return None
    return {state.label: pages[state] for state in states if state in pages}


def _whole(number: float | None) -> int | None:
    return None if number is None else int(number)


class StoredPart(NamedTuple):
    """Part of a store: number of items, their unit, and their bytes if known."""

    part: str
    number: int
    of: str
    bytes: int | None


def stored_parts(store: Path) -> list[StoredPart]:
    """Return all parts of a store and of the files beside it."""
    progress, folder = status(store), archive_folder(store)
    parts = [StoredPart("fetched", progress.requests or 0, "requests", progress.bytes)]
    with reading(store) as connection, reporting_damage(store):
        end = tables.archive_end(connection)
        if end is not None and folder.is_dir():
            with closing(ArchiveReader(folder, end)) as archive:
                records = sum(records for _, records, _ in archive.index.totals(end))
            parts.append(StoredPart("repository", records, "answers", bytes_of(folder)))
        series = tables.counters(connection).get(tables.WARC)
        if isinstance(series, dict) and (bodies := series.get("bodies")):
            saved_bytes = series.get("saved_bytes")
            parts.append(StoredPart("saved in WARC files", bodies, "bodies", saved_bytes))
        for stored in ext.loaded(ext.STORED):  # of packages, such as the search index
            parts += stored(store)
        number, size = questions.links_stored(connection)
        parts.append(StoredPart("links", number, "links", size))
        if links := WrittenLinks(connection):
            parts.append(StoredPart("link texts", len(links), "pages", written_bytes(connection)))
        number, size = questions.documents_stored(connection)
        parts.append(StoredPart("documents", number, "pages", size))
    failures = (progress.failures or {}).items()
    return parts + [StoredPart(f"failed: {kind}", pages, "pages", None) for kind, pages in failures]
