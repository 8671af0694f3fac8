"""Time, memory and correctness of each algorithm on graphs that grow.

Law: each trial has a process of its own, so that no trial pays for memory that another left, and
a trial that takes too long can be ended. The timed part is the insertion of all edges, with the
answer known after each edge or batch. Processor time is measured, so that other work of the
machine does not count. Memory is the peak above the memory in use before the insertions.
"""

import gc
import pickle
import select
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from subprocess import PIPE
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.csr import Edge
from minicrawl.graph.distances import FAR
from minicrawl.graph.lists.formats import LinkStream
from minicrawl.graphfiles import blocks
from minicrawl.lab.dynamic_graphs.by_name import ALGORITHMS, AlgorithmKind, DynamicAlgorithm
from minicrawl.lab.dynamic_graphs.suite import EdgeSequence, SolvedGraph
from minicrawl.memory.child_interpreter import child_command

_STATUS = Path("/proc/self/status")
_PEAK, _NOW = "VmHWM:", "VmRSS:"
_CLEAR_REFS, _RESET_PEAK = Path("/proc/self/clear_refs"), "5"
_CHILD = "from minicrawl.lab.algorithm_bench import run_in_child; run_in_child()"
Batch = tuple[Edge, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRules:
    """Number, time limit and batch size of trials."""

    threshold: int
    trials: int
    timeout_s: float
    validate: bool
    want_answer: bool = False


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

    def to_json(self) -> dict[str, object]:
        return {
            "algorithm": self.algorithm.name,
            "kind": self.algorithm.kind,
            "seconds": [trial.seconds for trial in self.trials],
            "memory_bytes": self.memory_bytes,
            "wrong": self.wrong,
        }


def read_sequence(path: Path) -> EdgeSequence:
    """Read the edges of a graph file in order. Pages are numbered in the order of their names."""
    ends_of_blocks = [
        (links.sources, links.targets) for links in LinkStream(blocks(path), str(path))
    ]
    sources, targets = (np.concatenate(ends) for ends in zip(*ends_of_blocks, strict=True))
    names, places = np.unique(np.concatenate((sources, targets)), return_inverse=True)
    pairs = zip(places[: len(sources)].tolist(), places[len(sources) :].tolist(), strict=True)
    edges = dict.fromkeys(pair for pair in pairs if pair[0] != pair[1])
    return EdgeSequence(path.stem, len(names), tuple(edges))


def compare(
    case: SolvedGraph, algorithms: Sequence[DynamicAlgorithm], rules: TrialRules
) -> Iterator[AlgorithmReport]:
    for algorithm in algorithms:
        trials = []
        for _ in range(rules.trials):
            trials.append(_run_in_process(algorithm.name, case, rules))
            if trials[-1].seconds is None:
                break
        yield AlgorithmReport(algorithm, trials)


def _run_in_process(name: str, case: SolvedGraph, rules: TrialRules) -> TimedRun:
    with subprocess.Popen(child_command(_CHILD), stdin=PIPE, stdout=PIPE, bufsize=0) as child:
        try:
            assert child.stdin is not None
            assert child.stdout is not None
            out = child.stdout
            with suppress(BrokenPipeError), child.stdin:  # of a dead child, the exit code tells
                child.stdin.write(pickle.dumps((name, case, rules)))
            out.read(1)  # the child is ready: its imports are not timed
            is_done, _, _ = select.select([out], [], [], rules.timeout_s)
            answer = b"".join(iter(lambda: out.read(1 << 20), b"")) if is_done else None
        finally:
            child.kill()
    if answer is None:
        return TimedRun(None, 0)
    if not answer:
        return TimedRun(None, 0, f"its process ended with exit code {child.returncode}")
    run: TimedRun = pickle.loads(answer)  # our own child wrote it
    return run


def run_in_child() -> None:
    """Read a job from standard input, and write the result to standard output."""
    name, case, rules = pickle.load(sys.stdin.buffer)  # our parent wrote it
    algorithm, out = ALGORITHMS[name], sys.stdout.buffer
    out.write(b".")
    out.flush()
    batches = batches_for(algorithm, case, rules.threshold)
    gc.collect()
    before = _memory(_PEAK)
    with suppress(OSError):  # the peak restarts from here where the system allows
        _CLEAR_REFS.write_text(_RESET_PEAK, encoding="ascii")
        before = _memory(_NOW)
    state, seconds = timed(algorithm, case.graph.nodes, batches)
    memory, answer = max(_memory(_PEAK) - before, 0), algorithm.answer(state)
    wrong = first_difference(algorithm, case, answer) if rules.validate else None
    run = TimedRun(seconds, memory, wrong, answer if rules.want_answer else None)
    out.write(pickle.dumps(run))


def batches_for(algorithm: DynamicAlgorithm, case: SolvedGraph, threshold: int) -> list[Batch]:
    """Return all edges in batches: of `threshold` edges, or of one if it takes no batches."""
    edges, size = iter(case.graph.edges), threshold if algorithm.in_batches else 1
    return list(iter(lambda: tuple(islice(edges, size)), ()))


def timed(algorithm: DynamicAlgorithm, nodes: int, batches: Sequence[Batch]) -> tuple[Any, float]:
    """Insert all edges; return the final state and the processor time."""
    began = process_time()
    state = algorithm.make(nodes)
    for batch in batches:
        algorithm.insert(state, batch)
    return state, process_time() - began


def first_difference(
    algorithm: DynamicAlgorithm, case: SolvedGraph, answer: NDArray[Any]
) -> str | None:
    """Describe the first difference between answer and graph, or return None."""
    is_distances = algorithm.kind is AlgorithmKind.DISTANCES
    right: NDArray[Any] = case.distances if is_distances else case.components
    places = np.argwhere(answer != right)
    if not len(places):
        return None
    place = tuple(places[0].tolist())
    between = " to ".join(map(str, place))
    given, expected = (
        "far" if value == FAR else str(value) for value in (answer[place], right[place])
    )
    return f"{algorithm.kind.value[:-1]} of {between} is {given}, expected {expected}"


def _memory(name: str) -> int:
    """Return the current or peak memory of this process; 0 where the system does not report it."""
    if not sys.platform.startswith("linux"):
        return 0
    lines = _STATUS.read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(name))
