"""Hosts that serve the same pages as another host."""

from collections import Counter
from pathlib import Path
from typing import NamedTuple

from minicrawl.report.near_duplicates import kept_near_duplicates
from minicrawl.states import State
from minicrawl.store import page_columns, questions, step_log, tables
from minicrawl.store.disk.trouble import reporting_damage
from minicrawl.store.reader import reading, search_folder
from minicrawl.wording import counted

_FEWEST_PAGES = 5
_MOST_OF_A_HOST = 0.8


class Mirror(NamedTuple):
    host: str
    of_host: str
    pages: int

    def __str__(self) -> str:
        return f"{self.host} mirrors {self.of_host} ({counted(self.pages, 'page')})"


def mirrors(path: Path) -> list[Mirror]:
    """Return pairs of hosts that share most pages of one of them, whichever was read first.

    Near-duplicates according to the search index count as well. The mirror is the host with more
    duplicates of the other one, as `duplicates` lists them; if both have the same number, the
    smaller one. The largest mirrors come first.
    """
    with reading(path) as connection, reporting_damage(path):
        common = Counter[tuple[int, int]]()
        alike = kept_near_duplicates(search_folder(path), tables.birth(connection))
        if alike is not None:
            host_of = page_columns.whole(connection, "urls", "host")
            ends = (host_of[alike.pages].tolist(), host_of[alike.originals].tolist())
            pairs = zip(*ends, strict=True)
            common.update((min(pair), max(pair)) for pair in pairs if pair[0] != pair[1])
        for host, of_host, pages in tables.mirrors(connection):
            common[min(host, of_host), max(host, of_host)] += pages
        candidates = [pair for pair in common.most_common() if pair[1] >= _FEWEST_PAGES]
        if not candidates:
            return []
        origins, read = questions.origins(connection), questions.pages_read_by_host(connection)
        copies, mirrors = _duplicates_across_hosts(connection), []
        for (first, second), pages in candidates:
            more = {first: copies[first, second], second: copies[second, first]}
            original, mirror = sorted(more, key=lambda host: (more[host], -read.get(host, 0), host))
            if pages >= _MOST_OF_A_HOST * read.get(mirror, 0):
                mirrors.append(Mirror(origins[mirror], origins[original], pages))
        return mirrors


def _duplicates_across_hosts(connection: tables.Connection) -> Counter[tuple[int, int]]:
    """Return the number of copies between pairs of hosts, with the host of the copy first."""
    leads_to: dict[int, int] = {}
    for pages, states in page_columns.blocks(connection, "frontier", "id", "state"):
        aliases = pages[states == State.ALIAS].tolist()
        spendings = step_log.spendings_of(connection, aliases)
        leads_to |= {
            page: spending.links[0] for page, spending in zip(aliases, spendings, strict=True)
        }
    ends = []
    for target in leads_to.values():
        end = target
        while end in leads_to:
            end = leads_to[end]
        ends.append(end)
    host_of = page_columns.whole(connection, "urls", "host")
    pairs = zip(host_of[[*leads_to]].tolist(), host_of[ends].tolist(), strict=True)
    return Counter(pair for pair in pairs if pair[0] != pair[1])
