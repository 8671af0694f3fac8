"""Cost of a settlement: choose the richest page, split its cash among 10 links, book it.

`python -m tests.bench.settlements` prints a table for webs of 10^5, 10^6 and 10^7 pages:
settlements per second (the median and the slowest round; the sizes take turns), the cost relative
to the smallest web, and the memory of ledger and schedule per page, current and peak. The links are
random, so nearly each misses the caches of the processor.
"""

import gc
import statistics
import time
import tracemalloc
from collections.abc import Iterator
from itertools import cycle

import click
import numpy as np

from minicrawl.lab.known_webs import RichestRead
from minicrawl.opic.ledger import READ, Ledger, visit
from minicrawl.opic.windows import Interpolation

LINKS = 10
DISTINCT = 200_000


class Bench:
    """A web whose pages are settled in greedy order."""

    def __init__(self, pages: int) -> None:
        tracemalloc.start()
        self.ledger = Ledger(windows=[Interpolation(8)])
        self.ledger.mint(pages, pool=READ)
        self.greedy = RichestRead(self.ledger)
        self.bytes_a_page = tracemalloc.get_traced_memory()[0] / pages
        tracemalloc.stop()
        rng = np.random.default_rng(pages)
        self.links = rng.integers(0, pages, (min(pages, DISTINCT), LINKS)).tolist()

    def settle(self, count: int) -> float:
        """Settle `count` pages and return the seconds."""
        ledger, greedy = self.ledger, self.greedy
        links = cycle(self.links)
        began = time.perf_counter()
        for _ in range(count):
            page = greedy.take()
            plan = visit(ledger, page, next(links))
            ledger.post(plan)
            greedy.posted(plan)
        return time.perf_counter() - began

    def memory(self, count: int) -> tuple[float, float]:
        """Settle `count` pages and return the bytes per page, current and peak."""
        tracemalloc.start()
        self.settle(count)
        now, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        pages = len(self.ledger)
        return self.bytes_a_page + now / pages, self.bytes_a_page + peak / pages


def measure(sizes: list[int], count: int, rounds: int) -> Iterator[str]:
    """Yield a line for each size."""
    benches = {size: Bench(size) for size in sizes}
    gc.collect()
    gc.freeze()
    for bench in benches.values():
        bench.settle(count)
    seconds: dict[int, list[float]] = {size: [] for size in sizes}
    for _ in range(rounds):
        for size, bench in benches.items():
            seconds[size].append(bench.settle(count))
    base = statistics.median(seconds[sizes[0]])
    for size, bench in benches.items():
        middle = statistics.median(seconds[size])
        now, peak = bench.memory(count // 4)
        yield (
            f"{size:>12,} {count / middle:>12,.0f} {count / max(seconds[size]):>12,.0f} "
            f"{middle / base:>8.2f} {now:>8.1f} {peak:>8.1f}"
        )


@click.command()
@click.option("--sizes", default="1e5,1e6,1e7", show_default=True, help="Pages, with commas.")
@click.option("--count", default=200_000, show_default=True, help="Settlements in a round.")
@click.option("--rounds", default=5, show_default=True)
def main(sizes: str, count: int, rounds: int) -> None:
    click.echo(f"Settlements with {LINKS} links, pages read again and again in greedy order")
    click.echo("       pages   median / s  slowest / s     cost  B a page     peak")
    for line in measure([int(float(size)) for size in sizes.split(",")], count, rounds):
        click.echo(line)


if __name__ == "__main__":
    main()
