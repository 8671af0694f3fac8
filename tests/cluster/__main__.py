"""Kill nodes and servers, cut networks and move shards while a cluster crawls real manuals:

python -m tests.cluster --kills 200 --cuts 20 --moves 20 --pages 5000 --into docs/hostile.md

Cut the power of servers and nodes, which needs root; a namespace takes the mounts away in any case:

unshare --mount python -m tests.cluster --power 100 --pages 3000 --into docs/hostile.md

Measure how long one kind of upset stops the crawl:

python -m tests.cluster --kills 12 --of "kill a server" --apart 12 --pages 100000
"""

import asyncio
import sys
from collections.abc import Iterator
from math import inf
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import click

from tests.bench.notes import circumstances, head, into_document, row, write_into
from tests.cluster.proof.judging import Pauses
from tests.cluster.proof.proving import SERVERS, SHARDS, Proof, ProofPlan, Prover
from tests.cluster.proof.shelves import shelves
from tests.cluster.proof.upsets import ADDRESSES, CUTS, KILLS, MOVES, POWER, named

KINDS = [named(work) for work in (*KILLS, *CUTS, *POWER)]
_COLUMNS = ("of the crawl, median", "longest", "of a shard, median", "longest")


@click.command()
@click.option("--kills", type=click.IntRange(min=0), default=0, help="Kills of nodes and servers.")
@click.option("--cuts", type=click.IntRange(min=0), default=0, help="Cuts of the network.")
@click.option("--power", type=click.IntRange(min=0), default=0, help="Power failures.")
@click.option("--lazy", is_flag=True, help="Servers sync every two minutes only.")
@click.option("--moves", type=click.IntRange(min=0), default=0, help="Nodes to drain.")
@click.option("--pages", type=click.IntRange(min=1), default=5000, help="Page budget of a crawl.")
@click.option(
    "--delay", "delay_s", type=float, default=0.4, help="Seconds between requests to a host."
)
@click.option(
    "--of", multiple=True, type=click.Choice(KINDS), help="Only upsets of this kind; repeatable."
)
@click.option("--apart", "apart_s", type=float, default=0.0, help="Least seconds between upsets.")
@click.option("--seed", type=int, default=0, help="Seed of all random choices.")
@click.option(
    "--adverse",
    is_flag=True,
    help="Slow and lossy network, and one clock an hour wrong (needs faketime).",
)
@click.option(
    "--upgrade-to",
    "newer",
    type=click.Path(exists=True, dir_okay=False),
    help="A newer nats-server: upgrade the servers one by one.",
)
@into_document
def prove(into: Path | None, **drawn: Any) -> None:
    """Upset a cluster; exit 1 if anything was lost, doubled or requested too soon."""
    plan = ProofPlan(**drawn)
    with (
        TemporaryDirectory(prefix="minicrawl-proof-") as folder,
        shelves(Path(folder) / "web") as web,
    ):
        Path(folder).chmod(0o755)  # nginx serves as a user of its own
        prover = Prover(web, Path(folder), plan, click.echo)
        asyncio.run(prover.prove())
    found = prover.proof
    lines = [_circumstances(plan, found), "", *_pauses(found), "", *_rest(found)]
    click.echo("\n".join([*lines, *(found.wrong or ["nothing is wrong"])]))
    if into:
        write_into(into, "power of clusters" if plan.power else "clusters", lines)
    sys.exit(bool(found.wrong))


def _circumstances(plan: ProofPlan, found: Proof) -> str:
    crawls = f"{found.crawls} crawls of {plan.pages:,} pages with `--delay {plan.delay_s:g}`"
    parts = f"{SERVERS} servers, {len(ADDRESSES)} nodes, {SHARDS} shards"
    minutes = f"{found.seconds / 60:.0f} minutes"
    return f"{circumstances()} `--seed {plan.seed}`: {parts}, {crawls}, {minutes}."


def _pauses(found: Proof) -> Iterator[str]:
    yield from head("the longest time without a request, s", "times", *_COLUMNS)
    for kind, pauses in sorted(found.pauses.items()):
        if pauses:
            seconds = [
                judged([getattr(one, name) for one in pauses])
                for name in Pauses._fields
                for judged in (median, max)
            ]
            yield row(kind, f"{len(pauses):,}", *(f"{one:.1f}" for one in seconds))


def _rest(found: Proof) -> Iterator[str]:
    judged = found.judgements
    yield from head("", "found")
    done = ", ".join(f"{found.count(works):,}" for works in (KILLS, CUTS, POWER, MOVES))
    yield row("kills, cuts, power failures, moves", done)
    yield row("checks of all shards after them, and at ends", f"{found.checks:,}")
    yield row("after which something was wrong", f"{len(found.wrong):,}")
    yield row("losses that were named", f"{len(found.losses):,}")
    yield row("requests", f"{sum(one.requests for one in judged):,}")
    yield row("pages asked for more than once", f"{sum(one.again for one in judged):,}")
    yield row("at most", f"{max((one.most_often for one in judged), default=0):,} times")
    for text, name in (
        ("shortest time between two requests to a host, s", "shortest_s"),
        ("by two nodes, s", "shortest_of_two_s"),
    ):
        shortest = min((getattr(one, name) for one in judged), default=inf)
        yield row(text, f"{shortest:.3f}" if shortest < inf else "none")


if __name__ == "__main__":
    prove()
