"""Memory limits hold, large arrays and cycles are freed, and usage is measured."""

import gc
import os
import resource
import select
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

import minicrawl
from minicrawl.memory import measures
from minicrawl.memory.child_interpreter import OWN_PYTHON
from minicrawl.memory.garbage_collector import GC_THRESHOLDS, RareGarbageCollection
from tests.processes import PATIENCE_S, killed_on_failure

CHILDREN = 6
"""Children of a crawl with two workers, each with a parser, that indexes and draws samples."""

only_glibc = pytest.mark.skipif(sys.platform != "linux", reason="a setting of glibc")


def printed(program: str) -> list[str]:
    """Run a program in a process of its own, whose memory nothing else uses."""
    modules = ("allocator", "child_interpreter", "garbage_collector", "limits", "measures")
    code = "".join(f"from minicrawl.memory.{module} import *\n" for module in modules) + program
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.slow
def test_no_child_imports_a_module_of_the_current_folder(tmp_path: Path) -> None:
    stranger = "import os, sys; print(sys.orig_argv, file=open('imported', 'a')); os._exit(9)"
    for name in ("json", "lxml", "numpy", "zstandard", "selectolax"):
        (tmp_path / f"{name}.py").write_text(stranger, encoding="utf-8")
    crawl = "crawl --demo --pages 5 --workers 1 --index --graph-stats --quiet --store crawl.db"
    for command in (crawl, "export pages.jsonl --with markdown --store crawl.db"):
        call = [*OWN_PYTHON, "-m", "minicrawl", *command.split()]
        subprocess.run(call, cwd=tmp_path, check=True)
    assert not (tmp_path / "imported").exists()


def test_every_child_runs_the_own_interpreter() -> None:
    package = Path(minicrawl.__file__).parent
    found = {path for path in package.rglob("*.py") if "sys.executable" in path.read_text("utf-8")}
    assert found == {package / "memory" / "child_interpreter.py"}


@pytest.mark.slow
def test_children_of_a_killed_crawl_end_with_it_even_if_they_are_busy(tmp_path: Path) -> None:
    flags = "--demo-pages 100000 --workers 2 --index --graph-stats --quiet --store crawl.db"
    command = [*OWN_PYTHON, "-m", "minicrawl", "crawl", "--demo", *flags.split()]
    handles = dict[int, int]()
    with killed_on_failure(subprocess.Popen(command, cwd=tmp_path)) as crawl:
        while len(children := [*filter(_has_begun, measures.descendants(crawl.pid))]) < CHILDREN:
            assert crawl.poll() is None
        try:
            for child in children:
                handles[child] = os.pidfd_open(child)
                # A stopped process reads no pipe, as one that parses or indexes for long.
                signal.pidfd_send_signal(handles[child], signal.SIGSTOP)
            crawl.kill()
            for child, handle in handles.items():
                assert select.select([handle], [], [], PATIENCE_S)[0], child
        finally:
            for handle in handles.values():
                with suppress(ProcessLookupError):
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
                os.close(handle)


def _has_begun(child: int) -> bool:
    """Return True if the process has loaded libraries for its work.

    A fork has them at once, but a session of its own once it has asked to end with its parent.
    """
    with suppress(OSError):
        maps = Path(f"/proc/{child}/maps").read_text()
        return os.getsid(child) == child and "site-packages" in maps
    return False


def test_a_child_whose_parent_has_ended_already_does_nothing() -> None:
    program = "end_with(os.getppid() + {}, signal.SIGKILL); print('goes on')"
    assert printed(program.format(0)) == ["goes", "on"]
    with pytest.raises(subprocess.CalledProcessError):
        printed(program.format(1))


@pytest.mark.parametrize(
    ("earlier", "limit"), [(resource.RLIM_INFINITY, 1 << 29), (1 << 28, 1 << 28)]
)
def test_a_limit_holds_and_never_raises_an_earlier_one(earlier: int, limit: int) -> None:
    program = f"""
resource.setrlimit(resource.RLIMIT_AS, ({earlier}, resource.RLIM_INFINITY))
limit_memory(1 << 29)
print(resource.getrlimit(resource.RLIMIT_AS)[0])
try:
    bytes(1 << 30)
except MemoryError:
    print("refused")
"""
    assert printed(program) == [str(limit), "refused"]


@only_glibc
def test_large_arrays_leave_no_holes() -> None:
    program = """
mmap_large_arrays()
bytearray(b"1" * 30_000_000)  # glibc would take the next ones from the heap
before = resident_bytes()
arrays = [bytearray(b"1" * 1_000_000) for _ in range(50)]
del arrays[:-1]
print(resident_bytes() - before)
"""
    assert int(printed(program)[0]) < 5_000_000


@only_glibc
@pytest.mark.parametrize(("large", "size"), [("", 100_000), ("LARGER_THAN_BODIES", 1_000_000)])
def test_memory_of_one_page_is_used_by_the_next(large: str, size: int) -> None:
    """Memory that went back to the kernel would cost the next page a fault for each 4 KiB."""
    program = f"""
mmap_large_arrays({large})

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(100):
        page = [bytes([1]) * {size} for _ in range(3)]
        del page
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

faults()
print(faults())
"""
    assert int(printed(program)[0]) < 1_000


def test_cycles_are_freed_without_a_search_among_loaded_objects() -> None:
    program = """
freeze_loaded_objects()
before = len(gc.get_objects())
for _ in range(500_000):
    cycle = []
    cycle.append(cycle)
print(before, len(gc.get_objects()))
"""
    before, left = map(int, printed(program))
    assert before < 100
    assert left < 3_000


def test_searches_are_rare_until_the_last_crawl_has_ended_or_failed() -> None:
    before, search = gc.get_threshold(), RareGarbageCollection()
    with search.during_a_crawl():
        with pytest.raises(ZeroDivisionError), search.during_a_crawl():
            _ = 1 / 0
        assert gc.get_threshold() == GC_THRESHOLDS != before
        assert gc.get_freeze_count()
    assert (gc.get_threshold(), gc.get_freeze_count()) == (before, 0)


def test_processes_are_asleep_unless_a_thread_of_them_runs_or_waits(tmp_path: Path) -> None:
    def told(pid: int, parent: int, *threads: str) -> None:
        for tid, state in enumerate(threads, pid):
            (folder := tmp_path / str(pid) / "task" / str(tid)).mkdir(parents=True, exist_ok=True)
            for place in (folder, folder.parents[1]) if tid == pid else (folder,):
                (place / "stat").write_text(f"{tid} (a) b) {state} {parent} 0")

    told(1, 0, "R")
    told(20, 1, "S", "S")
    told(30, 20, "S", "I")
    (tmp_path / "40").mkdir()
    (tmp_path / "40" / "stat").write_text("40 (ends) S 20 0")
    assert measures.are_asleep(1, tmp_path)
    for state in "RD":
        told(30, 20, "S", state)
        assert not measures.are_asleep(1, tmp_path)


def test_without_proc_the_peak_is_resident_and_descendants_use_nothing(tmp_path: Path) -> None:
    absent = tmp_path / "absent"
    assert measures.resident_bytes(absent) > 0.9 * measures.resident_bytes()
    assert measures.descendants(os.getpid(), absent) == []
    assert measures.resource_usage(os.getpid(), absent) == (0, 0)
    measures.kill_descendants(os.getpid(), absent)
