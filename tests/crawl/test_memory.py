"""Memory that a large array or a circle of objects took is given back when it is."""

import subprocess
import sys

import pytest

RESIDENT = """
from pathlib import Path
from minicrawl.crawl.memory import keep_large_arrays_apart


def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


keep_large_arrays_apart()
bytearray(b"1" * 30_000_000)  # glibc would take the next ones from the heap
before = resident()
arrays = [bytearray(b"1" * 1_000_000) for _ in range(50)]
del arrays[:-1]
print(resident() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc alone needs it")
def test_large_arrays_leave_no_holes() -> None:
    done = subprocess.run(
        [sys.executable, "-c", RESIDENT], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 5_000_000


CIRCLES = """
import gc
from minicrawl.crawl.memory import look_for_cycles_among_what_comes

look_for_cycles_among_what_comes()
there = len(gc.get_objects())
for _ in range(500_000):
    circle = []
    circle.append(circle)
print(there, len(gc.get_objects()))
"""


def test_circles_are_found_and_nobody_looks_at_what_was_there_before() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CIRCLES], capture_output=True, text=True, check=True
    )
    there, left = map(int, done.stdout.split())
    assert there < 100
    assert left < 3_000
