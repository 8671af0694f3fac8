"""Hosts that repeat another one, by the pages that have the same content."""

from collections import Counter
from pathlib import Path
from typing import NamedTuple

from minicrawl.store import questions, tables
from minicrawl.store.reader import reading
from minicrawl.store.trouble import reporting_damage

_FEWEST_PAGES = 5
_MOST_OF_A_HOST = 0.8


class Mirror(NamedTuple):
    """A host that repeats another one."""

    host: str
    of_host: str
    pages: int

    @property
    def in_words(self) -> str:
        """On one line."""
        return f"{self.host} repeats {self.of_host} ({self.pages:,} pages)"


def mirrors(path: Path) -> list[Mirror]:
    """The hosts that may be mirrors, the largest first. Looks at every page that was read."""
    with reading(path) as connection, reporting_damage(path):
        return _mirrors(connection)


def _mirrors(connection: tables.Connection) -> list[Mirror]:
    """Pairs of hosts with so many pages in common that the smaller one may be all of it a mirror.

    Which page of two was read first is chance, so what they have in common is counted both ways.
    """
    common = Counter[tuple[int, int]]()
    for host, of_host, pages in tables.mirrors(connection):
        common[min(host, of_host), max(host, of_host)] += pages
    candidates = [pair for pair in common.most_common() if pair[1] >= _FEWEST_PAGES]
    if not candidates:
        return []
    origins, read = questions.origins(connection), questions.pages_read_by_host(connection)
    found = []
    for pair, pages in candidates:
        original, mirror = sorted(pair, key=lambda host: (-read.get(host, 0), host))
        if pages >= _MOST_OF_A_HOST * read.get(mirror, 0):
            found.append(Mirror(origins[mirror], origins[original], pages))
    return found
