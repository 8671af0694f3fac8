"""Memory of processes, as Linux counts it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def limited_growth(most_bytes: int) -> Iterator[None]:
    """Assert that the peak memory of this process grows by less than a number of bytes.

    `ru_maxrss` would not do: it is the peak since the process started, so that an earlier test
    with a higher peak would hide any growth.
    """
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    before = memory_bytes("VmHWM")
    yield
    grown = memory_bytes("VmHWM") - before
    assert grown < most_bytes, f"{grown:,} bytes"


def memory_bytes(name: str, process: int | str = "self", file: str = "status") -> int:
    """Return the peak memory (VmHWM), or another figure, of a process that may have ended."""
    try:
        lines = Path(f"/proc/{process}/{file}").read_text("ascii", "replace").splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    found = (int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))
    return 1024 * next(found, 0)
