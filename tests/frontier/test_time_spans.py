"""A window of a span of time: the log knows the time, so a replay gives the same window."""

from collections import defaultdict
from contextlib import closing
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from minicrawl.opic.ledger.books import Step, StepKind
from minicrawl.opic.ledger.money import UNIT
from minicrawl.opic.windows.measured import Fixed, TimeSpan
from minicrawl.opic.windows.window import TICK_BITS
from minicrawl.report.integrity.audit import audit
from minicrawl.states import State
from minicrawl.store.records import StoreTerms
from tests.crawl.fakes import FakeWeb, crawl, frontier_of, loaded_and_folded, web_of
from tests.frontier.same import assert_same
from tests.stores import HandCrawl

DAY = 86_400
PAGES = [f"http://a.example/{page}" for page in range(4)]


def test_a_span_begins_at_the_first_note_that_is_young_enough() -> None:
    """The example of the module: read on the 1st, the 5th and the 14th, with a span of 10 days."""
    span = TimeSpan(10 * DAY)
    window, clock, page = Fixed(span), 0, 0
    window.grow(1, 0, 0)
    for day, units in ((1, 2), (5, 3), (14, 4)):
        span.note(day * DAY, clock)
        clock += units
        window.record(page, units * UNIT, clock, 1)
    assert span.notes == [(5 * DAY, 2), (14 * DAY, 5)]
    assert window.histories(np.array([page])).tolist() == [7]
    assert window.importance(np.zeros(1), clock, 1).tolist() == [7 / 7]
    span.note(24 * DAY, clock)
    assert window.importance(np.zeros(1), clock, 1).tolist() == [4 / 4]
    span.note(24 * DAY + 1, clock)
    assert window.importance(np.zeros(1), clock, 1).tolist() == [0]


def test_a_clock_that_was_set_back_keeps_what_came_later() -> None:
    span = TimeSpan(10)
    for at, clock in ((1000, 0), (1005, 3), (995, 7), (1004, 9)):
        span.note(at, clock)
    assert span.notes == [(995, 0), (995, 3), (995, 7), (1004, 9)]
    span.note(1006, 9)
    assert span.notes == [(1004, 9), (1006, 9)]


@pytest.mark.parametrize(("seconds", "grain"), [(10, 1), (1000, 1), (4 * 7 * DAY, 2419.2)])
def test_a_note_is_due_after_a_thousandth_of_the_span(seconds: float, grain: float) -> None:
    span = TimeSpan(seconds)
    assert span.is_due(5.5)
    span.note(5, 0)
    assert [span.is_due(5 + grain * part) for part in (-1, -0.9, 0, 0.9, 1)] == [
        *(True, False, False, False, True)
    ]


events = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), min_size=1, max_size=40)


@settings(max_examples=60)
@given(events, st.sampled_from(["fixed:12s", "improved-fixed:12s"]), st.integers(0, 40))
def test_a_span_counts_what_its_readings_handed_on(
    readings: list[tuple[int, int]], window: str, saved: int
) -> None:
    """The oracle knows times and cash of all readings. The crawl is loaded from a checkpoint."""
    least = 3 if window.startswith("improved") else 0
    times = [*accumulate(away for away, _ in readings)]
    seen = defaultdict[int, list[tuple[int, int, int]]](list)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "crawl.db"
        with closing(HandCrawl(path, StoreTerms(window=window))) as crawl:
            crawl.seeds(PAGES, endowment=10)
            ledger = crawl.frontier.ledger
            for turn, (at, (_, page)) in enumerate(zip(times, readings, strict=True)):
                crawl.take_step(Step(StepKind.TIME, amount=at))
                before = ledger.recorded
                if page in seen:
                    crawl.replay([page])
                else:
                    crawl.read(PAGES[page], [PAGES[page - 1], PAGES[page - 2]])
                seen[page].append((at, ledger.now, ledger.recorded - before))
                if turn == saved:
                    crawl.checkpoint()
            crawl.commit()
            loaded = crawl.loaded()
            assert_same(loaded, crawl.frontier)
        assert audit(path).is_intact
    cash, born, expected = ledger.cash_of_all(), -(len(PAGES) * UNIT >> TICK_BITS), []
    for page in range(len(PAGES)):
        recent = sum(at >= times[-1] - 12 for at, _, _ in seen[page])
        kept = seen[page][max(len(seen[page]) - max(recent, least), 0) :]
        clocks = [born, *(clock for _, clock, _ in seen[page])]
        flowed = sum(atoms for *_, atoms in kept) / UNIT
        flow = flowed / max(clocks[-1] - clocks[len(seen[page]) - len(kept)], 1)
        expected.append(flow if seen[page] else cash[page] / (ledger.now - born))
    found = loaded.window.importance(cash, ledger.now, ledger.circulation)
    assert found.tolist() == pytest.approx(expected, rel=1e-12)


def test_notes_that_differ_from_the_steps_are_reported(path: Path) -> None:
    with closing(HandCrawl(path, StoreTerms(window="fixed:1h"))) as crawl:
        crawl.seeds(PAGES)
        crawl.take_step(Step(StepKind.TIME, amount=5))
        crawl.read(PAGES[0], [PAGES[1]])
        crawl.checkpoint()
        crawl.store.connection.execute("UPDATE meta SET value = '[[5, 9]]' WHERE name = 'times'")
    assert "times were noted" in "".join(audit(path).lines())


@pytest.mark.parametrize("strategy", ["siblings", "greedy"])
def test_pages_that_were_read_before_the_span_count_nothing(tmp_path: Path, strategy: str) -> None:
    """Three runs, a day apart, with a span of 30 hours, in one log."""
    path, web = tmp_path / "crawl.db", web_of(dict.fromkeys(PAGES, PAGES))
    read = [set[int]()]
    for run in range(3):
        crawl(
            FakeWeb(web, takes_s=600),
            path,
            PAGES[0],
            window="fixed:30h",
            strategy=strategy,
            pages=run + 1,
            later_s=run * DAY,
        )
        states = frontier_of(path).states()
        read.append({*np.flatnonzero(states == State.FETCHED).tolist()} - set().union(*read))
    assert [*map(len, read)] == [0, 1, 1, 1]
    assert audit(path).is_intact
    loaded, folded = loaded_and_folded(path)
    assert loaded.importance().tolist() == folded.importance().tolist()
    flows, _ = loaded.window.flows(loaded.ledger.now, loaded.ledger.circulation)
    assert {*np.flatnonzero(flows > 0).tolist()} == read[2] | read[3]
    assert flows[[*read[1]]].tolist() == [0]
