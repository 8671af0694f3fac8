"""Lots: a number for each page, drawn by chance, the same in every run."""

from collections.abc import Iterator
from random import Random


def lots() -> Iterator[int]:
    """Those of all pages, in the order of their birth."""
    rng = Random(0)
    while True:
        yield rng.getrandbits(62)
