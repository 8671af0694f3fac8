"""Content of a report on a site: facts, problems, best pages, links between hosts.

Law: a section has its total number of rows, and the first ones. Empty sections are included,
because "none" is good news.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np

from minicrawl import ext
from minicrawl.graph.degrees import DegreeDistribution, distribution
from minicrawl.ports import Progress
from minicrawl.report.links import problems
from minicrawl.report.links.written_links import with_texts
from minicrawl.report.progress.crawl_status import status
from minicrawl.report.selected_graph import HostGraph
from minicrawl.report.selected_pages import PageSelection, blocks, rows_of
from minicrawl.report.snapshot import Snapshot, urls
from minicrawl.report.states.content_counts import ContentRow, content_rows
from minicrawl.report.states.discovery import discovery
from minicrawl.states import State
from minicrawl.store import questions
from minicrawl.wording import at_least, iso, percentage


class ReportSection(NamedTuple):
    """Rows of one kind, possibly the first of `total`."""

    name: str
    means: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    total: int


class HostNode(NamedTuple):
    """Host with the total importance of its pages."""

    name: str
    importance: float
    pages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteReport:
    """Content of the report."""

    title: str
    made_at: str
    facts: Sequence[tuple[str, str]]
    sections: Sequence[ReportSection]
    in_degrees: DegreeDistribution
    out_degrees: DegreeDistribution
    hosts: Sequence[HostNode]
    """Most important hosts."""
    host_links: Sequence[tuple[int, int, int]]
    """Links between `hosts`: two indices, and the number of links."""


_MOST_ROWS = 200
"""Maximum rows of a section."""
_MOST_BEST = 50
_MOST_HOSTS = 40


def site_report(snapshot: Snapshot, made_at: float, progress: Progress) -> SiteReport:
    """Return the site report of a store."""
    in_links, out_links = problems.link_counts(snapshot, progress)
    hosts, host_links = _hosts(snapshot)
    hosts_of_seeds = snapshot.host_of[questions.seeds(snapshot.connection)].tolist()
    names = dict.fromkeys(snapshot.hosts[host] for host in hosts_of_seeds)
    return SiteReport(
        title=", ".join(islice(names, 3)),
        made_at=iso(made_at),
        facts=list(_facts(snapshot)),
        sections=[
            # of packages, such as the issues of an audit
            *chain.from_iterable(add(snapshot, progress) for add in ext.loaded(ext.SECTIONS)),
            *_problems(snapshot),
            *_content(snapshot),
            _seeds(snapshot),
            _best(snapshot),
        ],
        in_degrees=distribution(in_links[snapshot.was_read]),
        out_degrees=distribution(out_links[snapshot.was_read]),
        hosts=hosts,
        host_links=host_links,
    )


def _facts(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    progress = status(snapshot.path)
    yield "pages fetched", f"{progress.pages_fetched or 0:,}"
    yield "pages known", f"{progress.pages_known:,}"
    yield "hosts", f"{progress.hosts:,}"
    yield "pages that failed", f"{sum((progress.failures or {}).values()):,}"
    yield (
        "linked pages",
        ", ".join(f"{n:,} {name}" for name, n in problems.linked_verdicts(snapshot).items() if n),
    )
    yield "downloaded", f"{(progress.bytes or 0) / 1e6:,.1f} MB"
    yield "importance gathered", percentage(progress.importance_gathered)
    if progress.importance_guaranteed is not None:
        yield "PageRank from the seeds", at_least(progress.importance_guaranteed)


def _rows_section(
    name: str, means: str, kind: type[NamedTuple], rows: Sequence[Any]
) -> ReportSection:
    return ReportSection(name, means, kind._fields, rows[:_MOST_ROWS], len(rows))


def _problems(snapshot: Snapshot) -> Iterator[ReportSection]:
    broken = problems.broken_links(snapshot)
    yield _rows_section(
        "Broken links",
        "Links whose target failed, at once or behind redirects, or is at a private address.",
        problems.BrokenLink,
        [*with_texts(snapshot, broken[:_MOST_ROWS]), *broken[_MOST_ROWS:]],
    )
    yield _rows_section(
        "Redirects",
        "Links to them cost the reader another request for each hop.",
        problems.Redirect,
        problems.redirects(snapshot),
    )
    yield _rows_section(
        "Duplicates",
        "Pages that are copies of another one, by rel=canonical, content or URL.",
        problems.Duplicate,
        problems.duplicates(snapshot),
    )


def _content(snapshot: Snapshot) -> Iterator[ReportSection]:
    rows = content_rows(snapshot)
    if rows is not None:
        means = "URLs with a kept response, and URLs without, by type, host and reason."
        yield _rows_section("Kept and left out", means, ContentRow, rows)


class SeedRow(NamedTuple):
    """Seed, its state, and how many pages were found from it and read."""

    pages: int
    read: int
    outcome: str
    url: str


def _seeds(snapshot: Snapshot) -> ReportSection:
    finders = discovery(snapshot)
    pages, read = (
        np.bincount(sources[sources >= 0], minlength=len(snapshot))[finders.seeds]
        for sources in (finders.sources, finders.sources[snapshot.was_read])
    )
    outcomes = [State(state).label for state in snapshot.states[finders.seeds]]
    seeds = urls(snapshot, finders.seeds)
    rows = [*map(SeedRow._make, zip(pages.tolist(), read.tolist(), outcomes, seeds, strict=True))]
    means = "Each page counts for the seed from which it was found first."
    return _rows_section("Seeds", means, SeedRow, sorted(rows, reverse=True))


def _best(snapshot: Snapshot) -> ReportSection:
    selection = PageSelection(count=_MOST_BEST, fetched=True)
    best_rows = chain.from_iterable(map(rows_of, blocks(snapshot, selection)))
    names = ("rank", "importance", "inlinks", "url", "title")
    rows = [[getattr(row, name) for name in names] for row in best_rows]
    return ReportSection("Most important pages", "", names, rows, int(snapshot.was_read.sum()))


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
