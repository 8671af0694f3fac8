"""Instructions that crawls of manuals take, which do not depend on how busy the machine is.

`python -m tests.bench.instructions --against FOLDER` counts those of minicrawl and of another
checkout, by Valgrind. They are not time: waits, the kernel and misses of caches are not counted. A
crawl takes ten to thirty times as long.

The budget is larger than the manuals, so all crawls read the same pages. With a smaller one they
read different pages: two crawls of 4,000 by the same code differed by 7 %, of 200 by .03 %.
"""

import re
import subprocess
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from typing import Unpack

import click

from tests.bench.crawlers import Choice, Crawler, Task, choice_options, chosen
from tests.bench.manuals import manuals
from tests.bench.notes import head, into_document, row, tell
from tests.bench.processes import exit_on_sigterm

_COUNTING = (
    *("valgrind", "--tool=cachegrind", "--cache-sim=no", "--trace-children=yes"),
    "--cachegrind-out-file=/dev/null",
)
_COUNTED = re.compile(r"^==\d+== I +refs: +([\d,]+)$", re.MULTILINE)


def counted(crawler: Crawler, task: Task) -> list[int]:
    """Return the instructions of each process of the crawl, the largest first."""
    with TemporaryDirectory(prefix="minicrawl-bench-") as folder:
        ran = subprocess.run(
            [*_COUNTING, *crawler.command(task), "-q"],
            cwd=folder,
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
    found = (int(one.replace(",", "")) for one in _COUNTED.findall(ran.stderr))
    return sorted(found, reverse=True)


@click.command()
@click.option("--pages", default=20_000, show_default=True, help="Budget of each crawl.")
@choice_options
@into_document
def main(pages: int, into: Path | None, **who: Unpack[Choice]) -> None:
    exit_on_sigterm()
    if which("valgrind") is None:
        raise click.UsageError("there is no valgrind: install it")
    with TemporaryDirectory(prefix="minicrawl-bench-") as name:
        folder = Path(name)
        crawlers = chosen(who, folder)
        with manuals(folder) as server:
            lines = list(head("crawl", "instructions a page", "of the crawl's process", "in all"))
            for crawler in crawlers:
                # A short crawl first, so that no import compiles anything.
                found = [counted(crawler, server.task(most)) for most in (1, pages)][-1]
                lines.append(
                    row(
                        crawler.name,
                        f"{sum(found) / pages / 1e6:.2f} M",
                        f"{found[0] / sum(found):.0%}",
                        f"{sum(found) / 1e9:.2f} G",
                    )
                )
    tell(lines, "instructions", into)


if __name__ == "__main__":
    main()
