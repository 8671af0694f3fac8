"""Algorithms on graphs that grow, compared: how long each takes, how much memory, and is it right?

Law: each trial has a process of its own, so what one leaves in memory costs no other, and one that
takes too long is ended. What is timed is the insertion of all edges, with the answer known after
each of them, or after each batch. Times are those of the processor, so that what else the machine
does counts for nothing. Memory is what was added at most since the edges were there."""

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
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.dynamic.algorithms import ALGORITHMS, AlgorithmKind, DynamicAlgorithm
from minicrawl.graph.dynamic.matrices import FAR, Edge
from minicrawl.graph.dynamic.saved import SavedGraph
from minicrawl.graph.dynamic.suite import EdgeSequence
from minicrawl.graph.text.formats import LinkStream
from minicrawl.graphfiles.reading import blocks

_STATUS = Path("/proc/self/status")
_PEAK, _NOW = "VmHWM:", "VmRSS:"
_CLEAR, _CLEAR_PEAK = Path("/proc/self/clear_refs"), "5"
_CHILD = "from minicrawl.lab.graphs.bench import run_in_child; run_in_child()"


Batch = tuple[Edge, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRules:
    """How often, how long, and in batches of how many edges."""

    threshold: int
    trials: int
    timeout_s: float
    validate: bool
    want_answer: bool = False
    """Whether the reports have what each algorithm answered."""


@dataclass(frozen=True, slots=True)
class TimedRun:
    """What one run of one algorithm took. `seconds` is None if it was ended for its time."""

    seconds: float | None
    memory_bytes: int
    wrong: str | None = None
    """What its answer got wrong first."""
    answer: NDArray[Any] | None = None


@dataclass(frozen=True, slots=True)
class AlgorithmReport:
    """All trials of one algorithm."""

    algorithm: DynamicAlgorithm
    trials: Sequence[TimedRun]

    @property
    def seconds(self) -> float | None:
        """The median of its trials; None if one was ended."""
        times = [trial.seconds for trial in self.trials if trial.seconds is not None]
        return float(np.median(times)) if len(times) == len(self.trials) else None

    @property
    def memory_bytes(self) -> int:
        """The most of all trials."""
        return max(trial.memory_bytes for trial in self.trials)

    @property
    def wrong(self) -> str | None:
        """What the first wrong answer got wrong."""
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
    """The links of a graph file in their order, its pages numbered in that of their names."""
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
            trials.append(_apart(algorithm.name, saved, rules))
            if trials[-1].seconds is None:
                break
        yield AlgorithmReport(algorithm, trials)


def _apart(name: str, saved: SavedGraph, rules: TrialRules) -> TimedRun:
    """One run in a process of its own."""
    command = [sys.executable, "-c", _CHILD]
    with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, bufsize=0) as child:
        try:
            out = _send(child, (name, saved, rules))
            out.read(1)  # it is ready: what it loads is not timed
            is_done, _, _ = select.select([out], [], [], rules.timeout_s)
            answer = _rest(out) if is_done else None
        finally:
            child.kill()
    if answer is None:
        return TimedRun(None, 0)
    if not answer:
        return TimedRun(None, 0, f"its process ended with exit code {child.returncode}")
    found: TimedRun = pickle.loads(answer)  # it comes from our own child
    return found


def _send(child: subprocess.Popen[bytes], job: object) -> IO[bytes]:
    """Give the job to the child; what it answers can be read."""
    assert child.stdin is not None
    assert child.stdout is not None
    with suppress(BrokenPipeError), child.stdin:  # its exit code says why it ended
        child.stdin.write(pickle.dumps(job))
    return child.stdout


def _rest(out: IO[bytes]) -> bytes:
    """All that is still to come."""
    return b"".join(iter(lambda: out.read(1 << 20), b""))


def run_in_child() -> None:
    """Read a job from standard input, and write what came of it to standard output."""
    name, saved, rules = pickle.load(sys.stdin.buffer)  # it comes from our parent
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
    """All edges as the algorithm gets them."""
    return list(_batches(saved.graph.edges, threshold if algorithm.in_batches else 1))


def timed(algorithm: DynamicAlgorithm, nodes: int, batches: Sequence[Batch]) -> tuple[Any, float]:
    """Insert all edges; what the algorithm then has, and the processor time that it took."""
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
    """Where the answer is not that of the graph, in words."""
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
    """The memory that this process has; its peak counts anew, where the system lets it."""
    gc.collect()
    with suppress(OSError):
        _CLEAR.write_text(_CLEAR_PEAK, encoding="ascii")
        return _memory(_NOW)
    return _memory(_PEAK)


def _memory(name: str) -> int:
    """What this process has now, or had at most; 0 where the system does not tell."""
    if not sys.platform.startswith("linux"):
        return 0
    lines = _STATUS.read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(name))
