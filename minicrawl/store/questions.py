"""Queries about the pages and hosts of a store: those of reports, and of crawls that go on.

Law: a query takes memory for its answer, never for the whole store.
"""

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId
from minicrawl.store import tables
from minicrawl.store.records import DocumentRow
from minicrawl.store.tables import Connection, as_json_list, column, number
from minicrawl.web.urls import split


class PageLocations(NamedTuple):
    """Locations of pages, as columns."""

    urls: list[str]
    origins: list[str]
    depths: list[int]


def locations(connection: Connection, ids: Sequence[int]) -> PageLocations:
    """Return the locations of these pages, in this order. Use blocks of about 10,000 pages."""
    count, *texts = connection.execute(
        "SELECT count(*), group_concat(origin || path, char(10)), "
        "group_concat(origin, char(10)), group_concat(depth, char(10)) "
        # SQLite runs a cross join in the written order: that of the ids.
        "FROM (SELECT origin, urls.path, depth FROM json_each(?) "
        "CROSS JOIN urls ON urls.id = value CROSS JOIN hosts ON hosts.id = host)",
        (as_json_list(sorted(ids)),),
    ).fetchone()
    urls, origins, depths = (text.split("\n") if count else [] for text in texts)
    if not len(ids) == len(urls) == len(origins) == len(depths):
        raise ValueError(f"{len(ids)} pages have {len(urls)} URLs on {len(origins)} hosts")
    at = np.argsort(np.argsort(ids)).tolist()  # for each page, how many ids are smaller
    return PageLocations(
        [urls[place] for place in at],
        [origins[place] for place in at],
        [int(depths[place]) for place in at],
    )


def documents(connection: Connection, ids: Sequence[int]) -> Iterator[DocumentRow]:
    """Return the documents of these pages, in the order of the ids, skipping unread pages."""
    cursor = connection.execute(
        "SELECT documents.* FROM json_each(?) CROSS JOIN documents ON page = value",
        (as_json_list(sorted(ids)),),
    )
    return map(DocumentRow._make, cursor)


def inlinks(connection: Connection, ids: Sequence[int]) -> list[int]:
    """Return the in-links of each of these pages as of the last checkpoint, in this order."""
    counts = "SELECT coalesce((SELECT inlinks FROM frontier WHERE id = value), 0) FROM json_each(?)"
    return column(connection, counts, as_json_list(ids))


def noindex_pages(connection: Connection) -> list[int]:
    return column(connection, "SELECT page FROM documents WHERE noindex")


def pages_read_since(connection: Connection, since: float) -> list[tuple[PageId, float]]:
    """Return the pages that were first read since then, with the time."""
    query = "SELECT page, first_at FROM documents WHERE first_at >= ?"
    return connection.execute(query, (since,)).fetchall()


def last_reading(connection: Connection) -> float:
    """Return the time at which a page was last read; 0.0 if none was."""
    (at,) = connection.execute("SELECT max(last_at) FROM documents").fetchone()
    return float(at or 0)


def pages_by_first_reading(connection: Connection) -> list[PageId]:
    """Return the pages that were read at least once, in the order of their first reading."""
    return column(connection, "SELECT page FROM documents ORDER BY first_at, page")


def originals(connection: Connection) -> Iterator[tuple[PageId, str]]:
    """Return the pages whose URL was written differently when found, with the written URL."""
    return connection.execute("SELECT page, url FROM originals ORDER BY page")


def hosts_waiting(connection: Connection) -> dict[int, tuple[float, str]]:
    """Return end of pause (0 for none) and last trouble of each host that has either, by host."""
    cursor = connection.execute(
        "SELECT id, coalesce(wait_until, 0), coalesce(trouble, '') FROM hosts "
        "WHERE wait_until IS NOT NULL OR trouble IS NOT NULL"
    )
    return {host: (until, trouble) for host, until, trouble in cursor}


def find(connection: Connection, origin: str, path: str) -> int | None:
    """Return the page with this URL, or None.

    Scans all pages; an index would make the store larger for rare queries.
    """
    ((origin, path),) = concealed(connection, [(origin, path)])
    row = connection.execute(
        "SELECT id FROM urls WHERE host = (SELECT id FROM hosts WHERE origin = ?) AND path = ?",
        (origin, path),
    ).fetchone()
    return None if row is None else int(row[0])


def concealed(
    connection: Connection, locations: Sequence[tuple[str, str]]
) -> Sequence[tuple[str, str]]:
    """Return the origins and paths under which the store has pages."""
    gone = tables.taken_down(tables.counters(connection))
    return [split(gone.conceal("".join(place))) for place in locations] if gone else locations


def url_checksums(connection: Connection) -> NDArray[np.uint32]:
    """Return the CRC-32 of the URL of each page."""
    cursor = connection.execute(
        "SELECT origin || path FROM urls JOIN hosts ON hosts.id = host ORDER BY urls.id"
    )
    return np.fromiter((crc32(url.encode()) for (url,) in cursor), np.uint32)


def find_all(connection: Connection, places: Sequence[tuple[str, str]]) -> list[int | None]:
    """Return the pages with these URLs, each given as origin and path. Scans all pages once."""
    cursor = connection.execute(
        # Without the cast, SQLite would compare each page with all wanted ones of its host.
        "WITH wanted AS MATERIALIZED (SELECT key AS place, hosts.id AS host, CAST(value ->> 1 AS "
        "TEXT) AS path FROM json_each(?) CROSS JOIN hosts ON origin = value ->> 0) "
        "SELECT place, urls.id FROM urls CROSS JOIN wanted USING (host, path)",
        (json.dumps(concealed(connection, places)),),
    )
    pages = dict(cursor.fetchall())
    return [pages.get(place) for place in range(len(places))]


def pages_with(connection: Connection, words: Sequence[str]) -> list[int]:
    """Return the pages with all these words in title or URL, ignoring the case of ASCII letters."""
    query = (
        "WITH texts AS (SELECT urls.id, lower(origin || path || char(10) || coalesce(title, '')) "
        "AS text FROM urls JOIN hosts ON hosts.id = host "
        "LEFT JOIN documents ON documents.page = urls.id) "
        "SELECT id FROM texts WHERE NOT EXISTS "
        "(SELECT 1 FROM json_each(?) WHERE instr(text, lower(value)) = 0) ORDER BY id"
    )
    return column(connection, query, json.dumps(list(words)))


def paths_of(connection: Connection, host: int) -> list[str]:
    return column(connection, "SELECT path FROM urls WHERE host = ?", host)


def origins(connection: Connection) -> list[str]:
    return column(connection, "SELECT origin FROM hosts ORDER BY id")


def hosts_known(connection: Connection) -> int:
    """Return the number of origins; ids are dense."""
    return number(connection, "SELECT coalesce(max(id) + 1, 0) FROM hosts")


def pages_known(connection: Connection) -> int:
    """Return the number of pages; ids are dense."""
    return number(connection, "SELECT coalesce(max(id) + 1, 0) FROM urls")


def pages_read_by_host(connection: Connection) -> dict[int, int]:
    """Return the number of pages read on each host. Scans all documents."""
    # SQLite runs a cross join in the written order: documents first, since there are fewer.
    cursor = connection.execute(
        "SELECT host, count(*) FROM documents CROSS JOIN urls ON urls.id = page GROUP BY host"
    )
    return dict(cursor.fetchall())


def links_stored(connection: Connection) -> tuple[int, int]:
    """Return the number of links as of the checkpoint, and the bytes of all spendings."""
    links = number(connection, "SELECT ifnull(sum(inlinks), 0) FROM frontier")
    return links, number(connection, "SELECT ifnull(sum(length(spending)), 0) FROM steps")


def documents_stored(connection: Connection) -> tuple[int, int]:
    """Return the number of documents, and the bytes of their titles."""
    query = "SELECT count(*), ifnull(sum(length(CAST(title AS BLOB))), 0) FROM documents"
    count, size = connection.execute(query).fetchone()
    return int(count), int(size)


def all_urls(connection: Connection) -> Iterator[tuple[int, str]]:
    yield from connection.execute(
        "SELECT urls.id, origin || path FROM urls JOIN hosts ON hosts.id = host"
    )
