"""Problems that the owner of a site may fix: broken links, redirects, orphans and duplicates.

broken     a link whose target failed, directly or behind redirects, or is at a private address
redirect   a page that answered with a redirect; a chain of them has several hops
orphan     a page that was found without a link, as from a sitemap, and that no page links to
duplicate  a page that stands for another: by rel=canonical, by its content or by its URL

Laws: links are the current ones, as written. A link from a page to itself does not count. Rows are
ordered by number of links, then by importance.
"""

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from itertools import takewhile
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId, State
from minicrawl.progress import Progress, unreported
from minicrawl.report.flows import final_pages, links_as_written
from minicrawl.report.link_graphs import refuse_without_links, urls
from minicrawl.report.ranks import Pages, pages_of_host, places_of_largest
from minicrawl.report.snapshot import LABELS, Snapshot
from minicrawl.store import questions
from minicrawl.store.files import CheckRow, all_checks, all_findings
from minicrawl.web.urls import split

_DEAD_ENDS = [state for state in State if state.is_dead_end]
_DUPLICATES = (State.CANONICAL, State.ALIAS, State.TWIN)
GAP = " > "
"""Separator between redirects."""


class BrokenLink(NamedTuple):
    """Broken link. `through` are the redirects on the way, in order."""

    links: int  # to this target, from all pages
    status: int | None
    state: str
    target: str
    source: str
    through: str
    text: str = ""  # of the link, if pages are archived


class Redirect(NamedTuple):
    """Page that redirects. A loop, or a redirect to nowhere, has no end."""

    links: int
    status: int | None
    hops: int
    state: str  # of the end
    url: str
    end: str
    through: str  # the redirects in between


class Orphan(NamedTuple):
    """Page that no page links to."""

    importance: float
    depth: int
    state: str
    url: str


class Duplicate(NamedTuple):
    """Page, and the one it stands for. `group` is the number of pages that stand for it."""

    group: int
    why: str
    url: str
    original: str


def link_counts(snapshot: Snapshot, tell: Progress = unreported) -> tuple[Pages, Pages]:
    """Return the number of links to each page and from it."""
    givers, targets = _links_to(snapshot, np.ones(len(snapshot), dtype=np.bool_), tell)
    inlinks, outlinks = (np.bincount(ends, minlength=len(snapshot)) for ends in (targets, givers))
    return inlinks, outlinks


def broken_links(
    snapshot: Snapshot, host: str | None = None, tell: Progress = unreported
) -> list[BrokenLink]:
    """Return the broken links from pages of this host, or from all."""
    refuse_without_links(snapshot)
    ends = final_pages(snapshot)
    checked = _failed_checks(snapshot)
    has_failed = np.isin(snapshot.states, _DEAD_ENDS)
    has_failed[list(checked)] = True
    has_failed = has_failed[ends]
    givers, targets = _links_to(snapshot, has_failed, tell)
    chosen = np.isin(givers, pages_of_host(snapshot, host))
    givers, targets = givers[chosen], targets[chosen]
    counts = np.bincount(ends[targets], minlength=len(snapshot))[ends[targets]]
    order = np.lexsort((-snapshot.importance[givers], ends[targets], -counts))
    found = _broken(snapshot, givers[order], targets[order], counts[order])
    chosen_pages = set(pages_of_host(snapshot, host).tolist())
    by_url = {row.url: row for row in checked.values()}
    shown = (_as_checked(link, by_url.get(link.target)) for link in found)
    return [*shown, *_findings(snapshot, chosen_pages)]


def _failed_checks(snapshot: Snapshot) -> dict[int, CheckRow]:
    """Return failed link checks by page; these pages are not crawled."""
    rows = all_checks(snapshot.path, snapshot.connection)
    failed = [row for row in rows if State(row.state).is_dead_end]
    pages = questions.find_all(snapshot.connection, [split(row.url) for row in failed])
    found = zip(pages, failed, strict=True)
    return {page: row for page, row in found if page is not None}


def _as_checked(link: BrokenLink, found: CheckRow | None) -> BrokenLink:
    """Return the link with the result of its check, if the target was checked but not crawled."""
    if found is None:
        return link
    return link._replace(status=found.status, state=State(found.state).label)


def _findings(snapshot: Snapshot, pages: Set[int]) -> Iterator[BrokenLink]:
    """Yield missing assets and anchors, those with most references first."""
    rows = all_findings(snapshot.path, snapshot.connection)
    checks = {row.url: row for row in all_checks(snapshot.path, snapshot.connection)}
    counts = Counter(row.target for row in rows)
    chosen = [row for row in rows if row.source in pages]
    names = _Names(snapshot, {row.source for row in chosen})
    for row in sorted(chosen, key=lambda row: (-counts[row.target], row.target)):
        check = checks.get(row.target)
        yield BrokenLink(
            links=counts[row.target],
            status=check.status if check else None,
            state=State(check.state).label if check else f"no-{row.kind}",
            target=row.target,
            source=names.url[row.source],
            through="",
            text=row.text or f"({row.kind})",
        )


def redirects(
    snapshot: Snapshot, host: str | None = None, tell: Progress = unreported
) -> list[Redirect]:
    """Return the redirects of this host, or all."""
    refuse_without_links(snapshot)
    pages = _in_states(snapshot, (State.MOVED, State.BAD_REDIRECT), host)
    counts = link_counts(snapshot, tell)[0][pages]
    order = np.lexsort((-snapshot.importance[pages], -counts))
    return list(_redirects(snapshot, pages[order], counts[order]))


def orphans(
    snapshot: Snapshot, host: str | None = None, tell: Progress = unreported
) -> list[Orphan]:
    """Return the orphans of this host, or all; seeds are not orphans."""
    refuse_without_links(snapshot)
    is_orphan = link_counts(snapshot, tell)[0] == 0
    is_orphan[questions.seeds(snapshot.connection)] = False
    is_orphan[list(snapshot.frontier.books.forwards.values())] = False
    pages = np.intersect1d(np.flatnonzero(is_orphan), pages_of_host(snapshot, host))
    pages = pages[places_of_largest(snapshot.importance[pages], 0)]
    places = questions.locations(snapshot.connection, pages.tolist())
    shares, states = snapshot.importance[pages].tolist(), _labels(snapshot, pages)
    return list(map(Orphan, shares, places.depths, states, places.urls))


def duplicates(snapshot: Snapshot, host: str | None = None) -> list[Duplicate]:
    """Return the duplicates of this host, or all; largest group first."""
    pages = _in_states(snapshot, _DUPLICATES, host)
    ends = final_pages(snapshot)[pages]
    groups = np.bincount(ends, minlength=1)[ends]
    order = np.lexsort((pages, ends, -groups))
    pages, ends = pages[order], ends[order]
    columns = groups[order].tolist(), _labels(snapshot, pages), urls(snapshot, pages)
    return list(map(Duplicate, *columns, urls(snapshot, ends)))


# ---------------------------------------------------------------- links and pages


def _links_to(
    snapshot: Snapshot, is_wanted: NDArray[np.bool_], tell: Progress
) -> tuple[Pages, Pages]:
    """Return givers and targets of the links to these pages from pages that are no duplicates."""
    givers, targets = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for block in links_as_written(snapshot, tell=tell):
        chosen = is_wanted[block.ends] & (block.givers != block.ends)
        chosen &= snapshot.states[block.givers] == State.FETCHED  # a copy has no links
        givers.append(block.givers[chosen])
        targets.append(block.ends[chosen])
    return np.concatenate(givers), np.concatenate(targets)


def _in_states(snapshot: Snapshot, states: Sequence[State], host: str | None) -> Pages:
    found = np.flatnonzero(np.isin(snapshot.states, states))
    return np.intersect1d(found, pages_of_host(snapshot, host))


def _labels(snapshot: Snapshot, pages: Pages) -> list[str]:
    return [LABELS[state] for state in snapshot.states[pages].tolist()]


def _chain(snapshot: Snapshot, page: PageId) -> Iterator[int]:
    """Yield the page and the pages it leads to, up to the end."""
    forwards = snapshot.frontier.books.forwards
    yield page
    while page in forwards:
        page = forwards[page]
        yield page


# ---------------------------------------------------------------- rows


class _Names:
    """URLs and last statuses of some pages, queried at once."""

    def __init__(self, snapshot: Snapshot, pages: set[int]) -> None:
        known = np.array(sorted(pages), dtype=np.int64)
        self.url = dict(zip(known.tolist(), urls(snapshot, known), strict=True))
        statuses = questions.last_statuses(snapshot.connection, known.tolist())
        self.status = dict(zip(known.tolist(), statuses, strict=True))

    def joined(self, pages: Sequence[int]) -> str:
        return GAP.join(self.url[page] for page in pages)


def _broken(
    snapshot: Snapshot, givers: Pages, targets: Pages, counts: NDArray[np.int64]
) -> Iterator[BrokenLink]:
    chains = {page: list(_chain(snapshot, page)) for page in np.unique(targets).tolist()}
    names = _Names(snapshot, set(givers.tolist()).union(*chains.values()))
    for giver, target, count in zip(
        givers.tolist(), targets.tolist(), counts.tolist(), strict=True
    ):
        *through, end = chains[target]
        yield BrokenLink(
            links=count,
            status=names.status[end],
            state=LABELS[int(snapshot.states[end])],
            target=names.url[end],
            source=names.url[giver],
            through=names.joined(through),
        )


def _redirects(snapshot: Snapshot, pages: Pages, counts: NDArray[np.int64]) -> Iterator[Redirect]:
    def is_redirect(page: int) -> bool:
        return bool(snapshot.states[page] == State.MOVED)

    chains = {page: list(_chain(snapshot, page)) for page in pages.tolist()}
    names = _Names(snapshot, set().union(*chains.values()))
    for page, count in zip(pages.tolist(), counts.tolist(), strict=True):
        moved = list(takewhile(is_redirect, chains[page]))
        end = chains[page][len(moved)]
        yield Redirect(
            links=count,
            status=names.status[page],
            hops=max(len(moved), 1),
            state=LABELS[int(snapshot.states[end])],
            url=names.url[page],
            end="" if end == page else names.url[end],
            through=names.joined(moved[1:]),
        )
