"""Let a disk fail under a crawl, and cut the power:

python -m tests.proofs.disk --faults 280 --cuts 1000 --seed 1 --into docs/hostile.md
"""

import errno
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from tests.bench.notes import circumstances, head, into_document, row, write_into
from tests.proofs.crash.memory import folder_in_memory
from tests.proofs.crash.web import serving
from tests.proofs.disk.faults import KINDS, FaultyRun, meet_faults
from tests.proofs.disk.power import cut_power
from tests.proofs.disk.shim import compiled


@click.command()
@click.option("--faults", type=click.IntRange(min=0), default=0, help="Number of failed calls.")
@click.option("--cuts", type=click.IntRange(min=0), default=0, help="Number of power failures.")
@click.option("--seed", type=int, default=0, help="Seed of the random choices.")
@into_document
def disk(faults: int, cuts: int, seed: int, into: Path | None) -> None:
    """Let calls fail, and cut the power. Exit 1 if anything was lost or is wrong."""
    if compiled() is None:
        raise click.UsageError("there is no C compiler")
    began, runs, judged = time.monotonic(), list[FaultyRun](), list[list[str]]()
    with folder_in_memory() as folder, serving() as web:
        for run in meet_faults(web, _new_folder(folder, "faults"), faults, seed):
            runs.append(run)
            _say(f"{run.fault}: exit code {run.exit_code}", run.wrong)
        for wrong in cut_power(web, _new_folder(folder, "cuts"), cuts, seed):
            judged.append(wrong)
            _say("", wrong)
    ill = [one for one in (*(run.wrong for run in runs), *judged) if one]
    click.echo(f"{len(runs)} faults, {len(judged)} power failures, {len(ill)} wrong")
    click.echo(f"{time.monotonic() - began:.0f} s")
    lines = [f"{circumstances()} `--seed {seed}`.", ""]
    if into and faults:
        write_into(into, "faults", [*lines, *_faults(runs)])
    if into and cuts:
        write_into(into, "power", [*lines, *_power(judged)])
    sys.exit(bool(ill))


def _say(what: str, wrong: Sequence[str]) -> None:
    if wrong:
        click.echo("\n  ".join([what, *wrong]))


def _faults(runs: Sequence[FaultyRun]) -> Iterator[str]:
    yield from head("kind of call", "failed", "EIO", "ENOSPC", "went on", "ended", "wrong")
    for kind in (*KINDS, "all"):
        some = [run for run in runs if kind in (run.fault.kind, "all")]
        errors = Counter(run.fault.error for run in some)
        went_on = sum(run.exit_code == 0 for run in some)
        cells = (len(some), errors[errno.EIO], errors[errno.ENOSPC], went_on, len(some) - went_on)
        yield row(kind, *map(str, cells), str(sum(bool(run.wrong) for run in some)))


def _power(judged: Sequence[list[str]]) -> Iterator[str]:
    yield from head("", "found")
    yield row("power failures", f"{len(judged):,}")
    yield row("after which something was wrong", f"{sum(map(bool, judged)):,}")


def _new_folder(folder: Path, name: str) -> Path:
    new = folder / name
    new.mkdir()
    return new


if __name__ == "__main__":
    disk()
