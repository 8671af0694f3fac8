"""`minicrawl lab cluster`."""

from collections.abc import Sequence
from functools import partial

import click

from minicrawl.cli.input_options import json_option, progress
from minicrawl.cli.output import Sizes, show_table
from minicrawl.cli.setting_options import Number
from minicrawl.cluster.channels import MOST_TRANSFERS
from minicrawl.graph.csr import Csr
from minicrawl.lab import simulated_cluster as lab
from minicrawl.lab.commands.web_options import (
    WebChoice,
    about,
    endowment_option,
    on_a_web,
    show,
    small_edge_option,
)
from minicrawl.lab.reading_orders import Crawls
from minicrawl.lab.simulated_cluster import HEADROOM, RealCrawl
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
    help="Number of nodes.",
)
@click.option(
    "--wait",
    "waits",
    metavar="SECONDS,...",
    type=Sizes(),
    default="1,60",
    show_default=True,
    help="Maximum time that cash waits for a batch to fill.",
)
@click.option(
    "--batch",
    metavar="N",
    type=click.IntRange(1, MOST_TRANSFERS),
    default=MOST_TRANSFERS,
    show_default=True,
    help="Number of transfers in a full batch.",
)
@click.option(
    "--pace",
    metavar="PAGES",
    type=Number(min=0, min_open=True),
    default=100.0,
    show_default=True,
    help="Pages that each node reads per second.",
)
@click.option(
    "--crawl-pages",
    metavar="N",
    type=click.IntRange(min=1),
    default=10**9,
    show_default=True,
    help="Number of pages known at the end of the crawl; the simulated web is a small copy.",
)
@click.option(
    "--headroom",
    metavar="K",
    type=click.IntRange(min=0),
    default=HEADROOM,
    show_default=True,
    help="Cash threshold: admit K seconds of work per node; 0 for no threshold.",
)
@click.option(
    "--site-pages",
    metavar="N",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    help="Treat N consecutive pages as a site if the graph has no hosts.",
)
@click.option(
    "--read",
    "shares",
    metavar="PERCENT,...",
    type=Sizes(),
    default=READ,
    show_default=True,
    help="Compare the pages fetched when these shares of the web are read.",
)
@click.option(
    "--draws",
    metavar="N",
    type=click.IntRange(min=1),
    help=f"Average over N random sets of 10 seeds.  [default: {DRAWS}; {QUICK_DRAWS} with --quick]",
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
    """Simulate a sharded crawl on many nodes: pages found and traffic.

    Each shard has its own ledger, and sends cash along links to pages of other shards. The first
    two tables compare the pages that the nodes fetch with those of a single machine, the third
    shows the traffic. A tick of the simulation covers the same share of its web as of the real
    crawl. At most 64 nodes are simulated.
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
    web = choice.web()
    with progress("cluster") as tell:
        points = lab.cluster(
            web,
            crawls=crawls,
            wanted=wanted,
            site_pages=site_pages,
            headroom=headroom,
            progress=tell,
        )
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
        [*headings, "idle turns", "cash in transit"],
        ([*_name(p), *_percents([*p.agreement.mean, p.idle, p.under_way])] for p in points),
        about(graph),
    )
    _show_traffic(points)


def _show_traffic(points: Sequence[lab.ClusterPoint]) -> None:
    crawl = points[0].crawl
    show_table(
        "Sent by all nodes, per second",
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
