"""`minicrawl top`: the pages, or the sites, that matter most."""

from dataclasses import replace
from pathlib import Path

import click

from minicrawl.cli.stores import (
    choice_options,
    json_option,
    percent,
    say_what_is_unranked,
    store_option,
    units,
)
from minicrawl.cli.tables import show_json, show_list
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
@click.option("--sites", is_flag=True, help="Sites, by the links that other sites give them.")
@json_option
@store_option
def top(store: Path, choice: Choice, by: str, sites: bool, as_json: bool) -> None:
    """Show the pages that matter most, read or not.

    Importance is a page's share of all the cash that ever flowed; cash and history are in units.
    """
    if sites and not (choice.is_all and by == OWN):
        raise click.UsageError(
            "--sites ranks all sites: leave out --host, --unread, --fetched and --by"
        )
    with snapshot(store) as seen:
        if sites:
            _show_sites(top_sites(seen, choice.count), as_json)
            return
        say_what_is_unranked(seen, [by])
        found = top_pages(seen, replace(choice, by=by))
        if as_json:
            show_json([page._asdict() for page in found])
        elif by == OWN:
            show_list(PAGE_HEADINGS, map(_page_line, found), texts=2)
        else:
            first, *others = PAGE_HEADINGS
            show_list((first, by, *others), map(_line_with_score, found), texts=2)


def _line_with_score(page: RankedPage) -> tuple[str, ...]:
    place, *others = _page_line(page)
    return (place, "-" if page.score is None else percent(page.score), *others)


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


def _show_sites(sites: list[RankedSite], as_json: bool) -> None:
    if as_json:
        show_json([site._asdict() for site in sites])
    else:
        show_list(SITE_HEADINGS, map(_site_line, sites), texts=1)


def _site_line(site: RankedSite) -> tuple[str, ...]:
    return (
        f"{site.rank:,}",
        percent(site.importance),
        percent(site.pages_importance),
        f"{site.pages:,}",
        f"{site.fetched:,}",
        site.site,
    )
