"""Ranks are computed while a crawl has time to spare, and when it is over."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from functools import partial
from itertools import count
from pathlib import Path
from time import process_time
from typing import Any

import pytest

from minicrawl import Crawl, Ended, Event, Reason, Warned
from minicrawl.config.values.stop_rules import GuaranteedShare
from minicrawl.crawl.events import Converged, Converging
from minicrawl.crawl.progress import StopLimit
from minicrawl.crawl.refinement import fresh_ranks
from minicrawl.crawl.refinement.converged_ranks import refine
from minicrawl.crawl.refinement.fresh_ranks import has_changed, kept_fresh, refine_beside
from minicrawl.crawl.refinement.last_convergence import LastConvergence
from minicrawl.crawl.refinement.spare_time import Load, has_time
from minicrawl.errors import DamagedStore
from minicrawl.frontier.importance import UNTIL
from minicrawl.report.integrity.audit import audit
from minicrawl.report.progress.crawl_status import status
from minicrawl.store import tables
from minicrawl.store.derived.file import beside, reading_beside
from minicrawl.store.derived.ranks import OPIC, OPIC_SITES, kept_ranks
from minicrawl.store.reader import reading
from minicrawl.store.records import Batch
from minicrawl.store.writer import StoreWriter
from tests.crawl.fakes import keeping
from tests.crawl.jumping_clock import FakeClock
from tests.crawl.refined_stores import a_store
from tests.limits import settings_of
from tests.stores import A, B, C, HandCrawl

PATIENCE_S = 240.0
"""The process that computes ranks has a low priority, and gets little of a busy machine."""


@pytest.mark.parametrize(("nice", "spare"), [(0, 8), (5, 5)])
def test_idle_time_of_own_cores_is_spare_and_for_a_crawl_of_usual_priority_that_of_nice_work(
    nice: int, spare: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A line of /proc/stat has times for user, nice, system, idle and more."""
    monkeypatch.setattr(os, "nice", lambda _more: nice)
    cores, tick = os.sched_getaffinity(0), os.sysconf("SC_CLK_TCK")
    lines = [f"cpu{core} 9 {3 * tick} 9 {5 * tick} 9" for core in (*cores, max(cores) + 1)]
    total = "cpu " + lines[0].partition(" ")[2]
    (tmp_path / "stat").write_text("\n".join([total, *lines, "intr 12345", ""]))
    assert Load.measured(7.0, tmp_path).spare_s == spare * len(cores)


def test_waiting_for_a_core_counts_as_busy(tmp_path: Path) -> None:
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "schedstat").write_text("1 3000000000 2\n")
    began = process_time()
    assert 3 + began <= Load.measured(7.0, tmp_path).own_s <= 3 + process_time()


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
    monkeypatch.delattr(os, "sched_getaffinity")
    assert not has_time(Load.measured(0.0, tmp_path), Load.measured(1.0, tmp_path))


def test_more_than_two_in_a_hundred_new_steps_are_a_change() -> None:
    assert has_changed(0, 1)
    assert has_changed(97, 100)
    assert not has_changed(98, 100)
    assert not has_changed(0, 0)


async def seen_within_patience(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not is_so():
            await asyncio.sleep(0.01)


def fresh(path: Path, is_so: Callable[[], bool], storing: dict[str, Any], **limits: Any) -> None:
    """Keep the ranks of a store fresh until `is_so()`, with time to spare and these limits."""
    settings = settings_of(store=path, **storing)
    usual = {"LOOK_EVERY_S": 0.0, "FEWEST_STEPS": 1, "has_time": lambda *_: True}

    async def work() -> None:
        with keeping(path) as recorder:
            async with kept_fresh(settings.storing, recorder, FakeClock()):
                await seen_within_patience(is_so)

    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**usual, **limits}.items():
            patch.setattr(fresh_ranks, name, value)
        asyncio.run(work())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return a_store(tmp_path / "crawl.db")


def are_ranks_complete(path: Path) -> bool:
    found = status(path).convergence
    return found is not None and found.is_complete


def test_another_process_computes_ranks_while_the_crawl_has_the_store(path: Path) -> None:
    fresh(path, lambda: are_ranks_complete(path), {})
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
    monkeypatch.setattr(fresh_ranks, "LOOK_EVERY_S", 0.0)
    monkeypatch.setattr(fresh_ranks, "has_time", lambda *_: False)
    with closing(StoreWriter.open(path)) as store:
        store.commit(Batch(counters=tables.counters(store.connection) | {tables.ENDOWED: [2]}))
    storing = settings_of(store=path, converge=converge).storing

    async def work(*, is_first: bool) -> float:
        with keeping(path) as recorder:
            limit = StopLimit(GuaranteedShare(0.01), recorder)
            async with kept_fresh(storing, recorder, FakeClock(), proves=True):
                limit.look(0)
                assert (limit.reason is None) is is_first
                await seen_within_patience(lambda: recorder.counters.number(tables.GUARANTEED) > 0)
            limit.look(0)
            assert limit.reason is Reason.GATHERED
            return recorder.counters.number(tables.GUARANTEED)

    found = asyncio.run(work(is_first=True))
    assert found == status(path).importance_guaranteed == asyncio.run(work(is_first=False))


def test_the_end_of_a_crawl_kills_the_process(path: Path) -> None:
    told = path.with_name("crawl.db-pid")
    sleeps = partial(refine_beside, code=_SLEEPER)
    fresh(path, lambda: told.exists() and bool(told.read_text()), {}, refine_beside=sleeps)
    with pytest.raises(ProcessLookupError):
        os.kill(int(told.read_text()), 0)


def test_a_process_is_killed_after_too_long(path: Path) -> None:
    assert not asyncio.run(refine_beside(path, 0.1, "import time; time.sleep(600)"))


def begun(path: Path, storing: dict[str, Any], **limits: Any) -> list[tuple[Path, float]]:
    """Return the stores, with time limits, of the computations of some time, which all fail."""
    begun: list[tuple[Path, float]] = []

    async def fail(store: Path, most_s: float) -> bool:
        begun.append((store, most_s))
        return False

    looks = iter(range(1000))
    fresh(path, lambda: next(looks) == 50, storing, refine_beside=fail, **limits)
    return begun


def test_no_failed_process_restarts_at_once(path: Path) -> None:
    assert begun(path, {}, MOST_S=7.0) == [(path, 7.0)]


@pytest.mark.slow
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
    limit: dict[str, Any], storing: dict[str, Any], path: Path
) -> None:
    assert begun(path, storing, **limit) == []


def test_the_process_has_the_lowest_priority(path: Path) -> None:
    # The tests may run at the lowest priority, so that only the call tells.
    module = "minicrawl.crawl.refinement.fresh_ranks"
    code = f"import os; from {module} import main; os.nice = print; main()"
    found = subprocess.run((sys.executable, "-c", code, path), capture_output=True, check=True)
    assert found.stdout.split() == [b"19"]
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
    for moment_s, is_complete in ((limit_s - 0.01, True), (limit_s, False)):
        last = converged(path, StillClock(0.0, moment_s), ran_s)[-1]
        assert isinstance(last, Converged)
        assert last.is_complete is is_complete
        beside(path).unlink(missing_ok=True)


def test_ranks_broken_off_too_early_are_not_kept(path: Path) -> None:
    assert converged(path, StillClock(0.0, 5.0)) == [Converged(error_bound=None, is_complete=False)]
    assert status(path).convergence is None


def test_halt_waits_for_one_round(path: Path) -> None:
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
    assert heard[-1] == Converged(error_bound=None, is_complete=False)
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


def test_a_store_error_while_ranks_converge_is_a_warning(path: Path) -> None:
    path.unlink()
    (event,) = converged(path, StillClock(0.0))
    assert isinstance(event, Warned)
    assert str(path) in event.text


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
    later = {type(event) for event in heard[ended + 1 :]}
    assert Converged in later <= {Converging, Converged}
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
