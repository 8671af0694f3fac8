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

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import lru_cache, partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from minicrawl.errors import NoRoom, StoreError, UsageError
from minicrawl.opic.ledger.books import StepKind
from minicrawl.own_files import make_folder, open_own, refuse_links
from minicrawl.store import tables
from minicrawl.store.reader import (
    LOCK,
    LOG,
    file_beside,
    reading,
    real_path,
    refuse_links_beside,
)
from minicrawl.store.records import (
    MAY_DIFFER,
    Batch,
    Checkpoint,
    StepRow,
    StoreTerms,
    reporting_damage,
    translating_sqlite_errors,
)
from minicrawl.store.schema import prepare
from minicrawl.store.stored_links import Pieces, blank_written, pack
from minicrawl.store.tables import Connection, meta
from minicrawl.web.takedowns import Takedowns
from minicrawl.web.urls import split

# ================================================================ lock
#
# One writer for a file, by whatever name it is reached.
#
# A path is only a name: it can be a link, and another file can take it. So two things are locked,
# the lock file beside the store and the database itself, and the writer checks before each
# transaction that the path still leads to the file (the inode) that it locked. Crawl A writes
# crawl.db, which is inode 41; then:
#
#     event                            crawl.db-lock    inode 41   crawl B on that path
#     A starts                         locked by A      locked     refused: the lock file is locked
#     rm crawl.db-lock                 -                locked     locks a new lock file, and is
#                                                                  refused at inode 41
#     ln crawl.db other.db             locked by A      locked     refused at inode 41 by that name
#     mv copy.db crawl.db (inode 57)   locked by A      locked     refused: the lock file is locked.
#                                                                  A finds 57 instead of 41 at its
#                                                                  path, and writes nothing more
#     kill -9 A                        there, unlocked  unlocked   starts
#
# The kernel unlocks when a process ends, so that no crash leaves a lock behind. To readers, a
# locked lock file means a running crawl; earlier versions of minicrawl lock nothing else. The
# database is locked at a byte that SQLite does not use, so readers are not blocked.
#
# A trap of POSIX: closing any handle of a file releases all locks of this process on it, those of
# SQLite included. So the handle of a released database stays open until nothing else in this
# process has the file open.

_FREE_BYTE = 1 << 62
_HANDLES = Path("/proc/self/fd")
_kept: list[int] = []
"""Handles of databases that are no longer locked, but that this process still has open otherwise.
"""


class StoreLock:
    """Lock of a store, held from its creation until `release`."""

    def __init__(self, path: Path) -> None:
        if path.is_dir():
            raise UsageError(f"{path} is a directory, not a store")
        self._path, self._place = path, real_path(path)
        if self._place.exists() and not os.access(self._place, os.W_OK):
            raise UsageError(f"{path} is read-only")
        refuse_links_beside(path)
        self._files: list[_LockFile] = []
        with self._errors():
            make_folder(self._place.parent)
            self._files.append(_LockFile(file_beside(path, LOCK)))
            try:
                self._database = _locked_database(self._place)
            except BaseException:
                self._files[0].release()
                raise

    def hold_folder(self, folder: Path) -> None:
        """Also lock the archive of the store, until `release`."""
        file = folder / LOCK.removeprefix("-")
        if file not in (one.file for one in self._files):
            with self._errors():
                make_folder(folder)
                self._files.append(_LockFile(file))

    def renew(self) -> bool:
        """Recreate deleted lock files. Return False if another process may be writing."""
        return _is_at(self._place, self._database) and all(one.renew() for one in self._files)

    def check(self) -> None:
        """Raise StoreError unless the lock is held."""
        if not self.renew():
            raise StoreError(
                f"{self._path} was moved or replaced, or another crawl writes it: this crawl "
                "writes nothing more; everything committed before is safe"
            )

    def release(self) -> None:
        """Release all locks. The connection must be closed before."""
        fcntl.fcntl(self._database, fcntl.F_OFD_SETLK, _byte(fcntl.F_UNLCK))
        _close_unless_used(self._database)
        for one in self._files:
            one.release()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except BlockingIOError as error:
            raise StoreError(
                f"{self._path} is in use by another crawl: wait for it, or stop it"
            ) from error
        except OSError as error:
            raise UsageError(f"{self._path} cannot be written: {error.strerror}") from error


class _LockFile:
    """File without content, which its writer locks."""

    def __init__(self, file: Path) -> None:
        """Lock the file. Raises BlockingIOError if another process holds it."""
        self.file = file
        while True:
            self._handle = open_own(file, os.O_RDWR | os.O_CREAT)
            try:
                fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(self._handle)
                raise
            if _is_at(file, self._handle):
                return
            os.close(self._handle)  # its previous owner has just removed it

    def renew(self) -> bool:
        """Lock the file again if it was removed. Return False if another process holds it."""
        if _is_at(self.file, self._handle):
            return True
        try:
            again = _LockFile(self.file)
        except (OSError, UsageError):
            return False
        os.close(self._handle)
        self._handle = again._handle
        return True

    def release(self) -> None:
        """Remove the file, then release it. A file that remains is from a writer that crashed."""
        with suppress(OSError):
            if _is_at(self.file, self._handle):
                self.file.unlink()
        os.close(self._handle)


def _locked_database(place: Path) -> int:
    refuse_links(place)
    handle = open_own(place, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.fcntl(handle, fcntl.F_OFD_SETLK, _byte(fcntl.F_WRLCK))
    except OSError:
        _close_unless_used(handle)
        raise
    return handle


def _byte(kind: int) -> bytes:
    """Return the kernel's structure for a lock of a single byte."""
    return struct.pack("hhqqi4x", kind, os.SEEK_SET, _FREE_BYTE, 1, 0)


def _is_at(path: Path, handle: int) -> bool:
    """Return True if the open file is the one at this path."""
    try:
        return os.path.samestat(os.lstat(path), os.fstat(handle))
    except OSError:
        return False


def _close_unless_used(handle: int) -> None:
    """Close this handle and the kept ones, unless this process has their file open otherwise."""
    _kept.append(handle)
    used = list(_other_files())
    for one in tuple(_kept):
        if not any(os.path.samestat(os.fstat(one), other) for other in used):
            _kept.remove(one)
            os.close(one)


def _other_files() -> Iterator[os.stat_result]:
    """Yield the open files of this process, except kept handles."""
    handles = [int(one.name) for one in _HANDLES.iterdir()] if _HANDLES.is_dir() else []
    for number in handles:
        if number not in _kept:
            with suppress(OSError):  # the handle of the listing itself is closed by now
                yield os.fstat(number)


# ================================================================ replica
#
# Interface between a writer and the replica of its store, such as the log of a shard.


class StoreReplica(Protocol):
    """Replica that receives each commit of a store before it counts, and controls checkpoints."""

    @property
    def last(self) -> int:
        """Number of the last replicated entry."""

    def kept(self, begin: int, end: int) -> None:
        """Replicate the bytes of the archive between two places.

        Called before the commit that records the new end of the archive.
        """

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


# ================================================================ writer

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
        self._replica = replica
        self._unconfirmed: Batch | Checkpoint | None = None
        self.was_cut_off = was_cut_off
        self._connection = connection
        self._log = file_beside(path, LOG)
        self._pieces = Pieces(connection)
        self.lock = lock

    @classmethod
    def open(cls, path: Path, replica: StoreReplica | None = None) -> StoreWriter:
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
        if self._replica is not None:
            self._replica.closing()
        # In this order: on closing, SQLite copies its log into the file, and nobody else may write
        # until then.
        self._connection.close()
        self.lock.release()

    @property
    def replica(self) -> StoreReplica | None:
        """Replica of the store, or None."""
        return self._replica

    @property
    def connection(self) -> sqlite3.Connection:
        """Connection, for queries by the writer itself."""
        return self._connection

    def agree(self, terms: StoreTerms) -> None:
        """Set the terms of a new store, or check that they equal those of an old one."""
        wanted = {name: getattr(terms, name) for name in StoreTerms.__dataclass_fields__}
        with translating_sqlite_errors(self.path, SAFE), reporting_damage(self.path):
            found = tables.terms(self._connection)
        if found is None:
            if tables.last_step(self._connection):
                raise StoreError(f"{self.path} is damaged: its terms are missing")
            with self._transaction():
                self._set_meta("terms", json.dumps(wanted))
            self._confirm()
            return
        if found.imported:
            raise UsageError(
                f"{self.path} has an imported graph, which cannot be crawled: "
                "use another --store, or start again with --fresh"
            )
        for name, value in wanted.items():
            if name not in MAY_DIFFER and getattr(found, name) != value:
                was, given = found.as_option(name), terms.as_option(name)
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
        self._compact_if_disk_is_low()

    def _add(self, batch: Batch) -> None:
        with self._transaction() as write:
            write("INSERT INTO urls VALUES (?, ?, ?, ?)", batch.urls)
            write("INSERT INTO originals VALUES (?, ?)", batch.originals)
            write("INSERT INTO steps VALUES (?, ?, ?, ?, ?, ?, ?)", map(_step_columns, batch.steps))
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
                (page, one.method, json.dumps(dict(one.headers)), one.body)
                for page, one in batch.own_requests
            )
            write("INSERT OR REPLACE INTO own_requests VALUES (?, ?, ?, ?)", own)
            self._set_meta("counters", json.dumps(batch.counters))

    def checkpoint(self, checkpoint: Checkpoint, *, forget_links: bool = False) -> None:
        """Write the rows that changed. `forget_links` deletes steps that are no longer needed."""
        if self._unconfirmed is not checkpoint:
            with self._transaction() as write:
                self._write_rows(write, checkpoint)
                if forget_links:
                    # The steps of the checkpoint are folded into its rows. The last one stays as
                    # the end of the log, and so do FORWARD and ENDOWED: loading needs them to know
                    # what pages stand for, and the endowment of each seed.
                    self._connection.execute(
                        "DELETE FROM steps WHERE seq < ? AND kind NOT IN (?, ?)",
                        (checkpoint.watermark, StepKind.FORWARD, StepKind.ENDOWED),
                    )
        self._confirm(checkpoint)

    def _confirm(self, written: Batch | Checkpoint | None = None) -> None:
        """Wait for the replica.

        If it has no room, a repeated call does not write the rows again.
        """
        if self._replica is None:
            return
        # Set before the replica is asked: if that raises NoRoom, the rows are in the store, and the
        # repeated call must only ask the replica again.
        self._unconfirmed = written or self._unconfirmed
        self._replica.committed()
        if written is not None:
            self._unconfirmed = None
        if self._replica.wants_checkpoint():
            self._shorten_log()

    def become(self, original: sqlite3.Connection) -> None:
        """Replace the content by a copy of another store, whose archive is not copied."""
        with translating_sqlite_errors(self.path, SAFE):
            # In WAL mode the log would hold the whole copy a second time.
            self._connection.execute("PRAGMA journal_mode = DELETE")
            original.backup(self._connection)
            self._connection.execute("PRAGMA journal_mode = WAL")
            counters = tables.counters(self._connection)
            kept = {name: counters[name] for name in counters.keys() - tables.OF_FILES_BESIDE}
            if kept != counters:
                self._set_meta("counters", json.dumps(kept))

    def compact(self) -> None:
        """Compress the link attributes written in pieces, and checkpoint the write-ahead log."""
        with self._transaction():
            self._pieces.merge()
        self._pieces.confirm()
        self._confirm()
        self._shorten_log()

    def _shorten_log(self) -> None:
        """Fold the log into the store, except what a reader needs: that waits for the next call."""
        if self._replica is not None and not self._replica.may_checkpoint():
            return
        with translating_sqlite_errors(self.path, SAFE):
            # SQLite would wait for readers, and the crawl with it.
            ((patience_ms,),) = self._connection.execute("PRAGMA busy_timeout")
            self._connection.execute("PRAGMA busy_timeout = 0")
            busy, _, _ = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            self._connection.execute(f"PRAGMA busy_timeout = {patience_ms}")
        if self._replica is not None:
            self._replica.checkpointed(is_complete=not busy)

    def _compact_if_disk_is_low(self) -> None:
        """Fold the write-ahead log if the free space of the disk is less than twice its size."""
        disk = os.statvfs(self._log.parent)
        if self._log.exists() and 2 * self._log.stat().st_size > disk.f_bavail * disk.f_frsize:
            with suppress(NoRoom):  # the batch is safe, and the next write reports the full disk
                self._shorten_log()

    def _write_rows(self, write: Write, checkpoint: Checkpoint) -> None:
        write("INSERT INTO frontier VALUES (?, ?, ?, ?, ?, ?, ?, ?)", checkpoint.born)
        write(_TURNED, checkpoint.turned)
        write(_PAID, checkpoint.paid)
        # Replaced as a whole: each array is one row.
        self._connection.execute("DELETE FROM siblings")
        write("INSERT INTO siblings VALUES (?, ?)", (checkpoint.siblings or {}).items())
        for name, value in checkpoint.totals._asdict().items():
            self._set_meta(name, str(value))
        if checkpoint.channels is not None:
            self._set_meta("channels", json.dumps(checkpoint.channels))
        self._set_meta("watermark", str(checkpoint.watermark))

    def _set_meta(self, name: str, value: str) -> None:
        self._connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))

    @contextmanager
    def _transaction(self) -> Iterator[Write]:
        self.lock.check()
        with translating_sqlite_errors(self.path, SAFE):
            # IMMEDIATE, because a transaction that begins as a reader and then wants to write can
            # fail at any statement in between; this one fails here or not at all.
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield partial(write_rows, self._connection)
                self._connection.execute("COMMIT")
            except BaseException:
                self._roll_back()
                raise

    def _roll_back(self) -> None:
        """Roll back, unless SQLite has done so because of a full disk."""
        # On a full disk SQLite has ended some transactions itself; a ROLLBACK would then raise, and
        # hide the error that the user has to see.
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")


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


def _step_columns(row: StepRow) -> tuple[int, int, int, int, int, int, bytes | None]:
    step = row.step
    spending = step.spending
    blob = pack(spending) if any(spending) else None
    return row.seq, step.kind, step.page, row.state, step.born, step.amount, blob


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
    before, values, rest = sql.partition("VALUES ")
    one, end, after = rest.partition(")")
    return f"{before}{values}{', '.join([one + end] * rows)}{after}"


# ================================================================ merging
#
# Merging: reading stores that are merged into one, and writing the merged store.
#
# Laws: rows are read in blocks, so that memory does not grow with a store. The merged store is an
# ordinary one. Its mark (`MERGED`) is the last step that was copied from other logs: several
# ledgers produced the cash as of that step, so it cannot be recomputed from one log.

MERGED = "merged"
"""Name in the table meta: last step that was copied from other logs."""


class PackedStep(NamedTuple):
    """Row of the log, with the spending encoded."""

    seq: int
    kind: int
    page: int
    state: int
    born: int
    amount: int
    spending: bytes | None


def merged_until(connection: Connection) -> int:
    """Return the last step that was copied from other stores; 0 in a store that was crawled."""
    return int(meta(connection, MERGED) or 0)


# ---------------------------------------------------------------- writing


def add_steps(store: StoreWriter, steps: Iterable[PackedStep]) -> None:
    """Append steps to the log."""
    with _transaction(store) as connection:
        write_rows(connection, "INSERT INTO steps VALUES (?, ?, ?, ?, ?, ?, ?)", steps)


def add_values(store: StoreWriter, rows: Iterable[tuple[int, int, int]]) -> None:
    """Add values that a scorer gave: step, page, value."""
    with _transaction(store) as connection:
        write_rows(connection, "INSERT INTO scored VALUES (?, ?, ?)", rows)


def add_mirrors(store: StoreWriter, mirrors: Iterable[tuple[int, int, int]]) -> None:
    """Add mirrors: host, the host that it mirrors, and the number of pages in common."""
    with _transaction(store) as connection:
        write_rows(connection, "INSERT INTO mirrors VALUES (?, ?, ?)", mirrors)


def begin_draft(store: StoreWriter) -> None:
    """Stop syncing: the draft of a store need not survive a power failure."""
    store.connection.execute("PRAGMA synchronous = OFF")


def end_draft(store: StoreWriter) -> None:
    """Sync the draft to disk, and restore safe writing."""
    store.connection.execute("PRAGMA synchronous = FULL")
    store.compact()


def blank(store: StoreWriter, pages: Mapping[int, str], gone: Takedowns) -> None:
    """Remove URLs and texts of these pages from the store, also from its free space and its log.

    Their steps stay: they say where cash is.
    """
    with _transaction(store) as connection:
        connection.executemany(
            "UPDATE urls SET path = ? WHERE id = ?",
            [(split(gone.conceal(url))[1], page) for page, url in pages.items()],
        )
        for table in ("originals", "own_requests"):
            connection.executemany(
                f"DELETE FROM {table} WHERE page = ?", [(page,) for page in pages]
            )
        connection.executemany(
            "UPDATE fetches SET detail = '' WHERE page = ?", [(page,) for page in pages]
        )
        connection.executemany(
            "UPDATE documents SET title = '', etag = NULL, last_modified = NULL WHERE page = ?",
            [(page,) for page in pages],
        )
        blank_written(connection, pages)
    store.compact()
    with translating_sqlite_errors(store.path):
        store.connection.execute("VACUUM")  # pages of the file that were split have old rows, too
    store.compact()


def mark(store: StoreWriter, seq: int) -> None:
    """Record that the log up to this step was copied from other logs."""
    with _transaction(store) as connection:
        connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (MERGED, str(seq)))


@contextmanager
def _transaction(store: StoreWriter) -> Iterator[Connection]:
    connection = store.connection
    store.lock.check()
    with translating_sqlite_errors(store.path), connection:
        connection.execute("BEGIN IMMEDIATE")
        yield connection
