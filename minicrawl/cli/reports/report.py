"""`minicrawl report`: one HTML file on a site, to read, to print and to send."""

import time
from pathlib import Path

import click

from minicrawl.cli.common.progress import progress
from minicrawl.cli.common.stores import store_option
from minicrawl.export.drafts import replacing
from minicrawl.export.site_report import write_site_report
from minicrawl.report.site_report import site_report
from minicrawl.report.snapshot import snapshot


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@store_option
def report(file: Path, store: Path) -> None:
    """Write a report on what was crawled as one HTML file.

    It has the broken links, redirects, orphans and duplicates, deep, slow and large pages, titles
    that are missing or not unique, the most important pages, links a page, and the hosts as a
    graph. It loads nothing from anywhere, so it can be sent and printed.
    """
    with snapshot(store) as seen, progress("links") as tell:
        found = site_report(seen, time.time(), tell)
    with replacing(file) as written:
        write_site_report(found, written)
    click.echo(f"{file}: {len(found.sections)} sections", err=True)
