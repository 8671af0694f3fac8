"""`minicrawl errors` and `frontier`: pages that failed, and pages that come next."""

from pathlib import Path

import click

from minicrawl.cli.output import short_time, show_json, show_list, units
from minicrawl.cli.state.status import UNKNOWN
from minicrawl.cli.store_options import count_option, json_option, store_option
from minicrawl.report.snapshot import snapshot
from minicrawl.report.states.errors import KINDS, errors as find_errors
from minicrawl.report.waiting_pages import waiting
from minicrawl.states import State


@click.command()
@click.option(
    "--kind",
    "kinds",
    type=click.Choice([state.label for state in KINDS]),
    metavar="NAME",
    multiple=True,
    help="Only this kind of error, such as timeout or robots. Repeatable.",
)
@click.option("--host", metavar="NAME", help="Only pages of this host.")
@count_option(20)
@json_option
@store_option
def errors(store: Path, kinds: tuple[str, ...], host: str | None, n: int, as_json: bool) -> None:
    """Show failed pages: by kind, by host, and the latest with their reasons.

    Refused pages, such as those forbidden by robots.txt, are only counted; --kind shows their hosts
    and pages. The share is of all page requests. --n applies to hosts and to pages.
    """
    states = frozenset(State.labelled(kind) for kind in kinds)
    with snapshot(store) as view:
        report = find_errors(view, states, host, n)
    if as_json:
        show_json(report)
    elif report.kinds:
        lines = [
            (f"{kind.pages:,}", f"{kind.requests:,}", f"{kind.share:.1%}", *kind[:1], *kind[4:])
            for kind in report.kinds
        ]
        show_list(("pages", "requests", "share", "kind", "meaning", "remedy"), lines, texts=2)
        if report.pages:
            click.echo()
            hosts = (
                (f"{host.pages:,}", host.kind, host.host, host.detail) for host in report.hosts
            )
            show_list(("pages", "mostly", "host", "last detail"), hosts, texts=2)
            click.echo()
            pages = (
                (short_time(at or "never"), str(status or "-"), kind, url, detail)
                for url, kind, status, detail, at in report.pages
            )
            show_list(("requested at", "status", "kind", "url", "detail"), pages, texts=2)
    else:
        click.echo("no failures")


@click.command()
@count_option(20)
@json_option
@store_option
def frontier(store: Path, n: int, as_json: bool) -> None:
    """List the next pages to fetch, ignoring the delays of hosts.

    Pages are ordered by `key`, in units of cash. With --strategy greedy, `key` is the initial unit
    of a page plus `given`, the cash from links and endowments. With siblings, `key` also depends
    on how many new pages its siblings led to, the pages found together with it; until 4,096 pages
    are read, PageRank of the links read so far stands in for the cash. Other strategies have no
    `key`. `cash` includes a share of the virtual page's cash.
    """
    with snapshot(store, ordered=True) as view:
        if as_json:
            show_json(waiting(view, n))
        else:
            lines = (
                (
                    f"{page.rank:,}",
                    UNKNOWN if page.key is None else units(page.key),
                    units(page.given),
                    units(page.cash),
                    str(page.depth),
                    f"{page.inlinks:,}",
                    page.url,
                )
                for page in waiting(view, n)
            )
            show_list(("rank", "key", "given", "cash", "depth", "in-links", "url"), lines, texts=1)
