"""Problems that the owner of a site may fix: broken links, redirects and duplicates.

broken     a link whose target is dead, directly or behind redirects; links whose target is
           blocked are listed after them
redirect   a page that answered with a redirect; a chain of them has several hops
orphan     a page that was found without a link, as from a sitemap, and that no page links to
duplicate  a page that stands for another: by rel=canonical, by its content or by its URL

Laws: links are the current ones, as written. A link from a page to itself does not count. Rows
are ordered by number of links, then by importance.
"""

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from itertools import takewhile
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.ports import Progress, unreported
from minicrawl.report.graph.flows import (
    final_pages,
    links_as_written,
    redirect_chain,
    redirect_ends,
)
from minicrawl.report.links.verdicts import (
    SHOWN,
    checked_files,
    checked_pages,
    soft_404s,
    verdict_of_check,
    verdicts,
)
from minicrawl.report.selected_pages import pages_of_host
from minicrawl.report.snapshot import LABELS, Pages, Snapshot, refuse_without_links, urls
from minicrawl.states import LinkVerdict, State
from minicrawl.store import request_log
from minicrawl.store.derived.checks import all_checks, all_findings
from minicrawl.web.responses.soft_404 import SOFT_404

_DUPLICATES = (State.CANONICAL, State.ALIAS, State.TWIN)
GAP = " > "
"""Separator between redirects."""


class BrokenLink(NamedTuple):
    """Broken link. `through` are the redirects on the way, in order."""

    links: int  # pages that link to this target by the same redirects
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


def link_counts(snapshot: Snapshot, progress: Progress = unreported) -> tuple[Pages, Pages]:
    givers, targets = _links_to(snapshot, np.ones(len(snapshot), dtype=np.bool_), progress)
    inlinks, outlinks = (np.bincount(ends, minlength=len(snapshot)) for ends in (targets, givers))
    return inlinks, outlinks


def broken_links(
    snapshot: Snapshot,
    host: str | None = None,
    progress: Progress = unreported,
    chosen_verdicts: Sequence[LinkVerdict] = SHOWN,
) -> list[BrokenLink]:
    """Return the links to targets with these verdicts, from pages of this host or from all."""
    refuse_without_links(snapshot)
    ends = redirect_ends(snapshot)
    codes = verdicts(snapshot)[ends]
    givers, targets = _links_to(snapshot, np.isin(codes, chosen_verdicts), progress)
    chosen = np.isin(givers, pages_of_host(snapshot, host))
    givers, targets = givers[chosen], targets[chosen]
    # Of each target as written: one behind a redirect is another thing to mend.
    counts = np.bincount(targets, minlength=len(snapshot))[targets]
    order = np.lexsort((-snapshot.importance[givers], targets, -counts, codes[targets]))
    links = _broken(snapshot, givers[order], targets[order], counts[order])
    chosen_pages = set(pages_of_host(snapshot, host).tolist())
    by_url = {row.url: row for row in checked_pages(snapshot).values()}
    names = (LinkVerdict(code).label for code in codes[targets[order]].tolist())
    shown = []
    for link, verdict in zip(links, names, strict=True):
        judged = link._replace(verdict=verdict)
        if (check := by_url.get(link.target)) is not None:  # it was checked, but not crawled
            judged = judged._replace(status=check.status, state=State(check.state).label)
        shown.append(judged)
    labels = {verdict.label for verdict in chosen_verdicts}
    found_too = _findings(snapshot, chosen_pages)
    return [*shown, *(link for link in found_too if link.verdict in labels)]


def by_target(links: Sequence[BrokenLink]) -> list[BrokenLink]:
    """Return the first link to each target, which is from the most important page."""
    firsts = {(link.target, link.through, link.kind): link for link in reversed(links)}
    return [link for link in links if firsts[link.target, link.through, link.kind] is link]


def linked_verdicts(snapshot: Snapshot) -> dict[str, int]:
    """Return the number of linked pages and files by verdict; redirects count as their end."""
    # A page that is linked both directly and through redirects counts once.
    codes = verdicts(snapshot)[np.unique(redirect_ends(snapshot)[snapshot.inlinks > 0])]
    files = [verdict_of_check(row) for row in checked_files(snapshot)]
    counts = Counter([*codes.tolist(), *files])
    return {verdict.label: counts[verdict] for verdict in LinkVerdict}


def _findings(snapshot: Snapshot, pages: Set[int]) -> Iterator[BrokenLink]:
    """Yield missing assets and anchors, those with most references first."""
    findings = all_findings(snapshot.path, snapshot.connection)
    # Soft 404s are shown with the links to them, and large images are not broken.
    rows = [row for row in findings if row.kind != SOFT_404 and row.is_broken]
    checks = {row.url: row for row in all_checks(snapshot.path, snapshot.connection)}
    chosen = [row for row in rows if row.source in pages]
    counts = Counter((row.target, row.kind) for row in chosen)
    names, importance = _Names(snapshot, {row.source for row in chosen}), snapshot.importance
    chosen.sort(key=lambda row: (-counts[row[1:3]], *row[1:3], -importance[row.source]))
    for row in chosen:
        check = checks.get(row.target)
        yield BrokenLink(
            links=counts[row[1:3]],
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
    snapshot: Snapshot, host: str | None = None, progress: Progress = unreported
) -> list[Redirect]:
    """Return the redirects of this host, or all; those with most links first."""
    refuse_without_links(snapshot)
    pages = _in_states(snapshot, (State.MOVED, State.BAD_REDIRECT), host)
    counts = link_counts(snapshot, progress)[0][pages]
    order = np.lexsort((-snapshot.importance[pages], -counts))
    chains = {page: list(redirect_chain(snapshot, page)) for page in pages[order].tolist()}
    names = _Names(snapshot, set().union(*chains.values()))
    rows = []
    for (page, chain), count in zip(chains.items(), counts[order].tolist(), strict=True):
        moved = list(takewhile(lambda hop: snapshot.states[hop] == State.MOVED, chain))
        end = chain[len(moved)]
        row = Redirect(
            links=count,
            status=names.status[page],
            hops=max(len(moved), 1),
            state=LABELS[int(snapshot.states[end])],
            url=names.url[page],
            end="" if end == page else names.url[end],
            through=names.joined(moved[1:]),
        )
        rows.append(row)
    return rows


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


def _links_to(
    snapshot: Snapshot, is_wanted: NDArray[np.bool_], progress: Progress
) -> tuple[Pages, Pages]:
    """Return givers and targets of the links to these pages from pages that are not duplicates."""
    givers, targets = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for block in links_as_written(snapshot, progress=progress):
        chosen = is_wanted[block.ends] & (block.givers != block.ends)
        chosen &= snapshot.states[block.givers] == State.FETCHED  # a copy has no links
        givers.append(block.givers[chosen])
        targets.append(block.ends[chosen])
    return np.concatenate(givers), np.concatenate(targets)


def _in_states(snapshot: Snapshot, states: Sequence[State], host: str | None) -> Pages:
    places = np.flatnonzero(np.isin(snapshot.states, states))
    return np.intersect1d(places, pages_of_host(snapshot, host))


class _Names:
    """URLs and last statuses of some pages, queried at once."""

    def __init__(self, snapshot: Snapshot, pages: set[int]) -> None:
        known = np.array(sorted(pages), dtype=np.int64)
        self.url = dict(zip(known.tolist(), urls(snapshot, known), strict=True))
        statuses = request_log.last_values(snapshot.connection, "status", known.tolist())
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
