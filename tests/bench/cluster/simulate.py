"""A crawl in shards on many nodes, simulated with `minicrawl.cluster`.

python -m tests.bench.cluster.simulate --nodes 20000 --draws 1
"""

from collections.abc import Sequence
from functools import partial

import click

from minicrawl.cli.options import ListOption, Number, sizes
from minicrawl.cli.output import show_table
from minicrawl.cli.parameters import number, option, with_made, with_options
from minicrawl.cli.progress_bar import progress
from minicrawl.cli.store_options import json_option
from minicrawl.cluster.channels.batches import MOST_TRANSFERS
from minicrawl.graph.csr import Csr
from minicrawl.lab.commands.web_choice import (
    WebChoice,
    a_web,
    about,
    endowment_option,
    show,
    small_edge_option,
)
from minicrawl.lab.importance_curves import Crawls
from minicrawl.lab.webs import Model
from minicrawl.opic.ledger.money import SMALL_EDGE
from tests.bench.cluster.against_one_machine import ClusterPoint, cluster_points
from tests.bench.cluster.estimated_traffic import RealCrawl
from tests.bench.cluster.simulated_nodes import HEADROOM

PAGES, QUICK_PAGES = 50_000, 10_000
DRAWS, QUICK_DRAWS = 2, 1
READ = "5,10,20,30,50"


@click.command()
@with_options
@with_made(choice=a_web(Model.COPYING, PAGES, QUICK_PAGES))
@json_option
def main(  # noqa: PLR0913, PLR0917 (each is an option of its own)
    choice: WebChoice,
    as_json: bool,
    endowment: int | None = endowment_option,
    small_edge: float = small_edge_option(SMALL_EDGE),
    node_counts: Sequence[int] = option(
        "Number of nodes.",
        "10,100,1000,10000",
        flag="--machines",
        cls=ListOption,
        metavar="N,...",
        type=sizes,
    ),
    waits: Sequence[int] = option(
        "Maximum time that cash waits for a batch to fill.",
        "1,60",
        flag="--wait",
        cls=ListOption,
        metavar="SECONDS,...",
        type=sizes,
    ),
    batch: int = number(
        "Number of transfers in a full batch.", MOST_TRANSFERS, most=MOST_TRANSFERS
    ),
    pace: float = option(
        "Pages that each node reads per second.",
        100.0,
        metavar="PAGES",
        type=Number(min=0, min_open=True),
    ),
    crawl_pages: int = number(
        "Number of pages known at the end of the crawl; the simulated web is a small copy.", 10**9
    ),
    headroom: int = number(
        "Cash threshold: admit K seconds of work per node; 0 for no threshold.",
        HEADROOM,
        metavar="K",
        least=0,
    ),
    site_pages: int = number("Treat N consecutive pages as a site if the graph has no hosts.", 100),
    shares: Sequence[int] = option(
        "Compare the pages fetched when these shares of the web are read.",
        READ,
        flag="--read",
        cls=ListOption,
        metavar="PERCENT,...",
        type=sizes,
    ),
    draws: int | None = number(
        f"Average over N random sets of 10 seeds.  [default: {DRAWS}; {QUICK_DRAWS} with --quick]"
    ),
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
        points = cluster_points(
            web,
            crawls=crawls,
            wanted=wanted,
            site_pages=site_pages,
            headroom=headroom,
            progress=tell,
        )
    show(web.graph, points, as_json, _show)


def _show(graph: Csr, points: Sequence[ClusterPoint]) -> None:
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


def _show_traffic(points: Sequence[ClusterPoint]) -> None:
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


def _name(point: ClusterPoint) -> list[str]:
    return [f"{point.crawl.nodes:,}", f"{point.crawl.wait_s:g}"]


def _percents(shares: Sequence[float]) -> list[str]:
    return [f"{100 * share:.1f}" for share in shares]


if __name__ == "__main__":
    main()
