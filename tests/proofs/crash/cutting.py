"""Stores whose write-ahead log was cut off, or has flipped bits or lost sectors.

Law: such a store holds exactly the rows of some commit and `check` finds no fault; or `check` names
the fault; or opening the store fails with an error of one line. A crawl never resumes a store in
which `check` finds a fault.

torn           a store as a kill left it, with its write-ahead log
checkpointed   SQLite had copied a part of the log into the main file before the kill
"""

import struct
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import NamedTuple

from minicrawl import MinicrawlError
from minicrawl.crawl.start.opening import recorder_of
from minicrawl.report.integrity.audit import audit
from minicrawl.store.reader import connect, reading
from minicrawl.store.writer import StoreWriter
from tests.proofs.crash.child import Amounts, amounts
from tests.proofs.crash.killing import NOTHING, Crawls, logged_commits
from tests.proofs.crash.web import Server

_PAGES = 60
_CUTS_PER_STORE = 50
_MOST_FLIPS = 8
_SECTOR = 512
_PAGE, _WAL_HEAD, _FRAME_HEAD = 4096, 32, 24  # from SQLite's file format


class Torn(NamedTuple):
    """A store after a kill."""

    main: bytes
    wal: bytes
    commits: frozenset[Amounts]


def torn_stores(server: Server, folder: Path, seed: int) -> Iterator[Torn]:
    """Kill crawls endlessly, and yield the stores that have a write-ahead log."""
    crawls = Crawls(server, folder, seed, pages=_PAGES)
    while not crawls.report.wrong:
        crawls.kill_once()
        wal = crawls.store.with_name(f"{crawls.store.name}-wal")
        if wal.exists() and wal.stat().st_size:
            commits = frozenset((NOTHING, *logged_commits(crawls.commits)))
            yield Torn(crawls.store.read_bytes(), wal.read_bytes(), commits)
    raise AssertionError(crawls.report.wrong)


def _cut(rng: Random, wal: bytearray) -> None:
    del wal[rng.randrange(len(wal)) :]


def _flip(rng: Random, wal: bytearray) -> None:
    for _ in range(rng.randint(1, _MOST_FLIPS)):
        wal[rng.randrange(len(wal))] ^= 1 << rng.randrange(8)


def _lose_a_sector(rng: Random, wal: bytearray) -> None:
    start = rng.randrange(len(wal)) // _SECTOR * _SECTOR
    end = min(start + _SECTOR, len(wal))
    wal[start:end] = bytes(end - start) if rng.random() < 0.5 else rng.randbytes(end - start)


DAMAGES: tuple[Callable[[Random, bytearray], None], ...] = (_cut, _cut, _flip, _lose_a_sector)


def _checkpointed(rng: Random, torn: Torn) -> bytes:
    """Return the main file with the first few committed pages of the log copied into it.

    SQLite copies them in the order of their page numbers.
    """
    main, newest, under_way = bytearray(torn.main), dict[int, bytes](), dict[int, bytes]()
    salts = torn.wal[16:24]
    for start in range(_WAL_HEAD, len(torn.wal) - _PAGE, _FRAME_HEAD + _PAGE):
        head = torn.wal[start : start + _FRAME_HEAD]
        number, pages_after_commit, found = struct.unpack(">II8s", head[:16])
        if found != salts:
            break
        under_way[number] = torn.wal[start + _FRAME_HEAD : start + _FRAME_HEAD + _PAGE]
        if pages_after_commit:
            newest |= under_way
            under_way = {}
    numbers = sorted(newest)
    for number in numbers[: rng.randint(0, len(numbers))]:
        place = (number - 1) * _PAGE
        main[place : place + _PAGE] = newest[number]
    return bytes(main)


def write_damaged(rng: Random, torn: Torn, path: Path) -> None:
    """Write the store with a damaged log, and sometimes with random bytes as its index."""
    wal = bytearray(torn.wal)
    rng.choice(DAMAGES)(rng, wal)
    path.write_bytes(_checkpointed(rng, torn) if rng.random() < 0.4 else torn.main)
    path.with_name(f"{path.name}-wal").write_bytes(wal)
    index = path.with_name(f"{path.name}-shm")
    index.unlink(missing_ok=True)
    if rng.random() < 0.3:
        index.write_bytes(rng.randbytes(1 << 15))


WHOLE, NAMED, REFUSED = "whole as of a commit", "named by check", "refused in one line"
FINE = (WHOLE, NAMED, REFUSED)


def outcome(path: Path, commits: frozenset[Amounts]) -> str:
    """Return one of `FINE`, or a description of the broken law."""
    try:
        # The archive of pages has been left behind, so its absence is not a fault here.
        wrong = [line for line in audit(path).wrong if not line.startswith("pages: ")]
        if wrong:
            return NAMED if _is_refused(path) else f"a crawl resumes in spite of {wrong}"
        with reading(path) as connection:
            found = amounts(connection)
        if found not in commits:
            return f"{found} was never committed, but passes for whole"
        return "a crawl refuses a whole store" if _is_refused(path) else WHOLE
    except MinicrawlError as error:
        if "\n" not in str(error) and _is_refused(path):
            return REFUSED
        return f"an error of several lines, or one that a crawl ignores: {error}"
    except Exception as error:
        return f"an unexpected exception: {error!r}"


def _is_refused(path: Path) -> bool:
    """Return True if a crawl would refuse to resume the store."""
    try:
        with closing(StoreWriter.open(path)) as store, closing(connect(path)) as reader:
            recorder_of(store, reader).close()
    except MinicrawlError:
        return True
    return False


def cut_often(server: Server, folder: Path, cuts: int, seed: int) -> Counter[str]:
    """Damage `cuts` logs and count the outcomes."""
    rng = Random(seed)
    stores, path = folder / "stores", folder / "cut.db"
    stores.mkdir()
    found: Counter[str] = Counter()
    torn = torn_stores(server, stores, seed)
    while (left := cuts - found.total()) > 0:
        store = next(torn)
        for _ in range(min(_CUTS_PER_STORE, left)):
            write_damaged(rng, store, path)
            found[outcome(path, store.commits)] += 1
    return found
