"""Report on a site: facts, problems, best pages, and the links between its hosts.

Law: a section has its total number of rows, and the first ones. Empty sections are included,
because "none" is good news.
"""

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.export.cells import rows_of
from minicrawl.export.site_report import HostNode, ReportSection, SiteReport
from minicrawl.graph.outline import distribution
from minicrawl.model import State
from minicrawl.progress import Progress
from minicrawl.report import problems
from minicrawl.report.link_graphs import HostGraph, urls
from minicrawl.report.links import with_texts
from minicrawl.report.ranks import Pages, PageSelection, blocks, places_of_largest
from minicrawl.report.snapshot import Snapshot
from minicrawl.report.status import status
from minicrawl.store import questions, tables
from minicrawl.wording import iso

_MOST_ROWS = 200
"""Maximum rows of a section."""
_MOST_BEST = 50
_MOST_HOSTS = 40
_DEEP = 4
_SLOW_S = 1.0
_LARGE_BYTES = 1_000_000


def site_report(snapshot: Snapshot, made_at: float, tell: Progress) -> SiteReport:
    """Return the report on everything that is known."""
    in_links, out_links = problems.link_counts(snapshot, tell)
    hosts, host_links = _hosts(snapshot)
    return SiteReport(
        title=", ".join(islice(_seed_hosts(snapshot), 3)),
        made_at=iso(made_at),
        facts=list(_facts(snapshot)),
        sections=[*_problems(snapshot), *_answers(snapshot), *_titles(snapshot), _best(snapshot)],
        in_degrees=distribution(in_links[snapshot.was_read]),
        out_degrees=distribution(out_links[snapshot.was_read]),
        hosts=hosts,
        host_links=host_links,
    )


def _seed_hosts(snapshot: Snapshot) -> Iterator[str]:
    hosts = snapshot.host_of[questions.seeds(snapshot.connection)]
    return iter(dict.fromkeys(snapshot.hosts[host] for host in hosts.tolist()))


def _facts(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    found = status(snapshot.path)
    yield "pages fetched", f"{found.pages_fetched or 0:,}"
    yield "pages known", f"{found.pages_known:,}"
    yield "hosts", f"{found.hosts:,}"
    yield "pages that failed", f"{sum((found.failures or {}).values()):,}"
    yield "downloaded", f"{(found.bytes or 0) / 1e6:,.1f} MB"
    if found.importance_gathered is not None:
        yield "importance gathered", f"{found.importance_gathered:.1%}"


# ---------------------------------------------------------------- sections


def _section(name: str, means: str, kind: type[NamedTuple], rows: Sequence[Any]) -> ReportSection:
    return ReportSection(name, means, kind._fields, rows[:_MOST_ROWS], len(rows))


def _problems(snapshot: Snapshot) -> Iterator[ReportSection]:
    yield _section(
        "Broken links",
        "Links whose target failed, at once or behind redirects, or is at a private address.",
        problems.BrokenLink,
        _said(snapshot, problems.broken_links(snapshot)),
    )
    yield _section(
        "Redirects",
        "Links to them cost the reader a request more for each hop.",
        problems.Redirect,
        problems.redirects(snapshot),
    )
    yield _section(
        "Orphans",
        "Pages that no page links to, known from a sitemap for example.",
        problems.Orphan,
        problems.orphans(snapshot),
    )
    yield _section(
        "Duplicates",
        "Pages that are copies of another one, by rel=canonical, content or URL.",
        problems.Duplicate,
        problems.duplicates(snapshot),
    )


def _said(snapshot: Snapshot, found: Sequence[problems.BrokenLink]) -> list[problems.BrokenLink]:
    """Return the broken links, with texts for those that are shown."""
    return [*with_texts(snapshot, found[:_MOST_ROWS]), *found[_MOST_ROWS:]]


def _answers(snapshot: Snapshot) -> Iterator[ReportSection]:
    connection, read = snapshot.connection, np.flatnonzero(snapshot.was_read)
    depths = tables.whole(tables.urls(connection, "depth"), "depth")[read].astype(np.int64)
    deep = places_of_largest(depths, 0)[: np.count_nonzero(depths >= _DEEP)]
    yield _of_pages(
        snapshot, "Deep pages", f"At least {_DEEP} links away.", "depth", depths[deep], read[deep]
    )
    for name, means, column, least in (
        ("Slow pages", f"The answer took at least {_SLOW_S:g} s.", "elapsed_s", _SLOW_S),
        ("Large pages", "At least 1 MB was downloaded for each.", "wire_bytes", _LARGE_BYTES),
    ):
        found = np.array(questions.costly_fetches(connection, column, least)).reshape(-1, 2)
        pages, costs = found[:, 0].astype(np.int64), found[:, 1].round(2)
        yield _of_pages(snapshot, name, means, column, costs, pages)


def _titles(snapshot: Snapshot) -> Iterator[ReportSection]:
    for name, means, found in (
        ("Pages without a title", "", questions.untitled(snapshot.connection)),
        (
            "Titles of several pages",
            "Readers cannot tell these pages apart.",
            questions.with_common_titles(snapshot.connection),
        ),
    ):
        pages = np.array([page for page, _ in found], dtype=np.int64)
        titles = np.array([title for _, title in found], dtype=object)
        stays = snapshot.states[pages] == State.FETCHED
        yield _of_pages(snapshot, name, means, "title", titles[stays], pages[stays])


def _of_pages(
    snapshot: Snapshot, name: str, means: str, column: str, values: NDArray[Any], pages: Pages
) -> ReportSection:
    """Return a section of pages with one value each."""
    shown = zip(values[:_MOST_ROWS].tolist(), urls(snapshot, pages[:_MOST_ROWS]), strict=True)
    return ReportSection(name, means, (column, "url"), list(shown), len(pages))


def _best(snapshot: Snapshot) -> ReportSection:
    selection = PageSelection(count=_MOST_BEST, fetched=True)
    found = chain.from_iterable(map(rows_of, blocks(snapshot, selection)))
    names = ("rank", "importance", "inlinks", "url", "title")
    rows = [[getattr(row, name) for name in names] for row in found]
    return ReportSection("Most important pages", "", names, rows, int(snapshot.was_read.sum()))


# ---------------------------------------------------------------- hosts


def _hosts(snapshot: Snapshot) -> tuple[list[HostNode], list[tuple[int, int, int]]]:
    drawing = HostGraph(snapshot, PageSelection()).drawing()
    rows = chain.from_iterable(
        zip(*(block[name] for name in ("id", "label", "importance", "pages")), strict=True)
        for block in drawing.nodes
    )
    best = list(islice(rows, _MOST_HOSTS))
    places = {host: place for place, (host, *_) in enumerate(best)}
    links = (
        link
        for block in drawing.links
        for link in zip(block["source"], block["target"], block["weight"], strict=True)
    )
    between = [
        (places[source], places[target], weight)
        for source, target, weight in links
        if source != target and source in places and target in places
    ]
    return [HostNode(*row) for _, *row in best], between
