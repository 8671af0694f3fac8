"""Run mutated inputs through all readers in turn, and count failures."""

import time
import traceback
from dataclasses import dataclass, field
from random import Random

from tests.proofs.fuzz.mutation import mutated
from tests.proofs.fuzz.readers import READERS, Reader
from tests.proofs.fuzz.seeds import seeds

_MOST_SHOWN = 5  # failures of a reader


@dataclass(slots=True)
class Tally:
    """Inputs, times and failures of a reader."""

    inputs: int = 0
    seconds: float = 0.0
    slowest_s: float = 0.0
    failures: int = 0
    shown: list[str] = field(default_factory=list)

    def count(self, elapsed_s: float, failure: str | None) -> None:
        self.inputs += 1
        self.seconds += elapsed_s
        self.slowest_s = max(self.slowest_s, elapsed_s)
        if failure:
            self.failures += 1
            self.shown = [*self.shown, failure][:_MOST_SHOWN]


def drive(inputs: int, seed: int) -> dict[str, Tally]:
    """Run the inputs. Each depends on the seed and its number alone, so that it can be repeated."""
    begins = seeds()
    tallies = {name: Tally() for name in READERS}
    names = list(READERS)
    for number in range(inputs):
        name = names[number % len(names)]
        random = Random(f"{seed}/{number}")
        body = mutated(begins, random)
        began = time.perf_counter()
        failure = failure_of(READERS[name], body, random)
        elapsed_s = time.perf_counter() - began
        tallies[name].count(elapsed_s, failure and f"input {number}: {failure}")
    return tallies


def failure_of(reader: Reader, body: bytes, random: Random) -> str | None:
    """Return the exception that the reader raised and its input, or None."""
    try:
        reader(body, random)
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"{error!r} in {last.name}, line {last.lineno}, for {body!r}"
    return None
