"""Long experiments beside the measurement of coverage, under which they take three times as long.

Law: what runs unmeasured is covered by other tests; the floors of coverage see to that.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from coverage import Coverage


def without_measuring(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment of a process of which nothing is counted as covered."""
    return {name: value for name, value in environment.items() if not name.startswith("COVERAGE")}


@contextmanager
def unmeasured_processes() -> Iterator[None]:
    """Of the processes that are started in here, nothing is counted as covered."""
    environment = dict(os.environ)
    for name in environment.keys() - without_measuring(environment):
        del os.environ[name]
    try:
        yield
    finally:
        os.environ.update(environment)


@contextmanager
def unmeasured() -> Iterator[None]:
    """Nothing is counted as covered in here."""
    measuring = Coverage.current()
    if measuring is None:
        yield
        return
    measuring.stop()
    try:
        yield
    finally:
        measuring.start()
