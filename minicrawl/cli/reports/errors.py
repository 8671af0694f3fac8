"""`minicrawl errors`: what failed, and why."""

from pathlib import Path

import click

from minicrawl.cli.common.stores import count_option, json_option, store_option
from minicrawl.cli.common.tables import show_json, show_list
from minicrawl.model import State
from minicrawl.report import errors as report
from minicrawl.report.snapshot import snapshot

KIND_HEADINGS = ("pages", "requests", "share", "kind", "meaning", "remedy")
HOST_HEADINGS = ("pages", "mostly", "host", "last detail")
PAGE_HEADINGS = ("requested at", "status", "kind", "url", "detail")
NOTHING = "no failures"


@click.command()
@click.option(
    "--kind",
    "kinds",
    type=click.Choice([state.label for state in report.KINDS]),
    metavar="NAME",
    multiple=True,
    help="Only this kind, such as timeout or robots. Repeatable.",
)
@click.option("--host", metavar="NAME", help="Only pages of this host.")
@count_option(20)
@json_option
@store_option
def errors(store: Path, kinds: tuple[str, ...], host: str | None, n: int, as_json: bool) -> None:
    """Show the pages that failed: by kind, by host, and the latest ones with the reason.

    Refused pages, such as those that robots.txt forbids, are only counted; --kind shows their hosts
    and pages. The share is that of all requests for pages. --n applies to hosts and to pages.
    """
    wanted = frozenset(State.labelled(kind) for kind in kinds)
    with snapshot(store) as seen:
        found = report.errors(seen, report.ErrorQuery(kinds=wanted, host=host, count=n))
    if as_json:
        show_json(found.as_json())
    elif found.kinds:
        _show(found)
    else:
        click.echo(NOTHING)


def _show(found: report.ErrorReport) -> None:
    show_list(KIND_HEADINGS, map(_kind_line, found.kinds), texts=2)
    if found.pages:
        click.echo()
        show_list(HOST_HEADINGS, map(_host_line, found.hosts), texts=2)
        click.echo()
        show_list(PAGE_HEADINGS, map(_page_line, found.pages), texts=2)


def _kind_line(kind: report.ErrorKind) -> tuple[str, ...]:
    return (
        f"{kind.pages:,}",
        f"{kind.requests:,}",
        f"{kind.share:.1%}",
        kind.kind,
        kind.means,
        kind.helps,
    )


def _host_line(host: report.FailingHost) -> tuple[str, ...]:
    return f"{host.pages:,}", host.kind, host.host, host.detail


def _page_line(page: report.FailedPage) -> tuple[str, ...]:
    return page.at or "never", str(page.status or "-"), page.kind, page.url, page.detail
