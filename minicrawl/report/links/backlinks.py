"""The links to a page, and the links from a page.

Laws: a link to a page that stands for another one counts for that page, as in the ranks. A link
from a page to itself does not count. The answer is always current: links that are newer than the
index are read from the log, and pages that had another turn since are left out of the index. If
much is newer, the index is built again. If the index cannot be written, the answer comes without
it.

giver       a page that links to another one, and gives it cash
duplicates  the pages that stand for another page
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import StoreError
from minicrawl.graph.csr import Csr
from minicrawl.model import PageId
from minicrawl.progress import Progress
from minicrawl.report.links.flows import links_as_written
from minicrawl.report.links.graphs import refuse_without_links, urls
from minicrawl.report.ranks import places_of_largest
from minicrawl.report.snapshot import LABELS, Snapshot, last_spent, page_of
from minicrawl.store.beside.derived import (
    backlinks_of,
    backlinks_step,
    keep_backlinks,
    reading_beside,
)

_FEW_STEPS = 20_000
_MANY_OF = 8
"""An index is used until this many steps are newer, or one for each eight steps that it has."""

Numbers = NDArray[np.int64]


class LinkedPage(NamedTuple):
    """A page at the other end of a link."""

    url: str
    importance: float
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked:
    """The most important pages that a page is linked with."""

    url: str
    stands_for: str | None
    count: int
    """Of all linked pages."""
    pages: list[LinkedPage]

    def as_json(self) -> dict[str, object]:
        """The values by name."""
        return asdict(self) | {"pages": [page._asdict() for page in self.pages]}


def backlinks(
    snapshot: Snapshot, text: str, count: int = 0, tell: Progress = lambda _share: None
) -> Linked:
    """The pages that link to this page, or to the page it stands for. `count` 0 is all."""
    refuse_without_links(snapshot)
    page = page_of(snapshot, text)
    end = snapshot.frontier.books.stands_for(page)
    found = np.unique(linking_pages(snapshot, _with_duplicates(snapshot, end), tell))
    return _linked(snapshot, page, found[found != end], count)


def links(snapshot: Snapshot, text: str, count: int = 0) -> Linked:
    """The pages that this page links to. `count` 0 is all."""
    refuse_without_links(snapshot)
    page = page_of(snapshot, text)
    stands_for = snapshot.frontier.books.stands_for
    ends = {stands_for(link) for link in snapshot.frontier.spendings.of(page).links}
    return _linked(snapshot, page, np.array(sorted(ends - {page}), dtype=np.int64), count)


def _linked(snapshot: Snapshot, page: PageId, others: Numbers, count: int) -> Linked:
    best = others[places_of_largest(snapshot.importance[others], count)]
    columns = (
        urls(snapshot, best),
        snapshot.importance[best].tolist(),
        [LABELS[state] for state in snapshot.states[best].tolist()],
    )
    end = snapshot.frontier.books.stands_for(page)
    return Linked(
        url=snapshot.url(page),
        stands_for=None if end == page else snapshot.url(end),
        count=len(others),
        pages=list(map(LinkedPage._make, zip(*columns, strict=True))),
    )


def _with_duplicates(snapshot: Snapshot, end: int) -> list[int]:
    books = snapshot.frontier.books
    return [end, *(page for page in books.forwards if books.stands_for(page) == end)]


def linking_pages(snapshot: Snapshot, pages: Sequence[int], tell: Progress) -> Numbers:
    """The pages that link to any of these pages, by the links as they were written."""
    with reading_beside(snapshot.path, snapshot.connection) as derived:
        step = backlinks_step(derived)
        if derived is not None and step is not None and _is_near(snapshot, step):
            known = backlinks_of(derived, pages)
            return np.concatenate(
                (_still_valid(snapshot, known, step), _newer(snapshot, pages, step))
            )
    inlinks = _inlinks(snapshot, tell)
    with suppress(StoreError):
        keep_backlinks(snapshot.path, snapshot.connection, snapshot.frontier.last_seq, inlinks)
    return np.concatenate([inlinks.targets_of(page) for page in pages]).astype(np.int64)


def _is_near(snapshot: Snapshot, step: int) -> bool:
    """Whether the index is not newer than the snapshot, and not much older."""
    return 0 <= snapshot.frontier.last_seq - step <= max(_FEW_STEPS, step // _MANY_OF)


def _still_valid(snapshot: Snapshot, givers: NDArray[np.int32], step: int) -> Numbers:
    """Those whose links have not changed since the index was built."""
    last = last_spent(snapshot.connection, snapshot.frontier)[givers]
    return givers[(last > 0) & (last <= step)].astype(np.int64)


def _newer(snapshot: Snapshot, pages: Iterable[int], step: int) -> Numbers:
    wanted = list(pages)
    found = [
        block.givers[np.isin(block.ends, wanted)] for block in links_as_written(snapshot, step)
    ]
    return np.concatenate([np.empty(0, dtype=np.int64), *found])


def _inlinks(snapshot: Snapshot, tell: Progress) -> Csr:
    """All links as they were written, reversed."""
    givers, ends = [np.empty(0, dtype=np.int32)], [np.empty(0, dtype=np.int32)]
    for block in links_as_written(snapshot, tell=tell):
        givers.append(block.givers.astype(np.int32))
        ends.append(block.ends.astype(np.int32))
    return Csr.from_edges(len(snapshot), np.concatenate(ends), np.concatenate(givers))
