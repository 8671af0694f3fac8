"""Content of a report on a site: a first page for those who decide, lists for those who mend.

Laws: a section has its total number of rows, and the first ones. Empty sections are included,
because "none" is good news.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np

from minicrawl import ext
from minicrawl.ports import Progress
from minicrawl.report.links import problems
from minicrawl.report.links.written_links import with_link_texts
from minicrawl.report.progress.crawl_status import status
from minicrawl.report.selected_pages import PageSelection, rows
from minicrawl.report.snapshot import Snapshot, urls
from minicrawl.report.states.content_counts import ContentRow, content_rows
from minicrawl.report.states.discovery import discovery
from minicrawl.states import State
from minicrawl.store import step_log
from minicrawl.wording import iso


class Tile(NamedTuple):
    """A figure of the first page. `tone` is error, warning, notice, good, or empty."""

    name: str
    value: str
    note: str = ""
    tone: str = ""


class ReportSection(NamedTuple):
    """First rows of one kind, of `total`; if it leads, it is on the first page below its tiles."""

    name: str
    means: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    total: int
    leads: bool = False
    tiles: Sequence[Tile] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteReport:
    title: str
    made_at: str
    facts: Sequence[tuple[str, str]]
    sections: Sequence[ReportSection]


_MOST_ROWS = 200
_MOST_BEST = 50


def site_report(snapshot: Snapshot, made_at: float, progress: Progress) -> SiteReport:
    """Return the report; sections of packages, such as the issues of an audit, come first."""
    hosts_of_seeds = snapshot.host_of[step_log.seeds(snapshot.connection)].tolist()
    names = dict.fromkeys(snapshot.hosts[host] for host in hosts_of_seeds)
    return SiteReport(
        title=", ".join(islice(names, 3)),
        made_at=iso(made_at),
        facts=list(_facts(snapshot)),
        sections=[
            *chain.from_iterable(add(snapshot, progress) for add in ext.loaded(ext.SECTIONS)),
            *_problems(snapshot),
            *_content(snapshot),
            _seeds(snapshot),
            _best(snapshot),
        ],
    )


def _facts(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    progress = status(snapshot.path)
    yield "pages read", f"{progress.pages_fetched or 0:,}"
    yield "pages that failed", f"{sum((progress.failures or {}).values()):,}"
    yield "host" if progress.hosts == 1 else "hosts", f"{progress.hosts:,}"
    linked = problems.linked_verdicts(snapshot)
    verdicts = ", ".join(f"{n:,} {name}" for name, n in linked.items() if n)
    yield f"linked pages and files ({verdicts or 'none'})", f"{sum(linked.values()):,}"
    yield "downloaded", f"{(progress.bytes or 0) / 1e6:,.1f} MB"


def _rows_section(
    name: str, means: str, columns: Sequence[str], rows: Sequence[Any]
) -> ReportSection:
    return ReportSection(name, means, columns, rows[:_MOST_ROWS], len(rows))


def _problems(snapshot: Snapshot) -> Iterator[ReportSection]:
    broken = problems.by_target(problems.broken_links(snapshot))
    yield _rows_section(
        "Broken links",
        "Targets that failed, at once or behind redirects, or are at a private address, and the "
        "most important page that links to each.",
        problems.BrokenLink._fields,
        [*with_link_texts(snapshot, broken[:_MOST_ROWS]), *broken[_MOST_ROWS:]],
    )
    yield _rows_section(
        "Redirects",
        "Links to them cost the reader another request for each hop.",
        problems.Redirect._fields,
        problems.redirects(snapshot),
    )
    yield _rows_section(
        "Duplicates",
        "Pages that are copies of another one, by rel=canonical, content or URL.",
        problems.Duplicate._fields,
        problems.duplicates(snapshot),
    )


def _content(snapshot: Snapshot) -> Iterator[ReportSection]:
    rows = content_rows(snapshot)
    if rows is not None:
        means = "URLs with a kept response, and URLs without, by type, host and reason."
        yield _rows_section("Kept and left out", means, ContentRow._fields, rows)


def _seeds(snapshot: Snapshot) -> ReportSection:
    _, sources, seeds = discovery(snapshot)
    pages, read = (
        np.bincount(of[of >= 0], minlength=len(snapshot))[seeds].tolist()
        for of in (sources, sources[snapshot.was_read])
    )
    outcomes = [State(state).label for state in snapshot.states[seeds]]
    rows = sorted(zip(pages, read, outcomes, urls(snapshot, seeds), strict=True), reverse=True)
    means = "Each page counts for the start page from which it was found first."
    return _rows_section("Start pages", means, ("pages", "read", "outcome", "url"), rows)


def _best(snapshot: Snapshot) -> ReportSection:
    selection = PageSelection(count=_MOST_BEST, fetched=True)
    names = ("rank", "importance", "inlinks", "url", "title")
    best = [[getattr(row, name) for name in names] for row in rows(snapshot, selection)]
    return ReportSection("Most important pages", "", names, best, int(snapshot.was_read.sum()))
