"""Damages of a store, each a function that damages an intact one.

`whole_store` makes a small intact store: every table has rows, and large tables several pages.
"""

import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

from minicrawl.states import State
from tests.stores import HandCrawl

Damage = Callable[[Path], object]

PAGE_BYTES = 512
HOSTS, PAGES_A_HOST = 3, 24
SEED = "http://h0.example/0"
_READ = 40


def whole_store(path: Path) -> Path:
    """Make an intact store of small pages, so that tables have inner pages and leaves."""
    urls = [f"http://h{host}.example/{n}" for host in range(HOSTS) for n in range(PAGES_A_HOST)]
    rng = random.Random(1)
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds(urls[:2], endowment=10)
        crawl.read(urls[0], urls, title="All of them")
        for url in urls[1:_READ]:
            crawl.read(url, rng.sample(urls, 5), title=f"The page {url}")
        crawl.moved(urls[_READ], urls[3])
        crawl.checkpoint()
        crawl.ended(urls[_READ + 1], State.NOT_FOUND, "404")
        crawl.replay([0, 1, 2])
        crawl.batch.originals = [(5, urls[5] + "?utm_source=x")]
        crawl.batch.mirrors = [(0, 1)] * 8
        crawl.batch.counters |= {"fetched": _READ, "requests": _READ + 2}
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
        connection.execute("VACUUM")
        connection.execute("PRAGMA journal_mode = WAL")
    return path


def leave_unfinished_change(file: Path) -> None:
    """Leave a database and its journal as a power failure does in the middle of a change."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("PRAGMA cache_size = 1")  # so that unfinished changes are in the file
        connection.execute("CREATE TABLE IF NOT EXISTS unfinished (content BLOB)")
        connection.execute("BEGIN IMMEDIATE")
        for _ in range(20):
            connection.execute("INSERT INTO unfinished VALUES (zeroblob(9000))")
        journal = file.with_name(f"{file.name}-journal")
        left = {path: path.read_bytes() for path in (file, journal)}
        connection.execute("ROLLBACK")
    for path, content in left.items():
        path.write_bytes(content)


def _written(place: Callable[[Path, bytearray], int], old: bytes | None, path: Path) -> None:
    body = bytearray(path.read_bytes())
    start = place(path, body)
    new = bytes(PAGE_BYTES) if old is None else old
    body[start : start + len(new)] = new
    path.write_bytes(body)


def _root(name: str, path: Path, _body: bytearray) -> int:
    with closing(sqlite3.connect(path)) as connection:
        query = "SELECT rootpage FROM sqlite_master WHERE name = ?"
        (page,) = connection.execute(query, (name,)).fetchone()
    return (int(page) - 1) * PAGE_BYTES


def _leaf(name: str, path: Path, body: bytearray) -> int:
    """Return the offset of the root's last child."""
    root = _root(name, path, body)
    assert body[root] in (2, 5), f"the root of {name} is a leaf: fill the store with more"
    return (int.from_bytes(body[root + 8 : root + 12]) - 1) * PAGE_BYTES


def _at(place: int, _path: Path, _body: bytearray) -> int:
    return place


def zeroed_root(name: str) -> Damage:
    return partial(_written, partial(_root, name), None)


def zeroed_leaf(name: str) -> Damage:
    return partial(_written, partial(_leaf, name), None)


def written_at(place: int, new: bytes) -> Damage:
    return partial(_written, partial(_at, place), new)


def flipped_in(name: str, offset: int) -> Damage:
    """Flip a bit in the header of the root page."""

    def flip(path: Path) -> None:
        body = bytearray(path.read_bytes())
        body[_root(name, path, body) + offset] ^= 0x40
        path.write_bytes(body)

    return flip


def cut_to(share: float) -> Damage:
    return lambda path: os.truncate(path, int(path.stat().st_size * share))


def replaced_in(old: bytes, new: bytes) -> Damage:
    """Replace all occurrences in the file."""

    def replace(path: Path) -> None:
        body = path.read_bytes()
        assert old in body
        path.write_bytes(body.replace(old, new))

    return replace


def replaced_by(body: bytes) -> Damage:
    return lambda path: path.write_bytes(body)


def accompanied_by(suffix: str, body: bytes) -> Damage:
    return lambda path: path.with_name(path.name + suffix).write_bytes(body)


def _in_its_place(make: Callable[[Path], object]) -> Damage:
    """Remove the file, and make something else in its place."""

    def replace(path: Path) -> None:
        path.unlink()
        make(path)

    return replace


def _a_longer_loop(path: Path) -> None:
    path.symlink_to("other.db")
    path.with_name("other.db").symlink_to(path.name)


def _behind_a_file(path: Path) -> None:
    """The folder of the store is a file."""
    shutil.rmtree(path.parent)
    path.parent.write_bytes(b"")


def _a_folder_beside(suffix: str) -> Damage:
    def lay(path: Path) -> None:
        path.with_name(path.name + suffix).unlink(missing_ok=True)
        path.with_name(path.name + suffix).mkdir()

    return lay


def sql(*statements: str) -> Damage:
    def change(path: Path) -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA ignore_check_constraints = ON")
            for statement in statements:
                connection.execute(statement)

    return change


def _in_meta(name: str, value: str) -> Damage:
    return sql(f"INSERT OR REPLACE INTO meta VALUES ('{name}', '{value}')")


def in_ranks(*statements: str) -> Damage:
    return lambda path: sql(*statements)(path.with_name(f"{path.name}-ranks"))


TABLES = (
    *("meta", "hosts", "urls", "steps", "frontier", "fetches", "documents", "mirrors"),
    *("refinement", "originals"),
)
LARGE = ("urls", "steps", "frontier", "fetches", "documents")
_NOISE = random.Random(2).randbytes(6000)
_HUGE = 10**15

_VALUES = {
    "a kind of step that is none": "UPDATE steps SET kind = 99 WHERE seq > 12",
    "a step of page -1": "UPDATE steps SET page = -1 WHERE seq > 12",
    "a step of a page far off": f"UPDATE steps SET page = {_HUGE} WHERE seq > 12",
    "a step that bears too many": f"UPDATE steps SET born = {_HUGE} WHERE seq = 44",
    "a step that bears fewer than none": "UPDATE steps SET born = -5 WHERE seq > 12",
    "a step with a state that is none": "UPDATE steps SET state = 99 WHERE seq > 12",
    "a step with a state that is no byte": "UPDATE steps SET state = 300 WHERE seq > 12",
    "a step with words for money": "UPDATE steps SET amount = 'much' WHERE seq > 12",
    "a step with more money than there is": f"UPDATE steps SET amount = {2**62} WHERE kind = 4",
    "garbage for links": "UPDATE steps SET spending = x'ffee01ff'",
    "no bytes for links": "UPDATE steps SET spending = x''",
    "text for links": "UPDATE steps SET spending = 'http://a.example/'",
    "a number for links": "UPDATE steps SET spending = 7",
    "links without end": "UPDATE steps SET spending = x'ffffffffffffff7f0001'",
    "links to pages that are none": "UPDATE steps SET spending = x'0200ffff7f01'",
    "a log with a gap": "DELETE FROM steps WHERE seq IN (3, 18)",
    "a log that ends early": "DELETE FROM steps WHERE seq > 6",
    "a log with negative numbers": "UPDATE steps SET seq = -seq",
    "a log that goes on": "INSERT INTO steps SELECT seq + 100, 3, 2, 4, 0, 0, NULL FROM steps",
    "a row in a state that is none": "UPDATE frontier SET state = 77",
    "a row in a state below 0": "UPDATE frontier SET state = -1",
    "a row with words for cash": "UPDATE frontier SET key = 'much' WHERE id = 4",
    "a row with a part of an atom": "UPDATE frontier SET key = 1.5 WHERE id = 4",
    "a row with a blob for cash": "UPDATE frontier SET key = x'00ff' WHERE id = 4",
    "a row with too much cash": f"UPDATE frontier SET key = {2**63 - 1}",
    "a row with a negative history": f"UPDATE frontier SET history = {-(2**62)}",
    "a row that was spent by no step": "UPDATE frontier SET spent = 999",
    "a row that was spent before the first step": "UPDATE frontier SET spent = -9",
    "rows with garbage for measures": "UPDATE frontier SET measures = x'010203'",
    "a row less": "DELETE FROM frontier WHERE id = 3",
    "a row more": f"INSERT INTO frontier SELECT {_HUGE}, 0, 0, 0, 0, 0, 0, NULL",
    "rows with negative ids": "UPDATE frontier SET id = -id - 1",
    "a page of a host that is not known": "UPDATE urls SET host = 99",
    "a page of host -1": "UPDATE urls SET host = -1 WHERE id = 4",
    "a page of a host with a name for a number": "UPDATE urls SET host = 'h0.example'",
    "a path that is a blob": "UPDATE urls SET path = x'2fff' WHERE id = 4",
    "a path that is no UTF-8": "UPDATE urls SET path = CAST(x'2fff' AS TEXT) WHERE id = 4",
    "a path that is a number": "UPDATE urls SET path = 7",
    "a negative depth": "UPDATE urls SET depth = -4",
    "words for a depth": "UPDATE urls SET depth = 'deep'",
    "URLs with negative ids": "UPDATE urls SET id = -id - 1",
    "a URL with a huge id": f"UPDATE urls SET id = {_HUGE} WHERE id = 23",
    "two pages of one URL": "UPDATE urls SET host = 0, path = '/0'",
    "an origin that is a blob": "UPDATE hosts SET origin = x'ff00'",
    "an origin that is no URL": "UPDATE hosts SET origin = 'nonsense ['",
    "hosts with huge ids": f"UPDATE hosts SET id = id + {_HUGE}",
    "hosts with negative ids": "UPDATE hosts SET id = -id - 1",
    "rules that are a blob": "UPDATE hosts SET robots = x'ff00', robots_until = 9e9",
    "words for times of hosts": "UPDATE hosts SET robots = '', robots_until = 'x', wait_until='x'",
    "a title that is a blob": "UPDATE documents SET title = x'ff00'",
    "words for times of documents": "UPDATE documents SET first_at = 'then', last_at = 'now'",
    "times beyond all years": "UPDATE documents SET first_at = 1e300, last_at = 9e999",
    "a hash that is text": "UPDATE documents SET content = 'same', status = 'fine', checks = 'x'",
    "an ETag that is a blob": "UPDATE documents SET etag = x'ff', last_modified = 7",
    "a document of no page": f"UPDATE documents SET page = page + {_HUGE}",
    "documents with negative ids": "UPDATE documents SET page = -page - 1",
    "words for times of requests": "UPDATE fetches SET at = 'once', elapsed_s = 'long'",
    "words for bytes": "UPDATE fetches SET wire_bytes = 'many', status = 'good'",
    "an outcome that is none": "UPDATE fetches SET outcome = 'failed:because'",
    "an outcome that is a blob": "UPDATE fetches SET outcome = x'ff', detail = x'ff'",
    "requests for pages that are none": f"UPDATE fetches SET page = {_HUGE}",
    "requests with huge ids": f"UPDATE fetches SET id = id + {_HUGE}",
    "mirrors of hosts that are none": "UPDATE mirrors SET host = 77, of_host = -3, pages = 1000",
    "mirrors by name": "UPDATE mirrors SET host = 'a', of_host = 'b', pages = 'all'",
    "originals that are blobs": "UPDATE originals SET url = x'ff'",
    "a refinement that is garbage": "INSERT INTO refinement VALUES (45, 3, x'01', 'text')",
}
_META = {
    "terms that are no JSON": ("terms", "{"),
    "terms that are a list": ("terms", "[1, 2]"),
    "terms with more than there is": ("terms", '{"wine": 1}'),
    "terms with an unknown window": ("terms", '{"window": "shop"}'),
    "terms with a width that is none": ("terms", '{"width": "wide"}'),
    "terms of an import": ("terms", '{"imported": true}'),
    "counts that are no JSON": ("counters", "NaN,"),
    "counts that are a list": ("counters", "[]"),
    "counts that are words": ("counters", '{"states": {"0": "many"}, "steps": "x", "fetches": []}'),
    "counts of states that are none": ("counters", '{"states": {"99": 3, "a": 1}, "recorded": 1}'),
    "counts beyond all numbers": ("counters", '{"requests": 1e999, "running_s": "long"}'),
    "a watermark that is a word": ("watermark", "high"),
    "a watermark beyond the log": ("watermark", "99999"),
    "a watermark below 0": ("watermark", "-1"),
    "a watermark that contradicts the log": ("watermark", "7"),
    "a pot that is a word": ("pot", "full"),
    "a pot that is too full": ("pot", str(2**80)),
    "fewer unread pages than none": ("unread", "-3"),
    "a mark of a restatement that is none": ("restated", "yesterday"),
}
_RANKS = {
    "ranks with garbage scores": "UPDATE scores SET scores = x'010203'",
    "ranks with blocks far off": "UPDATE scores SET block = 1000000",
    "ranks with negative blocks": "UPDATE scores SET block = -1",
    "ranks with words for numbers": "UPDATE ranks SET nodes = 'x', edges = 'y', error_bound = 'z'",
    "ranks with options that are none": "UPDATE ranks SET options = '[', made_at = 'then'",
    "ranks of another shape": "DROP TABLE scores",
    "ranks of nobody knows what": "DELETE FROM derived_from",
}

DAMAGES: dict[str, Damage] = {
    **{f"zeros for the root of {name}": zeroed_root(name) for name in TABLES},
    "zeros for the index of requests": zeroed_root("fetches_of_page"),
    **{f"zeros for a leaf of {name}": zeroed_leaf(name) for name in LARGE},
    "zeros for the first page": written_at(0, bytes(PAGE_BYTES)),
    "a magic word that is none": written_at(0, b"SQLite format 9"),
    "a page size that is none": written_at(16, b"\x00\x07"),
    "another page size": written_at(16, b"\x10\x00"),
    "a format of the future": written_at(18, b"\x09\x09"),
    "a count of pages that is wrong": written_at(28, b"\x00\x00\x00\x03"),
    "a list of free pages that is none": written_at(32, b"\x00\x00\xff\xff\x00\x00\x00\x09"),
    "text in UTF-16": written_at(56, b"\x00\x00\x00\x02"),
    "a schema format of the future": written_at(44, b"\x00\x00\x00\x09"),
    "a flipped bit in the kind of a page": flipped_in("frontier", 0),
    "a flipped bit in the count of cells": flipped_in("urls", 3),
    "a flipped bit in the place of a cell": flipped_in("documents", 12),
    "a flipped bit in the last child": flipped_in("steps", 11),
    "a schema that is no UTF-8": replaced_in(b"CREATE TABLE steps", b"CREATE TABLE \xffteps"),
    "a schema that is no SQL": replaced_in(b"CREATE TABLE steps", b"CREATE TABLE ,teps"),
    "half of the file": cut_to(0.5),
    "all but the last bytes": cut_to(0.99),
    "the first bytes": cut_to(0.004),
    "an empty file": replaced_by(b""),
    "a file of words": replaced_by(b"this is no store\n" * 99),
    "a file of noise": replaced_by(_NOISE),
    "a folder": _in_its_place(Path.mkdir),
    "a link to itself": _in_its_place(lambda path: path.symlink_to(path.name)),
    "two links to each other": _in_its_place(_a_longer_loop),
    "a link to nothing": _in_its_place(lambda path: path.symlink_to("gone/away.db")),
    "a pipe": _in_its_place(os.mkfifo),
    "a file for a folder": _behind_a_file,
    "noise for a write-ahead log": accompanied_by("-wal", _NOISE),
    "a folder for a write-ahead log": _a_folder_beside("-wal"),
    "noise for the index of a write-ahead log": accompanied_by("-shm", _NOISE),
    "noise for a journal": accompanied_by("-journal", _NOISE),
    "a folder for a lock": _a_folder_beside("-lock"),
    "noise for ranks": accompanied_by("-ranks", _NOISE),
    "a version of the future": sql("PRAGMA user_version = 99"),
    "a version below 0": sql("PRAGMA user_version = -1"),
    "a version that has not begun": sql("PRAGMA user_version = 0"),
    "a version of the past": sql("PRAGMA user_version = 1"),
    "the database of another program": sql("PRAGMA application_id = 7"),
    **{f"no table {name}": sql(f"DROP TABLE {name}") for name in TABLES},
    "no index of requests": sql("DROP INDEX fetches_of_page"),
    "a table with other columns": sql("DROP TABLE steps", "CREATE TABLE steps (seq, joy)"),
    "a view for a table": sql("DROP TABLE urls", "CREATE VIEW urls AS SELECT 1 AS id"),
    "no rows at all": sql(*(f"DELETE FROM {name}" for name in TABLES)),
    **{f"no rows of {name}": sql(f"DELETE FROM {name}") for name in TABLES},
    **{name: sql(statement) for name, statement in _VALUES.items()},
    **{name: _in_meta(*pair) for name, pair in _META.items()},
    **{name: in_ranks(statement) for name, statement in _RANKS.items()},
}


def copied(whole: Path, folder: Path) -> Path:
    """Copy the store and the files beside it."""
    folder.mkdir()
    for file in whole.parent.glob(f"{whole.name}*"):
        shutil.copyfile(file, folder / file.name)
    return folder / whole.name
