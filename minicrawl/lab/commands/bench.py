"""`minicrawl lab bench`: one table of orders of reading, on several graphs."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import click

from minicrawl import __version__
from minicrawl.cli.output import show_json, show_table
from minicrawl.cli.parameters import option, with_options
from minicrawl.cli.progress_bar import progress
from minicrawl.cli.store_options import json_option
from minicrawl.lab import importance_curves
from minicrawl.lab.commands.order import ORDER_NAME, cells
from minicrawl.lab.commands.web_choice import WebChoice, about
from minicrawl.lab.importance_curves import Crawls, Curve
from minicrawl.lab.reading_orders import BY_VALUE
from minicrawl.lab.webs import Model
from minicrawl.ports import part
from minicrawl.wording import counted

BASELINES = ("oracle", "pagerank-return", "siblings", "opic", "bandit", "breadth-first")
BUDGETS = ("100", "1%", "10%", "30%")
NODES, QUICK_NODES = 10_000, 2_000
DRAWS, QUICK_DRAWS = 4, 2


class Budget(click.ParamType[float | int]):
    """A number of pages, or with % a share of the web."""

    name = "budget"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float | int:
        text = str(value)
        try:
            budget = float(text[:-1]) / 100 if text.endswith("%") else int(text)
        except ValueError:
            budget = 0
        if budget <= 0 or (text.endswith("%") and budget > 1):
            self.fail(f"{text!r} is no budget: write a number of pages, or 0% to 100%", param, ctx)
        return budget


class _Result(NamedTuple):
    """Curves of all orders on a graph, with its name and size."""

    graph: str
    size: str
    curves: list[Curve]


@click.command()
@with_options
@click.option(
    "--budget",
    "budgets",
    metavar="N|P%",
    multiple=True,
    type=Budget(),
    default=BUDGETS,
    show_default=True,
    help="Number of pages to fetch, or percentage of all; repeatable.",
)
@click.option(
    "--draws",
    metavar="N",
    type=click.IntRange(min=1),
    help=f"Average over N random sets of 10 seeds.  [default: {DRAWS}; {QUICK_DRAWS} with --quick]",
)
@click.option(
    "--seed",
    metavar="N",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    help="Seed of all random choices, for reproducible numbers.",
)
@click.option("--quick", is_flag=True, help="Use a small web and few draws, for a first look.")
@json_option
def bench(
    budgets: Sequence[float | int],
    draws: int | None,
    seed: int,
    quick: bool,
    as_json: bool,
    graphs: Sequence[Path] = option(
        "Graph file, or store with the graph of its fetched pages; repeatable.  [default: a "
        f"synthetic web of {NODES:,} pages; {QUICK_NODES:,} with --quick]",
        flag="--graph",
        metavar="FILE",
        multiple=True,
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
    ),
    added: Sequence[str] = option(
        "Compare this order, of `lab order` or of an installed package, with the baselines; "
        f"repeatable. The baselines are {', '.join(BASELINES)}.",
        flag="--strategy",
        metavar="NAME",
        multiple=True,
        type=ORDER_NAME,
    ),
    values: Path | None = option(
        "Values of the pages of one --graph, as for `lab order`. Adds the order by value, and the "
        "share of the reachable value found.",
        flag="--value",
        metavar="FILE",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
    ),
) -> None:
    """Benchmark orders of reading, in one table.

    Each crawl starts from ten random pages and knows only what it has read. In percent, with
    standard errors over the draws: the importance on the pages fetched; the part of it that is
    still fresh; with --value, the share of the reachable value. Orders crawl from the same seeds.
    """
    if values and len(graphs) != 1:
        raise click.UsageError("--value needs pages with names: add one --graph")
    by_value = [BY_VALUE] if values else []
    if BY_VALUE in added and not values:
        raise click.UsageError(f"--strategy {BY_VALUE} needs the values of pages: --value")
    orders = list(dict.fromkeys((*BASELINES, *by_value, *added)))
    draws = draws or (QUICK_DRAWS if quick else DRAWS)
    results, files = list[_Result](), graphs or (None,)
    with progress("bench") as tell:
        for number, file in enumerate(files):
            choice = WebChoice(
                nodes=None,
                seed=seed,
                model=Model.COPYING,
                graph=file,
                quick=quick,
                usual_nodes=NODES,
                quick_nodes=QUICK_NODES,
            )
            web, valued = choice.valued_web(values) if values else (choice.web(), None)
            curves = importance_curves.order(
                web,
                orders=orders,
                crawls=Crawls(
                    draws=draws, seed=seed, endowment=choice.endowment(None), fractions=budgets
                ),
                values=valued,
                progress=part(tell, number / len(files), (number + 1) / len(files)),
            )
            name = file.name.partition(".")[0] if file else Model.COPYING.value
            results.append(_Result(name, about(web.graph), curves))
    if as_json:
        rows = [{"graph": r.graph, "size": r.size} | c.as_json() for r in results for c in r.curves]
        show_json({"version": __version__, "seed": seed, "draws": draws, "series": rows})
        return
    shown = [f"{b:,}" if isinstance(b, int) else f"{100 * b:g}%" for b in budgets]
    sizes = "; ".join(f"{result.graph}: {result.size}" for result in results)
    show_table(
        "Importance, fresh importance and value of the pages fetched, in %, by budget",
        ["graph, measure and order", *shown],
        (row for result in results for row in _rows(result)),
        f"minicrawl {__version__}, seed {seed}, {counted(draws, 'draw')}; {sizes}",
    )


def _rows(result: _Result) -> Iterator[list[str]]:
    """Yield a row for each order, below a row for each measure."""
    for measure in ("importance", "fresh", "value"):
        if measure == "value" and result.curves[0].value is None:
            continue
        yield [f"{result.graph}, {measure}"]
        for curve in result.curves:
            found = curve.found if measure == "importance" else getattr(curve, measure)
            yield [f"  {curve.order}", *cells(found)]
