"""`minicrawl top`: the most important pages or sites."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from minicrawl.cli.output import percent, show_json, show_list
from minicrawl.cli.parameters import option, switch, with_options
from minicrawl.cli.progress_bar import progress
from minicrawl.cli.store_options import (
    json_option,
    refuse_without_near_duplicates,
    selection_options,
    store_option,
    tell_of_importance,
    warn_of_unranked_pages,
)
from minicrawl.report.saved_ranks import RISING
from minicrawl.report.selected_pages import PageSelection, top as top_pages
from minicrawl.report.snapshot import Snapshot, snapshot
from minicrawl.store.derived.ranks import OPIC

if TYPE_CHECKING:
    from minicrawl.report.graph.top_sites import RankedSite


@click.command()
@selection_options(count=100)
@with_options
@json_option
@store_option
def top(
    store: Path,
    selection: PageSelection,
    as_json: bool,
    by: str = option("Order by this rank.", OPIC, metavar="NAME"),
    sites: bool = switch(
        "List sites, by cash from other sites; with --by, by the sum of their pages' scores."
    ),
    rising: bool = switch(
        "Order by cash received since the last fetch, relative to the page's history (1: "
        "unchanged)."
    ),
    takes_all: bool = switch("Include redirects, duplicates and missing pages.", flag="--all"),
    fold: bool = switch(
        "Show only the best of each group of near-duplicates, as found by `index`."
    ),
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
    with snapshot(store) as view:
        warn_of_unranked_pages(view, [by])
        if sites:
            from minicrawl.report.graph.top_sites import top_sites

            with progress("links") as advance:
                ranked = top_sites(view, selection.count, by, advance)
            _show_sites(view, ranked, by, as_json)
            return
        if fold:
            refuse_without_near_duplicates(view)
        pages = top_pages(view, selection)
        if as_json:
            show_json(list(pages))
            return
        _show_pages(pages, by, fold=fold)
        tell_of_importance(view)


def _show_pages(pages: Iterable[Mapping[str, Any]], by: str, *, fold: bool) -> None:
    def line(page: Mapping[str, Any]) -> tuple[str, ...]:
        return (
            f"{page['rank']:,}",
            *_score_beside(page["score"], by),
            percent(page["importance"]),
            f"{page['inlinks']:,}",
            str(page["depth"]),
            f"{page['found']:,}",
            str(page["status"] or "-"),
            *((f"{page['near_duplicates']:,}",) if fold else ()),
            page["url"],
            page["title"],
        )

    score, alike = () if by == OPIC else (by,), ("alike",) if fold else ()
    numbers = ("rank", *score, "importance", "in-links", "depth", "found", "status", *alike)
    show_list((*numbers, "url", "title"), map(line, pages), texts=2)


def _score_beside(score: float | None, by: str) -> tuple[str, ...]:
    """Return the cells beside the rank: the score by another rank than the importance."""
    if by == OPIC:
        return ()
    return ("-" if score is None else f"{score:.2f}" if by == RISING else percent(score),)


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


def _show_sites(snapshot: Snapshot, sites: list[RankedSite], by: str, as_json: bool) -> None:
    if as_json:
        show_json(sites)
        return
    lines = (
        (
            f"{site.rank:,}",
            *_score_beside(site.score, by),
            percent(site.importance),
            percent(site.pages_importance),
            f"{site.pages:,}",
            f"{site.fetched:,}",
            site.site,
        )
        for site in sites
    )
    score = () if by == OPIC else (by,)
    headings = ("rank", *score, "importance", "sum of its pages", "pages", "fetched", "site")
    show_list(headings, lines, texts=1)
    if by == OPIC:
        tell_of_importance(snapshot)
