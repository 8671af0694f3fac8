"""Cost of main text: the export of kept pages, without and with it.

`python -m tests.bench.extracting` crawls the installed manuals on loopback once and keeps the
pages. Each round exports them without page content, and with main text. The command prints the
medians of the rounds. If processor time is twice the wall time, both processes were busy.
"""

import subprocess
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import click

from tests.bench.crawlers import minicrawl
from tests.bench.manuals import installed, manuals
from tests.bench.notes import circumstances, head, into_document, row, tell
from tests.bench.processes import as_for_users, exit_on_sigterm, run_whole

KINDS = {"no content": (), "main text": ("--with", "main")}


def _export(store: Path, more: tuple[str, ...]) -> tuple[float, float]:
    """Return the processor time and the wall time of an export."""
    command = (sys.executable, "-m", "minicrawl", "export", "out.parquet", "--fetched", "--force")
    cost = run_whole((*command, "--store", str(store), *more), store.parent)
    return cost.cpu_s, cost.wall_s


@click.command()
@click.option("--pages", default=10_000, show_default=True)
@click.option("--rounds", "count", default=3, show_default=True)
@into_document
def main(pages: int, count: int, into: Path | None) -> None:
    exit_on_sigterm()
    with TemporaryDirectory(prefix="minicrawl-bench-") as name:
        store = Path(name) / "crawl.db"
        with manuals(Path(name), installed()) as server:
            crawl = minicrawl(["--keep", "pages", "--store", str(store), "--quiet"])
            command = crawl.command(server.task(pages))
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=as_for_users())
        rounds = [
            {kind: _export(store, more) for kind, more in KINDS.items()} for _ in range(count)
        ]
    lines = [circumstances(), "", *head(f"{pages:,} pages", "processor time", "wall time")]
    for kind in KINDS:
        used_s, took_s = (
            median(times) for times in zip(*(one[kind] for one in rounds), strict=True)
        )
        lines.append(row(kind, f"{used_s:.1f} s", f"{took_s:.1f} s"))
    tell(lines, "extracting", into)


if __name__ == "__main__":
    main()
