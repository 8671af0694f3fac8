"""`crawl --dry-run`: the scope, the first hosts and the first pages."""

from typing import TYPE_CHECKING

import click

from minicrawl.config import Scope
from minicrawl.wording import counted

if TYPE_CHECKING:
    from minicrawl.crawl.start.preview import FirstHost, Preview

HOST_HEADINGS = ("delay", "host", "robots.txt")
PAGE_HEADINGS = ("turn", "cash", "action", "url")


def show_preview(preview: "Preview", scope: Scope) -> None:
    """Show the scope, the hosts of the first pages with their robots.txt, and the first pages."""
    from minicrawl.cli.output import show_facts, show_list, units
    from minicrawl.web.urls import origin

    show_facts(
        [
            ("scope", scope.scope),
            *(("allow", pattern) for pattern in scope.allow),
            *(("deny", pattern) for pattern in scope.deny),
            *(("limit", text) for text in preview.limits),
            ("known", f"{counted(preview.known, 'page')}, {counted(preview.seeds, 'seed')}"),
        ]
    )
    click.echo()
    hosts = ((f"{host.delay_s:g} s", host.origin, _robots(host)) for host in preview.hosts)
    show_list(HOST_HEADINGS, hosts, texts=2)
    click.echo()
    silent = {host.origin for host in preview.hosts if host.rules is None and host.trouble is None}
    turns = []
    for turn, page in enumerate(preview.pages, 1):
        action = "wait" if origin(page.url) in silent else "fetch"
        action = action if page.refusal is None else page.refusal.label
        turns.append((f"{turn:,}", units(page.cash), action, page.url))
    show_list(PAGE_HEADINGS, turns, texts=1)
    click.echo("\nonly robots.txt was fetched, and nothing was written")


def _robots(host: "FirstHost") -> str:
    if host.trouble is not None:
        return f"not available: {host.trouble.label}"
    if host.rules is None:
        return "no answer; the crawl would ask again"
    if not host.rules.forbidden:
        return "forbids nothing"
    return f"{len(host.rules.forbidden):,} Disallow, {len(host.rules.allowed):,} Allow"
