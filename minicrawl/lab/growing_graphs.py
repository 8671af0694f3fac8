"""Benchmark of algorithms for graphs that grow edge by edge.

bench   each algorithm on each graph, timed and validated in a process of its own
charts  the results as pictures
"""

import csv
import gc
import pickle
import select
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from subprocess import PIPE
from time import process_time
from types import ModuleType
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.distances import FAR
from minicrawl.graph.dynamic import ALGORITHMS, BLOCKS, AlgorithmKind, DynamicAlgorithm
from minicrawl.graph.synthetic import Edge, EdgeSequence, SavedGraph
from minicrawl.graph.text_formats import LinkStream
from minicrawl.graphfiles import blocks
from minicrawl.memory import OWN_PYTHON
from minicrawl.own_files import replacing
from minicrawl.report.formats import prepare, pyplot

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
_CHILD = "from minicrawl.lab.growing_graphs import run_in_child; run_in_child()"


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
    command = [*OWN_PYTHON, "-c", _CHILD]
    with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, bufsize=0) as child:
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
    return list(_batches(saved.graph.edges, threshold if algorithm.in_batches else 1))


def timed(algorithm: DynamicAlgorithm, nodes: int, batches: Sequence[Batch]) -> tuple[Any, float]:
    """Insert all edges; return the final state and the processor time."""
    began = process_time()
    state = algorithm.make(nodes)
    for batch in batches:
        algorithm.insert(state, batch)
    return state, process_time() - began


def _batches(edges: Sequence[Edge], size: int) -> Iterator[Batch]:
    left = iter(edges)
    while batch := tuple(islice(left, size)):
        yield batch


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
    for number, (name, heights) in enumerate(bars.items()):
        places = [graphs.index(graph) + (number + 0.5) * width - 0.425 for graph in heights]
        drawn = axes.bar(
            places,
            [timeout_s if height is None else height for height in heights.values()],
            width,
            label=name,
            color=colours(number),
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
