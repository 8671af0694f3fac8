"""Calls that fail: each n-th write, sync, rename and so on of a crawl, once or from then on.

A crawl that meets a fault ends with an error of one line, or goes on. On a full disk it waits; then
the disk gets room again. What is left is judged as after a power failure (`crawls`).
"""

import errno
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from itertools import product
from pathlib import Path
from random import Random
from typing import NamedTuple

from tests.proofs.crash.killing import PATIENCE_S
from tests.proofs.crash.web import Server
from tests.proofs.disk.blocks import changes
from tests.proofs.disk.crawls import DiskCrawls
from tests.proofs.disk.shim import Fault, WatchedFolder

KINDS = ("write", "sync", "rename", "truncate", "create", "remove", "mkdir")
_ERRORS = (errno.EIO, errno.ENOSPC)
_WAITS = "waits for free space"
_ENDS_EVERY = 4
_POLL_S = 0.05


class FaultyRun(NamedTuple):
    """Fault of a run, its exit code, and what is wrong after it."""

    fault: Fault
    exit_code: int
    wrong: list[str]


class FaultyCrawls:
    """Crawls of one web, each of which meets one fault."""

    def __init__(self, server: Server, folder: Path, seed: int) -> None:
        self._rng, self._beside, self._folder = Random(seed), folder, folder / "crawl"
        self._folder.mkdir()
        self._crawls = DiskCrawls(server, self._folder, seed)

    def faults(self, count: int) -> list[Fault]:
        """Return random faults; calls of each kind have the same share of them."""
        watched = WatchedFolder(self._folder, self._beside)
        assert self._crawls.start(watched.environment()).wait() == 0
        most = Counter(change.kind.name.lower() for change in changes(watched.log()))
        turns = product(_ERRORS, (False, True), KINDS)
        planned = [turn for _, turn in zip(range(count), _repeated(list(turns)), strict=False)]
        return [
            Fault(kind, self._rng.randint(1, most[kind]), error, lasts)
            for error, lasts, kind in planned
        ]

    def meet(self, fault: Fault, *, ends: bool) -> FaultyRun:
        """Run a crawl that meets the fault, and judge what is left, after its end if `ends`."""
        self._crawls.clear()
        exit_code = self._run(fault)
        said = (self._folder / "stderr").read_text("utf-8")
        wrong = self._crawls.judged(ends=ends)
        # Uvloop, logging and the like would print several lines.
        if re.search(r"Traceback|^  File", said, re.MULTILINE):
            wrong.append(f"it said: {said}")
        return FaultyRun(fault, exit_code, wrong)

    def _run(self, fault: Fault) -> int:
        """Return the exit code."""
        watched = WatchedFolder(self._folder, self._beside)
        stderr = self._folder / "stderr"
        stderr.write_text("", "utf-8")  # made here: the fault is one of the crawl's own files
        child = self._crawls.start(watched.environment(fault))
        try:
            for _ in range(round(PATIENCE_S / _POLL_S)):
                with suppress(subprocess.TimeoutExpired):
                    return child.wait(_POLL_S)
                if _WAITS in stderr.read_text("utf-8"):
                    watched.mend()
            raise AssertionError(f"{fault}: the crawl does not end")
        finally:
            child.kill()
            child.wait()


def _repeated(turns: list[tuple[int, bool, str]]) -> Iterator[tuple[int, bool, str]]:
    while True:
        yield from turns


def meet_faults(server: Server, folder: Path, count: int, seed: int) -> Iterator[FaultyRun]:
    """Yield the outcomes of `count` crawls, each of which meets a fault."""
    crawls = FaultyCrawls(server, folder, seed)
    for number, fault in enumerate(crawls.faults(count)):
        yield crawls.meet(fault, ends=number % _ENDS_EVERY == 0)
