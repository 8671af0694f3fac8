"""Linux control groups, which limit the processor time of a group of processes.

Law: no group is left behind, even after an error.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from tests.bench.processes import cpu_s_of
from tests.memory import memory_bytes

PERIOD_US = 50_000
_ROOT = Path("/sys/fs/cgroup")
_FIRST = _ROOT / "cpu"
"""Hierarchy of the processor in version 1, which has one for each resource."""
_POLL_S, _PATIENCE = 0.05, 200


class ControlGroup:
    """Control group. Children of its processes belong to it as well."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def limit(self, cores: float) -> None:
        """Limit the group to a number of cores."""
        quota_us = int(cores * PERIOD_US)
        if _is_first_version():
            (self.folder / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            (self.folder / "cpu.cfs_quota_us").write_text(str(quota_us))
        else:
            (self.folder / "cpu.max").write_text(f"{quota_us} {PERIOD_US}")

    def add(self, process: int) -> None:
        """Move a process into the group."""
        (self.folder / "cgroup.procs").write_text(str(process))

    @property
    def processes(self) -> list[int]:
        """Ids of the processes in the group."""
        return [int(one) for one in (self.folder / "cgroup.procs").read_text().split()]

    def cpu_s(self) -> float:
        """Return the processor time of the running processes."""
        return sum(map(cpu_s_of, self.processes))

    def memory_bytes(self) -> int:
        """Return the proportional memory of the processes, which counts shared pages once."""
        return sum(memory_bytes("Pss", one, "smaps_rollup") for one in self.processes)


@contextmanager
def control_group(name: str) -> Iterator[ControlGroup]:
    """Make an empty group. Its processes must end before the block does."""
    root = _FIRST if _is_first_version() else _ROOT
    if not _is_first_version() and "cpu" not in _handed_down():
        raise click.UsageError("this machine has no control groups for processors")
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
