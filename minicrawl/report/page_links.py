"""Links of pages: backlinks, problems that the owner of a site may fix, texts.

verdicts   what a person would find behind a link
backlinks  the links to a page and from it
problems   broken links, redirects and duplicates
written    links as written, with their texts
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from enum import IntEnum
from functools import lru_cache
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import StoreError, UsageError
from minicrawl.graph.csr import Csr
from minicrawl.model import PageId, State
from minicrawl.ports import Progress, unreported
from minicrawl.report.selected_pages import (
    Block,
    Pages,
    PageSelection,
    pages_of_host,
    selected_pages,
)
from minicrawl.report.snapshot import (
    LABELS,
    Snapshot,
    page_of,
    places_of_largest,
    refuse_without_links,
    urls,
)
from minicrawl.report.store_graph import (
    final_pages,
    linked_from,
    links_as_written,
    page_links,
    redirect_chain,
    redirect_ends,
)
from minicrawl.store import questions, tables
from minicrawl.store.derived import (
    LARGE_IMAGE,
    CheckRow,
    all_checks,
    all_findings,
    backlinks_of,
    backlinks_step,
    keep_backlinks,
    reading_beside,
)
from minicrawl.store.records import reporting_damage
from minicrawl.store.stored_links import WrittenLinks
from minicrawl.web.references import Reference, ReferenceReader, References
from minicrawl.web.responses import BLOCKS, COOKIE_WALL, SOFT_404, is_missing_sibling
from minicrawl.web.urls import resolve, split

if TYPE_CHECKING:
    from minicrawl.archive.reader import ArchiveReader


# ================================================================ verdicts
#
# Verdicts on link targets: what a person would find behind a link.
#
# alive      a page or a file is there, perhaps behind redirects
# dead       nothing is there: a link to it is broken
# blocked    the server turns robots away: a challenge, or too many requests; people may find a page
# forbidden  robots.txt forbids it, so nobody asked
# unchecked  nobody asked for another reason, or the failure was ours
#
# A verdict follows from the state of a page, and from the detail of its last request, which names
# the service behind a challenge. A separate state for challenges was rejected: stores and their
# views would have to be migrated, and a challenge may come with any status.

Checks = list[tuple[int | None, CheckRow]]
"""Link checks, each with its page if that is known."""
_ROWS_AT_ONCE = 10_000
_NEEDS_LOGIN = (401, 407)


class LinkVerdict(IntEnum):
    """Verdict on the target of a link."""

    ALIVE = 0
    DEAD = 1
    BLOCKED = 2
    FORBIDDEN = 3
    UNCHECKED = 4

    @property
    def label(self) -> str:
        """Name shown and exported."""
        return self.name.lower()


_OF_STATE: Mapping[State, LinkVerdict] = {
    State.FETCHED: LinkVerdict.ALIVE,
    State.MOVED: LinkVerdict.ALIVE,
    State.CANONICAL: LinkVerdict.ALIVE,
    State.ALIAS: LinkVerdict.ALIVE,
    State.TWIN: LinkVerdict.ALIVE,
    State.ROBOTS: LinkVerdict.FORBIDDEN,
    State.THROTTLED: LinkVerdict.BLOCKED,
    # The crawl's own trouble says nothing about the page.
    State.LOST: LinkVerdict.UNCHECKED,
    State.CROWDED: LinkVerdict.UNCHECKED,
    State.INTERRUPTED: LinkVerdict.UNCHECKED,
    State.PROXY: LinkVerdict.UNCHECKED,
}
SHOWN = (LinkVerdict.DEAD, LinkVerdict.BLOCKED)
"""Verdicts that lists of broken links show."""
NOT_CHECKED = (LinkVerdict.FORBIDDEN, LinkVerdict.UNCHECKED)
_ANSWERED = (
    State.CLIENT_ERROR,
    State.SERVER_ERROR,
    State.BAD_STATUS,
    State.BAD_REDIRECT,
    State.TYPE,
)
"""States whose verdict depends on the last response."""


def verdict_of(state: State, status: int | None = None, detail: str = "") -> LinkVerdict:
    """Return the verdict on a page in this state, by its last request."""
    if detail.startswith(BLOCKS) or detail.endswith(COOKIE_WALL):
        return LinkVerdict.BLOCKED
    if status in _NEEDS_LOGIN:
        return LinkVerdict.UNCHECKED
    if state is State.TYPE and status is not None:
        return LinkVerdict.ALIVE
    usual = LinkVerdict.DEAD if state.is_dead_end else LinkVerdict.UNCHECKED
    return _OF_STATE.get(state, usual)


def verdict_of_check(row: CheckRow) -> LinkVerdict:
    """Return the verdict of a link check."""
    return verdict_of(State(row.state), row.status, row.detail)


def verdicts(seen: Snapshot) -> NDArray[np.uint8]:
    """Return the verdict on each known page; a redirect is judged like any page, not by its end."""
    return _verdicts(seen, _checks(seen))


def _verdicts(seen: Snapshot, checks: Checks) -> NDArray[np.uint8]:
    by_state = np.zeros(max(State) + 1, np.uint8)
    for state in State:
        by_state[state] = verdict_of(state)
    # By state for all pages at once; only the few states that depend on the response need a query.
    found = by_state[seen.states]
    pages = np.flatnonzero(np.isin(seen.states, _ANSWERED))
    for start in range(0, len(pages), _ROWS_AT_ONCE):
        some = pages[start : start + _ROWS_AT_ONCE].tolist()
        statuses = questions.last_statuses(seen.connection, some)
        details = questions.last_details(seen.connection, some)
        for page, status, detail in zip(some, statuses, details, strict=True):
            found[page] = verdict_of(State(seen.states[page]), status, detail or "")
    for page, row in _of_pages(seen, checks).items():
        found[page] = verdict_of_check(row)
    found[soft_404s(seen)] = LinkVerdict.DEAD
    return found


def soft_404s(seen: Snapshot) -> list[int]:
    """Return the pages that say "not found" with status 200."""
    return [row.source for row in all_findings(seen.path, seen.connection, SOFT_404)]


def checked_pages(seen: Snapshot) -> dict[int, CheckRow]:
    """Return the link checks of known pages that the crawl did not read."""
    return _of_pages(seen, _checks(seen))


def checked_files(seen: Snapshot) -> list[CheckRow]:
    """Return the checks of URLs that are not pages of the store, such as images."""
    return _of_files(_checks(seen))


def _of_pages(seen: Snapshot, checks: Checks) -> dict[int, CheckRow]:
    was_read = seen.was_read
    return {page: row for page, row in checks if page is not None and not was_read[page]}


def _of_files(checks: Checks) -> list[CheckRow]:
    return [row for page, row in checks if page is None and not is_missing_sibling(row.url)]


def _checks(seen: Snapshot) -> Checks:
    """Return all checks, each with its page if that is known."""
    rows = all_checks(seen.path, seen.connection)
    if not rows:
        return []
    pages = questions.find_all(seen.connection, [split(row.url) for row in rows])
    return list(zip(pages, rows, strict=True))


def verdicts_of(seen: Snapshot, urls: Collection[str]) -> dict[str, LinkVerdict]:
    """Return the verdicts on URLs, which may be pages or files."""
    checks = _checks(seen)
    codes, files = _verdicts(seen, checks), {row.url: row for row in _of_files(checks)}
    others = [url for url in urls if url not in files]
    pages = questions.find_all(seen.connection, list(map(split, others)))
    of_pages = zip(others, pages, strict=True)
    of_files = {url: verdict_of_check(files[url]) for url in urls if url in files}
    return of_files | {url: LinkVerdict(codes[page]) for url, page in of_pages if page is not None}


def counted_verdicts(codes: NDArray[np.uint8]) -> dict[str, int]:
    """Return the number of pages with each verdict, by its label."""
    counts = Counter(codes.tolist())
    return {verdict.label: counts[verdict] for verdict in LinkVerdict}


# ================================================================ backlinks
#
# Links to a page, and links from a page.
#
# Laws: a link to a page that stands for another counts for that other page, as in the ranks. A link
# from a page to itself does not count. The result is always current: links newer than the index are
# read from the log, and pages with a newer turn are excluded from the index. If much is newer, the
# index is rebuilt. If the index cannot be written, it is not used.
#
# giver       a page that links to another one, and gives it cash
# duplicates  the pages that stand for another page

_FEW_STEPS = 20_000
_MANY_OF = 8
"""An index is used while at most `_FEW_STEPS`, or an eighth of its steps, are newer."""

Numbers = NDArray[np.int64]


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

    def as_json(self) -> dict[str, object]:
        """Return the result as a JSON document."""
        return asdict(self) | {"pages": [page._asdict() for page in self.pages]}


def backlinks(
    snapshot: Snapshot,
    text: str,
    count: int = 0,
    tell: Progress = lambda _share: None,
    few_steps: int = _FEW_STEPS,
) -> Linked:
    """Return the pages that link to this page, or to the page it stands for. `count` 0 is all."""
    refuse_without_links(snapshot)
    page = page_of(snapshot, text)
    end = snapshot.frontier.books.stands_for(page)
    found = np.unique(linking_pages(snapshot, standing_for(snapshot, end), tell, few_steps))
    return _linked(snapshot, page, found[found != end], count)


def links(snapshot: Snapshot, text: str, count: int = 0) -> Linked:
    """Return the pages that this page links to. `count` 0 is all."""
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


def standing_for(snapshot: Snapshot, end: PageId) -> list[int]:
    """Return the page, and the pages that stand for it."""
    pages, ends = snapshot.standing_for_others
    return [end, *pages[ends == end].tolist()]


def linking_pages(
    snapshot: Snapshot, pages: Sequence[int], tell: Progress, few_steps: int = _FEW_STEPS
) -> Numbers:
    """Return the pages that link to any of these pages, by the links as written."""
    indexed = indexed_linking_pages(snapshot, pages, few_steps)
    if indexed is not None:
        return indexed
    inlinks = _inlinks(snapshot, tell)
    with suppress(StoreError, UsageError):  # the folder may be read-only
        keep_backlinks(snapshot.path, snapshot.connection, snapshot.frontier.last_seq, inlinks)
    return np.concatenate([inlinks.targets_of(page) for page in pages]).astype(np.int64)


def indexed_linking_pages(
    snapshot: Snapshot, pages: Sequence[int], few_steps: int = _FEW_STEPS
) -> Numbers | None:
    """Return the pages that link to any of these pages, or None if there is no index of links."""
    with reading_beside(snapshot.path, snapshot.connection) as derived:
        step = backlinks_step(derived)
        if derived is None or step is None or not _is_near(snapshot, step, few_steps):
            return None
        known = backlinks_of(derived, pages)
        last = snapshot.last_spent[known]
        # Pages that were read since the index was built may have other links.
        unchanged = known[(last > 0) & (last <= step)].astype(np.int64)
        return np.concatenate((unchanged, _newer(snapshot, pages, step)))


def _is_near(snapshot: Snapshot, step: int, few_steps: int) -> bool:
    """Return True if the index is not newer than the snapshot, and not much older."""
    # A snapshot may be older than the index, if that was rebuilt after the snapshot was opened:
    # then the index has links that the snapshot must not show.
    return 0 <= snapshot.frontier.last_seq - step <= max(few_steps, step // _MANY_OF)


def _newer(snapshot: Snapshot, pages: Iterable[int], step: int) -> Numbers:
    wanted = list(pages)
    found = [
        block.givers[np.isin(block.ends, wanted)] for block in links_as_written(snapshot, step)
    ]
    return np.concatenate([np.empty(0, dtype=np.int64), *found])


def _inlinks(snapshot: Snapshot, tell: Progress) -> Csr:
    """Return the reversed graph of all links as written."""
    givers, ends = [np.empty(0, dtype=np.int32)], [np.empty(0, dtype=np.int32)]
    for block in links_as_written(snapshot, tell=tell):
        givers.append(block.givers.astype(np.int32))
        ends.append(block.ends.astype(np.int32))
    return Csr.from_edges(len(snapshot), np.concatenate(ends), np.concatenate(givers))


# ================================================================ problems
#
# Problems that the owner of a site may fix: broken links, redirects and duplicates.
#
# broken     a link whose target is dead, directly or behind redirects; links whose target is
#            blocked are listed after them
# redirect   a page that answered with a redirect; a chain of them has several hops
# orphan     a page that was found without a link, as from a sitemap, and that no page links to
# duplicate  a page that stands for another: by rel=canonical, by its content or by its URL
#
# Laws: links are the current ones, as written. A link from a page to itself does not count. Rows
# are ordered by number of links, then by importance.

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
    verdict: str = LinkVerdict.DEAD.label
    kind: str = "link"  # or nofollow, alternate, image, style, anchor and so on


class Redirect(NamedTuple):
    """Page that redirects. A loop, or a redirect to nowhere, has no end."""

    links: int
    status: int | None
    hops: int
    state: str  # of the end
    url: str
    end: str
    through: str  # the redirects in between


class Duplicate(NamedTuple):
    """Page, and its original, which it stands for. `group` counts all pages that stand for that."""

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
    snapshot: Snapshot,
    host: str | None = None,
    tell: Progress = unreported,
    chosen_verdicts: Sequence[LinkVerdict] = SHOWN,
) -> list[BrokenLink]:
    """Return the links to targets with these verdicts, from pages of this host or from all."""
    refuse_without_links(snapshot)
    ends = redirect_ends(snapshot)
    codes = verdicts(snapshot)[ends]
    givers, targets = _links_to(snapshot, np.isin(codes, chosen_verdicts), tell)
    chosen = np.isin(givers, pages_of_host(snapshot, host))
    givers, targets = givers[chosen], targets[chosen]
    counts = np.bincount(ends[targets], minlength=len(snapshot))[ends[targets]]
    order = np.lexsort((-snapshot.importance[givers], ends[targets], -counts, codes[targets]))
    found = _broken(snapshot, givers[order], targets[order], counts[order])
    chosen_pages = set(pages_of_host(snapshot, host).tolist())
    by_url = {row.url: row for row in checked_pages(snapshot).values()}
    names = (LinkVerdict(code).label for code in codes[targets[order]].tolist())
    shown = (
        _as_checked(link._replace(verdict=verdict), by_url.get(link.target))
        for link, verdict in zip(found, names, strict=True)
    )
    labels = {verdict.label for verdict in chosen_verdicts}
    found_too = _findings(snapshot, chosen_pages)
    return [*shown, *(link for link in found_too if link.verdict in labels)]


def linked_verdicts(snapshot: Snapshot) -> dict[str, int]:
    """Return the number of linked pages and files with each verdict.

    Redirects are judged by their end.
    """
    codes = verdicts(snapshot)[redirect_ends(snapshot)]
    files = [verdict_of_check(row) for row in checked_files(snapshot)]
    return counted_verdicts(np.append(codes[snapshot.inlinks > 0], files))


def _as_checked(link: BrokenLink, found: CheckRow | None) -> BrokenLink:
    """Return the link with the result of its check, if the target was checked but not crawled."""
    if found is None:
        return link
    return link._replace(status=found.status, state=State(found.state).label)


def _findings(snapshot: Snapshot, pages: Set[int]) -> Iterator[BrokenLink]:
    """Yield missing assets and anchors, those with most references first."""
    found = all_findings(snapshot.path, snapshot.connection)
    # Soft 404s are shown with the links to them, and large images are not broken.
    rows = [row for row in found if row.kind not in (SOFT_404, LARGE_IMAGE)]
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
            text=row.text,
            verdict=(verdict_of_check(check) if check else LinkVerdict.DEAD).label,
            kind=row.kind,
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


def duplicates(snapshot: Snapshot, host: str | None = None) -> list[Duplicate]:
    """Return the duplicates of this host, or all; largest group first."""
    pages = _in_states(snapshot, _DUPLICATES, host)
    ends = final_pages(snapshot)[pages]
    groups = np.bincount(ends, minlength=1)[ends]
    order = np.lexsort((pages, ends, -groups))
    pages, ends = pages[order], ends[order]
    labels = [LABELS[state] for state in snapshot.states[pages].tolist()]
    columns = groups[order].tolist(), labels, urls(snapshot, pages), urls(snapshot, ends)
    return list(map(Duplicate, *columns))


# ---------------------------------------------------------------- links and pages


def _links_to(
    snapshot: Snapshot, is_wanted: NDArray[np.bool_], tell: Progress
) -> tuple[Pages, Pages]:
    """Return givers and targets of the links to these pages from pages that are not duplicates."""
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
    chains = {page: list(redirect_chain(snapshot, page)) for page in np.unique(targets).tolist()}
    soft = set(soft_404s(snapshot))
    names = _Names(snapshot, set(givers.tolist()).union(*chains.values()))
    for giver, target, count in zip(
        givers.tolist(), targets.tolist(), counts.tolist(), strict=True
    ):
        *through, end = chains[target]
        yield BrokenLink(
            links=count,
            status=names.status[end],
            state=SOFT_404 if end in soft else LABELS[int(snapshot.states[end])],
            target=names.url[end],
            source=names.url[giver],
            through=names.joined(through),
        )


def _redirects(snapshot: Snapshot, pages: Pages, counts: NDArray[np.int64]) -> Iterator[Redirect]:
    def is_redirect(page: int) -> bool:
        return bool(snapshot.states[page] == State.MOVED)

    chains = {page: list(redirect_chain(snapshot, page)) for page in pages.tolist()}
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


# ================================================================ written
#
# Links as written in the pages, without following redirects.
#
# Laws: the store alone defines which pages link to which. The attributes of a link, text and rel,
# come from the last archived version of its page, or from the store if it was crawled with links
# kept; otherwise they are empty. Each page is read once, and only pages that are shown.

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


class LinkEnds(NamedTuple):
    """Link, by the ids and the URLs of its pages."""

    giver: PageId
    taker: PageId
    source: str
    target: str


class StoredReferences:
    """Link attributes from the store itself."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._written = WrittenLinks(snapshot.connection)
        self._of = lru_cache(_PAGES_AT_ONCE)(self._read)

    def links(self, link: LinkEnds) -> list[Reference]:
        """Return the attributes of a link, or an empty list."""
        if not self._written:
            return []
        with reporting_damage(self._snapshot.path):
            entry = self._of(link.giver).get(link.taker)
        if entry is None:
            return []
        from minicrawl.web.references import read_entry

        found = read_entry(entry, link.source, link.target)
        return [Reference(found.written, found.text, found.rel, "a")]

    def _read(self, page: PageId) -> dict[int, str]:
        """Return the attributes of a page's links by target."""
        links = self._snapshot.frontier.spendings.of(page).links
        told = self._written.of(page, links)
        if told is None:
            return {}
        from minicrawl.web.references import parted

        return dict(zip(links, parted(told.decode("utf-8", "replace")), strict=True))


class PageReferences:
    """References of pages, from the archive or the store. Use it as a context manager."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._open = ExitStack()
        self._snapshot = snapshot
        self._has_pages = tables.archive_end(snapshot.connection) is not None
        self._archive: ArchiveReader | None = None
        self._reader: ReferenceReader | None = None
        self._stored = StoredReferences(snapshot)
        self._strip_marks = snapshot.frontier.terms.strip_marks
        self.of: Callable[[str], References] = lru_cache(_PAGES_AT_ONCE)(self._read)
        """Function that returns the references of the page at a URL; empty if it is not archived.
        """
        self._led_to = lru_cache(_URLS_AT_ONCE)(self._target)
        self._bases = lru_cache(_PAGES_AT_ONCE)(self._bases_of)
        self._by_target = lru_cache(_PAGES_AT_ONCE)(self._resolved)

    def __enter__(self) -> PageReferences:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def has(self, url: str) -> bool:
        """Return True if the page is archived with its markup."""
        return self.of(url) is not _NOTHING

    def links(self, link: LinkEnds) -> list[Reference]:
        """Return the links of one page that lead to the other one, in page order."""
        return self._by_target(link.source).get(link.target) or self._stored.links(link)

    def resolve(self, source: str, written: str) -> str | None:
        """Return the URL that a page's reference leads to, or None if it is not a web URL."""
        place, folder = self._bases(source)
        path, mark, _ = written.partition("#")
        # Menus consist of paths and URLs, which lead to the same places from all pages of a folder.
        if path[:1] > " " and path[0] != "?" and (":" not in path or "//" in path):
            place = folder
        return self._led_to(path + mark, place)

    def _bases_of(self, source: str) -> tuple[str, str]:
        """Return what the references of a page are relative to, and its folder."""
        base = self.of(source).base
        found = resolve(base, source) if base else None
        place = found.url if found else source
        return place, f"{place.partition('?')[0].rpartition('/')[0]}/"

    def _target(self, written: str, base: str) -> str | None:
        found = resolve(written, base, strip_marks=self._strip_marks)
        return None if found is None else found.url

    def _resolved(self, source: str) -> dict[str, list[Reference]]:
        found: dict[str, list[Reference]] = {}
        stays = self.of(source).base is None
        for link in self.of(source).links:
            if stays and link.written.startswith("#"):  # a fragment of the same page
                continue
            if (url := self.resolve(source, link.written)) is not None:
                found.setdefault(url, []).append(link)
        return found

    def _read(self, url: str) -> References:
        if not self._has_pages:
            return _NOTHING
        from minicrawl.report.archived_pages import html_version, kept_pages

        if self._archive is None:
            self._archive = self._open.enter_context(kept_pages(self._snapshot))
        page = html_version(self._archive, url)
        if page is None:
            return _NOTHING
        self._reader = self._reader or ReferenceReader()
        found = page.references(self._reader)
        found.assets += (Reference(url, "", "", "") for url in page.answer.asked.left_out)
        return found


# ---------------------------------------------------------------- one page


def links_of(snapshot: Snapshot, text: str, count: int = 0) -> list[WrittenLink]:
    """Return the links of a page, those to important pages first. `count` 0 is all."""
    refuse_without_links(snapshot)
    page = page_of(snapshot, text)
    targets = np.array(linked_from(snapshot, page), dtype=np.int64)
    best = targets[places_of_largest(snapshot.importance[targets], count)]
    with PageReferences(snapshot) as found:
        return list(_rows(snapshot, np.full(len(best), page), best, found))


def links_to(
    snapshot: Snapshot, text: str, count: int = 0, tell: Progress = unreported
) -> list[WrittenLink]:
    """Return the links to a page and to its duplicates, those from important pages first."""
    refuse_without_links(snapshot)
    end = snapshot.frontier.books.stands_for(page_of(snapshot, text))
    pairs = [
        (giver, target)
        for target in standing_for(snapshot, end)
        for giver in np.unique(linking_pages(snapshot, [target], tell)).tolist()
        if giver != target and snapshot.states[giver] == State.FETCHED  # not a copy
    ]
    givers, targets = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    best = places_of_largest(snapshot.importance[givers], count)
    with PageReferences(snapshot) as found:
        return list(_rows(snapshot, givers[best], targets[best], found))


def _rows(
    snapshot: Snapshot, givers: Pages, targets: Pages, found: PageReferences
) -> Iterator[WrittenLink]:
    """Yield a row for each link; one row if its attributes are unknown."""
    ends = final_pages(snapshot)[targets]
    columns = (urls(snapshot, pages) for pages in (givers, targets, ends))
    labels = [LABELS[state] for state in snapshot.states[ends].tolist()]
    pairs = zip(givers.tolist(), targets.tolist(), strict=True)
    for (giver, taker), source, target, end, state in zip(pairs, *columns, labels, strict=True):
        row = WrittenLink(source, target, "" if end == target else end, state, "", "", "")
        links = found.links(LinkEnds(giver, taker, source, target))
        for link in links:
            yield row._replace(text=link.text, rel=link.rel, written=link.written)
        if not links:
            yield row


# ---------------------------------------------------------------- all pages


def all_links(
    snapshot: Snapshot, selection: PageSelection, tell: Progress = unreported
) -> Iterator[Block]:
    """Yield the links between the selected pages, as blocks of columns."""
    refuse_without_links(snapshot)
    is_chosen = np.zeros(len(snapshot), dtype=np.bool_)
    is_chosen[selected_pages(snapshot, selection)] = True
    with PageReferences(snapshot) as found:
        for block in page_links(snapshot, tell):
            inside = is_chosen[block.givers] & is_chosen[block.ends]
            givers, targets = block.givers[inside], block.ends[inside]
            for start in range(0, len(givers), _ROWS_AT_ONCE):
                some = slice(start, start + _ROWS_AT_ONCE)
                yield _as_block(_rows(snapshot, givers[some], targets[some], found))


def _as_block(rows: Iterable[WrittenLink]) -> Block:
    columns: Sequence[Sequence[str]] = list(zip(*rows, strict=True)) or [()] * len(RAW_COLUMNS)
    return dict(zip(RAW_COLUMNS, map(list, columns), strict=True))


def with_texts(snapshot: Snapshot, found: Sequence[BrokenLink]) -> list[BrokenLink]:
    """Return the broken links with text and kind, from the first such link on its page."""
    with reporting_damage(snapshot.path), PageReferences(snapshot) as pages:
        return [_with_text(snapshot, pages, link) for link in found]


def _with_text(snapshot: Snapshot, pages: PageReferences, link: BrokenLink) -> BrokenLink:
    if link.kind != BrokenLink._field_defaults["kind"]:
        return link
    written_to = link.through.split(GAP)[0] if link.through else link.target
    ends = [split(link.source), split(written_to)]
    giver, taker = questions.find_all(snapshot.connection, ends)
    if giver is None or taker is None:
        return link
    links = pages.links(LinkEnds(giver, taker, link.source, written_to))
    text = next((one.text for one in links if one.text), "")
    roles = [one.role for one in links]
    return link._replace(text=text, kind=link.kind if link.kind in roles or not roles else roles[0])
