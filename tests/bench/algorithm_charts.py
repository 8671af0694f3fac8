"""Bar charts of the algorithms for graphs that grow, with their numbers as CSV.

    python -m tests.bench.algorithm_charts a900 roads-idaho c100 --out figures

Law: the bar of a trial that exceeded its time is as high as the time limit, and marked; a wrong
answer has no bar.
"""

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from types import ModuleType
from typing import Any

import click

from minicrawl.lab.algorithm_bench import AlgorithmReport, TrialRules, compare
from minicrawl.lab.commands.growing_graphs import MB, graph_named
from minicrawl.lab.dynamic_graphs.by_name import ALGORITHMS, AlgorithmKind
from minicrawl.lab.dynamic_graphs.reachability import BLOCKS
from minicrawl.lab.dynamic_graphs.suite import SolvedGraph
from minicrawl.own_files import replacing
from minicrawl.report.files.figures import pyplot
from tests.bench.figure_files import prepare

_LEAST_BYTES = 4096
"""One page of memory, drawn in place of less."""
_BLOCKS = tuple(f"s1-{bits}" for bits in BLOCKS)
Reports = dict[str, list[AlgorithmReport]]
"""Reports of each graph."""


@dataclass(frozen=True, slots=True)
class BarChart:
    """A chart with a group of bars per graph, and a bar per algorithm."""

    name: str
    title: str
    unit: str
    shows: Callable[[AlgorithmReport], bool]
    height: Callable[[AlgorithmReport], float | None]


def _is(kind: AlgorithmKind) -> Callable[[AlgorithmReport], bool]:
    return lambda report: report.algorithm.kind is kind


CHARTS = (
    BarChart(
        "distances",
        "All distances while edges come",
        "seconds",
        _is(AlgorithmKind.DISTANCES),
        lambda report: report.seconds,
    ),
    BarChart(
        "components",
        "Strong components while edges come",
        "seconds",
        _is(AlgorithmKind.COMPONENTS),
        lambda report: report.seconds,
    ),
    BarChart(
        "memory",
        "Memory",
        "MiB",
        lambda report: report.seconds is not None,
        lambda report: max(report.memory_bytes, _LEAST_BYTES) / MB,
    ),
    BarChart(
        "blocks",
        "Rows of bits by the width of their blocks",
        "seconds",
        lambda report: report.algorithm.name in _BLOCKS,
        lambda report: report.seconds,
    ),
)


def draw_reports(out: Path, reports: Reports, timeout_s: float) -> list[Path]:
    """Draw all charts that have data, and return the files."""
    prepare(out)
    plot = pyplot()
    written = []
    for chart in CHARTS:
        bars = _bars(chart, reports)
        if not bars:
            continue
        numbers, picture = out / f"graphs-{chart.name}.csv", out / f"graphs-{chart.name}.png"
        _write(numbers, chart, bars)
        _draw(plot, picture, chart, bars, reports, timeout_s)
        written += [numbers, picture]
    return written


Bars = dict[str, dict[str, float | None]]
"""Height for each graph, by algorithm; None if the trial exceeded its time."""


def _bars(chart: BarChart, reports: Reports) -> Bars:
    bars: Bars = {}
    for graph, found in reports.items():
        for report in found:
            if chart.shows(report) and not report.wrong:
                bars.setdefault(report.algorithm.name, {})[graph] = chart.height(report)
    return bars


def _write(file: Path, chart: BarChart, bars: Bars) -> None:
    with replacing(file) as raw:
        text = TextIOWrapper(raw, encoding="utf-8", newline="")
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(["graph", "algorithm", chart.unit])
        for name, heights in bars.items():
            rows.writerows((graph, name, _cell(height)) for graph, height in heights.items())
        text.detach()


def _cell(height: float | None) -> str:
    return "over time" if height is None else f"{height:.6g}"


def _draw(
    plot: ModuleType,
    picture: Path,
    chart: BarChart,
    bars: Bars,
    reports: Reports,
    timeout_s: float,
) -> None:
    shown = {graph for heights in bars.values() for graph in heights}
    graphs = [graph for graph in reports if graph in shown]
    canvas, axes = plot.subplots(figsize=(max(8, 2.2 * len(graphs)), 5.5), layout="constrained")
    colours = plot.get_cmap("tab20")
    width = 0.85 / len(bars)
    for place, (name, heights) in enumerate(bars.items()):
        places = [graphs.index(graph) + (place + 0.5) * width - 0.425 for graph in heights]
        drawn = axes.bar(
            places,
            [timeout_s if height is None else height for height in heights.values()],
            width,
            label=name,
            color=colours(place),
        )
        _mark_ended(axes, drawn, list(heights.values()))
    axes.set(title=chart.title, ylabel=chart.unit, yscale="log")
    axes.set_xticks(range(len(graphs)), graphs)
    axes.grid(visible=True, axis="y", alpha=0.3)
    axes.legend(ncols=2, fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
    with replacing(picture) as file:
        canvas.savefig(file, format="png", dpi=120)
    plot.close(canvas)


def _mark_ended(axes: Any, drawn: Any, heights: Sequence[float | None]) -> None:
    """Hatch the bars of trials that exceeded their time."""
    for bar, height in zip(drawn, heights, strict=True):
        if height is None:
            bar.set_hatch("//")
            axes.annotate(
                "over time",
                (bar.get_x() + bar.get_width() / 2, bar.get_height()),
                rotation=90,
                ha="center",
                va="top",
                fontsize="x-small",
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
            )


@click.command()
@click.argument("graphs", metavar="GRAPH...", type=graph_named, nargs=-1, required=True)
@click.option("--timeout", default=60.0, show_default=True, help="Time limit of a trial.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), required=True)
def main(graphs: Sequence[SolvedGraph], timeout: float, out: Path) -> None:
    rules = TrialRules(threshold=100, trials=1, timeout_s=timeout, validate=True)
    algorithms = list(ALGORITHMS.values())
    reports = {case.graph.name: list(compare(case, algorithms, rules)) for case in graphs}
    for path in draw_reports(out, reports, timeout):
        click.echo(path)


if __name__ == "__main__":
    main()
