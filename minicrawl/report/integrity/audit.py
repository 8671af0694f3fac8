"""Integrity check of a store: a check for each of its laws.

Laws: an audit trusts nothing in the store. It ends with a list of problems, never with a traceback
or an endless loop. A checkpoint only saves time: replaying all steps gives the same frontier and
the same ledger, to the atom.
"""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minicrawl.archive.reader import ArchiveReader, verify as verify_archive
from minicrawl.archive.record import key_of
from minicrawl.archive.segments import offset_of, segment_of
from minicrawl.errors import DamagedStore, MinicrawlError
from minicrawl.frontier.loading import contradictions, verify
from minicrawl.frontier.page_table import Frontier
from minicrawl.opic.ledger.books import StepKind
from minicrawl.opic.ledger.channels import ShardPlace
from minicrawl.opic.ledger.ledger import READ
from minicrawl.ports import Progress
from minicrawl.report.archived.page_versions import lost_pages
from minicrawl.report.snapshot import inlinks, last_spent, unproven
from minicrawl.states import STANDS_FOR_ANOTHER, State
from minicrawl.store import page_columns, questions, step_log, tables
from minicrawl.store.disk import integrity
from minicrawl.store.disk.trouble import NONSENSE
from minicrawl.store.merging import merged_until
from minicrawl.store.reader import archive_folder, reading
from minicrawl.store.records import StoreTerms
from minicrawl.store.stored_links import unpack
from minicrawl.store.written_links import wrong_blocks
from minicrawl.web.sites import site
from minicrawl.web.urls import host_of
from minicrawl.wording import counted

_DENSE = ("urls", "hosts", "frontier")
_OF_POTS = frozenset((StepKind.SEND, StepKind.RECEIVE))
"""Steps that need not concern a page."""
_SHOWN = 10
_SHARE_BEFORE_REPLAY = 0.2  # of the running time, roughly


@dataclass(slots=True)
class Audit:
    """Result of an audit: checks made, problems found, and checks that were impossible."""

    checked: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def is_intact(self) -> bool:
        """True if no problem was found."""
        return not self.wrong

    def lines(self) -> Iterator[str]:
        """Yield the problems or `ok`, then what could not be checked."""
        yield from self.wrong
        if self.is_intact:
            yield f"ok: {', '.join(self.checked)}"
        yield from (f"not checked: {note}" for note in self.notes)

    def to_json(self) -> dict[str, object]:
        return {"ok": self.is_intact} | asdict(self)


Check = Callable[[tables.Connection, Path], Iterator[str]]


def audit(path: Path, progress: Progress = lambda _share: None) -> Audit:
    """Run the checks in order; in `_CHECKS`, the first one that finds a problem ends the audit."""
    audit = Audit()
    try:
        with reading(path) as connection:
            # The first check with a finding is the last one: those after it rely on what it checks,
            # and would report a thousand consequences of one cause, or not end.
            for number, (name, check) in enumerate(_CHECKS.items()):
                progress(_SHARE_BEFORE_REPLAY * number / len(_CHECKS))
                _run(name, partial(check, connection, path), audit)
                if audit.wrong:
                    return audit
            if (tables.terms(connection) or StoreTerms()).shards > 1:
                _run("shard", partial(_shard, connection, path), audit)
            _check_replay(connection, path, audit, progress)
            _run("commit", partial(_commit, connection, path), audit)
            if audit.is_intact and (end := tables.archive_end(connection)) is not None:
                _run("pages", partial(_archive, path, connection, end), audit)
            if audit.is_intact:
                _note_open_warc(connection, audit)
    except DamagedStore as error:  # the schema is read before all checks
        audit.wrong.append(str(error))
    return audit


def _run(name: str, check: Callable[[], Iterator[str]], audit: Audit) -> None:
    audit.checked.append(name)
    problems = check()
    try:
        # A few problems show what is wrong; a damaged column would yield one for each page.
        audit.wrong += [f"{name}: {problem}" for problem in islice(problems, _SHOWN)]
        if next(problems, None):
            audit.wrong.append(f"{name}: and more")
    # A check may stumble over values that no code expects: that, too, is a finding.
    except (MinicrawlError, *NONSENSE) as error:
        audit.wrong.append(f"{name}: {error}")


def _values(connection: tables.Connection, _path: Path) -> Iterator[str]:
    """Check the types and ranges that the other checks and all commands rely on."""
    yield from integrity.bad_columns(connection)
    is_imported = (tables.terms(connection) or StoreTerms()).imported
    if not is_imported and (count := integrity.foreign_origins(connection)):
        hosts = counted(count, "host has", "hosts have")
        yield f"{hosts} an origin that is not the beginning of a URL"


def _ids(connection: tables.Connection, _path: Path) -> Iterator[str]:
    for table in _DENSE:
        # Ids are the indices of all arrays of pages: a gap would shift every page behind it.
        count, least, greatest = integrity.extent(connection, table)
        if (least, greatest) != (0, count - 1):
            yield f"{table} has {counted(count, 'row')} with ids from {least} to {greatest}"
    count, last = integrity.steps_known(connection)
    if count != last and _has_links(connection):
        yield f"the log has {counted(count, 'step')}, and the last one has number {last}"
    if count := integrity.urls_without_host(connection):
        yield f"{counted(count, 'URL')} without a host"


def _born(connection: tables.Connection, _path: Path) -> Iterator[str]:
    """Check that every page was added by a step, by all steps and by those since the checkpoint."""
    known, _, _ = integrity.extent(connection, "urls")
    saved, _, _ = integrity.extent(connection, "frontier")
    watermark = int(tables.meta(connection, "watermark") or 0)
    born = saved + integrity.born_after(connection, watermark)
    if born != known:
        yield f"the store has {counted(known, 'URL')}, but {counted(born, 'page')}"
    if _has_links(connection) and (born := integrity.born_after(connection, 0)) != known:
        yield f"the store has {counted(known, 'URL')}, but {counted(born, 'page')} by the steps"


def _links(connection: tables.Connection, _path: Path) -> Iterator[str]:
    known, _, _ = integrity.extent(connection, "urls")
    for step, kind, _, blob in integrity.all_spendings(connection):
        try:
            spending = unpack(blob)
        except ValueError as error:
            yield f"step {step}: {error}"
            continue
        links = [*spending.links, *spending.unpaid]
        if not links and (kind in _OF_POTS or spending.self_link):
            continue
        if not links or min(links) < 0 or max(links) >= known:
            yield f"step {step} links to pages that do not exist"
    yield from wrong_blocks(connection, known)


def _forwards(connection: tables.Connection, _path: Path) -> Iterator[str]:
    """Check that no pages stand for each other in a cycle, where cash would move for ever."""
    targets: dict[int, int] = {}
    for pages, states, steps in page_columns.blocks(connection, "frontier", "id", "state", "spent"):
        stands_for = np.isin(states, STANDS_FOR_ANOTHER)
        for page, seq in zip(pages[stands_for].tolist(), steps[stands_for].tolist(), strict=True):
            if links := step_log.spending(connection, seq).links:
                targets[page] = links[0]
            else:
                yield f"page {page} stands for another page, but no step says which"
    settled: set[int] = set()
    for start in targets:
        trail: set[int] = set()
        page = start
        while page in targets and page not in settled:
            settled.add(page)
            trail.add(page)
            page = targets[page]
        if page in trail:
            yield f"page {page} stands for itself"


def _books(connection: tables.Connection, path: Path) -> Iterator[str]:
    ledger = unproven(path, connection).ledger
    if missing := ledger.missing():
        yield f"{counted(missing, 'atom')} of cash missing"
    keys = np.frombuffer(ledger.key, dtype=np.int64)
    # A page that was read has its key and all dividends as cash (`opic.ledger`), so only a key
    # below -D is a debt. An unread page has no dividends to fall back on.
    floors = np.where(
        np.frombuffer(ledger.flags, dtype=np.uint8) & READ, -ledger.virtual_page.dividend, 0
    )
    for page in np.flatnonzero(keys < floors).tolist():
        yield f"page {page} has a negative amount of cash: {ledger.cash(page):,} atoms"


def _shard(connection: tables.Connection, path: Path) -> Iterator[str]:
    """Check that the pages of other shards, and no others, have the state FOREIGN."""
    frontier, origins = unproven(path, connection), questions.origins(connection)
    place = ShardPlace(frontier.terms.shard, frontier.terms.shards)
    owners = np.array([place.owner(site(host_of(origin))) for origin in origins], dtype=np.int64)
    host_of_each = page_columns.whole(connection, "urls", "host")
    is_foreign = frontier.states() == State.FOREIGN
    for page in np.flatnonzero((owners[host_of_each] != place.number) != is_foreign).tolist():
        yield f"page {page} belongs to shard {owners[host_of_each[page]]}, against its state"


_CHECKS: dict[str, Check] = {
    "file": lambda connection, _path: iter(integrity.integrity_errors(connection)),
    "values": _values,
    "ids": _ids,
    "births": _born,
    "links": _links,
    "forwards": _forwards,
    "books": _books,
}
"""Checks in order: later ones rely on earlier ones."""


def _check_replay(
    connection: tables.Connection, path: Path, audit: Audit, progress: Progress
) -> None:
    if not _has_links(connection):
        audit.notes.append("the fold: a store without links keeps only its last steps")
    # Version 0.1 dealt the cash anew when it refined, and wrote no step that says so.
    elif (seq := tables.meta(connection, "restated")) is not None:
        audit.notes.append(f"the fold: the ranks were refined after step {seq}")
    else:
        merged = merged_until(connection)

        def report(share: float) -> None:
            progress(_SHARE_BEFORE_REPLAY + (1 - _SHARE_BEFORE_REPLAY) * share)

        def replay() -> Iterator[str]:
            loaded = unproven(path, connection)
            yield from differences(connection, loaded, report, has_cash=not merged)

        _run("fold", replay, audit)
        if merged:
            audit.notes.append(f"the cash of each page: shards moved it until step {merged}")


def _commit(connection: tables.Connection, path: Path) -> Iterator[str]:
    """Check that the pages are those that the last commit counted."""
    frontier = unproven(path, connection)
    verify(frontier, connection)
    yield from contradictions(frontier, connection)


def _archive(path: Path, connection: tables.Connection, end: int) -> Iterator[str]:
    """Check every record of the archive that the last commit knows."""
    if not (folder := archive_folder(path)).is_dir():
        yield f"{folder} is gone, with all pages that were kept"
        return
    yield from lost_pages(connection, folder)

    def urls_of_keys(keys: set[int]) -> dict[int, str]:
        """Return the URLs of records whose own URL is damaged. Scans all URLs."""
        urls = (url for _, url in questions.all_urls(connection))
        return {key: url for url in urls if (key := key_of(url)) in keys}

    with closing(ArchiveReader(folder, end)) as reader:
        yield from verify_archive(reader, urls_of_keys)


def _note_open_warc(connection: tables.Connection, audit: Audit) -> None:
    """Name the WARC file that a crawl has not completed."""
    from minicrawl.archive.warc.series import WarcSeries

    series = WarcSeries.read(tables.counters(connection).get(tables.WARC))
    if series is None or not (path := series.open_path(segment_of(series.end))).is_file():
        return
    if path.stat().st_size < offset_of(series.end):
        audit.wrong.append(f"warc: {path} is shorter than the store says")
    audit.notes.append(
        f"{path}, which has no index yet: the crawl that writes it completes it, or, if that was "
        f"killed, the next one with --warc {series.folder}"
    )


def _has_links(connection: tables.Connection) -> bool:
    return (tables.terms(connection) or StoreTerms()).links


_STEPS_PER_REPORT = 1000  # steps between progress reports


def differences(
    connection: tables.Connection,
    loaded: Frontier,
    progress: Progress = lambda _share: None,
    *,
    has_cash: bool = True,
) -> Iterator[str]:
    """Yield a line for each page and total that differs between the store and its steps."""
    # The replay applies the steps with the code of the crawl. A second implementation would be more
    # independent, but would have to repeat each rule of the ledger, to the atom; and the audit is
    # meant to find damaged stores, not wrong rules.
    replayed, last = Frontier(loaded.terms, partial(step_log.spending, connection)), loaded.last_seq
    try:
        for row in step_log.steps_after(connection, 0):
            replayed.apply(row)
            if not row.seq % _STEPS_PER_REPORT:
                progress(min(row.seq / max(last, 1), 1.0))
    except NONSENSE as error:
        yield f"step {replayed.last_seq} cannot be replayed: {error}"
        return
    states = (np.array(stored.state, dtype=np.int64) for stored in (loaded, replayed))
    yield from _column_differences("state", *states)
    if has_cash:
        keys = (np.array(frontier.ledger.key, dtype=np.int64) for frontier in (loaded, replayed))
        yield from _column_differences("key", *keys)
        for page in range(len(loaded)):
            if loaded.window.past(page) != replayed.window.past(page):
                yield f"page {page} has another history than the steps say"
        stored, by_steps = loaded.ledger.totals, replayed.ledger.totals
        if stored != by_steps:
            yield f"the totals are {stored}, but {by_steps} by the steps"
    for name, loaded_column, replayed_column in (
        ("inlinks", inlinks(connection, loaded), replayed.gained()),
        ("spent", last_spent(connection, loaded), replayed.spendings.of_all(len(replayed))),
    ):
        yield from _column_differences(name, loaded_column, replayed_column)
    if loaded.span and replayed.span and loaded.span.notes != replayed.span.notes:
        yield "times were noted at other moments of the ledger than the steps say"
    if loaded.books.forwards != replayed.books.forwards:
        yield "pages stand for other pages than the steps say"
    if _channels(loaded) != _channels(replayed):
        yield f"batches were {_channels(loaded)}, but {_channels(replayed)} by the steps"


def _column_differences(name: str, loaded: NDArray[Any], replayed: NDArray[Any]) -> Iterator[str]:
    for page in np.flatnonzero(loaded != replayed).tolist():
        yield f"page {page} has {name} {loaded[page]}, but {replayed[page]} by the steps"


def _channels(frontier: Frontier) -> list[tuple[object, ...]]:
    """Return the state of the channels to other shards, as sortable rows."""
    rows = {} if frontier.channels is None else frontier.channels.as_rows()
    return [(name, *end) for name, ends in rows.items() for end in ends]
