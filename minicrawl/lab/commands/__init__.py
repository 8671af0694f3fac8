"""`minicrawl lab`: a command for each experiment."""

import click

from minicrawl.cli import DeferredCommand, LazyGroup

# name -> module with a command of this name, and summary in `minicrawl lab --help`
COMMANDS = {
    "convergence": ("convergence", "Measure how fast estimates approach true importance."),
    "windows": ("windows", "Compare measurement windows on a changing web."),
    "freshness": ("freshness", "Compare orders of re-reading pages."),
    "order": ("order", "Compare orders of reading by importance found."),
    "compare": ("compare", "Compare two ranks."),
    "eigenvector": ("eigenvector", "Rank by the eigenvector of a link matrix."),
    "graphs": ("growing_graphs", "Compare algorithms for growing graphs."),
}


@click.group(
    cls=LazyGroup,
    commands=[
        DeferredCommand(name, target=f"{__name__}.{module}:{name}", summary=summary)
        for name, (module, summary) in COMMANDS.items()
    ],
)
def lab() -> None:
    """Run experiments on the crawl algorithm.

    The experiments run the crawler's own ledger, windows and orders of reading.
    """
