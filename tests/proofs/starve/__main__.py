"""Measure how much hostile hosts starve healthy ones:

python -m tests.proofs.starve --into docs/hostile.md

With --pairs, all pairs of behaviours run in simulated time instead.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import click

from tests.bench.notes import circumstances, head, into_document, row, tell
from tests.proofs.starve import pairs as pairing
from tests.proofs.starve.attacks import ATTACKS
from tests.proofs.starve.behaviours import BEHAVIOURS
from tests.proofs.starve.trial import DELAY_S, HEALTHY_HOSTS, Figures, run

MANY = 64
LEAST, LEAST_AMONG_MANY = 0.8, 0.7
SILENCE_S = 3 * DELAY_S
TURN_S = 0.1
GROWTH_BYTES = 64 << 20
_MB = 1 << 20


@click.command()
@click.option("--attack", "names", multiple=True, type=click.Choice(list(ATTACKS)))
@click.option("--hosts", multiple=True, type=int, default=(1, 4, 20, MANY), show_default=True)
@click.option("--workers", multiple=True, type=int, default=(0, 1), show_default=True)
@click.option("--seconds", type=float, default=5.0, show_default=True, help="Length of each crawl.")
@click.option(
    "--pairs", type=int, help=f"Simulate N partners of each behaviour, {len(BEHAVIOURS)} for all."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Choice of the partners.")
@into_document
def main(
    names: Sequence[str],
    hosts: Sequence[int],
    workers: Sequence[int],
    seconds: float,
    pairs: int | None,
    seed: int,
    into: Path | None,
) -> None:
    """Run crawls beside attackers; exit 1 if a limit is not kept.

    With --attack, the results go into a table of their own in the document.
    """
    if pairs is not None:
        sys.exit(_simulate(pairs, seed, into))
    lines: list[str] = []
    failures = 0
    for count in workers:
        alone = run(next(iter(ATTACKS)), 0, workers=count, seconds=seconds)
        click.echo(f"workers {count}, without attackers: {alone}", err=True)
        rows = []
        for name in names or ATTACKS:
            for hostile in hosts:
                figures = run(name, hostile, workers=count, seconds=seconds)
                broken = _broken(figures, alone, hostile)
                click.echo(f"{name}, {hostile}: {figures} {broken}", err=True)
                rows.append(_row(name, hostile, figures, alone, broken))
                failures += len(broken)
        lines += [*_table(count, alone, rows), ""]
    conditions = f"{circumstances()} {seconds:g} s a crawl, {HEALTHY_HOSTS} healthy hosts."
    tell([conditions, "", *lines[:-1]], "starve chosen" if names else "starve", into)
    sys.exit(bool(failures))


def _simulate(partners: int, seed: int, into: Path | None) -> bool:
    """Run pairs of behaviours in simulated time. Return whether any of them breaks the law."""
    alone, requests = pairing.measured([*pairing.cases(partners, Random(seed))], seed)
    conditions = (
        f"{circumstances()} `--pairs {partners} --seed {seed}`: {len(requests)} runs, {alone} "
        "requests to healthy hosts alone."
    )
    tell([conditions, "", *pairing.table(alone, requests)], "pairs", into)
    return min(requests.values()) < pairing.LEAST * alone


def _broken(figures: Figures, alone: Figures, hostile: int) -> list[str]:
    least = LEAST_AMONG_MANY if hostile >= MANY else LEAST
    limits = {
        "requests": figures.requests >= least * alone.requests,
        "silence": figures.silence_s <= SILENCE_S,
        "turn": figures.turn_s <= TURN_S,
        "memory": figures.growth_bytes - alone.growth_bytes <= GROWTH_BYTES,
    }
    return [name for name, holds in limits.items() if not holds]


def _table(workers: int, alone: Figures, rows: Sequence[str]) -> Iterator[str]:
    yield (
        f"`--workers {workers}`; without attackers {alone.requests} requests to healthy hosts, "
        f"longest silence {alone.silence_s:.2f} s, longest turn {1000 * alone.turn_s:.0f} ms:"
    )
    yield ""
    yield from head(
        "attack", "hosts", "requests", "silence s", "turn ms", "memory MiB", "others MiB", ""
    )
    yield from rows


def _row(name: str, hostile: int, figures: Figures, alone: Figures, broken: Sequence[str]) -> str:
    return row(
        name,
        str(hostile),
        f"{figures.requests / alone.requests:.0%}",
        f"{figures.silence_s:.2f}",
        f"{1000 * figures.turn_s:.0f}",
        f"{(figures.growth_bytes - alone.growth_bytes) / _MB:+.0f}",
        f"{figures.others_bytes / _MB:.0f}",
        f"NOT KEPT: {', '.join(broken)}" if broken else "kept",
    )


if __name__ == "__main__":
    main()
