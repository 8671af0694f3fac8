"""Cost of the heads of confirmations (304): crawls that read unchanged pages again.

`python -m tests.bench.confirming` serves the installed manuals on loopback, crawls them once, and
reads all pages again in copies of that store: with the heads of confirmations in the archive and
without them, in turn. Processor time is that of the second crawl, with its start. A ratio is the
median of the ratios within the rounds.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

import click

from tests.bench.manuals import installed, manuals
from tests.bench.notes import circumstances, head, into_document, row, tell

_WITH = "import sys; from minicrawl.cli import main; sys.exit(main(sys.argv[1:]))"
_WITHOUT = f"""
from minicrawl.fetch import fetcher
from minicrawl.model import Unchanged
with_wire = fetcher.with_wire
fetcher.with_wire = lambda one, wire: one if type(one) is Unchanged else with_wire(one, wire)
{_WITH}
"""
_STORE = "crawl.db"


class _Reading(NamedTuple):
    cpu_s: float
    archive_bytes: int


def _crawl(folder: Path, script: str, *arguments: str) -> _Reading:
    """Run a crawl; return its processor time and the bytes that the archive has grown."""
    before = _archive_bytes(folder)
    options = ["--delay", "0", "--workers", "0", "--store", _STORE, "--quiet", *arguments]
    child = subprocess.Popen([sys.executable, "-c", script, "crawl", *options], cwd=folder)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise click.ClickException(f"the crawl ended with {child.returncode}")
    return _Reading(usage.ru_utime + usage.ru_stime, _archive_bytes(folder) - before)


def _archive_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob(f"{_STORE}-pages/segment-*"))


def _read_again(base: Path, script: str, pages: int) -> _Reading:
    with TemporaryDirectory(prefix="minicrawl-bench-") as name:
        folder = Path(name) / "copy"
        shutil.copytree(base, folder)
        return _crawl(folder, script, "--refresh", "1", "--new-pages", str(pages))


def _lines(base: Path, pages: int, rounds: int, first: _Reading) -> Iterator[str]:
    pairs = [
        (_read_again(base, _WITH, pages), _read_again(base, _WITHOUT, pages)) for _ in range(rounds)
    ]
    yield from head("", "with heads", "without", "ratio")
    for name, column, form in (("processor seconds", 0, ".2f"), ("bytes of the archive", 1, ",")):
        both = [median(pair[kind][column] for pair in pairs) for kind in (0, 1)]
        ratio = median(one[column] / other[column] for one, other in pairs)
        yield row(name, *(f"{value:{form}}" for value in both), f"{ratio:.3f}")
    yield ""
    yield f"The first crawl wrote {first.archive_bytes:,} bytes."


@click.command()
@click.option("--pages", default=1000, show_default=True, help="Pages to read again.")
@click.option("--rounds", default=4, show_default=True)
@into_document
def main(pages: int, rounds: int, into: Path | None) -> None:
    """Measure what the heads of confirmations cost."""
    with TemporaryDirectory(prefix="minicrawl-bench-") as name:
        base = Path(name) / "base"
        base.mkdir()
        with manuals(Path(name), installed()) as server:
            first = _crawl(base, _WITH, *server.seeds, "--new-pages", str(pages))
            found = list(_lines(base, pages, rounds, first))
        conditions = f"{circumstances()} {pages:,} pages, {rounds} rounds."
        tell([conditions, "", *found], "confirming", into)


if __name__ == "__main__":
    main()
