"""`minicrawl top`: the pages, or the sites, that matter most."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from minicrawl.cli.common.progress import progress
from minicrawl.cli.common.stores import (
    choice_options,
    json_option,
    percent,
    say_what_is_unranked,
    store_option,
    units,
)
from minicrawl.cli.common.tables import show_json, show_list
from minicrawl.report.kept import OWN
from minicrawl.report.ranks import Choice, RankedPage
from minicrawl.report.ranks import top as top_pages
from minicrawl.report.sites import RankedSite, top_sites
from minicrawl.report.snapshot import snapshot

PAGE_HEADINGS = ("rank", "importance", "cash", "history", "in-links", "status", "url", "title")
SITE_HEADINGS = ("rank", "importance", "of its pages", "pages", "fetched", "site")


@click.command()
@choice_options(count=100)
@click.option(
    "--by", metavar="NAME", default=OWN, show_default=True, help="The rank that orders them."
)
@click.option(
    "--sites",
    is_flag=True,
    help="Sites, by what links of other sites give them; with --by what their pages have together.",
)
@json_option
@store_option
def top(store: Path, choice: Choice, by: str, sites: bool, as_json: bool) -> None:
    """Show the pages that matter most, read or not.

    Importance is a page's share of all the cash that ever flowed; cash and history are in units.
    """
    if sites and not choice.is_all:
        raise click.UsageError("--sites ranks all sites: leave out --host, --unread and --fetched")
    with snapshot(store) as seen:
        say_what_is_unranked(seen, [by])
        if sites:
            with progress("links") as tell:
                ranked = top_sites(seen, choice.count, by, tell)
            _show_sites(ranked, by, as_json)
            return
        found = top_pages(seen, replace(choice, by=by))
        if as_json:
            show_json([page._asdict() for page in found])
        elif by == OWN:
            show_list(PAGE_HEADINGS, map(_page_line, found), texts=2)
        else:
            lines = (_with_score(_page_line(page), page.score) for page in found)
            show_list(_with_heading(PAGE_HEADINGS, by), lines, texts=2)


def _with_heading(headings: Sequence[str], by: str) -> tuple[str, ...]:
    first, *others = headings
    return first, by, *others


def _with_score(line: Sequence[str], score: float | None) -> tuple[str, ...]:
    return _with_heading(line, "-" if score is None else percent(score))


def _page_line(page: RankedPage) -> tuple[str, ...]:
    return (
        f"{page.rank:,}",
        percent(page.importance),
        units(page.cash),
        units(page.history),
        f"{page.inlinks:,}",
        str(page.status or "-"),
        page.url,
        page.title,
    )


def _show_sites(sites: list[RankedSite], by: str, as_json: bool) -> None:
    if as_json:
        show_json([site._asdict() for site in sites])
    elif by == OWN:
        show_list(SITE_HEADINGS, map(_site_line, sites), texts=1)
    else:
        lines = (_with_score(_site_line(site), site.score) for site in sites)
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
