"""`minicrawl lab graphs`: benchmark of algorithms for graphs that grow edge by edge.

bench     each algorithm on each graph, timed and validated in a process of its own
charts    the results as pictures
commands  the command, and its tables
"""

import csv
import gc
import pickle
import select
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from subprocess import PIPE
from time import process_time
from types import ModuleType
from typing import IO, Any

import click
import numpy as np
from numpy.typing import NDArray

from minicrawl.cli.options import Number
from minicrawl.cli.output import show_json, show_lines, show_table
from minicrawl.cli.parameters import choice, number, option, switch, with_options
from minicrawl.cli.progress_bar import progress
from minicrawl.cli.store_options import json_option
from minicrawl.errors import GraphFileError
from minicrawl.graph.csr import Edge
from minicrawl.graph.distances import FAR
from minicrawl.graph.text_formats import LinkStream
from minicrawl.graphfiles.reading import blocks
from minicrawl.graphfiles.saved import MAGIC, EdgeSequence, SavedGraph, as_dimacs, pack, unpack
from minicrawl.lab.dynamic_graphs import (
    ALGORITHMS,
    BLOCKS,
    SUITE,
    AlgorithmKind,
    DynamicAlgorithm,
    algorithm as algorithm_of,
    solved,
)
from minicrawl.memory.child_interpreter import child_command
from minicrawl.own_files import replacing
from minicrawl.ports import Progress
from minicrawl.report.files.figures import prepare, pyplot
from minicrawl.wording import counted

# ================================================================ bench
#
# Time, memory and correctness of each algorithm on graphs that grow.
#
# Law: each trial has a process of its own, so that no trial pays for memory that another left, and
# a trial that takes too long can be ended. The timed part is the insertion of all edges, with the
# answer known after each edge or batch. Processor time is measured, so that other work of the
# machine does not count. Memory is the peak above the memory in use before the insertions.

_STATUS = Path("/proc/self/status")
_PEAK, _NOW = "VmHWM:", "VmRSS:"
_CLEAR_REFS, _RESET_PEAK = Path("/proc/self/clear_refs"), "5"
_CHILD = "from minicrawl.lab.commands.growing_graphs import run_in_child; run_in_child()"


Batch = tuple[Edge, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRules:
    """Number, time limit and batch size of trials."""

    threshold: int
    trials: int
    timeout_s: float
    validate: bool
    want_answer: bool = False
    """True to include answers in the reports."""


@dataclass(frozen=True, slots=True)
class TimedRun:
    """Result of one run. `seconds` is None if the run exceeded its time."""

    seconds: float | None
    memory_bytes: int
    wrong: str | None = None
    """The first error in the answer."""
    answer: NDArray[Any] | None = None


@dataclass(frozen=True, slots=True)
class AlgorithmReport:
    """Trials of one algorithm."""

    algorithm: DynamicAlgorithm
    trials: Sequence[TimedRun]

    @property
    def seconds(self) -> float | None:
        """Median of the trials; None if one exceeded its time."""
        times = [trial.seconds for trial in self.trials if trial.seconds is not None]
        return float(np.median(times)) if len(times) == len(self.trials) else None

    @property
    def memory_bytes(self) -> int:
        """Largest value of all trials."""
        return max(trial.memory_bytes for trial in self.trials)

    @property
    def wrong(self) -> str | None:
        """The first error of any trial."""
        return next((trial.wrong for trial in self.trials if trial.wrong), None)

    def as_json(self) -> dict[str, object]:
        return {
            "algorithm": self.algorithm.name,
            "kind": self.algorithm.kind,
            "seconds": [trial.seconds for trial in self.trials],
            "memory_bytes": self.memory_bytes,
            "wrong": self.wrong,
        }


def read_sequence(path: Path) -> EdgeSequence:
    """Read the edges of a graph file in order. Pages are numbered in the order of their names."""
    found = [(links.sources, links.targets) for links in LinkStream(blocks(path), str(path))]
    sources, targets = (np.concatenate(ends) for ends in zip(*found, strict=True))
    names, places = np.unique(np.concatenate((sources, targets)), return_inverse=True)
    pairs = zip(places[: len(sources)].tolist(), places[len(sources) :].tolist(), strict=True)
    edges = dict.fromkeys(pair for pair in pairs if pair[0] != pair[1])
    return EdgeSequence(path.stem, len(names), tuple(edges))


def compare(
    saved: SavedGraph, algorithms: Sequence[DynamicAlgorithm], rules: TrialRules
) -> Iterator[AlgorithmReport]:
    """Run each algorithm on the graph."""
    for algorithm in algorithms:
        trials = []
        for _ in range(rules.trials):
            trials.append(_run_in_process(algorithm.name, saved, rules))
            if trials[-1].seconds is None:
                break
        yield AlgorithmReport(algorithm, trials)


def _run_in_process(name: str, saved: SavedGraph, rules: TrialRules) -> TimedRun:
    """Run one trial in a process of its own."""
    with subprocess.Popen(child_command(_CHILD), stdin=PIPE, stdout=PIPE, bufsize=0) as child:
        try:
            out = _send(child, (name, saved, rules))
            out.read(1)  # the child is ready: its imports are not timed
            is_done, _, _ = select.select([out], [], [], rules.timeout_s)
            answer = _rest(out) if is_done else None
        finally:
            child.kill()
    if answer is None:
        return TimedRun(None, 0)
    if not answer:
        return TimedRun(None, 0, f"its process ended with exit code {child.returncode}")
    found: TimedRun = pickle.loads(answer)  # our own child wrote it
    return found


def _send(child: subprocess.Popen[bytes], job: object) -> IO[bytes]:
    """Send the job to the child, and return its output."""
    assert child.stdin is not None
    assert child.stdout is not None
    with suppress(BrokenPipeError), child.stdin:  # the caller reports the exit code of a dead child
        child.stdin.write(pickle.dumps(job))
    return child.stdout


def _rest(out: IO[bytes]) -> bytes:
    """Return the rest of the output."""
    return b"".join(iter(lambda: out.read(1 << 20), b""))


def run_in_child() -> None:
    """Read a job from standard input, and write the result to standard output."""
    name, saved, rules = pickle.load(sys.stdin.buffer)  # our parent wrote it
    algorithm, out = ALGORITHMS[name], sys.stdout.buffer
    out.write(b".")
    out.flush()
    batches = batches_for(algorithm, saved, rules.threshold)
    before = _memory_from_here()
    state, seconds = timed(algorithm, saved.graph.nodes, batches)
    memory, answer = max(_memory(_PEAK) - before, 0), algorithm.answer(state)
    wrong = first_difference(algorithm, saved, answer) if rules.validate else None
    found = TimedRun(seconds, memory, wrong, answer if rules.want_answer else None)
    out.write(pickle.dumps(found))


def batches_for(algorithm: DynamicAlgorithm, saved: SavedGraph, threshold: int) -> list[Batch]:
    """Return all edges in batches: of `threshold` edges, or of one if it takes no batches."""
    edges, size = iter(saved.graph.edges), threshold if algorithm.in_batches else 1
    return list(iter(lambda: tuple(islice(edges, size)), ()))


def timed(algorithm: DynamicAlgorithm, nodes: int, batches: Sequence[Batch]) -> tuple[Any, float]:
    """Insert all edges; return the final state and the processor time."""
    began = process_time()
    state = algorithm.make(nodes)
    for batch in batches:
        algorithm.insert(state, batch)
    return state, process_time() - began


def first_difference(
    algorithm: DynamicAlgorithm, saved: SavedGraph, answer: NDArray[Any]
) -> str | None:
    """Describe the first difference between answer and graph, or return None."""
    is_distances = algorithm.kind is AlgorithmKind.DISTANCES
    right: NDArray[Any] = saved.distances if is_distances else saved.components
    places = np.argwhere(answer != right)
    if not len(places):
        return None
    place = tuple(places[0].tolist())
    between = " to ".join(map(str, place))
    found, expected = _word(answer[place]), _word(right[place])
    return f"{algorithm.kind.value[:-1]} of {between} is {found}, expected {expected}"


def _word(value: Any) -> str:
    return "far" if value == FAR else str(value)


def _memory_from_here() -> int:
    """Return the memory in use, and restart the peak from here where the system allows."""
    gc.collect()
    with suppress(OSError):
        _CLEAR_REFS.write_text(_RESET_PEAK, encoding="ascii")
        return _memory(_NOW)
    return _memory(_PEAK)


def _memory(name: str) -> int:
    """Return the current or peak memory of this process; 0 where the system does not report it."""
    if not sys.platform.startswith("linux"):
        return 0
    lines = _STATUS.read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(name))


# ================================================================ charts
#
# Bar charts of the results, with their numbers as CSV.
#
# Law: the bar of a trial that exceeded its time is as high as the time limit, and marked; a wrong
# answer has no bar.

_MB = 1 << 20
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
        lambda report: max(report.memory_bytes, _LEAST_BYTES) / _MB,
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


# ================================================================ commands


class GraphType(click.ParamType[SavedGraph]):
    """A graph of the suite, by name, or a file."""

    name = "graph"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> SavedGraph:
        if isinstance(value, SavedGraph):
            return value
        if value in SUITE:
            return solved(SUITE[value]())
        path = Path(value)
        if not path.is_file():
            self.fail(f"{value!r} is neither a file nor one of {', '.join(SUITE)}", param, ctx)
        return _from_file(path)


class AlgorithmType(click.ParamType[DynamicAlgorithm]):
    """An algorithm, by name or number."""

    name = "algorithm"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> DynamicAlgorithm:
        try:
            return algorithm_of(str(value))
        except KeyError:
            self.fail(f"{value!r} is not one of {', '.join(ALGORITHMS)}", param, ctx)


def _from_file(path: Path) -> SavedGraph:
    data = path.read_bytes()
    if not data.startswith(MAGIC[:-1]):
        return solved(_sequence(path))
    try:
        return unpack(data)
    except ValueError as error:
        raise GraphFileError(f"{path}: {error}") from error


def _sequence(path: Path) -> EdgeSequence:
    """Return the links of a graph file, in file order."""
    graph = read_sequence(path)
    if graph.nodes > FAR:  # distances of up to nodes - 1 must be below FAR
        raise GraphFileError(f"{path}: too many pages: {graph.nodes:,}, at most {FAR:,}")
    return graph


@click.command("graphs")
@click.argument("graphs", metavar="GRAPH...", type=GraphType(), nargs=-1, required=True)
@click.option(
    "--algorithm",
    "chosen",
    multiple=True,
    type=AlgorithmType(),
    metavar="NAME",
    help="Algorithm, by name or number in the table; repeatable.  [default: all of --kind]",
)
@with_options
@json_option
def compare_graphs(
    graphs: Sequence[SavedGraph],
    chosen: Sequence[DynamicAlgorithm],
    as_json: bool,
    kind: str | None = choice(
        [kind.value for kind in AlgorithmKind],
        "Compare algorithms for distances or strong components.  [default: both]",
    ),
    threshold: int = number("Edges per batch for batch algorithms.", 100),
    trials: int = number("Run each algorithm N times on each graph.", 1),
    timeout: float = option(
        "Time limit of a trial.", 60.0, metavar="SECONDS", type=Number(min=0, min_open=True)
    ),
    validate: bool = switch("Verify each answer against the graph."),
    print_matrices: bool = switch("Show the answers of each algorithm."),
    into: Path | None = option(
        "Convert the graph to FILE and run nothing: with its answers if FILE ends in .g, else as "
        "DIMACS text.",
        flag="--convert",
        metavar="FILE",
        type=click.Path(dir_okay=False, path_type=Path),
    ),
    name: str | None = option("Name of the graph in FILE, with --convert.", metavar="NAME"),
    out: Path | None = option(
        "Draw times, memory and block widths as PNG in DIR, each with its CSV.",
        metavar="DIR",
        type=click.Path(file_okay=False, path_type=Path),
    ),
) -> None:
    """Compare algorithms for distances and strong components of a growing graph.

    Each GRAPH is a file, or one of a300, a900, a1500, c100, c200, c400, c800, roads-georgia,
    roads-idaho, sc1, sc2, sc3, random-1000. Its edges are inserted in order, and each algorithm
    answers after each edge or batch.
    """
    if into is not None:
        _convert(graphs, into, name)
        return
    if name is not None:
        raise click.UsageError("--name needs --convert")
    rules = TrialRules(
        threshold=threshold,
        trials=trials,
        timeout_s=timeout,
        validate=validate,
        want_answer=print_matrices,
    )
    of_kind = [found for found in ALGORITHMS.values() if kind in (None, found.kind.value)]
    _compare(graphs, list(dict.fromkeys(chosen)) or of_kind, rules, out, as_json=as_json)


def _compare(
    graphs: Sequence[SavedGraph],
    algorithms: Sequence[DynamicAlgorithm],
    rules: TrialRules,
    out: Path | None,
    *,
    as_json: bool,
) -> None:
    with progress("graphs") as tell:
        reports = _reports(graphs, algorithms, rules, tell)
    if as_json:
        show_json([_as_json(saved, reports[saved.graph.name]) for saved in graphs])
    else:
        for saved in graphs:
            _show(saved, reports[saved.graph.name], rules)
    if out is not None:
        show_lines([str(path) for path in draw_reports(out, reports, rules.timeout_s)])
    if any(report.wrong for found in reports.values() for report in found):
        raise click.exceptions.Exit(1)


def _reports(
    graphs: Sequence[SavedGraph],
    algorithms: Sequence[DynamicAlgorithm],
    rules: TrialRules,
    tell: Progress,
) -> dict[str, list[AlgorithmReport]]:
    """Run the algorithms on all graphs; return the reports by name of graph."""
    reports: dict[str, list[AlgorithmReport]] = {}
    for place, saved in enumerate(graphs):
        found = reports[saved.graph.name] = []
        for report in compare(saved, algorithms, rules):
            found.append(report)
            tell((place + len(found) / len(algorithms)) / len(graphs))
    return reports


def _convert(graphs: Sequence[SavedGraph], into: Path, name: str | None) -> None:
    if len(graphs) > 1:
        raise click.UsageError(f"--convert takes one GRAPH, not {len(graphs)}")
    saved = graphs[0]
    if name is not None:
        if not name.isprintable():
            raise click.UsageError("--name takes printable characters only")
        saved = replace(saved, graph=replace(saved.graph, name=name))
    with replacing(into) as file:
        if into.suffix == ".g":
            file.write(pack(saved))
        else:
            file.writelines(f"{line}\n".encode() for line in as_dimacs(saved.graph))
    click.echo(into)


def _as_json(saved: SavedGraph, reports: Sequence[AlgorithmReport]) -> dict[str, object]:
    graph = saved.graph
    facts = {
        "name": graph.name,
        "nodes": graph.nodes,
        "edges": len(graph.edges),
        "components": len(set(saved.components.tolist())),
        "density": graph.density,
    }
    return {"graph": facts, "algorithms": [report.as_json() for report in reports]}


def _show(saved: SavedGraph, reports: Sequence[AlgorithmReport], rules: TrialRules) -> None:
    graph, components = saved.graph, len(set(saved.components.tolist()))
    trials = [f"trial {number}" for number in range(1, rules.trials + 1) if rules.trials > 1]
    numbers = {name: number for number, name in enumerate(ALGORITHMS, 1)}
    show_table(
        f"{graph.name}: {counted(graph.nodes, 'page')}, {counted(len(graph.edges), 'edge')}, "
        f"density {graph.density:.4f}, {counted(components, 'component')}",
        ["algorithm", "number", "answers", "seconds", "MiB", "validation", *trials],
        (
            [
                report.algorithm.name,
                str(numbers[report.algorithm.name]),
                report.algorithm.kind.value,
                _seconds(report.seconds),
                f"{report.memory_bytes / _MB:.1f}",
                _verdict(report) if rules.validate else "",
                *(_seconds(trial.seconds) for trial in report.trials if rules.trials > 1),
                *([""] * (rules.trials - len(report.trials))),
            ]
            for report in reports
        ),
        f"median of {rules.trials}; batches of {rules.threshold:,} edges",
    )
    for report in reports:
        _print_answer(report)


def _seconds(seconds: float | None) -> str:
    return "over time" if seconds is None else f"{seconds:.3f}"


def _verdict(report: AlgorithmReport) -> str:
    if report.wrong:
        return report.wrong
    return "not finished" if report.seconds is None else "passed"


def _print_answer(report: AlgorithmReport) -> None:
    answer = report.trials[-1].answer
    if answer is None:
        return
    click.echo(f"\n{report.algorithm.name}")
    rows = answer if answer.ndim > 1 else [answer]
    for row in rows:
        click.echo(" ".join("." if value == FAR else str(value) for value in row.tolist()))
