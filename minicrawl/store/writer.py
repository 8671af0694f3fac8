"""The only connection that writes: the lock of a store, its batches and its checkpoints.

A store is a log with a checkpoint. The log is the table `steps`: every change of the ledger, one
row each, only ever appended. The checkpoint is the table `frontier`, one row a page, and the
watermark W in `meta`, the last step that these rows include. Opening a store loads the rows and
applies the steps after W to them. Two kinds of transactions keep that true:

    commit      append steps, URLs, requests and documents, and replace the counters
    checkpoint  write the rows of the pages that changed since the last checkpoint, and W

Page 7 has 300 atoms at step 900. Step 920 adds 40 to them:

    event                             last step   W     row of page 7   a reader adds up
    checkpoint                        900         900   300             300
    commit of steps 901 to 950        950         900   300             300 + 40
    killed during the checkpoint      950         900   300             300 + 40
    checkpoint                        950         950   340             340

SQLite rolls back a transaction that was cut off, so each line happens as a whole or not at all: a
kill loses the steps that were not committed, and their pages are requested again. A commit
appends at the end of a few tables and is quick; a checkpoint writes rows all over the largest one.
Hence commits are frequent and checkpoints rare. Refused: a checkpoint in each commit, which writes
a page of the database for each page of the web that a step pays. In-links are written as
increments, so that a page that was only paid needs no row in memory.

Laws: a batch is written as a whole or not at all, and a committed batch survives a power failure
(`synchronous=FULL`). A store has one writer; a second one is refused. Committed steps, URLs and
requests never change; the rows of the checkpoint can be recomputed from the steps.
"""

import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import lru_cache, partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, Protocol

from minicrawl.errors import NoRoom, StoreError, UsageError
from minicrawl.opic.ledger.books import StepKind
from minicrawl.store import tables
from minicrawl.store.disk.lock import StoreLock
from minicrawl.store.disk.trouble import reporting_damage, translating_sqlite_errors
from minicrawl.store.reader import LOG, file_beside, reading, real_path
from minicrawl.store.records import MAY_DIFFER, Batch, Checkpoint, StoreTerms
from minicrawl.store.schema import prepare
from minicrawl.store.stored_links import pack
from minicrawl.store.written_links import Pieces, blank_written
from minicrawl.web.takedowns import Takedowns
from minicrawl.web.urls import split


class StoreReplica(Protocol):
    """Replica that receives each commit of a store before it counts, and controls checkpoints."""

    @property
    def last(self) -> int:
        """Number of the last replicated entry."""

    def kept(self, begin: int, end: int) -> None:
        """Replicate the bytes of the archive between two places.

        Called before the commit that records the new end of the archive.
        """

    def moved(self) -> None:
        """Note the segments of the archive that an object store has now, in any thread."""

    def committed(self) -> None:
        """Replicate a commit; called after each one, in the writing thread.

        NoRoom means that the call should be repeated; any other exception ends the crawl.
        """

    def wants_checkpoint(self) -> bool:
        """Return True if the write-ahead log should be checkpointed now."""

    def may_checkpoint(self) -> bool:
        """Return True if the write-ahead log may be checkpointed."""

    def checkpointed(self, *, is_complete: bool) -> None:
        """Note a checkpoint; if `is_complete`, a new log begins."""

    def closing(self) -> None:
        """Prepare for closing the store."""


Write = Callable[[str, Iterable[Sequence[Any]]], None]

SAFE = "everything committed before is safe"

_CACHE_KIB = 4_096
"""Cache size. Little is read again: rows are appended, and columns are written as a whole."""
_SIZES = (1024, 256, 64, 16, 4, 1)
"""Rows per statement. There are few sizes, so that each statement is prepared once."""

_TURNED = """
INSERT INTO frontier VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET
    state = excluded.state, key = excluded.key, history = excluded.history,
    g_time = excluded.g_time, inlinks = inlinks + excluded.inlinks,
    spent = CASE excluded.spent WHEN -1 THEN spent ELSE excluded.spent END,
    measures = excluded.measures
"""
_PAID = """
INSERT INTO frontier (key, inlinks, id, state, history, g_time, spent)
VALUES (?, ?, ?, 0, 0, 0, 0) ON CONFLICT (id) DO UPDATE SET
    key = excluded.key, inlinks = inlinks + excluded.inlinks
"""
_HOST = """
INSERT INTO hosts VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET
    robots = excluded.robots, robots_until = excluded.robots_until,
    wait_until = excluded.wait_until, trouble = coalesce(excluded.trouble, trouble)
"""


class StoreWriter:
    """Store open for writing. Use it from one thread at a time."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: Path,
        lock: StoreLock,
        *,
        was_cut_off: bool,
        replica: StoreReplica | None = None,
    ) -> None:
        """`was_cut_off`: the last writer did not close the store."""
        self.path = path
        self.replica = replica
        self._unconfirmed: Batch | Checkpoint | None = None
        self.was_cut_off = was_cut_off
        self.connection = connection
        """Connection, for queries by the writer itself."""
        self._log = file_beside(path, LOG)
        self._pieces = Pieces(connection)
        self.lock = lock

    @classmethod
    def open(cls, path: Path, replica: StoreReplica | None = None) -> "StoreWriter":
        """Open the store for writing, or create it. Only one writer may have it open."""
        lock = StoreLock(path)
        try:
            # Asked before SQLite opens the file, which creates a log. After a clean end there is
            # none.
            was_cut_off = file_beside(path, LOG).exists()
            connection = _connect(path, is_replicated=replica is not None)
            return cls(connection, path, lock, was_cut_off=was_cut_off, replica=replica)
        except BaseException:
            lock.release()
            raise

    def close(self) -> None:
        """Close the connection, then release the lock."""
        if self.replica is not None:
            self.replica.closing()
        # In this order: on closing, SQLite copies its log into the file, and nobody else may write
        # until then.
        self.connection.close()
        self.lock.release()

    def agree(self, terms: StoreTerms) -> None:
        """Set the terms of a new store, or check that they equal those of an old one."""
        named = {name: getattr(terms, name) for name in StoreTerms.__dataclass_fields__}
        with translating_sqlite_errors(self.path, SAFE), reporting_damage(self.path):
            stored = tables.terms(self.connection)
        if stored is None:
            if tables.last_step(self.connection):
                raise StoreError(f"{self.path} is damaged: its terms are missing")
            with self.transaction():
                self._set_meta("terms", json.dumps(named))
            self._confirm()
            return
        if stored.imported:
            raise UsageError(
                f"{self.path} has an imported graph, which cannot be crawled: "
                "use another --store, or start again with --fresh"
            )
        for name, value in named.items():
            if name not in MAY_DIFFER and getattr(stored, name) != value:
                was, given = stored.as_option(name), terms.as_option(name)
                raise UsageError(
                    f"{self.path} was started with {was}, not {given}: "
                    "keep it, or start again with --fresh"
                )

    def commit(self, batch: Batch) -> None:
        """Add the whole batch in one transaction."""
        # If the replica has no room, the caller repeats the call, although the rows are in the
        # store already.
        if self._unconfirmed is not batch:
            self._add(batch)
            self._pieces.confirm()
        self._confirm(batch)
        # With less than twice the size of the log left on the disk, the log is folded.
        disk = os.statvfs(self._log.parent)
        if self._log.exists() and 2 * self._log.stat().st_size > disk.f_bavail * disk.f_frsize:
            with suppress(NoRoom):  # the batch is safe, and the next write reports the full disk
                self._shorten_log()

    def _add(self, batch: Batch) -> None:
        steps = (
            (
                *(row.seq, step.kind, step.page, row.state, step.born, step.amount),
                pack(step.spending) if any(step.spending) else None,
            )
            for row in batch.steps
            for step in (row.step,)
        )
        with self.transaction() as write:
            write("INSERT INTO urls VALUES (?, ?, ?, ?)", batch.urls)
            write("INSERT INTO originals VALUES (?, ?)", batch.originals)
            write("INSERT INTO steps VALUES (?, ?, ?, ?, ?, ?, ?)", steps)
            scored = (row for row in batch.steps if row.value is not None)
            write(
                "INSERT INTO scored VALUES (?, ?, ?)",
                ((row.seq, row.step.page, row.value) for row in scored),
            )
            write("INSERT INTO fetches VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?)", batch.fetches)
            write(f"INSERT OR REPLACE INTO documents VALUES ({'?, ' * 10}?)", batch.documents)
            write(_HOST, batch.hosts)
            write(
                "INSERT INTO mirrors VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET pages = pages + 1",
                batch.mirrors,
            )
            self._pieces.add(batch.written)
            own = (
                (page, request.method, json.dumps(dict(request.headers)), request.body)
                for page, request in batch.own_requests
            )
            write("INSERT OR REPLACE INTO own_requests VALUES (?, ?, ?, ?)", own)
            self._set_meta("counters", json.dumps(batch.counters))

    def checkpoint(self, checkpoint: Checkpoint, *, forget_links: bool = False) -> None:
        """Write the rows that changed. `forget_links` deletes steps that are no longer needed."""
        if self._unconfirmed is not checkpoint:
            with self.transaction() as write:
                write("INSERT INTO frontier VALUES (?, ?, ?, ?, ?, ?, ?, ?)", checkpoint.born)
                write(_TURNED, checkpoint.turned)
                write(_PAID, checkpoint.paid)
                # Replaced as a whole: each array is one row.
                self.connection.execute("DELETE FROM siblings")
                write("INSERT INTO siblings VALUES (?, ?)", (checkpoint.siblings or {}).items())
                for name, value in checkpoint.totals._asdict().items():
                    self._set_meta(name, str(value))
                if checkpoint.channels is not None:
                    self._set_meta("channels", json.dumps(checkpoint.channels))
                if checkpoint.times is not None:
                    self._set_meta("times", json.dumps(checkpoint.times))
                self._set_meta("watermark", str(checkpoint.watermark))
                if forget_links:
                    # The steps of the checkpoint are folded into its rows. The last one stays as
                    # the end of the log, and so do FORWARD and ENDOWED: loading needs them to know
                    # what pages stand for, and the endowment of each seed.
                    self.connection.execute(
                        "DELETE FROM steps WHERE seq < ? AND kind NOT IN (?, ?)",
                        (checkpoint.watermark, StepKind.FORWARD, StepKind.ENDOWED),
                    )
        self._confirm(checkpoint)

    def _confirm(self, written: Batch | Checkpoint | None = None) -> None:
        """Wait for the replica.

        If it has no room, a repeated call does not write the rows again.
        """
        if self.replica is None:
            return
        # Set before the replica is asked: if that raises NoRoom, the rows are in the store, and the
        # repeated call must only ask the replica again.
        self._unconfirmed = written or self._unconfirmed
        self.replica.committed()
        if written is not None:
            self._unconfirmed = None
        if self.replica.wants_checkpoint():
            self._shorten_log()

    def become(self, original: sqlite3.Connection) -> None:
        """Replace the content by a copy of another store, whose archive is not copied."""
        with translating_sqlite_errors(self.path, SAFE):
            # In WAL mode the log would hold the whole copy a second time.
            self.connection.execute("PRAGMA journal_mode = DELETE")
            original.backup(self.connection)
            self.connection.execute("PRAGMA journal_mode = WAL")
            counters = tables.counters(self.connection)
            counters_kept = {
                name: counters[name] for name in counters.keys() - tables.OF_FILES_BESIDE
            }
            if counters_kept != counters:
                self._set_meta("counters", json.dumps(counters_kept))

    def compact(self) -> None:
        """Compress the link attributes written in pieces, and checkpoint the write-ahead log."""
        with self.transaction():
            self._pieces.merge()
        self._pieces.confirm()
        self._confirm()
        self._shorten_log()

    def blank(self, pages: Mapping[int, str], gone: Takedowns) -> None:
        """Remove URLs and texts of these pages, also from the free space of the store and its log.

        Their steps stay: they say where cash is.
        """
        ids = [(page,) for page in pages]
        with self.transaction():
            change = self.connection.executemany
            paths = [(split(gone.conceal(url))[1], page) for page, url in pages.items()]
            change("UPDATE urls SET path = ? WHERE id = ?", paths)
            change("DELETE FROM originals WHERE page = ?", ids)
            change("DELETE FROM own_requests WHERE page = ?", ids)
            change("UPDATE fetches SET detail = '' WHERE page = ?", ids)
            nothing = "title = '', etag = NULL, last_modified = NULL"
            change(f"UPDATE documents SET {nothing} WHERE page = ?", ids)
            blank_written(self.connection, pages)
        self.compact()
        with translating_sqlite_errors(self.path):
            self.connection.execute("VACUUM")  # pages of the file that were split have old rows
        self.compact()

    def _shorten_log(self) -> None:
        """Fold the log into the store, except what a reader needs: that waits for the next call."""
        if self.replica is not None and not self.replica.may_checkpoint():
            return
        with translating_sqlite_errors(self.path, SAFE):
            # SQLite would wait for readers, and the crawl with it.
            ((patience_ms,),) = self.connection.execute("PRAGMA busy_timeout")
            self.connection.execute("PRAGMA busy_timeout = 0")
            try:
                busy, _, _ = self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            finally:  # a full disk must not end the patience of all later writes
                self.connection.execute(f"PRAGMA busy_timeout = {patience_ms}")
        if self.replica is not None:
            self.replica.checkpointed(is_complete=not busy)

    def _set_meta(self, name: str, value: str) -> None:
        self.connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))

    @contextmanager
    def transaction(self) -> Iterator[Write]:
        """Yield `write_rows` in a transaction, which is rolled back if there is an error."""
        self.lock.check()
        with translating_sqlite_errors(self.path, SAFE):
            # IMMEDIATE, because a transaction that begins as a reader and then wants to write can
            # fail at any statement in between; this one fails here or not at all.
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield partial(write_rows, self.connection)
                self.connection.execute("COMMIT")
            except BaseException:
                # On a full disk SQLite has ended some transactions itself; a ROLLBACK would then
                # raise, and hide the error that the user has to see.
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise


def _connect(path: Path, *, is_replicated: bool = False) -> sqlite3.Connection:
    """Connect, and create the tables of a new store.

    With a replica, everything goes through the write-ahead log, table creation included.
    """
    with translating_sqlite_errors(path, SAFE):
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        try:
            if is_replicated:
                connection.execute("PRAGMA journal_mode = WAL")
                # The replica copies the log, so SQLite must not restart it before the copy is
                # complete.
                connection.execute("PRAGMA wal_autocheckpoint = 0")
            prepare(connection, str(path))
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        except BaseException:
            connection.close()
            raise
    return connection


def copy_store(path: Path, to: Path) -> None:
    """Copy the store. The copy gets its final name when it is complete."""
    place = real_path(to)
    unfinished = place.with_name(f"{place.name}.part")
    with (
        closing(StoreWriter.open(unfinished)) as copy,
        translating_sqlite_errors(path, SAFE),
        reading(path) as original,
    ):
        copy.become(original)
    # Last, so that a copy that was interrupted never has the name of a store.
    unfinished.rename(place)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Lock the store against other writers, after folding its log into the file.

    The log remains if the store is being read.
    """
    lock = StoreLock(path)
    try:
        with translating_sqlite_errors(path, SAFE), closing(_connect(path)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        yield
    finally:
        lock.release()


def write_rows(connection: sqlite3.Connection, sql: str, rows: Iterable[Sequence[Any]]) -> None:
    """Run SQL with `VALUES (...)` for all rows, with the effect of one run for each row.

    Any number of rows takes only a handful of statements. After each statement a writing thread has
    to wait for the GIL, for milliseconds if other threads are busy: with one statement per row it
    would write only a few hundred rows per second.
    """
    source = iter(rows)
    while block := list(islice(source, _SIZES[0])):
        done = 0
        for size in _SIZES:
            while len(block) - done >= size:
                values = chain.from_iterable(block[done : done + size])
                connection.execute(_for_rows(sql, size), tuple(values))
                done += size


@lru_cache
def _for_rows(sql: str, rows: int) -> str:
    """Return the SQL with this many tuples after VALUES."""
    before, values, placeholders = sql.partition("VALUES ")
    row, end, after = placeholders.partition(")")
    return f"{before}{values}{', '.join([row + end] * rows)}{after}"
