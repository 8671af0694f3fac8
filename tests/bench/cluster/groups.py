"""Control groups of Linux: the processes of a group together get at most so much of a core.

Law: whatever happens, no group is left behind.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from tests.bench.manuals import cpu_s_of

PERIOD_US = 50_000
_ROOT = Path("/sys/fs/cgroup")
_FIRST = _ROOT / "cpu"
"""Version 1 has a hierarchy for each resource."""
_POLL_S, _PATIENCE = 0.05, 200
_KIB = 1024


class ControlGroup:
    """One of them. What a process of it starts is in it as well."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def hold(self, cores: float) -> None:
        """No more than that, from now on."""
        quota_us = int(cores * PERIOD_US)
        if _is_first_version():
            (self.folder / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            (self.folder / "cpu.cfs_quota_us").write_text(str(quota_us))
        else:
            (self.folder / "cpu.max").write_text(f"{quota_us} {PERIOD_US}")

    @property
    def processes(self) -> list[int]:
        """Their ids."""
        return [int(one) for one in (self.folder / "cgroup.procs").read_text().split()]

    def cpu_s(self) -> float:
        """What the processes that are there have used so far."""
        return sum(map(cpu_s_of, self.processes))

    def memory_bytes(self) -> int:
        """What they hold; a page that several of them share counts once, if no others have it."""
        return sum(map(_share_of_memory, self.processes))


@contextmanager
def control_group(name: str) -> Iterator[ControlGroup]:
    """A group without processes. All that were in it have ended when this is left."""
    root = _FIRST if _is_first_version() else _ROOT
    if not _is_first_version() and "cpu" not in _handed_down():
        raise click.UsageError(
            "this machine has no control groups that hold processes to a part of it"
        )
    group = ControlGroup(root / f"minicrawl-{os.getpid()}-{name}")
    group.folder.mkdir()
    try:
        yield group
    finally:
        for _ in range(_PATIENCE):
            if not group.processes:
                break
            time.sleep(_POLL_S)
        group.folder.rmdir()


def _is_first_version() -> bool:
    return (_FIRST / "cpu.cfs_quota_us").exists()


def _handed_down() -> list[str]:
    control = _ROOT / "cgroup.subtree_control"
    return control.read_text().split() if control.exists() else []


def _share_of_memory(process: int) -> int:
    for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * _KIB
    return 0
