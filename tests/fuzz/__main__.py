"""Feed every reader of foreign bytes with inputs that nobody would write:

python -m tests.fuzz --inputs 300000 --seed 1
"""

import sys

import click

from tests.fuzz.driving import drive


@click.command()
@click.option("--inputs", type=click.IntRange(min=1), default=300_000, help="Of all readers.")
@click.option("--seed", type=int, default=0, help="What is drawn is drawn from this.")
def fuzz(inputs: int, seed: int) -> None:
    """Print a table of the readers; exit code 1 if any broke a law."""
    tallies = drive(inputs, seed)
    click.echo(f"{'reader':<12}{'inputs':>10}{'seconds':>10}{'slowest ms':>12}{'failures':>10}")
    for name, tally in tallies.items():
        click.echo(
            f"{name:<12}{tally.inputs:>10,}{tally.seconds:>10.1f}"
            f"{tally.slowest_s * 1000:>12.1f}{tally.failures:>10,}"
        )
    failures = [f"{name}: {told}" for name, tally in tallies.items() for told in tally.told]
    click.echo("\n".join(failures) or "no law is broken")
    sys.exit(bool(failures))


if __name__ == "__main__":
    fuzz()
