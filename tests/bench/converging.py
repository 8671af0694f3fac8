"""Cost of fresh ranks for a crawl: its pace with them and with `--no-converge`.

Law: runs of both kinds alternate, and the load by other processes is reported, because it changes
the pace more than the ranks do.

    python -m tests.bench.converging --rounds 5

The crawl is busy all the time, as it reads one server on loopback without delay. `--busy N` also
keeps N cores busy. The pace is measured until the last page, without the ranks at the end.
"""

import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import click

from minicrawl.store.reader import connect
from tests.bench.notes import circumstances, head, into_document, row, tell
from tests.bench.processes import machine_cpu_s, run
from tests.real.nginx import SITES, serving

PART = "converging"
WAYS: Mapping[str, Sequence[str]] = {
    "with fresh ranks": (),
    "`--no-converge`": ("--no-converge",),
}
_BUSY = "while True: pass"


class Paced(NamedTuple):
    """Pages, time and processor time of a crawl, with the load by other processes."""

    pages: int
    seconds: float
    cpu_s: float
    of_others: float  # cores

    @property
    def pace(self) -> float:
        return self.pages / self.seconds


@contextmanager
def _keep_busy(cores: int) -> Iterator[None]:
    """Keep some cores busy until the block ends."""
    with ExitStack() as stack:
        for _ in range(cores):
            process = stack.enter_context(subprocess.Popen([sys.executable, "-c", _BUSY]))
            stack.callback(process.kill)
        yield


def _crawl(origins: Sequence[str], options: Sequence[str], store: Path) -> Paced:
    command = (
        *(sys.executable, "-m", "minicrawl", "crawl", *origins, "--store", str(store)),
        *("--scope", "host", "--delay", "0", "--allow-private", "--quiet", *options),
    )
    before_s = machine_cpu_s()
    cost = run(command, store.parent, lambda: False)
    if cost.exit_code:
        raise click.ClickException(cost.last_words)
    of_others = (machine_cpu_s() - before_s - cost.cpu_s) / cost.wall_s
    with closing(connect(store)) as connection:
        first, last, pages = connection.execute(
            "SELECT min(at), max(at), count(*) FROM fetches WHERE status = 200"
        ).fetchone()
    return Paced(pages, last - first, cost.cpu_s, max(of_others, 0.0))


def rounds(count: int, options: Sequence[str], busy_cores: int) -> dict[str, list[Paced]]:
    """Crawl in both ways in each round, in alternating order."""
    found: dict[str, list[Paced]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory() as name, serving(SITES, Path(name)) as nginx:
        origins = list(nginx.origins.values())
        for number in range(count):
            for way in list(WAYS)[:: 1 if number % 2 else -1]:
                store = Path(name, f"{number}-{len(found[way])}-{len(WAYS[way])}.db")
                with _keep_busy(busy_cores):
                    paced = _crawl(origins, (*options, *WAYS[way]), store)
                found[way].append(paced)
                click.echo(f"{paced.pace:7.0f} pages/s  {way}", err=True)
    return found


def table(found: Mapping[str, Sequence[Paced]]) -> Iterator[str]:
    """Yield a row for each way, and the ratio of their paces."""
    yield from head("crawl", "pages/s", "from to", "CPU s", "cores of others")
    for way, crawls in found.items():
        paces = [crawl.pace for crawl in crawls]
        yield row(
            way,
            f"{statistics.median(paces):,.0f}",
            f"{min(paces):,.0f} to {max(paces):,.0f}",
            f"{statistics.median(crawl.cpu_s for crawl in crawls):.1f}",
            f"{statistics.median(crawl.of_others for crawl in crawls):.1f}",
        )
    fresh, plain = found.values()
    ratios = sorted(one.pace / other.pace for one, other in zip(fresh, plain, strict=True))
    yield ""
    yield (
        f"Pace with fresh ranks as a multiple of that without: median "
        f"{statistics.median(ratios):.3f}, from {ratios[0]:.3f} to {ratios[-1]:.3f}."
    )


@click.command()
@click.option("--rounds", "count", default=5, show_default=True)
@click.option("--busy", "busy_cores", default=0, show_default=True, help="Cores to keep busy.")
@click.option("--option", "options", multiple=True, help="One more option of the crawls.")
@into_document
def main(count: int, busy_cores: int, options: tuple[str, ...], into: Path | None) -> None:
    """Crawl four manuals without delay, with fresh ranks and without, in turn."""
    found = rounds(count, options, busy_cores)
    tell([circumstances(), "", *table(found)], PART, into)


if __name__ == "__main__":
    main()
