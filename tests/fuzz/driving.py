"""Driving: so many inputs for the readers in turn, and what came of it."""

import time
import traceback
from dataclasses import dataclass, field
from random import Random

from tests.fuzz.mutation import mutated
from tests.fuzz.readers import READERS, Reader
from tests.fuzz.seeds import seeds

_MOST_KEPT = 5  # of the failures of a reader; one is enough to begin with


@dataclass(slots=True)
class Tally:
    """What came of one reader."""

    inputs: int = 0
    seconds: float = 0.0
    slowest_s: float = 0.0
    failures: int = 0
    told: list[str] = field(default_factory=list)

    def count(self, elapsed_s: float, failure: str | None) -> None:
        self.inputs += 1
        self.seconds += elapsed_s
        self.slowest_s = max(self.slowest_s, elapsed_s)
        if failure:
            self.failures += 1
            self.told = [*self.told, failure][:_MOST_KEPT]


def drive(inputs: int, seed: int) -> dict[str, Tally]:
    """Each input is drawn from the seed and its own number, so that it can be had again."""
    begins = seeds()
    tallies = {name: Tally() for name in READERS}
    names = list(READERS)
    for number in range(inputs):
        name = names[number % len(names)]
        random = Random(f"{seed}/{number}")
        body = mutated(begins, random)
        began = time.perf_counter()
        failure = failure_of(READERS[name], body, random)
        told = failure and f"input {number}: {failure}"
        tallies[name].count(time.perf_counter() - began, told)
    return tallies


def failure_of(reader: Reader, body: bytes, random: Random) -> str | None:
    """What the reader raised, and for which bytes; None if it kept its laws."""
    try:
        reader(body, random)
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"{error!r} in {last.name}, line {last.lineno}, for {body!r}"
    return None
