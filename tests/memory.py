"""Peak memory of this process."""

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
    before = _peak_bytes()
    yield
    grown = _peak_bytes() - before
    assert grown < most_bytes, f"{grown:,} bytes"


def _peak_bytes() -> int:
    lines = Path("/proc/self/status").read_text("ascii", "replace").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) * 1024
