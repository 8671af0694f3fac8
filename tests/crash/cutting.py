"""Write-ahead logs that were cut off, or in which bits were flipped, beside the store they go with.

Law: what is opened then holds what some commit said, and `check` finds nothing wrong with it; or
one line says what is wrong. And a crawl goes on with no store that `check` finds wrong.

torn     a store as a kill left it, with its write-ahead log
folded   pages of the log that are in the file already: a kill may have come in the midst of that
"""

import struct
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import NamedTuple

from minicrawl.crawl.start.opening import recorder_of
from minicrawl.errors import MinicrawlError
from minicrawl.report.audit import audit
from minicrawl.store.reader import connect, reading
from minicrawl.store.writer import StoreWriter
from tests.crash.child import Amounts, amounts
from tests.crash.killing import NOTHING, Crawls, said
from tests.crash.web import Server

PAGES = 60
CUTS_OF_A_STORE = 50
_MOST_FLIPS = 8
_SECTOR = 512
_PAGE, _WAL_HEAD, _FRAME_HEAD = 4096, 32, 24  # as the file format of SQLite has them


class Torn(NamedTuple):
    """A store after a kill."""

    main: bytes
    wal: bytes
    commits: frozenset[Amounts]


def torn_stores(server: Server, folder: Path, seed: int) -> Iterator[Torn]:
    """Without end, those of them that have a write-ahead log."""
    crawls = Crawls(server, folder, seed, pages=PAGES)
    while not crawls.report.wrong:
        crawls.kill_once()
        wal = crawls.store.with_name(f"{crawls.store.name}-wal")
        if wal.exists() and wal.stat().st_size:
            commits = frozenset((NOTHING, *said(crawls.commits)))
            yield Torn(crawls.store.read_bytes(), wal.read_bytes(), commits)
    raise AssertionError(crawls.report.wrong)


# ---------------------------------------------------------------- damage


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


def _folded(rng: Random, torn: Torn) -> bytes:
    """SQLite copies pages as the last commit left them, in the order of their numbers."""
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


def damaged(rng: Random, torn: Torn, path: Path) -> None:
    """Lay it down with some damage, and at times with an index that is nonsense."""
    wal = bytearray(torn.wal)
    rng.choice(DAMAGES)(rng, wal)
    path.write_bytes(_folded(rng, torn) if rng.random() < 0.4 else torn.main)
    path.with_name(f"{path.name}-wal").write_bytes(wal)
    index = path.with_name(f"{path.name}-shm")
    index.unlink(missing_ok=True)
    if rng.random() < 0.3:
        index.write_bytes(rng.randbytes(1 << 15))


# ---------------------------------------------------------------- what comes of it

WHOLE, NAMED, REFUSED = "whole as of a commit", "named by check", "refused in one line"
FINE = (WHOLE, NAMED, REFUSED)


def outcome(path: Path, commits: frozenset[Amounts]) -> str:
    """One of these, or what is wrong."""
    try:
        # The pages that were kept are elsewhere: what is damaged here is the store.
        wrong = [line for line in audit(path).wrong if not line.startswith("pages: ")]
        if wrong:
            return NAMED if _is_refused(path) else f"a crawl goes on in spite of {wrong}"
        with reading(path) as connection:
            found = amounts(connection)
        if found not in commits:
            return f"{found} was never committed, and passes for whole"
        return "a crawl refuses what is whole" if _is_refused(path) else WHOLE
    except MinicrawlError as error:
        return REFUSED if "\n" not in str(error) and _is_refused(path) else f"said badly: {error}"
    except Exception as error:
        return f"a mistake of our own: {error!r}"


def _is_refused(path: Path) -> bool:
    """By a crawl that goes on."""
    try:
        with closing(StoreWriter.open(path)) as store, closing(connect(path)) as reader:
            recorder_of(store, reader).close()
    except MinicrawlError:
        return True
    return False


def cut_often(server: Server, folder: Path, cuts: int, seed: int) -> Counter[str]:
    """How often there was which outcome."""
    rng = Random(seed)
    stores, place = folder / "stores", folder / "cut.db"
    stores.mkdir()
    found: Counter[str] = Counter()
    torn = torn_stores(server, stores, seed)
    while (left := cuts - found.total()) > 0:
        store = next(torn)
        for _ in range(min(CUTS_OF_A_STORE, left)):
            damaged(rng, store, place)
            found[outcome(place, store.commits)] += 1
    return found
