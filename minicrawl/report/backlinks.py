"""Who links to a page, and where a page links to.

Laws: a link to a page that stands for another one counts for that, as in the ranks; links that come
back to their page are none. The answer is that of this moment, whatever the index knows: links
that were written later are read from the log, and a page that had another turn since is left out
of what the index says. Where that is much the index is made anew; where it cannot be kept, the
answer comes without.

giver   a page that links
behind  a page, and all pages that stand for it
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import StoreError
from minicrawl.graph.csr import Csr
from minicrawl.progress import Progress, unreported
from minicrawl.report.finding import page_of
from minicrawl.report.flows import written
from minicrawl.report.graphs import refuse_without_links, urls
from minicrawl.report.ranks import richest
from minicrawl.report.snapshot import LABELS, Snapshot, spent
from minicrawl.store import backlinks as index
from minicrawl.store.files import reading_beside

_FEW_STEPS = 20_000
_MANY_OF = 8
"""An index is of use until more steps were taken since, and one for each eight it knows of."""

Numbers = NDArray[np.int64]


class LinkedPage(NamedTuple):
    """A page at the other end of a link."""

    url: str
    importance: float
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked:
    """The best of the pages at the other ends of a page's links."""

    url: str
    stands_for: str | None
    count: int
    """How many there are."""
    pages: list[LinkedPage]

    def as_json(self) -> dict[str, object]:
        """Its values by their names."""
        return asdict(self) | {"pages": [page._asdict() for page in self.pages]}


def backlinks(snapshot: Snapshot, text: str, count: int = 0, tell: Progress = unreported) -> Linked:
    """The pages that link to the page of this URL, or to what it stands for; 0 means all."""
    refuse_without_links(snapshot)
    page = page_of(snapshot, text)
    end = snapshot.frontier.books.stands_for(page)
    found = np.unique(_givers(snapshot, _behind(snapshot, end), tell))
    return _linked(snapshot, page, found[found != end], count)


def links(snapshot: Snapshot, text: str, count: int = 0) -> Linked:
    """The pages that the page of this URL links to; 0 means all."""
    refuse_without_links(snapshot)
    page = page_of(snapshot, text)
    stands_for = snapshot.frontier.books.stands_for
    ends = {stands_for(link) for link in snapshot.frontier.spendings.of(page).links}
    return _linked(snapshot, page, np.array(sorted(ends - {page}), dtype=np.int64), count)


def _linked(snapshot: Snapshot, page: int, others: Numbers, count: int) -> Linked:
    best = others[richest(snapshot.importance[others], count)]
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


def _behind(snapshot: Snapshot, end: int) -> list[int]:
    books = snapshot.frontier.books
    return [end, *(page for page in books.forwards if books.stands_for(page) == end)]


def _givers(snapshot: Snapshot, pages: Sequence[int], tell: Progress) -> Numbers:
    """The pages whose links lead to any of these, as they were written."""
    with reading_beside(snapshot.path, snapshot.connection) as derived:
        step = index.step_of(derived)
        if derived is not None and step is not None and _is_near(snapshot, step):
            known = index.givers(derived, pages)
            return np.concatenate((_unmoved(snapshot, known, step), _since(snapshot, pages, step)))
    inlinks = _inlinks(snapshot, tell)
    with suppress(StoreError):
        index.keep(snapshot.path, snapshot.connection, snapshot.frontier.last_seq, inlinks)
    return np.concatenate([inlinks.targets_of(page) for page in pages]).astype(np.int64)


def _is_near(snapshot: Snapshot, step: int) -> bool:
    """Whether the index is of no later moment, and not much has happened since."""
    return 0 <= snapshot.frontier.last_seq - step <= max(_FEW_STEPS, step // _MANY_OF)


def _unmoved(snapshot: Snapshot, givers: NDArray[np.int32], step: int) -> Numbers:
    """Those of which the last links are still the ones that the index knows of."""
    last = spent(snapshot.connection, snapshot.frontier)[givers]
    return givers[(last > 0) & (last <= step)].astype(np.int64)


def _since(snapshot: Snapshot, pages: Iterable[int], step: int) -> Numbers:
    wanted = list(pages)
    found = [block.givers[np.isin(block.ends, wanted)] for block in written(snapshot, step)]
    return np.concatenate([np.empty(0, dtype=np.int64), *found])


def _inlinks(snapshot: Snapshot, tell: Progress) -> Csr:
    """All links as they were written, the other way round."""
    givers, ends = [np.empty(0, dtype=np.int32)], [np.empty(0, dtype=np.int32)]
    for block in written(snapshot, tell=tell):
        givers.append(block.givers.astype(np.int32))
        ends.append(block.ends.astype(np.int32))
    return Csr.from_edges(len(snapshot), np.concatenate(ends), np.concatenate(givers))
