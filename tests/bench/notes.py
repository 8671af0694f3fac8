"""Results in documents: each command writes the part between two comments, and nothing else."""

import os
import platform
import sqlite3
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from minicrawl import __version__

into_document = click.option(
    "--into",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Write the results into this document, such as docs/speed.md.",
)
"""Option of commands that write into a document."""


def row(*cells: str) -> str:
    """Return a row of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def head(*titles: str) -> Iterator[str]:
    """Yield the first rows of a table with numbers in all columns but the first."""
    yield row(*titles)
    yield row("---", *("---:" for _ in titles[1:]))


def machine() -> str:
    """Describe the machine."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return (
        f"{os.cpu_count()} cores of {_processor()}, {memory:.0f} GB, "
        f"{platform.system()} {platform.release()}, Python {platform.python_version()}"
    )


def today() -> str:
    return time.strftime("%Y-%m-%d")


def circumstances() -> str:
    """Return the date, the versions and the machine."""
    return f"{today()}: minicrawl {__version__}, SQLite {sqlite3.sqlite_version}. {machine()}."


def kept(holds: bool) -> str:
    return "kept" if holds else "NOT KEPT"


def tell(lines: Sequence[str], part: str, document: Path | None) -> None:
    """Print the lines, and write them into the document if there is one."""
    click.echo("\n".join(lines))
    if document:
        write_into(document, part, lines)


def write_into(document: Path, part: str, lines: Sequence[str]) -> None:
    """Replace the lines of an earlier run."""
    begin, end = f"<!-- {part} -->\n", f"<!-- end of {part} -->\n"
    before, begins, rest = document.read_text().partition(begin)
    _, ends, after = rest.partition(end)
    if not ends:
        raise click.UsageError(f"{document} has no lines {begin.strip()} and {end.strip()}")
    document.write_text("".join([before, begins, *(f"{line}\n" for line in lines), ends, after]))


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
