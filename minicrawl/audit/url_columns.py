"""Columns of what the URLs of all pages are like, and groups of pages by them.

    https://www.example.org:8080/Shop/Old/index.html
    plain_form    example.org/shop/old                     the same for its twins
    folder_of     https://www.example.org:8080/Shop/Old/
    section_of    https://www.example.org:8080/Shop/
    url_faults    the bit of "upper"

Names of folders would take more memory than all columns together: pages are grouped by hashes, and
the name of a group is read from the URL of one of its pages.
"""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minicrawl.audit.facts.page_facts import SESSION_ID
from minicrawl.report.snapshot import Snapshot
from minicrawl.store import tables

_PATTERNS = {
    "upper": re.compile(r"^(?:%[0-9A-Fa-f]{2}|[^A-Z%?])*+[A-Z]"),
    "session": SESSION_ID,
    "non_ascii": re.compile(r"%[89A-Fa-f][0-9A-Fa-f]|[^\x00-\x7f]"),
    "double_slash": re.compile(r"^[^?]*//"),
    "underscore": re.compile(r"^[^?]*_"),
    "space": re.compile(r"^[^?]*%20"),
    "many_parameters": re.compile(r"\?[^&]*(?:&[^&]*){4,}"),
}
"""Faults of a path with its query."""
URL_FAULTS = {fault: 1 << place for place, fault in enumerate((*_PATTERNS, "long"))}
"""Bit of each fault of a URL."""
_LONGEST_URL = 115
_INDEX_FILE = re.compile(r"/(?:index|default)\.(?:html?|php|aspx?)$")


def url_numbers(
    snapshot: Snapshot, number: Callable[[str], int], kind: type[np.generic] = np.int64
) -> NDArray[Any]:
    """Return a column with the number of each page's URL."""
    column, place, origins = np.zeros(len(snapshot), kind), 0, snapshot.origins
    for hosts, paths in tables.hosts_and_paths(snapshot.connection):
        urls = (origins[host] + path for host, path in zip(hosts, paths, strict=True))
        column[place : place + len(hosts)] = list(map(number, urls))
        place += len(hosts)
    return column


def numbered(hashes: NDArray[Any]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return a number for each hash, the same for equal ones, and the first place of each number.

    `np.unique` takes twice the memory.
    """
    order = np.argsort(hashes, kind="stable").astype(np.int32)
    is_first = np.ones(len(hashes), np.bool_)
    values = hashes[order]
    is_first[1:] = values[1:] != values[:-1]
    numbers = np.empty(len(hashes), np.int32)
    numbers[order] = np.cumsum(is_first, dtype=np.int32) - 1
    return numbers, order[is_first]


def url_faults(url: str) -> int:
    """Return the faults of a URL, a bit for each."""
    faults = URL_FAULTS["long"] if len(url) > _LONGEST_URL else 0
    path = url[url.find("/", url.find("//") + 2) :]
    # Most paths are in lower case without these marks, so that no pattern can match.
    if not path.islower() or any(mark in path for mark in "?%;_") or "//" in path:
        for fault, pattern in _PATTERNS.items():
            if pattern.search(path):
                faults |= URL_FAULTS[fault]
    return faults


def plain_form(url: str) -> str:
    """Return a URL without what rarely tells pages apart: www, port, case, index file, slash."""
    address, mark, query = url.partition("://")[2].partition("?")
    name, _, path = address.partition("/")
    path = _INDEX_FILE.sub("", f"/{path.lower()}").rstrip("/")
    return f"{name.partition(':')[0].removeprefix('www.')}{path}{mark}{query}"


def folder_of(url: str) -> str:
    """Return the folder that a page is in, with its origin."""
    return f"{url.partition('?')[0].rpartition('/')[0]}/"


def section_of(url: str) -> str:
    """Return the folder right below the root that a page is in, or the root."""
    return f"{'/'.join(folder_of(url).split('/')[:4]).rstrip('/')}/"
