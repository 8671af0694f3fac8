"""`minicrawl lab figures`."""

from pathlib import Path

import click

from minicrawl.cli.common.progress import progress
from minicrawl.cli.lab.options import (
    DRAWS,
    LAPS,
    QUICK_DRAWS,
    QUICK_LAPS,
    WARM_UP,
    WebChoice,
    endowment_option,
    laps_option,
    on_a_web,
)
from minicrawl.lab import figures as lab
from minicrawl.lab.webs import Model


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
    settings = lab.ExperimentSize(
        laps=choice.otherwise(laps, LAPS, QUICK_LAPS),
        draws=choice.otherwise(None, DRAWS, QUICK_DRAWS),
        seed=choice.seed,
        endowment=choice.endowment(endowment),
        rates=choice.rates(),
        warm_up=WARM_UP,
    )
    web = choice.web()
    webs = lab.FigureWebs(
        known=web.graph, watched=choice.watched().graph, crawled=choice.with_hosts(web)
    )
    with progress("figures") as tell:
        written = lab.draw_all(out, webs, settings, tell)
    for path in written:
        click.echo(path)
