"""Kill a crawl a thousand times, and damage ten thousand write-ahead logs:

python -m tests.crash --kills 1000 --cuts 10000 --seed 1
"""

import sys
import time
from pathlib import Path

import click

from tests.crash.cutting import FINE, cut_often
from tests.crash.killing import kill_often
from tests.crash.memory import folder_in_memory
from tests.crash.web import serving


@click.command()
@click.option("--kills", type=click.IntRange(min=0), default=0, help="Kills of a crawl.")
@click.option("--cuts", type=click.IntRange(min=0), default=0, help="Logs that are damaged.")
@click.option("--seed", type=int, default=0, help="What is drawn is drawn from this.")
def crash(kills: int, cuts: int, seed: int) -> None:
    """Kill crawls and damage stores; exit code 1 if anything was lost, or passed that is wrong."""
    began = time.monotonic()
    with folder_in_memory() as folder, serving() as web:
        killed = kill_often(web, _made(folder, "kills"), kills, seed)
        click.echo(str(killed))
        found = cut_often(web, _made(folder, "cuts"), cuts, seed)
        for outcome, number in found.most_common():
            click.echo(f"{number:,} cuts: {outcome}")
    wrong = [*killed.wrong, *(outcome for outcome in found if outcome not in FINE)]
    click.echo("\n".join(wrong) or "nothing is wrong")
    click.echo(f"{time.monotonic() - began:.0f} s")
    sys.exit(bool(wrong))


def _made(folder: Path, name: str) -> Path:
    place = folder / name
    place.mkdir()
    return place


if __name__ == "__main__":
    crash()
