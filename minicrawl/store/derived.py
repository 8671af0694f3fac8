"""Derived data in a file beside the store.

The file, `crawl.db-ranks`, is not part of the store, because a crawl may be writing the store. It
can be deleted at any time: the data can be computed again.

ranks      scores of all pages by rank
backlinks  index of the pages that link to a page
topics     pages of topics that have a rank of their own
checks     results of link checks
pings      moments at which sites said that pages have changed
samples    figures of a crawl over time

Laws: every write is a transaction. Data of another store that had the same name is ignored, and
deleted by the next write. A rank is replaced as a whole, and so is the index, which is as of one
step. Everything is read and written in blocks. A page that was found after a rank was computed has
the score NaN.
"""

import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import StoreError, UsageError
from minicrawl.graph.csr import Csr
from minicrawl.model import State
from minicrawl.store import tables
from minicrawl.store.reader import (
    begin_snapshot,
    connect,
    file_beside,
    remove_log,
)
from minicrawl.store.records import (
    DERIVED,
    NONSENSE,
    translating_derived_errors,
)
from minicrawl.store.tables import Connection
from minicrawl.web.takedowns import Takedowns

OPIC = "opic"
"""Name of the importance rank: converged if it is kept here, otherwise the crawl's estimate."""
OPIC_SITES = "opic-sites"
"""Name of the site importance at the time when the importance converged.

The pages of a site have equal shares of it.
"""
GATHERED = "gathered"
"""Option of `OPIC`: gathered share of the importance of all readable pages."""
READABLE_PAGES = "readable"
"""Option of `OPIC`: number of readable pages, whether read or not."""
FLOWED = "flowed"
"""Option of `OPIC`: mean flow through a page per iteration of `opic.estimate`."""
GUARANTEED = "guaranteed"
"""Option of `OPIC`: share of PageRank from the seeds that is proven by `opic.estimate`."""

SUFFIX = "-ranks"

_PATIENCE_S = 60.0
_SCORES_AT_ONCE = 1 << 16
_RANKS = """
CREATE TABLE IF NOT EXISTS ranks (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    options TEXT NOT NULL,      -- as JSON
    made_at REAL NOT NULL,
    step INTEGER NOT NULL,      -- the last one when it was made
    nodes INTEGER NOT NULL,     -- the pages of the store then
    edges INTEGER NOT NULL,
    iterations INTEGER NOT NULL,
    error_bound REAL NOT NULL,
    converged INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS scores (
    rank INTEGER NOT NULL,
    block INTEGER NOT NULL,
    scores BLOB NOT NULL,       -- a float for each page of the block
    PRIMARY KEY (rank, block)
)
"""
_PAGES_A_BLOCK = 1 << 12
_BACKLINKS = """
CREATE TABLE IF NOT EXISTS backlinks_as_of (
    step INTEGER NOT NULL       -- the last one in the index
);
CREATE TABLE IF NOT EXISTS backlinks (
    block INTEGER PRIMARY KEY,
    starts BLOB NOT NULL,       -- where the givers of each page begin, then the end
    givers BLOB NOT NULL
)
"""

Floats = NDArray[np.float64] | NDArray[np.float32]


class RankRow(NamedTuple):
    """Metadata of a rank."""

    name: str
    options: str
    made_at: float
    step: int
    nodes: int
    edges: int
    iterations: int
    error_bound: float
    converged: bool


def beside(store: Path) -> Path:
    """Return the path of the derived file, the same by whatever link the store is named."""
    return file_beside(store, SUFFIX)


@contextmanager
def reading_beside(store: Path, connection: Connection) -> Iterator[Connection | None]:
    """Yield a connection to the derived data of the store, or None if there is none."""
    path = beside(store)
    if not path.is_file():
        yield None
        return
    birth = tables.birth(connection)  # outside: damage to the store is not damage to this file
    with (
        translating_derived_errors(path),
        closing(connect(path)) as derived,
        _reporting_damage(path),
    ):
        begin_snapshot(derived)
        yield derived if _is_derived_from(derived, birth) else None
    remove_log(path)


@contextmanager
def writing_beside(store: Path, connection: Connection, schema: str) -> Iterator[Connection]:
    """Yield a transaction in the derived file, after creating the tables of `schema`."""
    path, birth = beside(store), tables.birth(connection)
    if not os.access(path.parent, os.W_OK):
        raise UsageError(f"{path} cannot be written, as its folder is read-only")
    with (
        translating_derived_errors(path),
        closing(sqlite3.connect(path, timeout=_PATIENCE_S, isolation_level=None)) as derived,
    ):
        derived.execute("PRAGMA journal_mode = WAL")
        derived.execute("BEGIN IMMEDIATE")
        with derived:  # commits, or rolls back
            if not _is_derived_from(derived, birth):
                _clear(derived, birth)
            for statement in schema.split(";"):
                derived.execute(statement)
            yield derived


@contextmanager
def _reporting_damage(path: Path) -> Iterator[None]:
    """Convert errors from invalid values into a `StoreError` about the file."""
    try:
        yield
    except NONSENSE as error:
        raise StoreError(f"{path} is damaged ({error}); {DERIVED}") from error


def has_table(derived: Connection, name: str) -> bool:
    """Return True if the file has a table of this name."""
    found = derived.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)).fetchone()
    return found is not None


def _is_derived_from(derived: Connection, birth: str) -> bool:
    """Return True if the file belongs to the store of this birth."""
    if not has_table(derived, "derived_from"):
        return False
    row = derived.execute("SELECT store FROM derived_from").fetchone()
    return row is not None and str(row[0]) == birth


def _clear(derived: Connection, birth: str) -> None:
    names = derived.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    for (name,) in names:
        derived.execute(f'DROP TABLE "{name}"')
    derived.execute("CREATE TABLE derived_from (store TEXT NOT NULL)")
    derived.execute("INSERT INTO derived_from VALUES (?)", (birth,))


# ---------------------------------------------------------------- ranks


def keep_ranks(
    store: Path, connection: Connection, found: Iterable[tuple[RankRow, Floats]]
) -> None:
    """Write the ranks beside the store, all of them or none."""
    with writing_beside(store, connection, _RANKS) as derived:
        for row, values in found:
            _delete_rank(derived, row.name)
            rank = derived.execute(
                "INSERT INTO ranks VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row
            ).lastrowid
            for number, first in enumerate(range(0, len(values), _SCORES_AT_ONCE)):
                blob = values[first : first + _SCORES_AT_ONCE].astype(np.float64).tobytes()
                derived.execute("INSERT INTO scores VALUES (?, ?, ?)", (rank, number, blob))


def drop_rank(store: Path, connection: Connection, name: str) -> None:
    """Delete a rank and its scores."""
    with writing_beside(store, connection, _RANKS) as derived:
        _delete_rank(derived, name)


def kept_ranks(derived: Connection | None) -> list[RankRow]:
    """Return the metadata of all ranks, by name."""
    if derived is None or not has_table(derived, "ranks"):
        return []
    columns = ", ".join(RankRow._fields)
    rows = derived.execute(f"SELECT {columns} FROM ranks ORDER BY name")
    return [_checked_row(RankRow._make(row)) for row in rows]


def rank_row(derived: Connection | None, name: str) -> RankRow | None:
    """Return the metadata of this rank, or None."""
    return next((row for row in kept_ranks(derived) if row.name == name), None)


def gathered(row: RankRow) -> float | None:
    """Return the gathered share of the importance, or None if it is not kept."""
    return _number(row, GATHERED)


def flowed(row: RankRow) -> float | None:
    """Return the mean flow through a page, or None if it is not kept."""
    return _number(row, FLOWED)


def guaranteed(row: RankRow, connection: Connection) -> float | None:
    """Return the proven share of PageRank; None if it is not kept or seeds were added since."""
    seeds_at = tables.endowed(tables.counters(connection))
    return _number(row, GUARANTEED) if max(seeds_at, default=0) <= row.step else None


def readable_pages(row: RankRow) -> float | None:
    """Return the number of readable pages, or None if it is not kept."""
    return _number(row, READABLE_PAGES)


def _number(row: RankRow, option: str) -> float | None:
    found = json.loads(row.options).get(option)
    return float(found) if isinstance(found, float | int) else None


def rank_scores(derived: Connection, name: str, pages: int) -> NDArray[np.float64]:
    """Return the scores of all pages by this rank; NaN where it has none."""
    found = np.full(pages, np.nan)
    cursor = derived.execute(
        "SELECT block, scores FROM scores JOIN ranks ON ranks.id = rank WHERE name = ?", (name,)
    )
    for block, blob in cursor:
        first = block * _SCORES_AT_ONCE
        values = np.frombuffer(blob)[: max(pages - first, 0)]
        found[first : first + len(values)] = values
    return found


def _checked_row(row: RankRow) -> RankRow:
    """Return the row. Raises an error of `NONSENSE` if `keep_ranks` cannot have written it."""
    numbers = row.step, row.nodes, row.edges, row.iterations, row.error_bound
    if not all(isinstance(number, int | float) for number in numbers):
        raise ValueError(f"{row.name} has text instead of numbers")
    if not isinstance(json.loads(row.options), dict):
        raise ValueError(f"{row.name} has no options")
    datetime.fromtimestamp(row.made_at, UTC)
    return row._replace(converged=bool(row.converged))


def _delete_rank(derived: Connection, name: str) -> None:
    derived.execute(
        "DELETE FROM scores WHERE rank = (SELECT id FROM ranks WHERE name = ?)", (name,)
    )
    derived.execute("DELETE FROM ranks WHERE name = ?", (name,))


# ---------------------------------------------------------------- backlinks


def keep_backlinks(store: Path, connection: Connection, step: int, inlinks: Csr) -> None:
    """Replace the backlink index of the store by `inlinks`, as of this step."""
    with writing_beside(store, connection, _BACKLINKS) as derived:
        derived.execute("DELETE FROM backlinks_as_of")
        derived.execute("DELETE FROM backlinks")
        derived.execute("INSERT INTO backlinks_as_of VALUES (?)", (step,))
        derived.executemany("INSERT INTO backlinks VALUES (?, ?, ?)", _index_blocks(inlinks))


def backlinks_step(derived: Connection | None) -> int | None:
    """Return the last step in the index, or None if there is no index."""
    if derived is None or not has_table(derived, "backlinks_as_of"):
        return None
    (step,) = derived.execute("SELECT step FROM backlinks_as_of").fetchone()
    return int(step)


def backlinks_of(derived: Connection, pages: Iterable[int]) -> NDArray[np.int32]:
    """Return the pages that link to any of these pages. Pages outside of the index have none."""
    found = [np.empty(0, dtype=np.int32)]
    for page in sorted(pages):
        number, place = divmod(page, _PAGES_A_BLOCK)
        row = derived.execute("SELECT starts, givers FROM backlinks WHERE block = ?", (number,))
        starts, blob = row.fetchone() or (b"", b"")
        begins, givers = np.frombuffer(starts, dtype=np.int64), np.frombuffer(blob, dtype=np.int32)
        if place + 1 < len(begins):
            found.append(givers[begins[place] : begins[place + 1]])
    return np.concatenate(found)


def _index_blocks(inlinks: Csr) -> Iterator[tuple[int, bytes, bytes]]:
    firsts = [*range(0, inlinks.nodes, _PAGES_A_BLOCK), inlinks.nodes]
    for number, (first, end) in enumerate(pairwise(firsts)):
        starts = inlinks.starts[first : end + 1]
        blob = inlinks.targets[starts[0] : starts[-1]].tobytes()
        yield number, (starts - starts[0]).tobytes(), blob


# ================================================================ topics
#
# Pages of topics with a rank of their own, in the same file.
#
# Law: the topics of a family are replaced together, as their ranks are.
#
# family   common name of the ranks of some topics: the rank of a topic is named NAME-TOPIC

_TOPICS = """
CREATE TABLE IF NOT EXISTS topics (
    family TEXT NOT NULL, topic TEXT NOT NULL, pages BLOB NOT NULL,
    PRIMARY KEY (family, topic)
) WITHOUT ROWID
"""

Topics = dict[str, list[int]]
"""Pages by topic."""


def keep_topics(
    store: Path, connection: Connection, family: str, topics: Mapping[str, Sequence[int]]
) -> None:
    """Replace the topics of this family."""
    with writing_beside(store, connection, _TOPICS) as derived:
        derived.execute("DELETE FROM topics WHERE family = ?", (family,))
        rows = ((family, topic, np.array(some).tobytes()) for topic, some in topics.items())
        derived.executemany("INSERT INTO topics VALUES (?, ?, ?)", rows)


def kept_topics(store: Path, connection: Connection) -> dict[str, Topics]:
    """Return the topics by family."""
    found: dict[str, Topics] = {}
    with reading_beside(store, connection) as derived:
        if derived is None or not has_table(derived, "topics"):
            return found
        rows = derived.execute("SELECT family, topic, pages FROM topics ORDER BY family, topic")
        for family, topic, blob in rows:
            found.setdefault(family, {})[topic] = np.frombuffer(blob, np.int64).tolist()
    return found


# ================================================================ checks
#
# Results of link checks, kept beside the store because they can be obtained again.
#
# check    a URL that was requested to see whether it exists, but is not crawled
# finding  a reference to a broken target that the crawl itself does not report, such as an asset,
#          an anchor, or a missing page that is answered with 200 (soft 404); or to a large image

_CHECKS = """
CREATE TABLE IF NOT EXISTS checks (
    url TEXT PRIMARY KEY, state INTEGER NOT NULL, status INTEGER, detail TEXT NOT NULL,
    at REAL NOT NULL, bytes INTEGER, since REAL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS findings (
    source INTEGER NOT NULL, target TEXT NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL
)
"""


_DEAD = f"({{0}}state >= {State.DNS} OR {{0}}state = {State.ADDRESS})"


class CheckRow(NamedTuple):
    """Result of one URL. `state` is the value of a `State`."""

    url: str
    state: int
    status: int | None
    detail: str
    at: float
    bytes: int | None = None
    """Size of the response on the wire, if it is known."""
    since: float | None = None
    """Time of the first failure in a row; or when the target was mended, if it ever failed."""


LARGE_IMAGE = "image-large"
"""Kind of a finding whose target is not broken; its text is the number of bytes."""


class FindingRow(NamedTuple):
    """Reference of a page to a target that is broken, or was not requested, by its check."""

    source: int
    target: str
    kind: str
    text: str


def keep_checks(store: Path, connection: Connection, rows: Iterable[CheckRow]) -> None:
    """Add or replace the results of these URLs."""
    with writing_beside(store, connection, _CHECKS) as derived:
        _put_checks(derived, rows)


def keep_findings(
    store: Path,
    connection: Connection,
    rows: Iterable[FindingRow],
    checks: Iterable[CheckRow] = (),
) -> None:
    """Replace all findings, and add or replace the results of the URLs that led to them."""
    gone = tables.taken_down(tables.counters(connection))
    with writing_beside(store, connection, _CHECKS) as derived:
        derived.execute("DELETE FROM findings")
        shown = (row for row in rows if not gone.covers(row.target))
        derived.executemany("INSERT INTO findings VALUES (?, ?, ?, ?)", shown)
        _put_checks(derived, checks)


def _put_checks(derived: Connection, rows: Iterable[CheckRow]) -> None:
    columns = derived.execute("SELECT name FROM pragma_table_info('checks')").fetchall()
    for name, kind in (("bytes", "INTEGER"), ("since", "REAL")):
        if (name,) not in columns:  # a file of an earlier version
            derived.execute(f"ALTER TABLE checks ADD COLUMN {name} {kind}")
    derived.executemany(
        "INSERT INTO checks VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (url) DO UPDATE SET "
        f"since = CASE WHEN {_DEAD.format('excluded.')} != {_DEAD.format('')} THEN excluded.at "
        f"ELSE coalesce(since, iif({_DEAD.format('')}, at, NULL)) END, state = excluded.state, "
        "status = excluded.status, detail = excluded.detail, at = excluded.at, "
        "bytes = excluded.bytes",
        (row._replace(since=row.at if State(row.state).is_dead_end else None) for row in rows),
    )


def drop_findings(
    store: Path, connection: Connection, pages: Iterable[int], gone: Takedowns
) -> None:
    """Delete the findings of these pages, and all that has a URL that was taken down."""
    with writing_beside(store, connection, _CHECKS) as derived:
        derived.create_function("is_gone", 1, gone.covers)
        rows = [(page,) for page in pages]
        derived.executemany("DELETE FROM findings WHERE source = ?", rows)
        derived.execute("DELETE FROM findings WHERE is_gone(target)")
        derived.execute("DELETE FROM checks WHERE is_gone(url)")
    path = beside(store)
    with translating_derived_errors(path), closing(sqlite3.connect(path)) as derived:
        derived.execute("VACUUM")


def all_checks(store: Path, connection: Connection) -> list[CheckRow]:
    """Return all results, by URL."""
    with reading_beside(store, connection) as derived:
        if derived is None or not has_table(derived, "checks"):
            return []
        return [CheckRow(*row) for row in derived.execute("SELECT * FROM checks ORDER BY url")]


def all_findings(
    store: Path, connection: Connection, kind: str | None = None
) -> Iterator[FindingRow]:
    """Yield all findings, or those of one kind, by page."""
    with reading_beside(store, connection) as derived:
        if derived is None or not has_table(derived, "findings"):
            return
        chosen = "" if kind is None else "WHERE kind = :kind"
        rows = derived.execute(
            f"SELECT * FROM findings {chosen} ORDER BY source, target", {"kind": kind}
        )
        yield from map(FindingRow._make, rows)


# ================================================================ pings
#
# Pings of IndexNow, for the next run that reads pages again.
#
# Laws: a page has one ping, the latest. A ping that is older than the last reading of its page says
# nothing. Unlike the rest of the file, pings cannot be computed again: without them, pages are read
# later.

_PINGS = """
CREATE TABLE IF NOT EXISTS pings (page INTEGER PRIMARY KEY, at REAL NOT NULL)
"""


def keep_pings(store: Path, connection: Connection, pages: Iterable[int], at: float) -> None:
    """Note that these pages have changed by now."""
    with writing_beside(store, connection, _PINGS) as derived:
        derived.executemany(
            "INSERT OR REPLACE INTO pings VALUES (?, ?)", ((page, at) for page in pages)
        )


def kept_pings(store: Path, connection: Connection) -> dict[int, float]:
    """Return the moment of the latest ping of each page that has one."""
    with reading_beside(store, connection) as derived:
        if derived is None or not has_table(derived, "pings"):
            return {}
        return {page: float(at) for page, at in derived.execute("SELECT page, at FROM pings")}


# ================================================================ samples
#
# Samples of a crawl's figures over time.
#
# Law: samples are appended every few seconds and never changed. Beyond `MOST_SAMPLES`, every other
# one of the older half is deleted: a long crawl keeps its whole curve, and the latest hours in
# full.

MOST_SAMPLES = 4096
Sample = TypeVar("Sample")
_SAMPLES = """
CREATE TABLE IF NOT EXISTS samples (
    id INTEGER PRIMARY KEY,
    at REAL NOT NULL,
    figures TEXT NOT NULL       -- as JSON
)
"""


def append_sample(
    store: Path,
    connection: Connection,
    at: float,
    figures: Mapping[str, Any],
    most: int = MOST_SAMPLES,
) -> None:
    """Append a sample, and thin out the older ones if there are more than `most`."""
    with writing_beside(store, connection, _SAMPLES) as derived:
        derived.execute("INSERT INTO samples VALUES (NULL, ?, ?)", (at, json.dumps(figures)))
        (count,) = derived.execute("SELECT count(*) FROM samples").fetchone()
        if count > most:
            derived.execute(
                "DELETE FROM samples WHERE id IN (SELECT id FROM "
                "(SELECT id, row_number() OVER (ORDER BY id) AS place FROM samples) "
                "WHERE place <= ? AND place % 2 = 0)",
                (most // 2,),
            )


def kept_samples(
    store: Path,
    connection: Connection,
    make: Callable[[dict[str, Any]], Sample],
    since: float = 0,
    last: int | None = None,
) -> list[Sample]:
    """Return the samples after `since`, at most the `last` ones, in order, converted by `make`."""
    with reading_beside(store, connection) as derived:
        if derived is None or not has_table(derived, "samples"):
            return []
        rows = derived.execute(
            "SELECT figures FROM samples WHERE at > ? ORDER BY id DESC LIMIT ?",
            (since, -1 if last is None else last),
        ).fetchall()
        return [make(json.loads(figures)) for (figures,) in reversed(rows)]


# ================================================================ facts
#
# Facts of kept pages, for an audit, and the entries of kept sitemaps.
#
# Law: facts are complete up to a place in the archive. After a kill, the records behind that place
# are read again.

_FACTS = """
CREATE TABLE IF NOT EXISTS facts (
    page INTEGER PRIMARY KEY, numbers BLOB NOT NULL, refs BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS listed (
    sitemap INTEGER NOT NULL, page INTEGER NOT NULL, lastmod TEXT NOT NULL,
    PRIMARY KEY (sitemap, page)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS facts_of (version INTEGER NOT NULL, archive TEXT NOT NULL, place INTEGER)
"""


class FactsUntil(NamedTuple):
    """Version of the facts, identity of the archive, and place in it up to which facts are kept."""

    version: int
    archive: str
    place: int


class FactsRow(NamedTuple):
    """Facts of a page and its references, both packed."""

    page: int
    numbers: bytes
    refs: bytes


class ListedRow(NamedTuple):
    """Entry of a sitemap: the keys of the URLs of sitemap and page, and the `lastmod` date."""

    sitemap: int
    page: int
    lastmod: str


def keep_facts(
    store: Path,
    connection: Connection,
    until: FactsUntil,
    rows: Iterable[FactsRow],
    listed: Mapping[int, Iterable[ListedRow]],
) -> None:
    """Add or replace facts and sitemap entries. Those of another archive or version are deleted."""
    with writing_beside(store, connection, _FACTS) as derived:
        known = derived.execute("SELECT version, archive FROM facts_of").fetchone()
        if known != until[:2]:
            derived.execute("DELETE FROM facts")
            derived.execute("DELETE FROM listed")
        derived.execute("DELETE FROM facts_of")
        derived.execute("INSERT INTO facts_of VALUES (?, ?, ?)", until)
        derived.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?, ?)", rows)
        for sitemap, entries in listed.items():
            derived.execute("DELETE FROM listed WHERE sitemap = ?", (sitemap,))
            derived.executemany("INSERT OR REPLACE INTO listed VALUES (?, ?, ?)", entries)


def facts_until(store: Path, connection: Connection) -> FactsUntil | None:
    """Return the place in the archive up to which facts are kept, or None without facts."""
    with reading_beside(store, connection) as derived:
        if derived is None or not has_table(derived, "facts_of"):
            return None
        row = derived.execute("SELECT version, archive, place FROM facts_of").fetchone()
        return None if row is None else FactsUntil(*row)


def facts_in_blocks(store: Path, connection: Connection) -> Iterator[list[FactsRow]]:
    """Yield the facts of all pages, in blocks, in the order of their ids."""
    with reading_beside(store, connection) as derived:
        if derived is not None and has_table(derived, "facts"):
            cursor = derived.execute("SELECT page, numbers, refs FROM facts ORDER BY page")
            while rows := cursor.fetchmany(_PAGES_A_BLOCK):
                yield list(map(FactsRow._make, rows))


def listed_in_blocks(store: Path, connection: Connection) -> Iterator[list[ListedRow]]:
    """Yield the entries of all sitemaps, in blocks."""
    with reading_beside(store, connection) as derived:
        if derived is not None and has_table(derived, "listed"):
            cursor = derived.execute("SELECT sitemap, page, lastmod FROM listed")
            while rows := cursor.fetchmany(_PAGES_A_BLOCK):
                yield list(map(ListedRow._make, rows))
