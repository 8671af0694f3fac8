"""Memory of a large array or a circle of objects is given back, and what is taken is known."""

import gc
import subprocess
import sys
from pathlib import Path

import pytest

from minicrawl.crawl import process_memory
from minicrawl.crawl.process_memory import CYCLES_AFTER, RareCycleSearch

RESIDENT = """
from minicrawl.crawl.process_memory import keep_large_arrays_apart, resident

keep_large_arrays_apart()
bytearray(b"1" * 30_000_000)  # glibc would take the next ones from the heap
before = resident()
arrays = [bytearray(b"1" * 1_000_000) for _ in range(50)]
del arrays[:-1]
print(resident() - before)
"""
ANEW = """
import resource
from minicrawl.crawl.process_memory import keep_large_arrays_apart

keep_large_arrays_apart()


def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(100):
        page = [bytes([1]) * 100_000 for _ in range(3)]
        del page
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


faults()
print(faults())
"""
TAKEN = """
from minicrawl.crawl.process_memory import resident

before = resident()
array = bytearray(b"1") * 50_000_000
print(resident() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc alone needs it")
def test_large_arrays_leave_no_holes() -> None:
    assert int(printed(RESIDENT)) < 5_000_000


@pytest.mark.skipif(sys.platform != "linux", reason="glibc alone needs it")
def test_what_one_page_frees_the_next_one_takes() -> None:
    """Without that each of them has a fault for each 4 KiB."""
    assert int(printed(ANEW)) < 1_000


def printed(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return done.stdout


def test_what_a_process_takes_is_what_an_array_adds() -> None:
    """Of a process of its own: what other tests left behind could make room for it."""
    assert 45_000_000 < int(printed(TAKEN)) < 55_000_000


def test_where_that_is_not_told_it_is_the_most_that_was_taken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    now = process_memory.resident()
    monkeypatch.setattr(process_memory, "_STATM", tmp_path / "absent")
    assert process_memory.resident() > 0.9 * now


CIRCLES = """
import gc
from minicrawl.crawl.process_memory import look_for_cycles_among_what_comes

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


def test_the_search_for_cycles_is_rare_until_the_last_crawl_has_ended() -> None:
    before, search = gc.get_threshold(), RareCycleSearch()
    first, second = search.during_a_crawl(), search.during_a_crawl()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert gc.get_threshold() == CYCLES_AFTER != before
    second.__exit__(None, None, None)
    assert gc.get_threshold() == before


def test_a_crawl_that_fails_restores_the_search_for_cycles() -> None:
    before = gc.get_threshold()
    with pytest.raises(ZeroDivisionError), RareCycleSearch().during_a_crawl():
        _ = 1 / 0
    assert gc.get_threshold() == before
