"""Ranks are computed while a crawl has time to spare, and when it is over."""

import asyncio
import os
import signal
import threading
from collections.abc import Callable
from contextlib import closing
from itertools import count
from pathlib import Path
from time import process_time
from typing import Any

import pytest

from minicrawl import Crawl, Ended, Event, Reason, Warned
from minicrawl.app import SystemClock
from minicrawl.crawl import refinement
from minicrawl.crawl.events import Converged, Converging
from minicrawl.crawl.progress import ImportanceLimit
from minicrawl.crawl.refinement import (
    LastConvergence,
    Load,
    has_changed,
    has_time,
    kept_fresh,
    refine,
    spare_s,
    waited,
)
from minicrawl.errors import DamagedStore, StoreError
from minicrawl.frontier.importance import UNTIL
from minicrawl.report.audit import audit
from minicrawl.report.crawl_status import status
from minicrawl.store import tables
from minicrawl.store.derived import OPIC, OPIC_SITES, beside, kept_ranks, reading_beside
from minicrawl.store.reader import reading
from minicrawl.store.records import Batch
from minicrawl.store.writer import StoreWriter
from tests.crawl.fakes import keeping
from tests.crawl.refined_stores import a_store
from tests.limits import settings_of
from tests.stores import A, B, C, HandCrawl

PATIENCE_S = 60.0


def test_idle_time_and_time_for_work_of_low_priority_are_spare() -> None:
    second = os.sysconf("SC_CLK_TCK")
    lines = [
        f"cpu  {9 * second} {9 * second} 0 {9 * second} 0 0 0",
        f"cpu0 {3 * second} {1 * second} 0 {2 * second} {5 * second} 0 0",
        f"cpu1 {3 * second} 0 0 {4 * second} 0 0 0",
        f"cpu2 0 0 0 {7 * second} 0 0 0",
        "intr 12345",
    ]
    assert spare_s(lines, {0, 1}, (2, 4)) == 1 + 2 + 4
    assert spare_s(lines, {2}, (2, 4)) == 7
    assert spare_s((), {0}, (2, 4)) == 0


def test_for_a_crawl_of_low_priority_only_idle_time_is_spare(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A line of /proc/stat has times for user, nice, system and idle."""
    tick = os.sysconf("SC_CLK_TCK")
    lines = [f"cpu{core} 9 {3 * tick} 9 {5 * tick}\n" for core in os.sched_getaffinity(0)]
    (tmp_path / "stat").write_text("".join(lines))
    monkeypatch.setattr("minicrawl.crawl.refinement._STAT", tmp_path / "stat")
    for nice, spare in ((0, 8), (5, 5)):
        monkeypatch.setattr(os, "nice", lambda _more, nice=nice: nice)
        assert Load.measured(7.0).spare_s == spare * len(lines)


def test_waiting_for_a_core_counts_as_busy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert waited("") == 0
    assert waited("5000000 2500000000 17\n") == 2.5
    (tmp_path / "schedstat").write_text("1 3000000000 2\n")
    monkeypatch.setattr("minicrawl.crawl.refinement._SCHEDULED", tmp_path / "schedstat")
    began = process_time()
    assert 3 + began <= Load.measured(7.0).own_s <= 3 + process_time()


@pytest.mark.parametrize(
    ("own_s", "spare", "answer"),
    [
        pytest.param(0.2, 1.5, True, id="both are calm"),
        pytest.param(1.0, 1.0, True, id="half of the time is calm enough"),
        pytest.param(1.2, 1.5, False, id="the loop is busy"),
        pytest.param(0.2, 0.9, False, id="the cores are busy"),
    ],
)
def test_there_is_time_while_loop_and_cores_are_calm(
    own_s: float, spare: float, *, answer: bool
) -> None:
    before = Load(at=100.0, own_s=50.0, spare_s=70.0)
    assert has_time(before, Load(102.0, 50.0 + own_s, 70.0 + spare)) is answer


def test_without_statistics_of_the_cores_there_is_no_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a system may also lack the call that tells which cores a process may use."""
    monkeypatch.setattr(refinement, "_STAT", tmp_path / "nothing")
    monkeypatch.delattr(os, "sched_getaffinity")
    assert not has_time(Load.measured(0.0), Load.measured(1.0))


def test_more_than_two_in_a_hundred_new_steps_are_a_change() -> None:
    assert has_changed(0, 1)
    assert has_changed(97, 100)
    assert not has_changed(98, 100)
    assert not has_changed(0, 0)


async def seen_within_patience(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not is_so():
            await asyncio.sleep(0.01)


def fresh(path: Path, is_so: Callable[[], bool], **storing: Any) -> None:
    """Keep the ranks of a store fresh until `is_so()`."""
    settings = settings_of(store=path, **storing)

    async def work() -> None:
        with keeping(path) as recorder:
            async with kept_fresh(settings.storing, recorder, SystemClock()):
                await seen_within_patience(is_so)

    asyncio.run(work())


def always(*_: object) -> bool:
    return True


@pytest.fixture
def with_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refinement, "LOOK_EVERY_S", 0.0)
    monkeypatch.setattr(refinement, "FEWEST_STEPS", 1)
    monkeypatch.setattr(refinement, "has_time", always)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return a_store(tmp_path / "crawl.db")


def are_ranks_complete(path: Path) -> bool:
    found = status(path).convergence
    return found is not None and found.is_complete


@pytest.mark.usefixtures("with_time")
def test_another_process_computes_ranks_while_the_crawl_has_the_store(path: Path) -> None:
    fresh(path, lambda: are_ranks_complete(path))
    found = status(path).convergence
    assert found is not None
    assert found.error_bound <= UNTIL
    with reading(path) as connection, reading_beside(path, connection) as derived:
        pages, sites = kept_ranks(derived)
    assert (pages.name, sites.name) == (OPIC, OPIC_SITES)
    assert pages.step == sites.step


_SLEEPER = """
import os, sys, time
open(sys.argv[1] + "-pid", "w").write(str(os.getpid()))
time.sleep(600)
"""


@pytest.mark.parametrize("converge", [True, False])
def test_guaranteed_importance_is_proven_even_without_time_to_spare(
    path: Path, monkeypatch: pytest.MonkeyPatch, *, converge: bool
) -> None:
    """Nor does a short log prevent the proof, and the next run need not wait for it."""
    monkeypatch.setattr(refinement, "LOOK_EVERY_S", 0.0)
    monkeypatch.setattr(refinement, "has_time", lambda *_: False)
    with closing(StoreWriter.open(path)) as store:
        store.commit(Batch(counters=tables.counters(store.connection) | {tables.ENDOWED: [2]}))
    storing = settings_of(store=path, converge=converge).storing

    async def work(*, is_first: bool) -> float:
        with keeping(path) as recorder:
            limit = ImportanceLimit("1% guaranteed", recorder)
            async with kept_fresh(storing, recorder, SystemClock(), proves=True):
                limit.look(0)
                assert limit.is_reached is not is_first
                await seen_within_patience(lambda: recorder.counters.number(tables.GUARANTEED) > 0)
            limit.look(0)
            assert limit.is_reached
            return recorder.counters.number(tables.GUARANTEED)

    found = asyncio.run(work(is_first=True))
    assert found == status(path).importance_guaranteed == asyncio.run(work(is_first=False))


@pytest.mark.usefixtures("with_time")
def test_the_end_of_a_crawl_kills_the_process(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refinement, "_CODE", _SLEEPER)
    told = path.with_name("crawl.db-pid")
    fresh(path, lambda: told.exists() and bool(told.read_text()))
    with pytest.raises(ProcessLookupError):
        os.kill(int(told.read_text()), 0)


def test_a_process_is_killed_after_too_long(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refinement, "_CODE", "import time; time.sleep(600)")
    monkeypatch.setattr(refinement, "MOST_S", 0.1)
    assert not asyncio.run(refinement._refine_beside(path))


@pytest.mark.usefixtures("with_time")
def test_no_failed_process_restarts_at_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[Path] = []

    async def fails(store: Path, _most_s: float | None) -> bool:
        begun.append(store)
        return False

    looks = iter(range(1000))
    monkeypatch.setattr(refinement, "_refine_beside", fails)
    fresh(path, lambda: next(looks) == 50)
    assert begun == [path]


@pytest.mark.usefixtures("with_time")
@pytest.mark.parametrize(
    ("limit", "storing"),
    [
        pytest.param({"FEWEST_STEPS": 10_000}, {}, id="reports converge the ranks themselves"),
        pytest.param({"MOST_PAGES": 79}, {}, id="the store is too large"),
        pytest.param({}, {"converge": False}, id="nobody wants it"),
        pytest.param({}, {"links": False}, id="there are no links"),
    ],
)
def test_no_process_is_started_for_ranks_of_no_use(
    limit: dict[str, int], storing: dict[str, Any], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = iter(range(1000))
    for name, value in ({"_refine_beside": None} | limit).items():
        monkeypatch.setattr(refinement, name, value)
    fresh(path, lambda: next(looks) == 50, **storing)


def test_the_process_has_the_lowest_priority(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    niced: list[int] = []
    monkeypatch.setattr(os, "nice", niced.append)
    monkeypatch.setattr("sys.argv", ["-c", str(path)])
    refinement.main()
    assert niced == [19]
    assert are_ranks_complete(path)


class StillClock:
    """A clock that shows these times one after the other, then the last one for ever."""

    def __init__(self, *times: float) -> None:
        self._times = list(times)

    def now(self) -> float:
        return self._times.pop(0) if len(self._times) > 1 else self._times[0]

    def today(self) -> float:
        return self.now()


def converged(path: Path, clock: StillClock, ran_s: float = 0.0) -> list[Event]:
    heard: list[Event] = []
    asyncio.run(LastConvergence(path, clock, heard.append).run(ran_s))
    return heard


def test_the_last_convergence_reports_its_progress_and_its_result(path: Path) -> None:
    *on_the_way, last = converged(path, StillClock(0.0))
    shares = [event.done for event in on_the_way if isinstance(event, Converging)]
    assert len(shares) == len(on_the_way) > 5
    assert shares == sorted(shares)
    assert isinstance(last, Converged)
    assert last.is_complete
    assert last.error_bound is not None
    assert last.error_bound <= UNTIL


def test_a_damaged_store_is_an_error(path: Path) -> None:
    written = path.read_bytes()
    path.write_bytes(written[:4096] + b"\xff" * (len(written) - 4096))
    with pytest.raises(DamagedStore, match="malformed"):
        converged(path, StillClock(0.0))


def test_damaged_ranks_are_a_warning(path: Path) -> None:
    refine(path)
    beside(path).write_bytes(b"no ranks at all " * 512)
    (event,) = converged(path, StillClock(0.0))
    assert isinstance(event, Warned)
    assert str(beside(path)) in event.text


def test_complete_ranks_are_not_computed_again(path: Path) -> None:
    refine(path)
    assert converged(path, StillClock(0.0)) == []


@pytest.mark.parametrize(("ran_s", "limit_s"), [(0.0, 5.0), (50.0, 5.0), (600.0, 60.0)])
def test_the_last_convergence_may_take_a_tenth_of_the_time_but_at_least_five_seconds(
    path: Path, ran_s: float, limit_s: float
) -> None:
    """The clock is read once at the beginning, and then before each part of the work."""
    assert is_complete(converged(path, StillClock(0.0, limit_s - 0.01), ran_s))
    beside(path).unlink()
    assert not is_complete(converged(path, StillClock(0.0, limit_s), ran_s))


def is_complete(heard: list[Event]) -> bool:
    last = heard[-1]
    assert isinstance(last, Converged)
    return last.is_complete


def test_ranks_broken_off_too_early_are_not_kept(path: Path) -> None:
    assert converged(path, StillClock(0.0, 5.0)) == [Converged(error_bound=None, is_complete=False)]
    assert status(path).convergence is None


def test_halt_waits_for_one_round(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refinement, "_post", lambda _loop, tell, event: tell(event))
    heard: list[Event] = []
    is_halted = threading.Event()

    def hear(event: Event) -> None:
        heard.append(event)
        last.halt()
        is_halted.set()

    class Waiting(StillClock):
        """A clock that blocks between two rounds until the first one was reported."""

        def now(self) -> float:
            if threading.current_thread() is not threading.main_thread() and next(asked):
                assert is_halted.wait(PATIENCE_S)
            return super().now()

    asked = count()  # the clock is read once before the log is
    last = LastConvergence(path, Waiting(0.0), hear)
    asyncio.run(last.run(0.0))
    assert not is_complete(heard)
    assert not last.is_under_way


def test_cancelling_the_last_convergence_halts_it(path: Path) -> None:
    heard: list[Event] = []

    def hear(event: Event) -> None:
        heard.append(event)
        if isinstance(event, Converging):
            tasks[0].cancel()

    async def work() -> None:
        tasks.append(asyncio.create_task(last.run(0.0)))
        await tasks[0]

    tasks: list[asyncio.Task[None]] = []
    last = LastConvergence(path, StillClock(0.0), hear)
    asyncio.run(work())
    assert isinstance(heard[-1], Converged)


def test_a_store_error_while_ranks_converge_is_a_warning(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr(refinement, "refine", fail)
    (event,) = converged(path, StillClock(0.0))
    assert isinstance(event, Warned)
    assert "the disk is full" in event.text


def crawled(path: Path, **settings: Any) -> list[Event]:
    """Resume a crawl whose budget is spent, and return its events."""
    crawl, heard = Crawl([A], settings_of(store=path, **settings)), list[Event]()
    crawl.subscribe(heard.append)
    assert crawl.run() is Reason.BUDGET
    assert crawl.is_over
    assert (progress := crawl.progress()) is not None
    assert progress.known > 0
    return heard


def with_pages(path: Path) -> Path:
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds([A], endowment=10)
        crawl.read(A, [B, C])
        crawl.batch.counters |= {"fetched": 1}
    return path


def test_a_crawl_whose_budget_is_spent_converges(tmp_path: Path) -> None:
    path = with_pages(tmp_path / "crawl.db")
    heard = crawled(path, pages=1)
    ended = next(place for place, event in enumerate(heard) if isinstance(event, Ended))
    assert {type(event) for event in heard[ended + 1 :]} == {Converging, Converged}
    assert are_ranks_complete(path)
    assert audit(path).wrong == []


def test_without_converge_no_ranks_are_written(tmp_path: Path) -> None:
    path = with_pages(tmp_path / "crawl.db")
    assert isinstance(crawled(path, pages=1, converge=False)[-1], Ended)
    assert not beside(path).exists()
    assert status(path).convergence is None


def test_a_signal_while_ranks_converge_does_not_change_why_a_crawl_ended(tmp_path: Path) -> None:
    """Ctrl-C cancels the task of the crawl, which was over before."""
    path = with_pages(tmp_path / "crawl.db")

    def interrupt(event: Event) -> None:
        if isinstance(event, Converging):
            os.kill(os.getpid(), signal.SIGINT)

    crawl = Crawl([A], settings_of(store=path, pages=1))
    crawl.subscribe(interrupt)
    assert crawl.run() is Reason.BUDGET
    assert audit(path).wrong == []
