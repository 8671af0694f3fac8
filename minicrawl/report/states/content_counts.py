"""Counts of the URLs that a crawl kept and left out, by type, host and reason.

type     media type of a response, or else the extension of the URL, or `page`: `image/png`
outcome  kept, or the state of a URL without a kept response, such as scope, type or not-found

Laws: a URL counts once. It is kept if the archive has a response that is neither a failure nor a
redirect; unread pages, and pages that stand for another, do not count. At most `_MOST_NAMES`
hosts and as many types have names, however many a hostile site invents; the rest count as
`others`.
"""

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from http import HTTPStatus
from itertools import groupby
from typing import NamedTuple
from urllib.parse import urlsplit

import numpy as np

from minicrawl.archive.index import IndexRow
from minicrawl.archive.reader import ArchiveReader
from minicrawl.archive.record import ALONE, Answer, header_of, key_of
from minicrawl.archive.unpacking import read_head
from minicrawl.errors import Damaged
from minicrawl.report.archived.page_versions import kept_pages
from minicrawl.report.links.verdicts import checked_files, checked_pages
from minicrawl.report.snapshot import Snapshot, urls
from minicrawl.states import State
from minicrawl.store import request_log, tables
from minicrawl.store.reader import archive_folder
from minicrawl.web.responses.headers import parse_content_type
from minicrawl.web.scope import may_be_html
from minicrawl.web.urls import host

KEPT, OTHERS = "kept", "others"
_MOST_NAMES = 1000
_URLS_AT_ONCE = 10_000
_MEDIA_TYPE = re.compile(r"[\w.+-]{1,40}/[\w.+-]{1,80}", re.ASCII)


class ContentRow(NamedTuple):
    """Number of URLs of a type on a host with one outcome, and the bytes of their bodies."""

    type: str
    host: str
    outcome: str
    number: int
    bytes: int


def content_rows(
    snapshot: Snapshot, most: int | None = None, *, most_names: int = _MOST_NAMES
) -> list[ContentRow] | None:
    """Return the counts, largest first; None without kept responses or with more than `most`."""
    if (
        tables.archive_end(snapshot.connection) is None
        or not archive_folder(snapshot.path).is_dir()
    ):
        return None
    pages = np.bincount(snapshot.host_of, minlength=len(snapshot.hosts))
    largest = np.argsort(-pages, kind="stable")[: most_names // 2].tolist()
    hosts, types = {snapshot.hosts[host_id] for host_id in largest}, set[str]()
    numbers, sizes = Counter[tuple[str, str, str]](), Counter[tuple[str, str, str]]()
    with kept_pages(snapshot) as archive:
        totals = archive.index.totals(archive.end)
        if most is not None and sum(records for _, records, _ in totals) > most:
            return None
        for url, content_type, outcome, size in _urls(snapshot, archive):
            ending = urlsplit(url).path.rpartition(".")[2].lower()
            by_url = "page" if may_be_html(url) else f".{ending}"
            of_type = _told_apart(content_type or by_url, types, most_names)
            row = of_type, _told_apart(host(url), hosts, most_names), outcome
            numbers[row] += 1
            sizes[row] += size
    rows = (ContentRow(*row, number, sizes[row]) for row, number in numbers.items())
    return sorted(rows, key=lambda row: (-row.number, row))


def counts_of(rows: Sequence[ContentRow], most: int) -> Iterator[tuple[str, dict[str, int]]]:
    """Yield the `most` largest counts by type, outcome and host, with the sum of the rest."""
    of_kept, left_out, hosts = Counter[str](), Counter[str](), Counter[str]()
    for row in rows:
        if row.outcome == KEPT:
            of_kept[row.type] += row.number
        else:
            left_out[f"{row.outcome} {row.type}"] += row.number
        hosts[row.host] += row.number
    for name, counts in ((KEPT, of_kept), ("left out", left_out), ("on hosts", hosts)):
        largest = dict(counts.most_common(most))
        remaining = counts.total() - sum(largest.values())
        if remaining:
            largest[OTHERS] = largest.get(OTHERS, 0) + remaining
        yield name, largest


def _told_apart(name: str, known: set[str], most: int) -> str:
    """Return the name, or `others` if the maximum of names is known already."""
    if name not in known and len(known) >= most:
        return OTHERS
    known.add(name)
    return name


def _urls(snapshot: Snapshot, archive: ArchiveReader) -> Iterator[tuple[str, str, str, int]]:
    """Yield each URL with its type ("" if unknown), its outcome, and the bytes of its body."""
    keys = array("q")
    for key, newest_first in groupby(archive.index.versions(archive.end), lambda row: row.key):
        if (key_of_page := _kept(archive, newest_first)) is not None:
            head, size = key_of_page
            keys.append(key)
            yield head.url, _type_in(head.headers.get("content-type")), KEPT, size
    numbers = np.sort(np.frombuffer(keys, dtype=np.int64))
    for url, content_type, outcome in _left_out(snapshot):
        key = key_of(url)
        if key not in numbers[(at := int(np.searchsorted(numbers, key))) : at + 1]:
            yield url, content_type, outcome, 0


def _kept(archive: ArchiveReader, newest_first: Iterable[IndexRow]) -> tuple[Answer, int] | None:
    """Return head and body size of a URL's last response; None without one, or for a redirect."""
    for row in newest_first:
        if row.kind in ALONE:
            continue
        with suppress(Damaged):  # `minicrawl check` reports it
            record = archive.segments.beginning(row.place)
            head = read_head(record, archive.codec)
            if head.status != HTTPStatus.NOT_MODIFIED:  # a 304 has no type of its own
                is_redirect = "location" in head.headers
                return None if is_redirect else (head, header_of(record).body_bytes)
    return None


def _left_out(snapshot: Snapshot) -> Iterator[tuple[str, str, str]]:
    """Yield URL, type and outcome of all URLs that were refused or failed."""
    checked, pages = checked_pages(snapshot), np.flatnonzero(snapshot.states >= State.ROBOTS)
    for start in range(0, len(pages), _URLS_AT_ONCE):
        block = pages[start : start + _URLS_AT_ONCE]
        details = request_log.last_values(snapshot.connection, "detail", block.tolist())
        for page, url, detail in zip(block.tolist(), urls(snapshot, block), details, strict=True):
            state, check = State(snapshot.states[page]), checked.get(page)
            content_type = _type_in(detail) if state is State.TYPE else ""
            if check is not None and check.state != State.FETCHED:
                state = State(check.state)
            yield url, content_type, state.label
    for row in checked_files(snapshot):
        if row.state != State.FETCHED:
            yield row.url, "", State(row.state).label


def _type_in(header: str | None) -> str:
    content_type = parse_content_type(header)[0]
    return content_type if _MEDIA_TYPE.fullmatch(content_type) else ""
