"""`minicrawl top`: the most important pages or sites."""

from dataclasses import replace
from pathlib import Path

import click

from minicrawl.cli import store_options
from minicrawl.cli.options import refuse
from minicrawl.cli.output import percent, show_json, show_list
from minicrawl.cli.parameters import option, switch, with_options
from minicrawl.cli.progress_bar import progress
from minicrawl.report.saved_ranks import RISING
from minicrawl.report.selected_pages import PageSelection, top as top_pages
from minicrawl.report.snapshot import Snapshot, snapshot
from minicrawl.store.derived.ranks import OPIC


@click.command()
@store_options.selection_options(count=100)
@with_options
@store_options.json_option
@store_options.store_option
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
    of_pages = rising or by == RISING
    refuse(
        {
            "--rising is an order of its own: leave out --by": rising and by != OPIC,
            "--rising is an order of pages: leave out --sites": sites and of_pages,
            "--sites cannot be combined with --host, --unread and --fetched": sites
            and not selection.is_all,
            "--fold is for pages: leave out --sites": sites and fold,
            "--all is for pages that were read: leave out --sites and --unread": takes_all
            and (sites or selection.unread),
        }
    )
    by = RISING if rising else by
    selection = replace(selection, by=by, only_pages=not takes_all, folds=fold)
    with snapshot(store) as view:
        store_options.warn_of_unranked_pages(view, [by])
        if fold:
            store_options.refuse_without_near_duplicates(view)
        (_top_sites if sites else _top_pages)(view, selection, as_json)


def _top_pages(snapshot: Snapshot, selection: PageSelection, as_json: bool) -> None:
    pages, by, fold = top_pages(snapshot, selection), selection.by, selection.folds
    if as_json:
        show_json(list(pages))
        return
    lines = (
        (
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
        for page in pages
    )
    score, alike = () if by == OPIC else (by,), ("alike",) if fold else ()
    numbers = ("rank", *score, "importance", "in-links", "depth", "found", "status", *alike)
    show_list((*numbers, "url", "title"), lines, texts=2)
    store_options.tell_of_importance(snapshot)


def _top_sites(snapshot: Snapshot, selection: PageSelection, as_json: bool) -> None:
    from minicrawl.report.graph.top_sites import top_sites

    by = selection.by
    with progress("links") as advance:
        sites = top_sites(snapshot, selection.count, by, advance)
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
        store_options.tell_of_importance(snapshot)


def _score_beside(score: float | None, by: str) -> tuple[str, ...]:
    """Return the cells beside the rank: the score by another rank than the importance."""
    if by == OPIC:
        return ()
    return ("-" if score is None else f"{score:.2f}" if by == RISING else percent(score),)
