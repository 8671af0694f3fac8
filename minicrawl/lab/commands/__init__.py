"""`minicrawl lab`: a command for each experiment."""

import click

from minicrawl.cli import DeferredCommand, LazyGroup

# name -> target to import, and summary in `minicrawl lab --help`
COMMANDS = {
    "convergence": (
        "minicrawl.lab.commands.convergence:convergence",
        "Measure how fast estimates approach true importance.",
    ),
    "windows": (
        "minicrawl.lab.commands.windows:windows",
        "Compare measurement windows on a changing web.",
    ),
    "freshness": (
        "minicrawl.lab.commands.freshness:freshness",
        "Compare orders of re-reading pages.",
    ),
    "order": (
        "minicrawl.lab.commands.order:order",
        "Compare orders of reading by importance found.",
    ),
    "compare": (
        "minicrawl.ranks.commands.compare:compare",
        "Compare two ranks.",
    ),
    "agree": (
        "minicrawl.lab.commands.agree:agree",
        "Measure how well a rank agrees with human grades.",
    ),
    "judge": (
        "minicrawl.lab.commands.judge:judge",
        "Judge the results of a search.",
    ),
    "searches": (
        "minicrawl.lab.commands.searches:searches",
        "Compare an order of results on all judged searches.",
    ),
    "stability": (
        "minicrawl.lab.commands.stability:stability",
        "Measure how a rank changes when pages are removed.",
    ),
    "eigenvector": (
        "minicrawl.lab.commands.eigenvector:eigenvector",
        "Rank by the eigenvector of a link matrix.",
    ),
    "graphs": (
        "minicrawl.lab.commands.growing_graphs:compare_graphs",
        "Compare algorithms for growing graphs.",
    ),
}


@click.group(
    cls=LazyGroup,
    commands=[
        DeferredCommand(name, target=target, summary=summary)
        for name, (target, summary) in COMMANDS.items()
    ],
)
def lab() -> None:
    """Run experiments on the crawl algorithm.

    The experiments run the crawler's own ledger, windows and orders of reading.
    """
