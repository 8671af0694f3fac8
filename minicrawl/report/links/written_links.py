"""Links as written in the pages, without following redirects.

Laws: the store alone defines which pages link to which. The attributes of a link, text and rel,
come from the last archived version of its page, or from the store if it was crawled with links
kept; otherwise they are empty. Each page is read once, and only pages that are shown.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from minicrawl.model import PageId
from minicrawl.ports import Progress, unreported
from minicrawl.report.graph.flows import final_pages, linked_from, page_links
from minicrawl.report.links.backlinks import linking_pages, standing_for
from minicrawl.report.links.problems import GAP, BrokenLink
from minicrawl.report.links.verdicts import ROWS_AT_ONCE
from minicrawl.report.selected_pages import Block, PageSelection, selected_pages
from minicrawl.report.snapshot import (
    LABELS,
    Pages,
    Snapshot,
    page_of,
    places_of_largest,
    refuse_without_links,
    urls,
)
from minicrawl.states import State
from minicrawl.store import questions, tables
from minicrawl.store.disk.trouble import reporting_damage
from minicrawl.store.written_links import WrittenLinks
from minicrawl.web.html.references import Reference, ReferenceReader, References
from minicrawl.web.urls import resolve, split

if TYPE_CHECKING:
    from minicrawl.archive.reader import ArchiveReader

_PAGES_AT_ONCE, _URLS_AT_ONCE = 256, 1 << 14
"""Maximum numbers of pages and of URLs in a cache."""
_NOTHING = References()


class WrittenLink(NamedTuple):
    """Link as written. `end` is where the target redirects, if it does."""

    source: str
    target: str
    end: str
    state: str  # of the end
    text: str
    rel: str
    written: str


RAW_COLUMNS = WrittenLink._fields


class PageReferences:
    """References of pages, from the archive or the store. Use it as a context manager."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._open = ExitStack()
        self._snapshot = snapshot
        self._has_pages = tables.archive_end(snapshot.connection) is not None
        self._archive: ArchiveReader | None = None
        self._reader: ReferenceReader | None = None
        self._stored = WrittenLinks(snapshot.connection)
        self._stored_entries = lru_cache(_PAGES_AT_ONCE)(self._read_stored)
        self._strip_marks = snapshot.frontier.terms.strip_marks
        self.of: Callable[[str], References] = lru_cache(_PAGES_AT_ONCE)(self._read)
        """Function that returns the references of the page at a URL; empty if it is not archived.
        """
        self._target_of = lru_cache(_URLS_AT_ONCE)(self._target)
        self._bases = lru_cache(_PAGES_AT_ONCE)(self._bases_of)
        self._links_by_target = lru_cache(_PAGES_AT_ONCE)(self._resolved)

    def __enter__(self) -> "PageReferences":
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def has(self, url: str) -> bool:
        """Return True if the page is archived with its markup."""
        return self.of(url) is not _NOTHING

    def links(self, giver: PageId, taker: PageId, source: str, target: str) -> list[Reference]:
        """Return the links of one page that lead to the other one, by ids and URLs."""
        if references := self._links_by_target(source).get(target):
            return references
        if not self._stored:
            return []
        with reporting_damage(self._snapshot.path):
            entry = self._stored_entries(giver).get(taker)
        if entry is None:
            return []
        from minicrawl.web.html.written_links import read_entry

        ends = read_entry(entry, source, target)
        return [Reference(ends.written, ends.text, ends.rel, "a")]

    def _read_stored(self, page: PageId) -> dict[int, str]:
        """Return the attributes of a page's links by target, as the store has them."""
        links = self._snapshot.frontier.spendings.of(page).links
        entry = self._stored.of(page, links)
        if entry is None:
            return {}
        from minicrawl.web.html.written_links import parted

        return dict(zip(links, parted(entry.decode("utf-8", "replace")), strict=True))

    def resolve(self, source: str, written: str) -> str | None:
        """Return the URL that a page's reference leads to, or None if it is not a web URL."""
        place, folder = self._bases(source)
        path, mark, _ = written.partition("#")
        # Menus consist of paths and URLs, which lead to the same places from all pages of a folder.
        if path[:1] > " " and path[0] != "?" and (":" not in path or "//" in path):
            place = folder
        return self._target_of(path + mark, place)

    def _bases_of(self, source: str) -> tuple[str, str]:
        """Return what the references of a page are relative to, and its folder."""
        base = self.of(source).base
        url = resolve(base, source) if base else None
        place = url.url if url else source
        return place, f"{place.partition('?')[0].rpartition('/')[0]}/"

    def _target(self, written: str, base: str) -> str | None:
        url = resolve(written, base, strip_marks=self._strip_marks)
        return None if url is None else url.url

    def _resolved(self, source: str) -> dict[str, list[Reference]]:
        references: dict[str, list[Reference]] = {}
        stays = self.of(source).base is None
        for link in self.of(source).links:
            if stays and link.written.startswith("#"):  # a fragment of the same page
                continue
            if (url := self.resolve(source, link.written)) is not None:
                references.setdefault(url, []).append(link)
        return references

    def _read(self, url: str) -> References:
        if not self._has_pages:
            return _NOTHING
        from minicrawl.report.archived.page_versions import html_version, kept_pages

        if self._archive is None:
            self._archive = self._open.enter_context(kept_pages(self._snapshot))
        page = html_version(self._archive, url)
        if page is None:
            return _NOTHING
        self._reader = self._reader or ReferenceReader()
        references = page.references(self._reader)
        references.assets += (Reference(url, "", "", "") for url in page.answer.requested.left_out)
        return references


def links_of(snapshot: Snapshot, text: str, count: int = 0) -> list[WrittenLink]:
    """Return the links of a page, those to important pages first. `count` 0 is all."""
    refuse_without_links(snapshot)
    page = page_of(snapshot, text)
    targets = np.array(linked_from(snapshot, page), dtype=np.int64)
    best = targets[places_of_largest(snapshot.importance[targets], count)]
    with PageReferences(snapshot) as references:
        return list(_rows(snapshot, np.full(len(best), page), best, references))


def links_to(
    snapshot: Snapshot, text: str, count: int = 0, progress: Progress = unreported
) -> list[WrittenLink]:
    """Return the links to a page and to its duplicates, those from important pages first."""
    refuse_without_links(snapshot)
    end = snapshot.frontier.books.stands_for(page_of(snapshot, text))
    pairs = [
        (giver, target)
        for target in standing_for(snapshot, end)
        for giver in np.unique(linking_pages(snapshot, [target], progress)).tolist()
        if giver != target and snapshot.states[giver] == State.FETCHED  # not a copy
    ]
    givers, targets = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    best = places_of_largest(snapshot.importance[givers], count)
    with PageReferences(snapshot) as references:
        return list(_rows(snapshot, givers[best], targets[best], references))


def _rows(
    snapshot: Snapshot, givers: Pages, targets: Pages, references: PageReferences
) -> Iterator[WrittenLink]:
    """Yield a row for each link; one row if its attributes are unknown."""
    ends = final_pages(snapshot)[targets]
    columns = (urls(snapshot, pages) for pages in (givers, targets, ends))
    labels = [LABELS[state] for state in snapshot.states[ends].tolist()]
    pairs = zip(givers.tolist(), targets.tolist(), strict=True)
    for (giver, taker), source, target, end, state in zip(pairs, *columns, labels, strict=True):
        row = WrittenLink(source, target, "" if end == target else end, state, "", "", "")
        links = references.links(giver, taker, source, target)
        for link in links:
            yield row._replace(text=link.text, rel=link.rel, written=link.written)
        if not links:
            yield row


def all_links(
    snapshot: Snapshot, selection: PageSelection, progress: Progress = unreported
) -> Iterator[Block]:
    """Yield the links between the selected pages, as blocks of columns."""
    refuse_without_links(snapshot)
    is_chosen = np.zeros(len(snapshot), dtype=np.bool_)
    is_chosen[selected_pages(snapshot, selection)] = True
    with PageReferences(snapshot) as references:
        for block in page_links(snapshot, progress):
            inside = is_chosen[block.givers] & is_chosen[block.ends]
            givers, targets = block.givers[inside], block.ends[inside]
            for start in range(0, len(givers), ROWS_AT_ONCE):
                block_of = slice(start, start + ROWS_AT_ONCE)
                rows = _rows(snapshot, givers[block_of], targets[block_of], references)
                columns = list(zip(*rows, strict=True)) or [()] * len(RAW_COLUMNS)
                yield dict(zip(RAW_COLUMNS, map(list, columns), strict=True))


def with_link_texts(snapshot: Snapshot, links: Sequence[BrokenLink]) -> list[BrokenLink]:
    """Return the broken links with text and kind, from the first such link on its page."""
    targets = [link.through.split(GAP)[0] if link.through else link.target for link in links]
    ends = [split(url) for url in (*(link.source for link in links), *targets)]
    with reporting_damage(snapshot.path), PageReferences(snapshot) as references:
        # One query for all of them: it takes as long as one for a single link.
        ids = questions.find_all(snapshot.connection, ends)
        pages = zip(ids[: len(links)], ids[len(links) :], strict=True)
        described = []
        for link, target, (giver, taker) in zip(links, targets, pages, strict=True):
            is_link = link.kind == BrokenLink._field_defaults["kind"]
            if giver is not None and taker is not None and is_link:
                written = references.links(giver, taker, link.source, target)
                text = next((reference.text for reference in written if reference.text), "")
                roles = [reference.role for reference in written]
                kind = link.kind if link.kind in roles or not roles else roles[0]
                described.append(link._replace(text=text, kind=kind))
            else:
                described.append(link)
        return described
