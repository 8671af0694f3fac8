"""All pairs of behaviours, on few and many addresses, in simulated time."""

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
    """One run: the behaviour of a row, and the other ones of its strange hosts."""

    name: str
    others: Sequence[str]
    hosts: str
    addresses: int

    def neighbours(self, seed: int) -> Neighbours:
        seeds, led_to = CROWDS[self.hosts]
        names = (self.name, *self.others) if self.name in BEHAVIOURS else (*BEHAVIOURS,)
        return Neighbours(names, seeds, led_to, self.addresses, seed)


def cases(partners: int, random: Random) -> Iterator[Case]:
    """Yield the runs of each behaviour with so many others, itself among them."""
    for name in (*BEHAVIOURS, _ALL):
        for hosts in CROWDS:
            for addresses in ADDRESSES:
                if name not in BEHAVIOURS:
                    yield Case(name, (), hosts, addresses)
                    continue
                for other in random.sample(list(BEHAVIOURS), min(partners, len(BEHAVIOURS))):
                    yield Case(name, () if other == name else (other,), hosts, addresses)


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
    least: dict[str, dict[str, int]] = {case.name: {} for case in requests}
    for case, number in requests.items():
        parts = least[case.name]
        parts[case.hosts] = min(number, parts.get(case.hosts, number))
    harmless = [name for name, parts in least.items() if min(parts.values()) >= alone]
    yield from head("behaviour", *(f"beside {hosts}" for hosts in CROWDS))
    for name, parts in least.items():
        if name not in harmless:
            yield row(name, *(f"{parts[hosts] / alone:.0%}" for hosts in CROWDS))
    if harmless:
        yield row(", ".join(harmless), *("100%" for _ in CROWDS))
