"""`minicrawl report`: most of the lists as one HTML file."""

from __future__ import annotations

import time
from pathlib import Path

import click

from minicrawl.cli.output import show_json
from minicrawl.cli.progress_bar import progress
from minicrawl.cli.store_options import json_option, store_option
from minicrawl.report.snapshot import snapshot


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@json_option
@store_option
def report(file: Path, store: Path, *, as_json: bool) -> None:
    """Write an HTML report on a site to FILE.

    The first page is for those who decide: how many faults of which severity, what changed since
    the last crawl, and the ten changes that gain most. Then come the issues of `minicrawl audit`
    and their causes, broken links, redirects, duplicates, and the most important pages. The file is
    self-contained.
    """
    from minicrawl.own_files import replacing
    from minicrawl.report.site.html_report import write_site_report
    from minicrawl.report.site.site_report import site_report

    with snapshot(store) as view, progress("links") as advance:
        report = site_report(view, time.time(), advance)
    with replacing(file) as written:
        write_site_report(report, written)
    if as_json:
        show_json({"file": str(file), "sections": len(report.sections)})
    else:
        click.echo(f"{file}: {len(report.sections)} sections", err=True)
