"""Attack all servers with the whole catalogue:

python -m tests.proofs.doors --into docs/hostile.md
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from tests.bench.notes import circumstances, head, into_document, row, tell
from tests.proofs.doors.crowds import CATALOGUE
from tests.proofs.doors.servers import DOORS, serving
from tests.proofs.doors.smuggling import VECTORS, misled
from tests.proofs.doors.trial import Figures, attacked, filled_store, measured

FEW_DESCRIPTORS = 64
_MB = 1 << 20


@click.command()
@click.option(
    "--seconds", type=float, default=8.0, show_default=True, help="Length of each attack."
)
@into_document
def main(seconds: float, into: Path | None) -> None:
    """Exit 1 if our client was not answered, or a server exceeded a limit."""
    lines, failures = list[str](), 0
    with TemporaryDirectory(prefix="doors-") as folder:
        store = filled_store(Path(folder))
        for door in DOORS:
            rows, broken = _attacks(door, store, seconds)
            lines += [*rows, ""]
            failures += broken
    tell([f"{circumstances()} {seconds:g} s an attack.", "", *lines[:-1]], "doors", into)
    sys.exit(bool(failures))


def _attacks(door: str, store: Path, seconds: float) -> tuple[list[str], int]:
    rows, failures = list[str](), 0
    with serving(door, store) as server:
        alone = measured(server, seconds)
        for name in CATALOGUE:
            with attacked(server.port, name):
                figures = measured(server, seconds)
            rows.append(_row(name, figures))
            failures += bool(figures.broken(in_time=True))
            click.echo(f"{door}: {rows[-1]} {figures.failures[:3]} {figures.messages[:200]!r}")
        wrong = misled(store.parent, server)
    with serving(door, store, FEW_DESCRIPTORS) as server, attacked(server.port, "half heads"):
        figures = measured(server, seconds)
    rows.append(_row(f"half heads, {FEW_DESCRIPTORS} descriptors", figures))
    failures += bool(figures.broken(in_time=True)) + bool(wrong)
    said = f"{len(VECTORS)} ambiguous requests through nginx: {len(wrong)} misled another client"
    return [*_table(door, alone, rows), "", f"{said}{f' ({wrong})' if wrong else ''}."], failures


def _table(door: str, alone: Figures, rows: Sequence[str]) -> Iterator[str]:
    yield f"{door}; without attackers the slowest answer took {alone.slowest_s:.2f} s:"
    yield ""
    yield from head("attack", "answered", "slowest s", "memory MiB", "")
    yield from rows


def _row(name: str, figures: Figures) -> str:
    broken = figures.broken(in_time=True)
    return row(
        name,
        f"{figures.requests - len(figures.failures)} of {figures.requests}",
        f"{figures.slowest_s:.2f}",
        f"{figures.growth_bytes / _MB:+.0f}",
        f"NOT KEPT: {', '.join(broken)}" if broken else "kept",
    )


if __name__ == "__main__":
    main()
