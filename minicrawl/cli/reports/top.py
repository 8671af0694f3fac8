"""`minicrawl top`: the most important pages or sites."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import click

from minicrawl.cli.common.stores import (
    json_option,
    percent,
    progress,
    refuse_without_near_duplicates,
    selection_options,
    store_option,
    tell_of_importance,
    warn_of_unranked_pages,
)
from minicrawl.cli.common.tables import show_json, show_list
from minicrawl.report.selected_pages import PageSelection, RankedPage
from minicrawl.report.selected_pages import top as top_pages
from minicrawl.report.snapshot import RISING, Snapshot, snapshot
from minicrawl.report.store_graph import RankedSite, top_sites
from minicrawl.store.derived import OPIC

PAGE_HEADINGS = ("rank", "importance", "in-links", "depth", "found", "status", "url", "title")
SITE_HEADINGS = ("rank", "importance", "sum of its pages", "pages", "fetched", "site")


@click.command()
@selection_options(count=100)
@click.option("--by", metavar="NAME", default=OPIC, show_default=True, help="Order by this rank.")
@click.option(
    "--sites",
    is_flag=True,
    help="List sites, by cash from other sites; with --by, by the sum of their pages' scores.",
)
@click.option(
    "--rising",
    is_flag=True,
    help="Order by cash received since the last fetch, relative to the page's history (1: "
    "unchanged).",
)
@click.option(
    "--all",
    "takes_all",
    is_flag=True,
    help="Include redirects, duplicates and missing pages.",
)
@click.option(
    "--fold",
    is_flag=True,
    help="Show only the best of each group of near-duplicates, as found by `index`.",
)
@json_option
@store_option
def top(
    store: Path,
    selection: PageSelection,
    by: str,
    sites: bool,
    rising: bool,
    takes_all: bool,
    fold: bool,
    as_json: bool,
) -> None:
    """List the most important pages, fetched or not.

    The importance of a page is its share of all cash flow once the ranks have converged; until then
    it is estimated from the cash that has flowed. The last line gives the error. The rank is the
    place among all known pages. `found` numbers the pages in order of discovery.
    """
    _refuse_conflicts(selection, by, sites=sites, rising=rising, fold=fold)
    if takes_all and (sites or selection.unread):
        raise click.UsageError("--all is for pages that were read: leave out --sites and --unread")
    by = RISING if rising else by
    selection = replace(selection, by=by, only_pages=not takes_all, folds=fold)
    with snapshot(store) as seen:
        warn_of_unranked_pages(seen, [by])
        if sites:
            with progress("links") as tell:
                ranked = top_sites(seen, selection.count, by, tell)
            _show_sites(seen, ranked, by, as_json)
            return
        if fold:
            refuse_without_near_duplicates(seen)
        found = top_pages(seen, selection)
        if as_json:
            show_json([page._asdict() for page in found])
            return
        _show_pages(found, by, fold=fold)
        tell_of_importance(seen)


def _show_pages(found: Iterable[RankedPage], by: str, *, fold: bool) -> None:
    headings = PAGE_HEADINGS if by == OPIC else _with_heading(PAGE_HEADINGS, by)
    show_list(
        _folded(headings, "alike") if fold else headings,
        (_line(page, by, fold=fold) for page in found),
        texts=2,
    )


def _line(page: RankedPage, by: str, *, fold: bool) -> tuple[str, ...]:
    line = _page_line(page)
    line = line if by == OPIC else _with_score(line, page.score, by)
    return _folded(line, f"{page.near_duplicates:,}") if fold else line


def _folded(line: Sequence[str], alike: str) -> tuple[str, ...]:
    """Insert the number of near-duplicates before the texts."""
    return (*line[:-2], alike, *line[-2:])


def _refuse_conflicts(
    selection: PageSelection, by: str, *, sites: bool, rising: bool, fold: bool
) -> None:
    if rising and by != OPIC:
        raise click.UsageError("--rising is an order of its own: leave out --by")
    if sites and (rising or by == RISING):
        raise click.UsageError("--rising is an order of pages: leave out --sites")
    if sites and not selection.is_all:
        raise click.UsageError("--sites cannot be combined with --host, --unread and --fetched")
    if sites and fold:
        raise click.UsageError("--fold is for pages: leave out --sites")


def _with_heading(headings: Sequence[str], by: str) -> tuple[str, ...]:
    first, *others = headings
    return first, by, *others


def _with_score(line: Sequence[str], score: float | None, by: str) -> tuple[str, ...]:
    if score is None:
        return _with_heading(line, "-")
    return _with_heading(line, f"{score:.2f}" if by == RISING else percent(score))


def _page_line(page: RankedPage) -> tuple[str, ...]:
    return (
        f"{page.rank:,}",
        percent(page.importance),
        f"{page.inlinks:,}",
        str(page.depth),
        f"{page.found:,}",
        str(page.status or "-"),
        page.url,
        page.title,
    )


def _show_sites(seen: Snapshot, sites: list[RankedSite], by: str, as_json: bool) -> None:
    if as_json:
        show_json([site._asdict() for site in sites])
    elif by == OPIC:
        show_list(SITE_HEADINGS, map(_site_line, sites), texts=1)
        tell_of_importance(seen)
    else:
        lines = (_with_score(_site_line(site), site.score, by) for site in sites)
        show_list(_with_heading(SITE_HEADINGS, by), lines, texts=1)


def _site_line(site: RankedSite) -> tuple[str, ...]:
    return (
        f"{site.rank:,}",
        percent(site.importance),
        percent(site.pages_importance),
        f"{site.pages:,}",
        f"{site.fetched:,}",
        site.site,
    )
