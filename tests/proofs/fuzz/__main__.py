"""Feed every reader of foreign bytes with mutated inputs:

python -m tests.proofs.fuzz --inputs 300000 --seed 1
python -m tests.proofs.fuzz --prices --inputs 20000   find bodies that take longer than their price

Prices are times on the reference machine, so `--prices` needs a similar machine that is idle.
"""

import sys

import click

from tests.proofs.fuzz.driving import drive
from tests.proofs.fuzz.prices import PRICED, worst

_SHOWN = 24  # characters of a fragment


@click.command()
@click.option("--inputs", type=click.IntRange(min=1), default=300_000, help="Number of inputs.")
@click.option("--seed", type=int, default=0, help="Seed of the random choices.")
@click.option("--prices", is_flag=True, help="Find bodies that take longer than their price.")
def fuzz(inputs: int, seed: int, *, prices: bool) -> None:
    """Print a table of the readers. Exit 1 if a law was broken."""
    if prices:
        sys.exit(_look_for_wrong_prices(inputs // len(PRICED), seed))
    tallies = drive(inputs, seed)
    click.echo(f"{'reader':<12}{'inputs':>10}{'seconds':>10}{'slowest ms':>12}{'failures':>10}")
    for name, tally in tallies.items():
        click.echo(
            f"{name:<12}{tally.inputs:>10,}{tally.seconds:>10.1f}"
            f"{tally.slowest_s * 1000:>12.1f}{tally.failures:>10,}"
        )
    failures = [f"{name}: {failure}" for name, tally in tallies.items() for failure in tally.shown]
    click.echo("\n".join(failures) or "no law is broken")
    sys.exit(bool(failures))


def _look_for_wrong_prices(inputs: int, seed: int) -> bool:
    """Print the most expensive body of each parser. Return True if one exceeds its price."""
    is_wrong = False
    click.echo(f"{'parser':<16}{'of its price':>14}{'ms':>8}  pattern")
    for name in PRICED:
        first = worst(name, max(inputs, 1), seed)[0]
        is_wrong = is_wrong or first.ratio > 1
        pattern = [fragment[:_SHOWN] for fragment in first.pattern]
        click.echo(f"{name:<16}{first.ratio:>14.2f}{first.cost_s * 1000:>8.1f}  {pattern!a}")
    return is_wrong


if __name__ == "__main__":
    fuzz()
