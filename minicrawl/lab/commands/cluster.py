"""`minicrawl lab cluster`."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click

from minicrawl.cli.common.options import Number
from minicrawl.cli.common.stores import progress
from minicrawl.cli.common.tables import Sizes, show_table
from minicrawl.cluster.channels import MOST_TRANSFERS
from minicrawl.graph.csr import Csr
from minicrawl.lab import cluster as lab
from minicrawl.lab import figures as figures_lab
from minicrawl.lab.cluster import HEADROOM, RealCrawl
from minicrawl.lab.commands.options import DRAWS as DRAWS_options
from minicrawl.lab.commands.options import (
    LAPS,
    QUICK_LAPS,
    WARM_UP,
    WebChoice,
    about,
    endowment_option,
    json_option,
    laps_option,
    on_a_web,
    show,
    small_edge_option,
)
from minicrawl.lab.commands.options import QUICK_DRAWS as QUICK_DRAWS_options
from minicrawl.lab.order import Crawls
from minicrawl.lab.webs import Model
from minicrawl.opic.money import SMALL_EDGE

PAGES, QUICK_PAGES = 50_000, 10_000
DRAWS, QUICK_DRAWS = 2, 1
READ = "5,10,20,30,50"


@click.command()
@on_a_web(Model.COPYING, PAGES, QUICK_PAGES)
@click.option(
    "--machines",
    "node_counts",
    metavar="N,...",
    type=Sizes(),
    default="10,100,1000,10000",
    show_default=True,
    help="How many nodes a crawl has.",
)
@click.option(
    "--wait",
    "waits",
    metavar="SECONDS,...",
    type=Sizes(),
    default="1,60",
    show_default=True,
    help="How long cash may wait until the batch that has it is full.",
)
@click.option(
    "--batch",
    metavar="N",
    type=click.IntRange(1, MOST_TRANSFERS),
    default=MOST_TRANSFERS,
    show_default=True,
    help="Transfers in a full batch.",
)
@click.option(
    "--pace",
    metavar="PAGES",
    type=Number(min=0, min_open=True),
    default=100.0,
    show_default=True,
    help="Pages that a node reads in a second.",
)
@click.option(
    "--crawl-pages",
    metavar="N",
    type=click.IntRange(min=1),
    default=10**9,
    show_default=True,
    help="Pages that the crawl knows in the end; the web of the experiment is a small copy of it.",
)
@click.option(
    "--headroom",
    metavar="K",
    type=click.IntRange(min=0),
    default=HEADROOM,
    show_default=True,
    help="Let nodes read only pages above a level of cash that leaves K times as many as they can "
    "read within a second; 0 for no level.",
)
@click.option(
    "--site-pages",
    metavar="N",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    help="Where the graph has no hosts, count N pages in a row as a site.",
)
@click.option(
    "--read",
    "shares",
    metavar="PERCENT,...",
    type=Sizes(),
    default=READ,
    show_default=True,
    help="Compare the pages when so much of the web is read.",
)
@click.option(
    "--draws",
    metavar="N",
    type=click.IntRange(min=1),
    help="The numbers are the mean over so many draws of ten seeds.  "
    f"[default: {DRAWS}; {QUICK_DRAWS} with --quick]",
)
@endowment_option
@small_edge_option(SMALL_EDGE)
@json_option
def cluster(
    choice: WebChoice,
    node_counts: Sequence[int],
    waits: Sequence[int],
    batch: int,
    pace: float,
    crawl_pages: int,
    headroom: int,
    site_pages: int,
    shares: Sequence[int],
    draws: int | None,
    endowment: int | None,
    small_edge: float,
    as_json: bool,
) -> None:
    """Show what a crawl in shards on many nodes finds and sends.

    Each shard has a ledger of its own, and sends others what its links give to their pages. The
    first table compares the pages that the nodes read with those that one machine reads, the second
    one tells what they send. A tick of the simulation is as large a part of the web as of the crawl
    that is asked for. At most 64 nodes are simulated.
    """
    crawl = partial(RealCrawl, pages=crawl_pages, pace=pace, transfers=batch)
    wanted = [crawl(nodes=nodes, wait_s=wait) for nodes in node_counts for wait in waits]
    crawls = Crawls(
        draws=choice.otherwise(draws, DRAWS, QUICK_DRAWS),
        seed=choice.seed,
        endowment=choice.endowment(endowment),
        small_edge=small_edge,
        fractions=[min(share, 100) / 100 for share in shares],
    )
    web, rules = choice.web(), lab.Sharding(site_pages=site_pages, headroom=headroom)
    with progress("cluster") as tell:
        points = lab.cluster(web, crawls=crawls, wanted=wanted, sharding=rules, progress=tell)
    show(web.graph, points, as_json, _show)


def _show(graph: Csr, points: Sequence[lab.ClusterPoint]) -> None:
    first = points[0]
    headings = ["nodes", "wait, s", *(f"{share:.0%}" for share in first.fractions)]
    show_table(
        "Share of all importance on the pages fetched, in %",
        headings,
        [
            ["one machine", "", *_percents(first.one_machine.mean)],
            *([*_name(point), *_percents(point.mass.mean)] for point in points),
        ],
        "",
    )
    show_table(
        "Importance of one machine's pages that the nodes have read as well, in %",
        [*headings, "idle turns", "cash on its way"],
        ([*_name(p), *_percents([*p.agreement.mean, p.idle, p.under_way])] for p in points),
        about(graph),
    )
    _show_traffic(points)


def _show_traffic(points: Sequence[lab.ClusterPoint]) -> None:
    crawl = points[0].crawl
    show_table(
        "Sent by all nodes, in a second",
        ["nodes", "wait, s", "transfers", "batches", "in a batch", "MB"],
        (
            [
                *_name(point),
                f"{point.traffic.transfers_s:,.0f}",
                f"{point.traffic.batches_s:,.0f}",
                f"{point.traffic.in_a_batch:,.1f}",
                f"{point.traffic.megabytes_s:,.1f}",
            ]
            for point in points
        ),
        f"{crawl.pages:,} pages; {crawl.pace:g} pages/s on a node; "
        f"at most {crawl.transfers:,} transfers in a batch",
    )


def _name(point: lab.ClusterPoint) -> list[str]:
    return [f"{point.crawl.nodes:,}", f"{point.crawl.wait_s:g}"]


def _percents(shares: Sequence[float]) -> list[str]:
    return [f"{100 * share:.1f}" for share in shares]


# ================================================================ figures
#
# `minicrawl lab figures`.


@click.command()
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="The folder for the figures; made if it is not there.",
)
@on_a_web(Model.POWER_LAW)
@laps_option
@endowment_option
def figures(choice: WebChoice, out: Path, laps: int | None, endowment: int | None) -> None:
    """Draw all figures as PNG, with the numbers as CSV beside each.

    Needs matplotlib: install minicrawl with the extra `lab`.
    """
    settings = figures_lab.ExperimentSize(
        laps=choice.otherwise(laps, LAPS, QUICK_LAPS),
        draws=choice.otherwise(None, DRAWS_options, QUICK_DRAWS_options),
        seed=choice.seed,
        endowment=choice.endowment(endowment),
        rates=choice.rates(),
        warm_up=WARM_UP,
    )
    web = choice.web()
    webs = figures_lab.FigureWebs(
        known=web.graph, watched=choice.watched().graph, crawled=choice.with_hosts(web)
    )
    with progress("figures") as tell:
        written = figures_lab.draw_all(out, webs, settings, tell)
    for path in written:
        click.echo(path)
