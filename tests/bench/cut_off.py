"""Crawls of a real graph that stop early. Three questions about them:

refined   does it harm a crawl in order of cash to redistribute all cash by the converged ranks?
until     how wrong is the estimate of the importance read so far, considering unknown pages?
proven    how far is the proven share of PageRank from the seeds below the true one?

The last two crawls use the order `siblings`.

    python -m tests.bench.cut_off refined cnr-2000.edges.txt.gz
    python -m tests.bench.cut_off until cnr-2000.edges.txt.gz
    python -m tests.bench.cut_off proven cnr-2000.edges.txt.gz
"""

import os
from array import array
from collections.abc import Iterator, Sequence

import click
import numpy as np
from numpy.typing import NDArray

from minicrawl.crawl.progress import DiscoveryRate
from minicrawl.crawl.schedule.orders import ORDERS
from minicrawl.graphfiles import read
from minicrawl.lab.known_webs import true_importance
from minicrawl.lab.reading_orders import CRAWL_ORDERS, Exploration, draw_seeds
from minicrawl.lab.webs import Web, web_of
from minicrawl.opic.estimate import CashFlow, FlowBuilder, RankMass, Refinement, of_all
from minicrawl.opic.ledger import READ, Spending, VirtualPage
from minicrawl.opic.money import SMALL_EDGE, UNIT
from minicrawl.opic.windows import WINDOWS
from tests.bench.notes import head, row
from tests.shared import find

ENDOWMENT = 1000
STOPS = (None, 0.1, 0.25)
FRACTIONS = (0.15, 0.2, 0.25, 0.3, 0.4, 0.5)
WANTED = (0.5, 0.7, 0.8, 0.9, 0.95)
PROVEN = (0.01, 0.05, 0.1, 0.2, 0.3, 0.5)
LOOKS = 200
_FLOAT_ERROR = 2.0**-40

Floats = NDArray[np.float64]


class LabCrawl:
    """A crawl in order of cash, or of `siblings`."""

    def __init__(
        self, web: Web, links: list[list[int]], truth: Floats, draw: int, *, by_siblings: bool
    ) -> None:
        self.crawl = Exploration(web, links, truth)
        self.ledger = self.crawl.ledger
        self.window = WINDOWS["interpolation"](8.0, None)
        self.ledger.windows = [self.window]
        self.crawl.start(draw_seeds(web, 1, draw), ENDOWMENT)
        self.read: list[int] = []
        self.mass = 0.0
        self._truth = truth
        name = "siblings" if by_siblings else "opic"
        self._queue = CRAWL_ORDERS[name](self.crawl, draw)
        self._queue.load()

    def read_up_to(self, pages: int) -> bool:
        """Read up to `pages` pages in all. Return False if no page is left."""
        while len(self.read) < pages:
            page = self._queue.take()
            if page is None:
                return False
            self.read.append(page)
            self.mass += float(self._truth[self.crawl.pages[page]])
            plan, new = self.crawl.read(page)
            self._queue.posted((plan,), new)
            self._queue.resume(self.crawl.urls.host_of[page])
        return True

    def redistribute(self) -> None:
        """Redistribute all cash by the converged ranks of the known pages, and continue by cash."""
        refinement = Refinement(self.flow())
        for _ in refinement.until(1e-6):
            pass
        whole = self.ledger.minted * (1 - _FLOAT_ERROR)
        atoms = np.floor(refinement.importance * whole).astype(np.int64)
        self.ledger.key[:] = array("q", atoms.tobytes())
        self.ledger.virtual_page = VirtualPage()
        self.ledger.virtual_page.remainder = self.ledger.missing()
        self._queue = ORDERS["greedy"](self.crawl)
        self._queue.load()

    def flow(self) -> CashFlow:
        """Return the cash flow of the pages read so far."""
        builder = FlowBuilder(self.ledger.small_edge)
        for page in self.read:
            links = self.crawl.links_of(page)[0]
            builder.spend(page, Spending([link for link in links if link != page]))
        return builder.flow(len(self.ledger))

    def proven(self) -> float:
        """Return the proven share of PageRank from the seeds on the pages read so far."""
        edge = 1 - self.ledger.small_edge(UNIT, 1) / UNIT
        mass = RankMass(self.flow(), dict.fromkeys(self.crawl.seeds, 1), edge)
        is_read = np.frombuffer(bytes(self.ledger.flags), dtype=np.uint8) == READ
        mass.move(~is_read, lambda: True)
        return mass.share(is_read, ~is_read)

    def shares(self) -> tuple[float, float]:
        """Return the estimated importance of the pages read so far, and of the waiting pages."""
        ledger = self.ledger
        found = self.window.importance(ledger.cash_of_all(), ledger.now, ledger.circulation)
        was_read = np.frombuffer(ledger.flags, dtype=np.uint8) == READ
        share = float(found[was_read].sum() / found.sum())
        return share, 1 - share


def _refined(crawl: LabCrawl, stop: float | None, nodes: int) -> list[float]:
    masses = []
    if stop is not None:
        crawl.read_up_to(int(stop * nodes))
        crawl.redistribute()
    for fraction in FRACTIONS:
        crawl.read_up_to(int(fraction * nodes))
        masses.append(crawl.mass if stop is None or fraction > stop else np.nan)
    return masses


def _until(crawl: LabCrawl, nodes: int) -> list[float]:
    """Return the true importance read when the estimate reaches each of `WANTED`."""
    rate, found = DiscoveryRate(0, len(crawl.ledger)), list[float]()
    for look in range(1, LOOKS + 1):
        is_over = not crawl.read_up_to(look * nodes // LOOKS)
        rate.record(len(crawl.read), len(crawl.ledger))
        estimate = of_all(*crawl.shares(), rate.rate)
        while len(found) < len(WANTED) and (estimate >= WANTED[len(found)] or is_over):
            found.append(crawl.mass)
    return found + [crawl.mass] * (len(WANTED) - len(found))


def _proven(crawl: LabCrawl, nodes: int) -> list[float]:
    """Return the proven and the true share at each budget."""
    seeds = [crawl.crawl.pages[page] for page in crawl.crawl.seeds]
    links, builder = crawl.crawl.web.graph.adjacency(), FlowBuilder(crawl.ledger.small_edge)
    for page, targets in enumerate(links):
        builder.spend(page, Spending([link for link in targets if link != page]))
    cash = np.zeros(nodes)
    cash[seeds] = 1 / len(seeds)
    refinement = Refinement(builder.flow(nodes), cash=cash)
    for _ in refinement.until(1e-9):
        pass
    truth, found = refinement.importance, list[float]()
    for fraction in PROVEN:
        crawl.read_up_to(int(fraction * nodes))
        share = float(truth[[crawl.crawl.pages[page] for page in crawl.read]].sum())
        assert crawl.proven() <= share + 1e-9
        found += [crawl.proven(), share]
    return found


def _cells(rows: Sequence[Sequence[float]]) -> Iterator[str]:
    for column in np.array(rows).T:
        error = column.std(ddof=1) / np.sqrt(len(column)) if len(column) > 1 else np.nan
        yield "-" if np.isnan(column).any() else f"{column.mean():.3f} ({error:.3f})"


@click.command()
@click.argument("question", type=click.Choice(("refined", "until", "proven")))
@click.argument("graph")
@click.option("--draws", default=4, show_default=True)
def main(question: str, graph: str, draws: int) -> None:
    """Mean and standard error over draws of ten seeds."""
    path = find("graphs", graph, os.environ)
    web = web_of(read(path), path)
    links, nodes = web.graph.adjacency(), web.graph.nodes
    truth = true_importance(web.graph, SMALL_EDGE)
    if question == "until":
        click.echo("\n".join(head(graph, *(f"{one:.0%}" for one in WANTED))))
        found = [
            _until(LabCrawl(web, links, truth, draw, by_siblings=True), nodes)
            for draw in range(draws)
        ]
        click.echo(row("true", *_cells(found)))
        return
    if question == "proven":
        names = (f"{what} {one:.0%}" for one in PROVEN for what in ("proven", "true"))
        click.echo("\n".join(head(graph, *names)))
        crawls = (LabCrawl(web, links, truth, draw, by_siblings=True) for draw in range(draws))
        click.echo(row("siblings", *_cells([_proven(crawl, nodes) for crawl in crawls])))
        return
    click.echo("\n".join(head(graph, *(f"{one:.0%}" for one in FRACTIONS))))
    for stop in STOPS:
        crawls = (LabCrawl(web, links, truth, draw, by_siblings=False) for draw in range(draws))
        found = [_refined(crawl, stop, nodes) for crawl in crawls]
        click.echo(row("none" if stop is None else f"{stop:.0%}", *_cells(found)))


if __name__ == "__main__":
    main()
