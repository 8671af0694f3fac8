"""Causes of issues: one for each change that mends pages.

A missing file is one fault, however many pages need it, and so is a header that a whole host lacks:

    issue          scope   pages   target
    image-missing  file    5,127   https://example.org/img/lost.png   one file to restore
    csp-missing    site    5,130   https://example.org                one setting of the server
    h1-missing     folder     40   https://example.org/archive/       one template
    title-missing  page        1   https://example.org/about.html

A group is a function of a site and of the pages with an issue, most important first. It yields the
causes as columns, because an issue of a million pages may have a million causes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from minicrawl.audit.link_columns import DEAD_OUTSIDE, INSECURE, Column
from minicrawl.states import LinkVerdict

if TYPE_CHECKING:
    from minicrawl.audit.site import AuditedSite, Mask

_FEWEST_OF_LOST = 3
"""Fewest dead targets of another host that blame the host."""
_FEWEST, _MOST_OF = {"site": 3, "folder": 5}, 0.9
"""Fewest pages with an issue, and least share of the pages, that blame a host or a folder."""

Names = Callable[[Column], list[str]]


class Causes(NamedTuple):
    """Causes of one scope: page counts, the most important page of each, and names of targets."""

    scope: str
    pages: Column
    firsts: Column
    names: Names
    """Function of places in the columns that returns the targets."""


Group = Callable[["AuditedSite", Column], Iterator[Causes]]


def by_template(site: AuditedSite, pages: Column) -> Iterator[Causes]:
    """Blame a host, else a folder, for an issue of most of its pages; else each page."""
    base = site.html.copy()
    base[pages] = True
    for scope, places in zip(("site", "folder", "folder"), site.places, strict=True):
        counts = np.bincount(places.of[pages], minlength=places.number)
        of_all = np.bincount(places.of[base], minlength=places.number)
        is_whole = (counts >= _FEWEST[scope]) & (counts >= _MOST_OF * of_all)
        if is_whole.any():
            blamed = is_whole[places.of[pages]]
            yield _grouped(scope, places.of[pages[blamed]], pages[blamed], places.names)
            pages = pages[~blamed]
    if len(pages):
        ones = np.ones(len(pages), np.int64)
        yield Causes("page", ones, pages, lambda at: site.urls(pages[at]))


def _grouped(scope: str, labels: Column, pages: Column, names: Names) -> Causes:
    """Return a cause for each label; the first page of a label is its most important one."""
    distinct, at, counts = np.unique(labels, return_index=True, return_counts=True)
    return Causes(scope, counts, pages[at], lambda places: names(distinct[places]))


def _by_page_behind(
    site: AuditedSite, scope: str, pages: Column, targets: Column
) -> Iterator[Causes]:
    """Blame the page that each page names; those that name an unknown one are blamed themselves."""
    known = targets >= 0
    if known.any():
        yield _grouped(scope, targets[known], pages[known], site.urls)
    if not known.all():
        yield from by_template(site, pages[~known])


def by_head(head: str) -> Group:
    """Blame the page that a head element names: canonical, next or prev."""
    return lambda site, pages: _by_page_behind(site, "link", pages, site.target(head)[pages])


def by_end(site: AuditedSite, pages: Column) -> Iterator[Causes]:
    """Blame the page that stands for the pages: an original, or the end of redirects."""
    return _by_page_behind(site, "group", pages, site.ends[pages])


def by_label(label: Callable[[AuditedSite, Column], Column]) -> Group:
    """Blame the most important of the pages that share a label."""

    def group(site: AuditedSite, pages: Column) -> Iterator[Causes]:
        _, at, group_of = np.unique(label(site, pages), return_index=True, return_inverse=True)
        # The least important page is the example: the most important one is the target.
        return _by_page_behind(site, "group", pages[::-1], pages[at[group_of]][::-1])

    return group


def by_hash(name: str) -> Group:
    """Blame the most important of the pages of a host that share a text."""
    return by_label(lambda site, pages: site.of_host(site.number(name)[pages], pages))


def by_alternate(kind: Callable[[AuditedSite], Mask]) -> Group:
    """Blame the language version."""

    def group(site: AuditedSite, pages: Column) -> Iterator[Causes]:
        rank = np.full(len(site), len(site), np.int32)
        rank[pages] = np.arange(len(pages))
        givers, targets = site.alternates
        chosen = (targets >= 0) & (targets != givers) & (rank[givers] < len(site))
        chosen &= kind(site)[np.maximum(targets, 0)]
        order = np.argsort(rank[givers[chosen]], kind="stable")
        return _by_page_behind(site, "link", givers[chosen][order], targets[chosen][order])

    return group


def by_link(issue: str) -> Group:
    """Group by targets of links with this issue; the dead ones of a lost site are one cause."""

    def group(site: AuditedSite, pages: Column) -> Iterator[Causes]:
        links = site.links
        if len(pages) < np.count_nonzero(links.of[issue][site.chosen]):  # as the new ones
            links = site.links_from(site.of(pages))
        counts = links.insecure_to
        if issue != INSECURE:
            counts = np.where(site.link_kinds[issue], links.counted_to, 0)
        targets = np.flatnonzero(counts)
        if issue == DEAD_OUTSIDE:
            # Of a host that has several dead targets, and nothing that is there.
            host_of, size = site.seen.host_of, len(site.seen.origins)
            is_lost = np.bincount(host_of[targets], minlength=size) >= _FEWEST_OF_LOST
            is_lost[host_of[site.verdicts == LinkVerdict.ALIVE]] = False
            is_gone = is_lost[host_of[targets]]
            if is_gone.any():
                ranks, hosts = links.first[targets[is_gone]], host_of[targets[is_gone]]
                order, origins = np.argsort(ranks, kind="stable"), site.places[0].names
                lost = _grouped("site", hosts[order], site.seen.best[ranks[order]], origins)
                numbers = np.bincount(hosts, counts[targets[is_gone]])[np.unique(hosts)]
                yield lost._replace(pages=np.minimum(numbers, len(pages)).astype(np.int64))
            targets = targets[~is_gone]
        firsts = site.seen.best[links.first[targets]]
        yield Causes("link", counts[targets], firsts, lambda at: site.urls(targets[at]))

    return group


def by_file(kind: str) -> Group:
    """Blame the file or anchor that pages refer to; if a style refers to it, the style, too."""

    def files(site: AuditedSite) -> Iterator[tuple[str, int]]:
        for row in site.findings_of(kind):
            yield row.target + (f" {row.text}" if row.text.startswith("in ") else ""), row.source

    return by_name("file", files)


def by_name(scope: str, named: Callable[[AuditedSite], Iterable[tuple[str, int]]]) -> Group:
    """Blame what `named` yields, each name with a page that has it."""

    def group(site: AuditedSite, pages: Column) -> Iterator[Causes]:
        rank = {page: place for place, page in enumerate(pages.tolist())}
        sources: dict[str, set[int]] = {}
        for name, page in named(site):
            if page in rank:
                sources.setdefault(name, set()).add(rank[page])
        targets = list(sources)
        yield Causes(
            scope,
            np.array([len(ranks) for ranks in sources.values()], np.int64),
            pages[np.array([min(ranks) for ranks in sources.values()], np.int64)],
            lambda at: [targets[place] for place in at.tolist()],
        )

    return group
