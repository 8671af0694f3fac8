"""Measure how much hostile hosts starve healthy ones:

python -m tests.proofs.starve --into docs/hostile.md

With --pairs, all pairs of behaviours run in simulated time instead.
"""

import itertools
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

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


class Trial(NamedTuple):
    """Crawl beside attackers, the crawl without them, and the limits that were exceeded."""

    figures: Figures
    alone: Figures
    broken: Sequence[str]

    @property
    def growth_bytes(self) -> int:
        return self.figures.growth_bytes - self.alone.growth_bytes


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

    With --attack, the results are only printed.
    """
    if pairs is not None:
        sys.exit(_simulate(pairs, seed, into))
    lines: list[str] = []
    trials: dict[str, list[Trial]] = {name: [] for name in names or ATTACKS}
    for count in workers:
        alone = run(next(iter(ATTACKS)), 0, workers=count, seconds=seconds)
        lines.append(_baseline(count, alone))
        click.echo(lines[-1], err=True)
        for name, hostile in itertools.product(trials, hosts):
            figures = run(name, hostile, workers=count, seconds=seconds)
            trials[name].append(Trial(figures, alone, _broken(figures, alone, hostile)))
            click.echo(f"{name}, {hostile}: {trials[name][-1]}", err=True)
    conditions = f"{circumstances()} {seconds:g} s a crawl, {HEALTHY_HOSTS} healthy hosts."
    tell([conditions, *lines, "", *_table(trials)], "starve", None if names else into)
    sys.exit(any(trial.broken for attack in trials.values() for trial in attack))


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


def _baseline(workers: int, alone: Figures) -> str:
    return (
        f"`--workers {workers}` without attackers: {alone.requests} requests to healthy hosts, "
        f"longest silence {alone.silence_s:.2f} s, longest turn {1000 * alone.turn_s:.0f} ms."
    )


def _table(trials: Mapping[str, Sequence[Trial]]) -> Iterator[str]:
    """Yield a row an attack, with the worst figure of its trials in each column."""
    yield from head("attack", "requests", "silence s", "turn ms", "memory MiB", "others MiB", "")
    for name, attack in trials.items():
        broken = dict.fromkeys(limit for trial in attack for limit in trial.broken)
        yield row(
            name,
            f"{min(trial.figures.requests / trial.alone.requests for trial in attack):.0%}",
            f"{max(trial.figures.silence_s for trial in attack):.2f}",
            f"{1000 * max(trial.figures.turn_s for trial in attack):.0f}",
            f"{max(trial.growth_bytes for trial in attack) / _MB:+.0f}",
            f"{max(trial.figures.others_bytes for trial in attack) / _MB:.0f}",
            f"NOT KEPT: {', '.join(broken)}" if broken else "kept",
        )


if __name__ == "__main__":
    main()
