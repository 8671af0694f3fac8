"""Kill a crawl a thousand times, and damage ten thousand write-ahead logs:

python -m tests.proofs.crash --kills 1000 --cuts 10000 --seed 1 --into docs/hostile.md
"""

import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from tests.bench.notes import circumstances, head, into_document, row, write_into
from tests.proofs.crash.cutting import FINE, cut_often
from tests.proofs.crash.killing import Report, kill_often
from tests.proofs.crash.memory import folder_in_memory
from tests.proofs.crash.web import serving


@click.command()
@click.option("--kills", type=click.IntRange(min=0), default=0, help="Number of kills.")
@click.option("--cuts", type=click.IntRange(min=0), default=0, help="Number of logs to damage.")
@click.option("--seed", type=int, default=0, help="Seed of the random choices.")
@into_document
def crash(kills: int, cuts: int, seed: int, into: Path | None) -> None:
    """Kill crawls and damage stores. Exit 1 if anything was lost or a fault was not detected."""
    began = time.monotonic()
    with folder_in_memory() as folder, serving() as web:
        killed = kill_often(web, _new_folder(folder, "kills"), kills, seed)
        click.echo(str(killed))
        found = cut_often(web, _new_folder(folder, "cuts"), cuts, seed)
        for outcome, number in found.most_common():
            click.echo(f"{number:,} cuts: {outcome}")
    ill = [outcome for outcome in found if outcome not in FINE]
    click.echo("\n".join([*killed.wrong, *ill]) or "nothing is wrong")
    click.echo(f"{time.monotonic() - began:.0f} s")
    if into and kills:
        write_into(into, "kills", [_circumstances(seed), "", *_kills(killed)])
    if into and cuts:
        write_into(into, "cuts", [_circumstances(seed), "", *_cuts(found, ill)])
    sys.exit(bool(killed.wrong or ill))


def _circumstances(seed: int) -> str:
    return f"{circumstances()} `--seed {seed}`."


def _kills(killed: Report) -> Iterator[str]:
    yield from head("", "found")
    yield row("kills", f"{killed.kills:,}")
    yield row("while pictures of pages were fetched", f"{killed.amid_pictures:,}")
    yield row("after which something was wrong", f"{len(killed.wrong):,}")
    yield row("crawls that finished between kills", f"{killed.ended:,}")
    yield row("pages requested again after a kill, on average", f"{killed.mean_lost:.1f}")
    yield row("at most", f"{max(killed.lost, default=0):,}")


def _cuts(found: Counter[str], ill: Sequence[str]) -> Iterator[str]:
    yield from head("outcome", "logs")
    for outcome in (*FINE, *ill):
        yield row(outcome, f"{found[outcome]:,}")
    yield row("all", f"{found.total():,}")


def _new_folder(folder: Path, name: str) -> Path:
    new = folder / name
    new.mkdir()
    return new


if __name__ == "__main__":
    crash()
