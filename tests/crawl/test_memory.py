"""Memory that a large array took is given back when it is."""

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
