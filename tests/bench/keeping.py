"""Cost of keeping pages: crawls with `--keep none`, `--keep pages`, `--keep text` and `--warc`.

`python -m tests.bench.keeping` serves the installed manuals on loopback. The kinds of crawls take
turns, and each fetches the same number of pages in each round. The command prints the medians of
the rounds; a ratio is the median of the ratios within the rounds.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import click

from tests.bench.crawl import COLUMNS, circumstances, lap, ratios
from tests.bench.laps import laps_in_turn, medians
from tests.bench.manuals import installed, manuals
from tests.bench.notes import into_document, tell
from tests.bench.peers import Crawler, Task, minicrawl
from tests.bench.processes import exit_on_sigterm

KINDS = {
    "none": ("--keep", "none"),
    "pages": ("--keep", "pages"),
    "text": ("--keep", "text"),
    "warc": ("--keep", "none", "--warc", "warcs"),
}


def _crawler(kind: str) -> Crawler:
    return minicrawl([*KINDS[kind]])._replace(name=kind)


@click.command()
@click.option("--pages", default=2500, show_default=True, help="Budget of each crawl.")
@click.option("--rounds", "count", default=5, show_default=True)
@click.option("--per-host", default=16, show_default=True, help="Connections to each host.")
@click.option("--kinds", default="pages,none", show_default=True, help=f"Of {', '.join(KINDS)}.")
@into_document
def main(pages: int, count: int, per_host: int, kinds: str, into: Path | None) -> None:
    exit_on_sigterm()
    crawlers = [_crawler(kind) for kind in kinds.split(",")]
    with (
        TemporaryDirectory(prefix="minicrawl-bench-") as name,
        manuals(Path(name), installed()) as server,
    ):
        task = Task(server.seeds, pages, per_host)
        laps = laps_in_turn(crawlers, count, lambda one: lap(one, task, server), COLUMNS)
        conditions = circumstances(crawlers, task, server, count)
        tell([*conditions, *medians(laps, COLUMNS), *ratios(laps)], "keeping", into)


if __name__ == "__main__":
    main()
