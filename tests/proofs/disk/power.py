"""Power failures at random moments of a crawl: what the disk may hold then is resumed and judged.

A crawl is killed twice and resumed, with its search index brought up to date each time, while all
changes to its folder are recorded. Every cut replays the record up to some change, builds one of
the states that the disk may have then (`blocks`), and judges it (`crawls`).
"""

from collections.abc import Iterator
from pathlib import Path
from random import Random

from minicrawl import MinicrawlError
from tests.proofs.crash.web import Server
from tests.proofs.disk.blocks import Change, Kind, RecordedDisk, changes
from tests.proofs.disk.crawls import DONE, DiskCrawls
from tests.proofs.disk.shim import WatchedFolder

_CUTS_A_RECORD = 100
_ENDS_EVERY = 10
"""Number of cuts of which one is resumed to the end of the crawl."""
_DIES_AT = (100, 4_000)
"""Range of the moment of a kill, in hundreds of SQLite instructions."""


class PowerCuts:
    """Record of one crawl, and its cuts."""

    def __init__(self, server: Server, folder: Path, seed: int) -> None:
        self._rng, self._folder = Random(seed), folder / "crawl"
        self._folder.mkdir()
        self._crawls = DiskCrawls(server, self._folder, seed)
        watched = WatchedFolder(self._folder, folder)
        for dies_at in (*(self._rng.randint(*_DIES_AT) for _ in range(2)), 0):
            code = self._crawls.start(watched.environment(), dies_at).wait()
            assert code in (0, -9), code
        self._changes = list(changes(watched.log()))

    def judged(self, cuts: int) -> Iterator[list[str]]:
        """Cut the power `cuts` times, and yield what is wrong after each."""
        disk, done, rng = RecordedDisk(self._folder), 0, self._rng
        for number, moment in enumerate(sorted(self._moments(cuts))):
            for change in self._changes[done:moment]:
                disk.apply(change)
            done = moment
            self._crawls.clear()
            disk.write_torn(rng, self._folder)
            # What was done until then is known, whatever the disk has of it.
            for log in (self._crawls.crawls.commits, self._crawls.crawls.commits.with_suffix(DONE)):
                log.write_bytes(disk.latest(log.name))
            wrong = self._wrong(ends=number % _ENDS_EVERY == 0)
            yield [f"cut {number} before change {moment}: {one}" for one in wrong]

    def _wrong(self, *, ends: bool) -> list[str]:
        try:
            return [*self._crawls.lost_commits(), *self._crawls.judged(ends=ends)]
        except MinicrawlError as error:
            return [str(error)]

    def _moments(self, cuts: int) -> Iterator[int]:
        """Yield moments, half of them beside a change that is not a plain write."""
        others = [at for at, change in enumerate(self._changes) if _is_rare(change)]
        for _ in range(cuts):
            if self._rng.random() < 0.5:
                yield self._rng.randint(0, len(self._changes))
            else:
                yield self._rng.choice(others) + self._rng.randint(0, 1)


def _is_rare(change: Change) -> bool:
    return change.kind is not Kind.WRITE


def cut_power(server: Server, folder: Path, cuts: int, seed: int) -> Iterator[list[str]]:
    """Yield what is wrong after each of `cuts` power failures, in crawls of several webs."""
    for number, left in enumerate(range(cuts, 0, -_CUTS_A_RECORD)):
        place = folder / str(number)
        place.mkdir()
        yield from PowerCuts(server, place, seed + number).judged(min(left, _CUTS_A_RECORD))
