"""A crawl in one file: `minicrawl plot` draws a picture, `report` has most of the lists."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from minicrawl.cli.options import graph_of_option
from minicrawl.cli.output import show_json
from minicrawl.cli.progress_bar import progress
from minicrawl.cli.store_options import json_option, store_option
from minicrawl.model import CRAWLED, KNOWN
from minicrawl.report.snapshot import snapshot
from minicrawl.wording import counted

if TYPE_CHECKING:
    from minicrawl.report.site.crawl_picture import HostLinks, Pages

ENDINGS = (".png", ".svg")


class PictureFile(click.Path):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(str(super().convert(value, param, ctx)))
        if path.suffix.lower() not in ENDINGS:
            self.fail(f"{str(path)!r} must end in {' or '.join(ENDINGS)}", param, ctx)
        return path


@click.command()
@click.argument("file", type=PictureFile(dir_okay=False))
@graph_of_option(CRAWLED)
@json_option
@store_option
def plot(store: Path, file: Path, graph_of: str, *, as_json: bool) -> None:
    """Plot a crawl to FILE, a .png or .svg.

    Shows pages, pace, importance gathered, errors, components and distances over time, the current
    degrees of the pages, and the 40 largest hosts with the links between them. The points in time
    are the samples of `crawl --graph-stats`; without samples, they come from the log of the store.

    Needs matplotlib: install minicrawl with the extra `lab`.
    """
    from minicrawl.report.files.figures import pyplot
    from minicrawl.report.progress.history import history
    from minicrawl.report.site.crawl_picture import draw_crawl

    pyplot()
    hosts = _hosts(store, graph_of)  # refuses a store without links, whose log has no history
    with progress("samples") as advance:
        samples = history(store, graph_of, advance)
    last = samples[-1]
    counts = {"samples": len(samples), "crawled": last.crawled, "known": last.known}
    title = f"{store.name}: {last.crawled:,} of {counted(last.known, 'page')} crawled"
    draw_crawl(file, title, samples, *hosts)
    if as_json:
        show_json({"file": str(file)} | counts)
    else:
        click.echo(file)


def _hosts(store: Path, graph_of: str) -> "tuple[Pages, HostLinks]":
    from minicrawl.report.selected_graph import HostGraph
    from minicrawl.report.selected_pages import PageSelection
    from minicrawl.report.site.crawl_picture import MOST_HOSTS

    with snapshot(store) as view:
        graph = HostGraph(view, PageSelection(fetched=graph_of != KNOWN)).drawing()
        pages = {
            node: (name, count)
            for block in graph.nodes
            for node, name, count in zip(block["id"], block["label"], block["pages"], strict=True)
        }
        largest = dict(sorted(pages.items(), key=lambda node: -node[1][1])[:MOST_HOSTS])
        links = {
            (largest[source][0], largest[target][0]): weight
            for block in graph.links
            for source, target, weight in zip(*(block[name] for name in block), strict=True)
            if source != target and source in largest and target in largest
        }
    return dict(largest.values()), links


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
