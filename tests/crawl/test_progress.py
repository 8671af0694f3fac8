from pathlib import Path
from time import sleep

import numpy as np
import pytest
from numpy.typing import NDArray

from minicrawl import Event, Progress
from minicrawl.config.values.stop_rules import GatheredShare
from minicrawl.crawl.progress import ProgressMeter, StopLimit
from minicrawl.crawl.start.opening import plant
from minicrawl.model import Response
from minicrawl.opic.importance.estimate import Level
from minicrawl.states import State
from minicrawl.store.tables import GATHERED
from minicrawl.web.urls import ResolvedUrl
from tests.crawl.coroutines import in_jumping_time
from tests.crawl.fakes import FakeWeb, Scene, crawl, failed, keeping, web_of

A, B = "http://a.example", "http://b.example"


def test_the_meter_counts_pages_hosts_requests_bytes_and_importance(path: Path) -> None:
    web = FakeWeb(
        web_of({f"{A}/": ["/1", "/gone", f"{B}/", "/cat.jpg"], f"{A}/1": []})
        | {f"{B}/": failed(State.TLS)},
        takes_s=1,
    )
    read: list[Progress] = []

    def hear(scene: Scene, _: Event) -> None:
        read.append(ProgressMeter(scene.recorder, scene.clock).read())

    crawl(web, path, f"{A}/", hear=hear)
    first, last = read[0], read[-1]
    assert (first.known, first.unread, first.fetched, first.hosts) == (1, 1, 0, 1)
    assert first.importance_gathered == 0
    assert (last.known, last.unread, last.fetched, last.failed, last.hosts) == (5, 0, 2, 2, 2)
    assert last.requests == len(web.visits) == 6
    answers = [page for page in web.answers.values() if isinstance(page, Response)]
    assert last.wire_bytes == sum(page.wire_bytes for page in answers)
    assert 4 <= last.running_s <= 5
    assert last.turns_of_cash > 0
    assert 0 < last.importance_gathered < 1
    gathered = [progress.importance_gathered for progress in read]
    assert gathered[0] < gathered[-1]


@in_jumping_time
async def test_importance_is_seldom_summed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class StepClock:
        """A clock that advances by a second whenever it, or the processor time, is read."""

        seconds = 0.0

        def now(self) -> float:
            self.seconds += 1
            return self.seconds

        def today(self) -> float:
            return self.now()

    with keeping(path) as recorder:
        clock, sums = StepClock(), 0
        monkeypatch.setattr("minicrawl.crawl.progress.thread_time", clock.now)
        meter = ProgressMeter(recorder, clock)
        assert meter.read().importance_gathered == 0
        assert GATHERED not in recorder.counters
        await plant(recorder, [ResolvedUrl(f"{A}/")], 0)
        while clock.seconds < 1000:
            meter.read()
            sums += recorder.counters.pop(GATHERED, None) is not None
        assert 5 <= sums <= 12


@in_jumping_time
async def test_a_busy_machine_does_not_delay_the_limit_of_importance(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with keeping(path) as recorder:
        await plant(recorder, [ResolvedUrl(f"{A}/")], 0)
        sums, add_up = list[int](), recorder.frontier.importance_of

        def stand_still(level: Level | None, start: int, stop: int) -> NDArray[np.float64]:
            sums.append(stop)
            sleep(0.2)  # takes time, but no processor time
            return add_up(level, start, stop)

        monkeypatch.setattr(recorder.frontier, "importance_of", stand_still)
        limit = StopLimit(GatheredShare(0.9), recorder)
        limit.look(0)
        limit.look(10)
        assert len(sums) == 2
