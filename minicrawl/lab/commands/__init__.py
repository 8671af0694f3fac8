"""`minicrawl lab`: a command for each experiment."""

import click

from minicrawl.cli import DeferredCommand, LazyGroup

# name -> where the command is and the line that `minicrawl lab --help` shows for it.
COMMANDS = {
    "convergence": (
        "minicrawl.lab.commands.order:convergence",
        "Show how fast the estimates approach the true importance.",
    ),
    "windows": (
        "minicrawl.lab.commands.order:windows",
        "Show how the windows follow a web that changes.",
    ),
    "order": (
        "minicrawl.lab.commands.order:order",
        "Show which order of reading finds the important pages first.",
    ),
    "cluster": (
        "minicrawl.lab.commands.cluster:cluster",
        "Show what a crawl in shards on many nodes finds and sends.",
    ),
    "agree": ("minicrawl.lab.commands.ranks:agree", "Show how well a rank agrees with people."),
    "judge": (
        "minicrawl.lab.commands.judging:judge",
        "Ask for verdicts on what a search finds.",
    ),
    "searches": (
        "minicrawl.lab.commands.judging:searches",
        "Compare an order of results on all judged searches.",
    ),
    "stability": (
        "minicrawl.lab.commands.ranks:stability",
        "Show how a rank changes when pages are removed.",
    ),
    "eigenvector": (
        "minicrawl.lab.commands.ranks:eigenvector",
        "Rank by the eigenvector of a link matrix.",
    ),
    "graphs": (
        "minicrawl.lab.commands.graphs:compare_graphs",
        "Compare algorithms for graphs that grow edge by edge.",
    ),
    "figures": (
        "minicrawl.lab.commands.cluster:figures",
        "Draw all figures as PNG, with the numbers as CSV beside each.",
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

    They run the crawler's own ledger, windows and orders of reading.
    """
