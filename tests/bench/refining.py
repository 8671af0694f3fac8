"""Converged ranks after changes of links: from scratch, from the last ranks, and by what changed.

`python -m tests.bench.refining` counts followed links, which no other work of the machine disturbs.
"""

from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np

from minicrawl.frontier.importance import UNTIL
from minicrawl.graph.csr import Csr
from minicrawl.opic.importance.cash_flow import CashFlow, FlowBuilder, Refinement
from minicrawl.opic.importance.estimate import Floats
from minicrawl.opic.ledger.money import exact_edge
from tests.bench.notes import head, into_document, row, tell
from tests.bench.ranks import synthetic

_LINKS_A_PAGE = 8
_LINKS_REPLACED = 0.3
"""Part of the links of a changed page."""


class AllPages(Refinement):
    """All pages spend in each round."""

    def _round(self) -> None:
        flow = self._flow
        for rows, links in self._blocks:
            givers = flow.givers[rows]
            cash = self._cash[givers]
            self._history[givers] += cash
            self._cash[givers] = 0
            self._products.scatter(flow.rows(rows, links), cash * flow.shares[rows], self._cash)
        self.links_followed += flow.links
        self.rounds += 1


def flow_of(graph: Csr, read: int) -> CashFlow:
    """Return the flow if the first `read` pages have been read."""
    builder = FlowBuilder(exact_edge(0.15))
    links = graph.targets[: graph.starts[read]].astype(np.int64)
    builder.spend_equally(np.arange(read), graph.out_degrees()[:read], links)
    return builder.flow(graph.nodes)


def changed(graph: Csr, part: float) -> Csr:
    """Replace links of this part of the pages by those of others."""
    dice = np.random.default_rng(2)
    is_changed = np.repeat(dice.random(graph.nodes) < part, graph.out_degrees())
    targets, moves = graph.targets.copy(), is_changed & (dice.random(graph.edges) < _LINKS_REPLACED)
    targets[moves] = dice.choice(targets, int(moves.sum()))
    return Csr(starts=graph.starts, targets=targets)


def converged(refinement: Refinement) -> Refinement:
    for _ in refinement.until(UNTIL):
        pass  # each step is a round
    return refinement


def figures(flow: CashFlow, last: Floats) -> Iterator[str]:
    """Yield followed links, as multiples of all links."""
    for refinement in (AllPages(flow), AllPages(flow, last), Refinement(flow, last)):
        yield f"{converged(refinement).links_followed / flow.links:.2f}"


@click.command()
@click.option("--pages", default=1_000_000, show_default=True)
@into_document
def main(pages: int, into: Path | None) -> None:
    """Count the links that are followed until the error is 1e-6."""
    graph = synthetic(pages, _LINKS_A_PAGE * pages)
    titles = "from scratch", "last ranks, all pages", "last ranks, changed pages first"
    lines = [*head("pages read", "changed", *titles)]
    for share in (0.3, 1.0):
        last = converged(Refinement(flow_of(graph, int(share * pages)))).importance
        for part in (0.001, 0.01, 0.1):
            flow = flow_of(changed(graph, part), int(share * pages))
            lines.append(row(f"{share:.0%}", f"{part:.1%}", *figures(flow, last)))
    tell(lines, "refining", into)


if __name__ == "__main__":
    main()
