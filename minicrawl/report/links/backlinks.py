"""Links to a page, and links from a page.

Laws: a link to a page that stands for another counts for that other page, as in the ranks. A link
from a page to itself does not count. The result is always current: links newer than the index are
read from the log, and pages with a newer turn are excluded from the index. If much is newer, the
index is rebuilt. If the index cannot be written, it is not used.

giver       a page that links to another one, and gives it cash
duplicates  the pages that stand for another page
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from minicrawl.errors import StoreError, UsageError
from minicrawl.graph.csr import Csr
from minicrawl.model import PageId
from minicrawl.ports import Progress
from minicrawl.report.graph.flows import links_as_written
from minicrawl.report.snapshot import (
    LABELS,
    Numbers,
    Snapshot,
    page_of,
    places_of_largest,
    refuse_without_links,
    urls,
)
from minicrawl.store.derived.backlinks import backlinks_of, backlinks_step, keep_backlinks
from minicrawl.store.derived.file import reading_beside

FEW_STEPS = 20_000
_MANY_OF = 8
"""An index is used while at most `FEW_STEPS`, or an eighth of its steps, are newer."""


class LinkedPage(NamedTuple):
    """Page at the other end of a link."""

    url: str
    importance: float
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked:
    """Most important pages that link to a page, or that it links to."""

    url: str
    stands_for: str | None
    count: int
    """Number of all linked pages."""
    pages: list[LinkedPage]


def backlinks(
    snapshot: Snapshot,
    text: str,
    count: int = 0,
    progress: Progress = lambda _share: None,
) -> Linked:
    """Return the pages that link to this page, or to the page it stands for. `count` 0 is all."""
    refuse_without_links(snapshot)
    page = page_of(snapshot, text)
    end = snapshot.frontier.books.stands_for(page)
    givers = np.unique(linking_pages(snapshot, standing_for(snapshot, end), progress))
    return _linked(snapshot, page, givers[givers != end], count)


def links(snapshot: Snapshot, text: str, count: int = 0) -> Linked:
    """Return the pages that this page links to. `count` 0 is all."""
    refuse_without_links(snapshot)
    page = page_of(snapshot, text)
    stands_for = snapshot.frontier.books.stands_for
    ends = {stands_for(link) for link in snapshot.frontier.spendings.of(page).links}
    return _linked(snapshot, page, np.array(sorted(ends - {page}), dtype=np.int64), count)


def _linked(snapshot: Snapshot, page: PageId, ends: Numbers, count: int) -> Linked:
    best = ends[places_of_largest(snapshot.importance[ends], count)]
    columns = (
        urls(snapshot, best),
        snapshot.importance[best].tolist(),
        [LABELS[state] for state in snapshot.states[best].tolist()],
    )
    end = snapshot.frontier.books.stands_for(page)
    return Linked(
        url=snapshot.url(page),
        stands_for=None if end == page else snapshot.url(end),
        count=len(ends),
        pages=list(map(LinkedPage._make, zip(*columns, strict=True))),
    )


def standing_for(snapshot: Snapshot, end: PageId) -> list[int]:
    """Return the page, and the pages that stand for it."""
    pages, ends = snapshot.standing_for_others
    return [end, *pages[ends == end].tolist()]


def linking_pages(snapshot: Snapshot, pages: Sequence[int], progress: Progress) -> Numbers:
    """Return the pages that link to any of these pages, by the links as written."""
    indexed = indexed_linking_pages(snapshot, pages)
    if indexed is not None:
        return indexed
    givers, ends = [np.empty(0, dtype=np.int32)], [np.empty(0, dtype=np.int32)]
    for block in links_as_written(snapshot, progress=progress):
        givers.append(block.givers.astype(np.int32))
        ends.append(block.ends.astype(np.int32))
    inlinks = Csr.from_edges(len(snapshot), np.concatenate(ends), np.concatenate(givers))
    with suppress(StoreError, UsageError):  # the folder may be read-only
        keep_backlinks(snapshot.path, snapshot.connection, snapshot.frontier.last_seq, inlinks)
    return np.concatenate([inlinks.targets_of(page) for page in pages]).astype(np.int64)


def indexed_linking_pages(snapshot: Snapshot, pages: Sequence[int]) -> Numbers | None:
    """Return the pages that link to any of these pages, or None if there is no index of links."""
    with reading_beside(snapshot.path, snapshot.connection) as derived:
        step = backlinks_step(derived)
        if derived is None or step is None:
            return None
        # A snapshot may be older than the index, if that was rebuilt after the snapshot was opened:
        # then the index has links that the snapshot must not show.
        if not 0 <= snapshot.frontier.last_seq - step <= max(FEW_STEPS, step // _MANY_OF):
            return None
        known = backlinks_of(derived, pages)
        last = snapshot.last_spent[known]
        # Pages that were read since the index was built may have other links.
        unchanged = known[(last > 0) & (last <= step)].astype(np.int64)
        blocks = links_as_written(snapshot, step)
        newer = [block.givers[np.isin(block.ends, list(pages))] for block in blocks]
        return np.concatenate((unchanged, *newer))
