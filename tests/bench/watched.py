"""Cost of watching a crawl.

pace     pages a second of a crawl of the demo web with `--graph-stats` and a dashboard in a
         browser, compared with an unwatched crawl. The two take turns, so that other load on the
         machine affects both.
figures  age of the figures of a large graph: processor time for one update, and for measuring the
         distances, in the process that makes the samples.
changes  time of a change: links that go and come back, one by one and many at once, in graphs of
         100,000 and of 1,000,000 links, and in one whose distances are all maintained.

    python -m tests.bench.watched pace --into docs/speed.md
    python -m tests.bench.watched figures --into docs/speed.md
    python -m tests.bench.watched changes --into docs/speed.md
"""

import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from statistics import median
from typing import NamedTuple
from urllib.request import Request, urlopen

import click
import numpy as np
from numpy.typing import NDArray

from minicrawl.dashboard.access import TOKEN_HEADER
from minicrawl.errors import MinicrawlError
from minicrawl.graph.csr import Csr
from minicrawl.graph.distances import Extent
from minicrawl.graph.dynamic import DynamicGraph
from minicrawl.graph.hyperball import estimated
from minicrawl.graph.outline import estimate
from minicrawl.report.progress.crawl_status import status
from minicrawl.report.progress.live_sampler import OLDEST_S as OLDEST
from minicrawl.report.progress.samples import EVERY_S
from tests.bench.notes import circumstances, head, into_document, kept, row, tell

LEAST_PACE = 0.95
OLDEST_S, OLDEST_COMPONENTS_S = 30.0, 5.0
_BATCH = 20_000
_TOPICS = "crawl,history,graph,hosts,errors"
_LONGEST_S = 600
Ends = NDArray[np.int64]
Estimate = Callable[[Csr, np.random.Generator], Extent]
METHODS: dict[str, Estimate] = {"web, by HyperBall": estimated}
"""Methods for graphs that do not use the method a crawl would choose."""


@contextmanager
def _watching(store: Path) -> Iterator[None]:
    """Run a dashboard, and read its events as a browser does."""
    command = (sys.executable, "-m", "minicrawl", "dashboard", "--store", str(store), "--port=0")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            base, _, token = process.stdout.readline().strip().partition("#")
            reader = threading.Thread(target=_read_events, args=(base, token), daemon=True)
            reader.start()
            yield
        finally:
            process.terminate()


def _read_events(base: str, token: str) -> None:
    url = f"{base}events?topics={_TOPICS}&log=0"
    with urlopen(Request(url, headers={TOKEN_HEADER: token})) as events:
        for _ in events:
            pass


def _pace(folder: Path, pages: int, *, is_watched: bool) -> float:
    """Return the pages per second of a crawl."""
    store = folder / f"{time.monotonic_ns()}.db"
    options = ("--demo", f"--demo-pages={2 * pages}", f"--pages={pages}", "--delay=0", "--quiet")
    watched = ("--graph-stats",) if is_watched else ()
    command = (sys.executable, "-m", "minicrawl", "crawl", *options, *watched)
    command += ("--store", str(store))
    with _watching(store) if is_watched else nullcontext():
        subprocess.run(command, check=True, timeout=_LONGEST_S, stdout=subprocess.DEVNULL)
    found = status(store)
    if not found.running_s or found.pages_fetched is None:
        raise MinicrawlError(f"{store} does not say how long it took")
    return found.pages_fetched / found.running_s


def _paces(pages: int, rounds: int) -> Iterator[str]:
    shares = []
    with tempfile.TemporaryDirectory() as name:
        for number in range(rounds):
            both = {}
            for is_watched in (False, True) if number % 2 else (True, False):
                both[is_watched] = _pace(Path(name), pages, is_watched=is_watched)
            shares.append(both[True] / both[False])
    middle = median(shares)
    yield (
        f"Demo web, {pages:,} pages, {rounds} rounds in turn: a watched crawl has {_share(middle)} "
        f"of the pace of others, median of {_share(min(shares))} to {_share(max(shares))}; at "
        f"least {_share(LEAST_PACE)}: {kept(middle >= LEAST_PACE)}."
    )


def _share(value: float) -> str:
    return f"{value:.1%}"


def made_graph(nodes: int, links: int) -> tuple[Ends, Ends]:
    """Return a graph whose links lead to near pages, or mostly to low ones."""
    rng = np.random.default_rng(1)
    sources = rng.integers(0, nodes, links)
    steps = rng.geometric(0.01, links) * rng.choice([-1, 1], links)
    far = (nodes * rng.random(links) ** 3).astype(np.int64)
    return sources, np.where(rng.random(links) < 0.7, (sources + steps) % nodes, far)


def split_graph(nodes: int, links: int) -> tuple[Ends, Ends]:
    """Return a graph whose upper half links only downwards, so that reach varies widely."""
    sources, targets = made_graph(nodes, links)
    is_late = sources > nodes // 2
    late = np.minimum(sources - 1, (sources * np.random.default_rng(2).random(links)).astype(int))
    return sources, np.where(is_late, late, targets)


def _figures(nodes: int, links: int) -> Iterator[str]:
    yield f"{nodes:,} pages and {links:,} links; seconds of the processor:"
    yield ""
    titles = ("graph", "all links at once", "update with 20,000 new ones", "distances", "found by")
    yield from head(*titles, "oldest distances, s")
    looks, ages = list[float](), list[float]()
    for name, make in (
        ("web", made_graph),
        ("half of it a tree", split_graph),
        ("web, by HyperBall", made_graph),
    ):
        found = _measured(make(nodes, links), nodes, METHODS.get(name, estimate))
        looks.append(found.look_s)
        ages.append(_oldest(found.distances_s))
        times = (found.first_s, found.look_s, found.distances_s)
        yield row(name, *(f"{taken:.2f}" for taken in times), found.how, f"{ages[-1]:.0f}")
    are_new = EVERY_S + 2 * max(looks) < OLDEST_COMPONENTS_S
    yield ""
    yield f"Components and degrees at most {OLDEST_COMPONENTS_S:g} s old: {kept(are_new)}."
    yield f"Distances at most {OLDEST_S:g} s old: {kept(max(ages) <= OLDEST_S)}."


def _oldest(took_s: float) -> float:
    """Return the age of the distances when the next measurement ends, after a pause."""
    return 2 * took_s + max(0.0, min(took_s, OLDEST - 2 * took_s))


class GraphTimes(NamedTuple):
    """Processor times of the whole graph, of an update with new links, and of the distances."""

    first_s: float
    look_s: float
    distances_s: float
    how: str


def _measured(ends: tuple[Ends, Ends], nodes: int, measure: Estimate) -> GraphTimes:
    growing, (sources, targets) = DynamicGraph(), ends
    moments = [time.process_time()]
    are_nodes = np.ones(nodes, dtype=np.bool_)
    growing.add(are_nodes, sources[:-_BATCH], targets[:-_BATCH])
    moments.append(time.process_time())
    far = measure(growing.graph, np.random.default_rng(1))
    moments.append(time.process_time())
    growing.add(are_nodes, sources[-_BATCH:], targets[-_BATCH:])
    growing.outline(far)
    moments.append(time.process_time())
    first_s, distances_s, look_s = np.diff(moments).tolist()
    how = "HyperBall" if far.by_hyperball else "paths from some pages"
    return GraphTimes(
        first_s, look_s, distances_s, f"{how}: {far.mean_distance:.3f} ± {far.error:.2g}"
    )


def _changes() -> Iterator[str]:
    """Yield the times of updates, which leave out the outline that is made for each sample."""
    yield from head("links", "pages", "distances", "anew, s", "changes at once", "µs a change")
    for nodes, links, most_exact in (
        (10_000, 100_000, 0),
        (100_000, 1_000_000, 0),
        (1000, 3000, 1000),
    ):
        sources, targets = made_graph(nodes, links)
        graph, is_node = DynamicGraph(most_exact), np.ones(nodes, dtype=np.bool_)
        began = time.process_time()
        graph.become(is_node, sources, targets)
        first_s = time.process_time() - began
        for size in (1, 100) if most_exact else (1, 100, 10_000):
            times = list[float]()
            for number in range(3):
                left = np.ones(links, dtype=np.bool_)
                left[number * size :][:size] = False
                began = time.process_time()
                graph.become(is_node, sources[left], targets[left])
                graph.add(is_node, sources[~left], targets[~left])
                times.append((time.process_time() - began) / (2 * size))
            cost = f"{1e6 * median(times):,.0f}"
            yield row(
                f"{links:,}",
                f"{nodes:,}",
                "all" if most_exact else "-",
                f"{first_s:.2f}",
                f"{size:,}",
                cost,
            )


@click.command()
@click.argument("question", type=click.Choice(("pace", "figures", "changes")))
@click.option("--pages", default=8000, show_default=True, help="Pages of a crawl.")
@click.option("--rounds", default=6, show_default=True)
@click.option("--nodes", default=1_000_000, show_default=True)
@click.option("--links", default=10_000_000, show_default=True)
@into_document
def main(question: str, pages: int, rounds: int, nodes: int, links: int, into: Path | None) -> None:
    """Measure, and print whether the limits are kept."""
    match question:
        case "pace":
            lines = _paces(pages, rounds)
        case "figures":
            lines = _figures(nodes, links)
        case _:
            lines = _changes()
    found: Sequence[str] = list(lines)
    tell([circumstances(), "", *found], f"watched: {question}", into)


if __name__ == "__main__":
    main()
