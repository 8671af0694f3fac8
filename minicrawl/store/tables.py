"""Queries for any connection, whether a writer's or a reader's."""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from minicrawl.model import OwnRequest, PageId
from minicrawl.opic.ledger.ledger import Totals
from minicrawl.store.records import (
    FETCH_COLUMNS,
    ChannelEnds,
    DocumentRow,
    FetchRow,
    HostRow,
    StoreTerms,
)
from minicrawl.web.takedowns import Takedowns, what_of

Connection = sqlite3.Connection
"""Type of a connection, for packages that may not import sqlite3."""

COMMAND = "command"
"""Counter: command that resumes the crawl."""
BEGUN_IN, BEGUN_AS = "begun_in", "begun_as"
"""Counters: folder in which this command was given, and real path of the store at that time."""
CONVERGES = "converges"
"""Counter: True if the crawl computes converged importance."""
MAXIMUM = "maximum"
"""Counter: `--pages` of the last run, which counts earlier runs too, or None."""
PAGES_OF_A_RUN = "pages_of_a_run"
"""Counter: `--pages` or `--new-pages` of the last run; an update reads as many pages again."""
GOES_ON_UNTIL = "goes_on_until"
"""Counter: --until with which the crawl goes on, if its own has ended it, or None."""
SITEMAP_RECORDS = "sitemap_records"
"""Counter: by host, how often sitemaps were right that a page is unchanged, and were checked."""
LEFT_OUT = "left_out"
"""Counter: pages that the last update did not request, because sitemaps say they are unchanged."""
BEGAN = "began"
"""Counter: start time of the last run."""
STATES = "states"
"""Counter: number of pages by state, with the state's value as text."""
RECORDED = "recorded"
"""Counter: G in atoms."""
STEPS = "steps"
FETCHES = "fetches"
"""Counters: number of steps, and number of fetches."""
GATHERED = "importance_gathered"
"""Counter: gathered share of the importance, as of its last update."""
GUARANTEED = "importance_guaranteed"
"""Counter: proven share of PageRank from the seeds, for a crawl that stops when it is enough."""
FOUND_LATELY = "found_lately"
"""Counter: recent number of new pages per page read, for a crawl with an importance limit."""
MINTED = "minted"
"""Counter: M in atoms."""
ENDOWED = "endowed"
"""Counter: steps that endowed seeds."""
ARCHIVE_END = "archive_end"
"""Counter: place behind the last record of the archive, if pages are archived."""
ARCHIVES = "archives"
"""Counter: ends of the archives of the shards that were gathered into this store, by shard."""
WARC = "warc"
"""Counter: WARC files that the crawl writes, and their ends (see `crawl.record.archiving`)."""
PRUNING_WAITS = "pruning_waits"
"""Counter: True if old versions in the archive await deletion because of readers."""
LOST_AT = "archive_lost_at"
"""Counter: time when a crawl found archived pages missing."""
FORGOTTEN = "forgotten"
"""Counter: list of the URLs and prefixes that were taken down, each with time and answers."""

OF_FILES_BESIDE = frozenset((ARCHIVE_END, WARC, PRUNING_WAITS, LOST_AT))
"""Counters that a copy of the store does not inherit."""
SETTINGS = "settings"
"""Counter: settings that the user gave, by name."""
LAST_RUN_SETTINGS = "wishes"
"""Counter: all settings of the last run, given or default. Stores know it by its old name."""

OF_LAST_RUN = "of_last_run"
"""Counter: names of the settings that the last run was given and no store keeps."""

_ROWS_AT_ONCE = 500  # larger blocks exceed the cache and are slower


def number(connection: Connection, query: str, *values: object) -> int:
    (number,) = connection.execute(query, values).fetchone()
    return int(number)


def column(connection: Connection, query: str, *values: object) -> list[Any]:
    return [value for (value,) in connection.execute(query, values)]


def as_json_list(ids: Sequence[int]) -> str:
    """Return the ids as one JSON value: SQLite limits the number of values in a query."""
    return f"[{','.join(map(str, ids))}]"


def meta(connection: Connection, name: str) -> str | None:
    row = connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    return None if row is None else str(row[0])


def birth(connection: Connection) -> str:
    """Return the identity of a store: its first URL, and the time of its first request."""
    (page,) = connection.execute(
        "SELECT origin || path FROM urls JOIN hosts ON hosts.id = host WHERE urls.id = 0 "
        "UNION ALL SELECT '' LIMIT 1"
    ).fetchone()
    (at,) = connection.execute("SELECT min(at) FROM fetches WHERE id = 1").fetchone()
    return f"{page} {at or 0}"


def is_birth_of(known: str | None, birth: str) -> bool:
    """Return True if both are identities of the same store.

    `known` may have been taken before the store had a first request, or a first page.
    """
    return known in (birth, f"{birth.rpartition(' ')[0]} 0", " 0")


def terms(connection: Connection) -> StoreTerms | None:
    text = meta(connection, "terms")
    return None if text is None else StoreTerms(**json.loads(text))


def counters(connection: Connection) -> dict[str, object]:
    text = meta(connection, "counters")
    return {} if text is None else dict(json.loads(text))


class Takedown(NamedTuple):
    """Take-down of a URL or prefix, with the number of answers removed so far."""

    what: str
    """As `what_of` returns it. A store of an earlier version has the URL itself."""
    at: float
    answers: int = 0
    complete: bool = False


def takedowns(counts: Mapping[str, object]) -> list[Takedown]:
    """Return all take-downs, oldest first."""
    rows = counts.get(FORGOTTEN)
    notes = [Takedown(**note) for note in rows] if isinstance(rows, list) else []
    return [
        note._replace(what=what_of(note.what)) if "://" in note.what else note for note in notes
    ]


def taken_down(counts: Mapping[str, object]) -> Takedowns:
    return Takedowns(takedown.what for takedown in takedowns(counts))


def endowed(counts: Mapping[str, object]) -> list[int]:
    steps = counts.get(ENDOWED)
    return steps if isinstance(steps, list) else []


def archive_end(connection: Connection) -> int | None:
    """Return the place behind the last record of the archive, or None without an archive."""
    end = counters(connection).get(ARCHIVE_END)
    return end if isinstance(end, int) else None


def last_run(connection: Connection) -> float:
    """Return the start time of the last run, or 0.0 if it is unknown."""
    began = counters(connection).get(BEGAN)
    return float(began) if isinstance(began, int | float) else 0.0


def settings(connection: Connection) -> dict[str, object]:
    """Return the stored settings, by name. Earlier versions stored all those of the last run."""
    known = counters(connection)
    stored = known.get(SETTINGS, known.get(LAST_RUN_SETTINGS, {}))
    if not isinstance(stored, dict):
        raise ValueError(f"settings are {stored!r}")
    return {name.replace("_", "-"): value for name, value in stored.items()}


def small_edge(connection: Connection, terms: StoreTerms) -> float:
    """Return the small edge that the user gave last."""
    given = settings(connection).get("small-edge", terms.small_edge)
    return float(given) if isinstance(given, int | float) else terms.small_edge


def saved(connection: Connection) -> tuple[int, Totals]:
    """Return watermark and totals of the last checkpoint, or those of an empty ledger."""
    if (watermark := meta(connection, "watermark")) is None:
        return 0, Totals(0, 0, 0, 0, 0, 0, -1)
    return int(watermark), Totals(*(int(meta(connection, name) or 0) for name in Totals._fields))


def channels(connection: Connection) -> ChannelEnds | None:
    """Return the channel state as of the last checkpoint, or None in a crawl with one shard."""
    text = meta(connection, "channels")
    return None if text is None else dict(json.loads(text))


def times(connection: Connection) -> list[tuple[int, int]]:
    """Return the notes of the time as of the last checkpoint, for a window of a span of time."""
    return [(at, clock) for at, clock in json.loads(meta(connection, "times") or "[]")]


def siblings(connection: Connection) -> dict[str, bytes]:
    """Return the state of the siblings order as of the last checkpoint; empty with other orders."""
    return dict(connection.execute("SELECT name, data FROM siblings"))


def has_values(connection: Connection) -> bool:
    """Return True if a scorer gave values to pages."""
    return connection.execute("SELECT 1 FROM scored LIMIT 1").fetchone() is not None


def values_of(connection: Connection, pages: Sequence[int]) -> dict[int, int]:
    # SQLite takes the value from the row with the largest step.
    sql = "SELECT page, scored.value, max(seq) FROM json_each(?) AS wanted CROSS JOIN scored "
    cursor = connection.execute(f"{sql}ON page = wanted.value GROUP BY page", (str(list(pages)),))
    return {page: value for page, value, _ in cursor}


def has_own_requests(connection: Connection) -> bool:
    """Return True if a program enqueued pages with requests other than a plain GET."""
    return connection.execute("SELECT 1 FROM own_requests LIMIT 1").fetchone() is not None


def own_request(connection: Connection, page: PageId) -> OwnRequest | None:
    """Return the request that a program enqueued for this page; None for a plain GET."""
    sql = "SELECT method, headers, body FROM own_requests WHERE page = ?"
    row = connection.execute(sql, (page,)).fetchone()
    return None if row is None else OwnRequest(row[0], tuple(json.loads(row[1]).items()), row[2])


def strategy(connection: Connection) -> str:
    """Return the page order of the last run."""
    settings = counters(connection).get(LAST_RUN_SETTINGS)
    name = settings.get("strategy") if isinstance(settings, dict) else None
    return name if isinstance(name, str) else "greedy"


def score_weight(connection: Connection) -> float:
    """Return the weight of the expected value in the order of the last run; 0 without a scorer."""
    if not has_values(connection):
        return 0.0
    settings = counters(connection).get(LAST_RUN_SETTINGS)
    weight = settings.get("score-weight") if isinstance(settings, dict) else None
    return float(weight) if isinstance(weight, int | float) else 0.0


def measures(connection: Connection) -> dict[int, bytes]:
    """Return the measures of pages as of the last checkpoint, for windows that have measures."""
    return dict(connection.execute("SELECT id, measures FROM frontier WHERE measures IS NOT NULL"))


def spent_by(connection: Connection, page: PageId) -> int:
    """Return the step of a page's last spending as of the last checkpoint, or 0."""
    row = connection.execute("SELECT spent FROM frontier WHERE id = ?", (page,)).fetchone()
    return 0 if row is None else int(row[0])


def last_step(connection: Connection) -> int:
    return number(connection, "SELECT coalesce(max(seq), 0) FROM steps")


def fetches_known(connection: Connection) -> int:
    """Return the number of recorded requests; their ids are dense."""
    return number(connection, "SELECT coalesce(max(id), 0) FROM fetches")


def hosts_and_paths(connection: Connection) -> Iterator[tuple[tuple[int, ...], tuple[str, ...]]]:
    """Yield the hosts and paths of all pages, in blocks, in the order of the ids."""
    cursor = connection.execute("SELECT host, path FROM urls ORDER BY id")
    while rows := cursor.fetchmany(_ROWS_AT_ONCE):
        hosts, paths = zip(*rows, strict=True)
        yield hosts, paths


def paths(connection: Connection, pages: Sequence[int]) -> list[tuple[int, int, str]]:
    """Return page, host and path of these pages.

    The result is a single row, because this thread waits for the GIL after each row.
    """
    (rows,) = connection.execute(
        "SELECT json_group_array(json_array(urls.id, host, urls.path)) FROM json_each(?) AS wanted "
        "CROSS JOIN urls ON urls.id = wanted.value",
        (str(list(pages)),),
    ).fetchone()
    return list(map(tuple, json.loads(rows)))


def url_of(connection: Connection, page: PageId) -> str:
    row = connection.execute(
        "SELECT origin || path FROM urls JOIN hosts ON hosts.id = host WHERE urls.id = ?", (page,)
    ).fetchone()
    return str(row[0])


def urls_of(connection: Connection, pages: Sequence[int]) -> Iterator[str]:
    """Yield the URLs of these pages, in the order of their ids."""
    for start in range(0, len(pages), _ROWS_AT_ONCE):
        block = pages[start : start + _ROWS_AT_ONCE]
        cursor = connection.execute(
            "SELECT origin || path FROM urls JOIN hosts ON hosts.id = host "
            f"WHERE urls.id IN ({', '.join('?' * len(block))}) ORDER BY urls.id",
            block,
        )
        yield from (url for (url,) in cursor)


def original(connection: Connection, page: PageId) -> str | None:
    """Return the original URL of a page, or None if it equals the page's URL."""
    row = connection.execute("SELECT url FROM originals WHERE page = ?", (page,)).fetchone()
    return None if row is None else str(row[0])


_HOSTS = "SELECT id, origin, robots, robots_until, wait_until, trouble FROM hosts"


def hosts(connection: Connection) -> Iterator[HostRow]:
    """Return all origins, in the order of the ids."""
    return map(HostRow._make, connection.execute(f"{_HOSTS} ORDER BY id"))


def host(connection: Connection, number: int) -> HostRow | None:
    row = connection.execute(f"{_HOSTS} WHERE id = ?", (number,)).fetchone()
    return None if row is None else HostRow._make(row)


def document(connection: Connection, page: PageId) -> DocumentRow | None:
    row = connection.execute("SELECT * FROM documents WHERE page = ?", (page,)).fetchone()
    return None if row is None else DocumentRow._make(row)


def all_documents(connection: Connection) -> Iterator[DocumentRow]:
    """Return all documents, in the order of the page ids."""
    return map(DocumentRow._make, connection.execute("SELECT * FROM documents ORDER BY page"))


def last_fetches(connection: Connection, page: PageId, count: int) -> list[FetchRow]:
    """Return the last requests for a page, newest first."""
    cursor = connection.execute(
        f"SELECT {FETCH_COLUMNS} FROM fetches WHERE page = ? ORDER BY id DESC LIMIT ?",
        (page, count),
    )
    return list(map(FetchRow._make, cursor))


def mirrors(connection: Connection) -> list[tuple[int, int, int]]:
    """Return mirrors as (host, the host it mirrors, number of equal pages), most pages first."""
    return connection.execute(
        "SELECT host, of_host, pages FROM mirrors ORDER BY pages DESC, host"
    ).fetchall()
