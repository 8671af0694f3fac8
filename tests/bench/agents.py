"""Response times of the tools of `minicrawl mcp`, on a store of a million pages.

`python -m tests.bench.agents` calls each tool through the client of the official SDK, each time
with other pages and words. The first call of a tool fills caches, so it has a column of its own.
The store is that of `tests.bench.audit`.
"""

import asyncio
import statistics
import time
from collections.abc import Callable, Collection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import click
import numpy as np
from mcp import Client

from minicrawl.mcp.server import server_for
from tests.bench.audit import HOSTS, KEPT, make, url
from tests.bench.notes import circumstances, head, into_document, row, tell
from tests.bench.processes import Load

LIMIT_MS = 50
Arguments = dict[str, Any]


def _questions(pages: int) -> dict[str, Callable[[int], Arguments]]:
    """Return a function for each tool, which makes arguments from the number of a page."""
    return {
        "status": lambda _page: {},
        "search": lambda page: {"query": f"article {page}"},
        "page": lambda page: {"url": url(100 * (page % (KEPT // 100)) + 50)},
        "top": lambda page: {"count": 50, "host": f"host{page % HOSTS}.example"},
        "explain": lambda page: {"url": url(page)},
        "links": lambda page: {"url": url(page)},
        "backlinks": lambda page: {"url": url(page)},
        "audit": lambda page: {"host": f"host{page % HOSTS}.example"},
        "changes": lambda page: {"host": f"host{page % HOSTS}.example"},
        "sql": lambda page: {"query": f"SELECT * FROM links WHERE source_id = {page % pages}"},
    }


class Wait(NamedTuple):
    """Milliseconds of a call: wall time, and processor time of client and server."""

    wall: float
    cpu: float


async def _waits(
    store: Path, pages: int, calls: int, tools: Collection[str]
) -> dict[str, list[Wait]]:
    """Return the times of all calls, by tool."""
    some = np.random.default_rng(3).integers(0, pages, calls).tolist()
    waits: dict[str, list[Wait]] = {}
    async with Client(server_for(store)) as client:
        for name, arguments_of in _questions(pages).items():
            for page in some if name in tools or not tools else ():
                wall, cpu = time.perf_counter(), time.process_time()
                found = await client.call_tool(name, arguments_of(page))
                wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
                waits.setdefault(name, []).append(Wait(1000 * wall, 1000 * cpu))
                if found.is_error:
                    raise click.ClickException(f"{name}: {found.content}")
    return waits


def _row(tool: str, first: Wait, rest: list[Wait]) -> str:
    p95 = [statistics.quantiles(column, n=20)[-1] for column in zip(*rest, strict=True)]
    usual = statistics.median(wait.wall for wait in rest)
    return row(tool, f"{first.wall:,.0f}", *(f"{ms:.1f}" for ms in (usual, *p95)), f"{LIMIT_MS}")


@click.command()
@click.option("--pages", default="1e6", show_default=True)
@click.option("--calls", default=60, show_default=True)
@click.option("--store", type=click.Path(path_type=Path), help="Use this store, or make it.")
@click.option("--tool", "tools", multiple=True, help="Call only this tool. Repeatable.")
@into_document
def main(
    pages: str, calls: int, store: Path | None, tools: tuple[str, ...], into: Path | None
) -> None:
    number = int(float(pages))
    with TemporaryDirectory(prefix="minicrawl-bench-") as name:
        path = store or Path(name, "crawl.db")
        if not path.exists():
            make(path, number)
        load, before_s = Load(), time.process_time()
        waits = asyncio.run(_waits(path, number, calls, tools))
        others = load.of_others(time.process_time() - before_s)
    columns = ("first, ms", "median", "p95", "p95, CPU", "at most")
    lines = [
        f"{circumstances()} Others used {others} cores meanwhile.",
        "",
        *head(f"tool, {number:,} pages", *columns),
        *(_row(tool, first, rest) for tool, (first, *rest) in waits.items()),
    ]
    tell(lines, "agents", into)


if __name__ == "__main__":
    main()
