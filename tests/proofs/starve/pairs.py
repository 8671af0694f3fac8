"""All pairs of behaviours, on few and many addresses, in simulated time."""

import itertools
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from random import Random
from typing import NamedTuple

import click

from tests.bench.notes import head, row
from tests.proofs.starve.behaviours import BEHAVIOURS
from tests.proofs.starve.simulated import Neighbours, healthy_requests

LEAST = 0.8
CROWDS = {"1": (1, 0), "20": (20, 0), "2,000": (1, 2000)}
"""Seeds, and the hosts that each leads to, by the number of hosts."""
ADDRESSES = (1, 8, 40)
_PROCESSES = 2
_ALL = "all at random"


class Case(NamedTuple):
    """One run: the behaviours of its strange hosts, their number, and that of their addresses."""

    behaviours: Sequence[str]
    hosts: str
    addresses: int

    def neighbours(self, seed: int) -> Neighbours:
        seeds, led_to = CROWDS[self.hosts]
        names = BEHAVIOURS if self.behaviours == (_ALL,) else self.behaviours
        return Neighbours((*names,), seeds, led_to, self.addresses, seed)


def cases(partners: int, random: Random) -> Iterator[Case]:
    """Yield the runs of each behaviour with so many others, itself among them; no pair twice."""
    behaviours = [*BEHAVIOURS]
    pairs = {
        tuple(sorted({name, other}, key=behaviours.index)): None
        for name in behaviours
        for other in random.sample(behaviours, min(partners, len(behaviours)))
    }
    for names, hosts, addresses in itertools.product([*pairs, (_ALL,)], CROWDS, ADDRESSES):
        yield Case(names, hosts, addresses)


def measured(wanted: Sequence[Case], seed: int) -> tuple[int, dict[Case, int]]:
    """Return the requests to healthy hosts alone, and those of each run."""
    alone = healthy_requests(Neighbours(random_seed=seed))
    requests: dict[Case, int] = {}
    with ProcessPoolExecutor(_PROCESSES) as pool:
        runs = pool.map(partial(_requests, seed=seed), wanted)
        for case, number in zip(wanted, runs, strict=True):
            requests[case] = number
            click.echo(f"{number / alone:.0%} {case}", err=True)
    return alone, requests


def _requests(case: Case, seed: int) -> int:
    return healthy_requests(case.neighbours(seed))


def table(alone: int, requests: dict[Case, int]) -> Iterator[str]:
    """Yield the least part of the requests, over all partners and addresses of a behaviour.

    Behaviours that cost no request share the last row.
    """
    least: dict[str, dict[str, int]] = {name: {} for name in (*BEHAVIOURS, _ALL)}
    for case, number in requests.items():
        for name in case.behaviours:
            least[name][case.hosts] = min(number, least[name].get(case.hosts, number))
    harmless = [name for name, parts in least.items() if min(parts.values()) >= alone]
    yield from head("behaviour", *(f"beside {hosts}" for hosts in CROWDS))
    for name, parts in least.items():
        if name not in harmless:
            yield row(name, *(f"{parts[hosts] / alone:.0%}" for hosts in CROWDS))
    if harmless:
        yield row(", ".join(harmless), *("100%" for _ in CROWDS))
