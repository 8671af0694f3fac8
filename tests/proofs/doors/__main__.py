"""Attack all servers with the whole catalogue:

python -m tests.proofs.doors --into docs/hostile.md
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from tests.bench.notes import circumstances, head, into_document, row, tell
from tests.proofs.doors.crowds import CATALOGUE
from tests.proofs.doors.servers import DOORS, Server, serving
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
    alone: dict[str, Figures] = {}
    attacks: dict[str, dict[str, Figures]] = {}
    wrong: list[str] = []
    with TemporaryDirectory(prefix="doors-") as folder:
        store = filled_store(Path(folder))
        for door in DOORS:
            with serving(door, store) as server:
                alone[door] = measured(server, seconds)
                for name in CATALOGUE:
                    attacks.setdefault(name, {})[door] = _attacked(server, name, seconds)
                wrong += [f"{door}: {vector}" for vector in misled(store.parent, server)]
            with serving(door, store, FEW_DESCRIPTORS) as server:
                name = f"half heads, {FEW_DESCRIPTORS} descriptors"
                attacks.setdefault(name, {})[door] = _attacked(server, "half heads", seconds)
    said = f"{len(VECTORS)} ambiguous requests to each through nginx: {len(wrong)} misled a client"
    lines = [*_table(alone, attacks), "", f"{said}{f' ({wrong})' if wrong else ''}."]
    tell([f"{circumstances()} {seconds:g} s an attack.", "", *lines], "doors", into)
    broken = any(_broken(figures) for doors in attacks.values() for figures in doors.values())
    sys.exit(broken or bool(wrong))


def _attacked(server: Server, name: str, seconds: float) -> Figures:
    with attacked(server.port, name):
        figures = measured(server, seconds)
    click.echo(f"{name}: {figures}", err=True)
    return figures


def _table(
    alone: Mapping[str, Figures], attacks: Mapping[str, Mapping[str, Figures]]
) -> Iterator[str]:
    """Yield a row an attack: the slowest response of each server, and the largest growth."""
    slowest = ", ".join(f"{door} {figures.slowest_s:.2f}" for door, figures in alone.items())
    yield f"Slowest responses in seconds; without attackers {slowest}:"
    yield ""
    yield from head("attack", *alone, "answered", "memory MiB", "")
    for name, doors in attacks.items():
        yield _row(name, doors)


def _row(name: str, doors: Mapping[str, Figures]) -> str:
    requests = sum(figures.requests for figures in doors.values())
    failures = sum(len(figures.failures) for figures in doors.values())
    growth = max(figures.growth_bytes for figures in doors.values())
    limits = {door: ", ".join(_broken(figures)) for door, figures in doors.items()}
    broken = [f"{door} {names}" for door, names in limits.items() if names]
    return row(
        name,
        *(f"{figures.slowest_s:.2f}" for figures in doors.values()),
        f"{requests - failures} of {requests}",
        f"{growth / _MB:+.0f}",
        f"NOT KEPT: {'; '.join(broken)}" if broken else "kept",
    )


def _broken(figures: Figures) -> Sequence[str]:
    return figures.broken(in_time=True)


if __name__ == "__main__":
    main()
