"""Windows over the past, by hand and against their formulas."""

from array import array

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from minicrawl.opic.ledger.money import UNIT
from minicrawl.opic.windows.by_name import WINDOWS
from minicrawl.opic.windows.interpolation import Interpolation
from minicrawl.opic.windows.measured import Fixed, MeasuredWindow, Variable
from minicrawl.opic.windows.window import Static, Window

TICKS = UNIT >> 16
"""Ticks of time in a unit of cash."""


KINDS = [(name, None) for name in WINDOWS] + [
    (name, 2) for name in ("variable", "fixed", "improved-fixed")
]
"""All windows, and the compressed ones with 2 measures at most."""


def importance(window: Window, cash: list[float], now: float, circulation: float) -> list[float]:
    """Estimate importance; `now` and `circulation` are in units of cash."""
    found = window.importance(np.array(cash), int(now * TICKS), int(circulation * TICKS))
    return [float(one) for one in found]


def record(window: Window, page: int, cash: float, now: float, circulation: float = 1) -> None:
    window.record(page, int(cash * UNIT), int(now * TICKS), int(circulation * TICKS))


def a_window(name: str, width: float, pages: int = 1, most: int | None = None) -> Window:
    window = WINDOWS[name](width, most)
    window.grow(pages, 0, 0)
    return window


def per_tick(units_per_unit: float) -> float:
    return units_per_unit / TICKS


def test_static_remembers_all() -> None:
    window = Static()
    window.grow(2, 0, TICKS)
    record(window, 0, 1, now=1)
    record(window, 0, 2.5, now=9)
    assert list(window.history) == [3.5, 0]
    assert importance(window, [0.5, 1], now=9, circulation=2) == [4 / 11, 1 / 11]
    assert np.isnan(window.flows(9 * TICKS, TICKS).flow).all()


@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("now", [3, 9])
def test_first_readings_are_recorded_one_by_one_or_at_once(name: str, now: int) -> None:
    blocks, width = ([7, 8, 9, 10, 11, 13], [0, 1], [2, 3, 4, 5, 15]), 4
    one_by_one, at_once = a_window(name, width, 17), a_window(name, width, 17)
    for pages in blocks:
        cash = [UNIT * (page + 1) for page in pages]
        for page, amount in zip(pages, cash, strict=True):
            one_by_one.record(page, amount, now * TICKS, TICKS)
        at_once.record_first(pages, cash, now * TICKS, TICKS)
    for window in (one_by_one, at_once):  # a page that was refused is read after all
        window.record(9, UNIT, now * TICKS + 5, TICKS)
    pasts = [[window.past(page) for page in range(17)] for window in (one_by_one, at_once)]
    assert pasts[0] == pasts[1]


@pytest.mark.parametrize(("name", "stored"), [("static", 1), ("interpolation", 1), ("adaptive", 2)])
def test_a_window_stores_few_measures_a_page_however_narrow(name: str, stored: int) -> None:
    window = a_window(name, 1e-9)
    record(window, 0, 1, now=0)
    record(window, 0, 1, now=1)
    history, _, measures = window.past(0)
    assert bool(history) + len(measures or b"") // 16 == stored
    assert name == "static" or importance(window, [4], 3, 1) == [per_tick(4 / 2)]


def test_the_rate_of_an_unread_page_is_its_cash_since_its_birth() -> None:
    for name in ("interpolation", "adaptive", "variable", "fixed", "improved-fixed"):
        window = WINDOWS[name](8, None)
        window.grow(1, 10 * TICKS, 0)
        assert importance(window, [3], now=30, circulation=1) == [pytest.approx(per_tick(3 / 20))]


@pytest.mark.parametrize("name", ["variable", "fixed", "improved-fixed"])
def test_the_unit_of_birth_counts_as_the_cash_of_one_circulation(name: str) -> None:
    window = WINDOWS[name](8, None)
    window.grow(1, 10 * TICKS, 4 * TICKS)
    assert importance(window, [1], now=10, circulation=4) == [per_tick(1 / 4)]
    record(window, 0, 3, now=12, circulation=4)
    assert importance(window, [0], now=13, circulation=4) == [per_tick(3 / 6)]


def test_a_page_read_twice_at_one_time_has_a_finite_rate() -> None:
    window = a_window("variable", 1)
    record(window, 0, 0, now=0)
    record(window, 0, 0, now=0)
    assert importance(window, [0], now=0, circulation=1) == [0]


measures = st.lists(st.tuples(st.integers(1, 40), st.integers(0, 9)), min_size=1, max_size=30)
later_and_held = st.tuples(st.integers(0, 20), st.integers(0, 9))


@given(measures, st.integers(1, 30), st.sampled_from([1, 4]), later_and_held)
def test_interpolation_follows_its_formula(
    flow: list[tuple[int, int]], width: int, circulation: int, last: tuple[int, int]
) -> None:
    window = Interpolation(width / circulation)
    window.grow(1, 0, 0)
    history, now = 0.0, 0
    for away, cash in flow:
        now += away
        record(window, 0, cash, now, circulation)
        history = history * (width - away) / width + cash if away < width else cash * width / away
    later, held = last
    rate = (history * (width - later) / width + held) / width if later < width else held / later
    found = importance(window, [held], now + later, circulation)
    assert found == [pytest.approx(per_tick(rate))]


@given(measures, st.integers(1, 30), later_and_held)
def test_measuring_windows_follow_their_definitions(
    flow: list[tuple[int, int]], width: int, last: tuple[int, int]
) -> None:
    """Cash that a page holds does not count before it is read."""
    windows = {name: a_window(name, width) for name in ("variable", "fixed", "improved-fixed")}
    now = 0
    seen: list[tuple[int, int]] = []
    for away, cash in flow:
        now += away
        seen.append((now, cash))
        for window in windows.values():
            record(window, 0, cash, now)
    later, held = last
    now += later
    recent = sum(read_at >= now - width for read_at, _ in seen)
    counting = {"variable": width, "fixed": recent, "improved-fixed": max(3, recent)}
    for name, window in windows.items():
        kept = seen[max(0, len(seen) - counting[name]) :]
        since = ([0] + [read_at for read_at, _ in seen])[len(seen) - len(kept)]
        rate = sum(cash for _, cash in kept) / (kept[-1][0] - since) if kept else 0
        assert importance(window, [held], now, 1) == [pytest.approx(per_tick(rate))], name


@pytest.mark.parametrize(("name", "most"), KINDS)
def test_a_restored_window_continues_like_the_original(name: str, most: int | None) -> None:
    lived = a_window(name, 3, pages=3, most=most)
    for now, page in enumerate([0, 1, 0, 0, 1, 0], 1):
        record(lived, page, now, now, circulation=2)
    loaded = restored(lived, name, 3, pages=3, most=most)
    for window in (lived, loaded):
        window.grow(1, 7 * TICKS, TICKS)
        record(window, 1, 0.25, now=8, circulation=2)
        record(window, 2, 0.5, now=9, circulation=2)
    cash = [0.5, 1, 0, 2]
    assert importance(loaded, cash, 12, 2) == importance(lived, cash, 12, 2)
    assert list(map(loaded.past, range(4))) == list(map(lived.past, range(4)))


@pytest.mark.parametrize("name", WINDOWS)
def test_histories_are_the_recorded_cash_of_pages(name: str) -> None:
    window = a_window(name, 8, pages=3)
    record(window, 0, 1.5, now=1)
    record(window, 2, 4, now=2)
    assert window.histories(np.array([2, 1, 0, 2])).tolist() == [4, 0, 1.5, 4]


@pytest.mark.parametrize("name", WINDOWS)
def test_the_importance_of_a_range_is_that_among_all_pages(name: str) -> None:
    window = a_window(name, 3, pages=2)
    for now, page in enumerate([0, 1, 0, 3, 2, 3], 1):
        if now == 3:
            window.grow(3, now * TICKS, TICKS)
        record(window, page, now, now, circulation=2)
    cash = np.arange(5.0)
    whole = window.importance(cash, 9 * TICKS, 2 * TICKS)
    for first in range(5):
        for end in range(first, 6):
            part = window.importance(cash[first:end], 9 * TICKS, 2 * TICKS, first)
            assert part.tolist() == whole[first:end].tolist()


@pytest.mark.parametrize("name", WINDOWS)
def test_the_past_of_unread_pages_is_their_birth(name: str) -> None:
    window = a_window(name, 3, pages=2)
    for now in (1, 2, 4):
        window.grow(2, now * TICKS, TICKS)
    for first in range(8):
        for end in range(first, 9):
            born = window.births(first, end)
            pasts = list(map(window.past, range(first, end)))
            window.grow(1, 9 * TICKS, TICKS)
            assert [(0, time, None) for time in born.by_page().tolist()] == pasts


def restored(
    window: Window, name: str, width: float, pages: int, most: int | None = None
) -> Window:
    loaded = WINDOWS[name](width, most)
    histories, times, packed = zip(*map(window.past, range(pages)), strict=True)
    measures = {page: one for page, one in enumerate(packed) if one is not None}
    blocks = zip(np.array_split(histories, 2), np.array_split(times, 2), strict=True)
    loaded.restore(blocks, measures)
    return loaded


@pytest.mark.parametrize(("name", "most"), KINDS)
@pytest.mark.parametrize("now", [1, 40])
def test_a_restated_window_gives_the_importance_it_was_told(
    name: str, most: int | None, now: int
) -> None:
    """The window is young or old, and is also saved and restored; pages hold any cash."""
    told, cash = np.array([0.5, 0.25, 0.125]), np.array([0.25, 1.0, 0.5])
    window = a_window(name, 8, pages=3, most=most)
    record(window, 0, 0.5, now, circulation=4)
    window.restate(told, cash, now * TICKS, 4 * TICKS)
    for one in (window, restored(window, name, 8, pages=3, most=most)):
        found = importance(one, cash.tolist(), now, circulation=4)
        assert found == pytest.approx(told / (1 if name == "static" else TICKS), rel=1e-8)


@pytest.mark.parametrize("name", ["interpolation", "adaptive"])
def test_a_restated_window_has_its_whole_width(name: str) -> None:
    """Chance brings a tenth more in one of its sixteen parts."""
    window = a_window(name, 8, pages=2)
    window.restate(np.array([50.0, 50.0]), np.zeros(2), 10 * TICKS, 2 * TICKS)
    record(window, 0, 55, now=11, circulation=2)
    lucky, steady = importance(window, [0, 50], now=11, circulation=2)
    assert lucky / steady == pytest.approx(1 + 0.1 / 16, rel=1e-3)


@pytest.mark.parametrize(("name", "most"), KINDS)
@pytest.mark.parametrize("flow", [0.5, 1, 3])
def test_a_presumed_history_equals_a_lived_one(name: str, most: int | None, flow: float) -> None:
    """Page 0 lived through what is presumed of page 1: `flow` in each circulation of 4, for longer
    than any window is wide.
    """
    window, now = a_window(name, 8, pages=1, most=most), 800
    for time in range(4, now + 1, 4):
        record(window, 0, flow, time, circulation=4)
    window.grow(1, now * TICKS, 4 * TICKS)
    window.presume([1], int(flow * UNIT), now * TICKS, 4 * TICKS)
    for one in (window, restored(window, name, 8, pages=2, most=most)):
        for held, later in ((0.0, now), (flow / 2, now + 2), (flow, now + 4)):
            lived, presumed = importance(one, [held, held], later, circulation=4)
            assert presumed == pytest.approx(lived, rel=1e-3)


@pytest.mark.parametrize(
    ("width", "packed", "rate"),
    [
        pytest.param(4, (2, 3, 2, 16, 28, 3), 31 / 16, id="those with the fewest readings merge"),
        pytest.param(2, (8, 8, 1, 16, 16, 1), 24 / 12, id="one beyond the width is dropped"),
    ],
)
def test_of_too_many_measures_one_goes(width: int, packed: tuple[int, ...], rate: float) -> None:
    """A measure is its time, its cash and its number of readings."""
    window = a_window("variable", width, most=2)
    for cash in (1, 2, 4, 8, 16):
        record(window, 0, cash, now=cash)
    found = array("q", window.past(0)[2] or b"").tolist()
    assert found == [number * (TICKS, UNIT, 1)[place % 3] for place, number in enumerate(packed)]
    assert importance(window, [0], now=17, circulation=1) == [per_tick(rate)]


@given(measures, st.integers(1, 12), st.integers(2, 6))
def test_a_compressed_window_equals_one_of_as_many_readings_or_more(
    flow: list[tuple[int, int]], width: int, most: int
) -> None:
    """A merged measure cannot be cut, so it may keep older readings."""
    windows: dict[str, MeasuredWindow] = {
        "variable": Variable(width, most),
        "fixed": Fixed(width, most),
    }
    for window in windows.values():
        window.grow(1, 0, 0)
    seen: list[tuple[int, int]] = [(0, 0)]
    for away, cash in flow:
        seen.append((seen[-1][0] + away, cash))
        for window in windows.values():
            record(window, 0, cash, seen[-1][0])
    now = seen[-1][0]
    recent = sum(at >= now - width for at, _ in seen[1:])
    for name, least in (("variable", min(width, len(flow))), ("fixed", recent)):
        rates = [
            sum(cash for _, cash in seen[-count:]) / (now - seen[-count - 1][0])
            for count in range(least, len(flow) + 1)
        ]
        assert windows[name].measures_per_page() <= most
        (found,) = importance(windows[name], [0], now, circulation=1)
        assert any(found == pytest.approx(per_tick(rate)) for rate in rates), name


def test_a_reading_of_0_counts_like_no_reading() -> None:
    lived = a_window("adaptive", 8, pages=1)
    record(lived, 0, 0, now=1)
    loaded = restored(lived, "adaptive", 8, pages=1)
    for window in (lived, loaded):
        record(window, 0, 3, now=4)
    assert lived.past(0) == loaded.past(0)


@given(measures, st.integers(1, 8).map(lambda four: 4 * four), later_and_held)
def test_the_adaptive_window_follows_its_law(
    flow: list[tuple[int, int]], width: int, last: tuple[int, int]
) -> None:
    """The oracle computes with fractions instead of whole numbers."""
    later, held = last
    window = a_window("adaptive", width)
    narrow, widest = width // 4, width * 4
    rate, own, lately, now = 0.0, 0.0, 0.0, 0
    for number, (away, cash) in enumerate([*flow, (later, held)]):
        now += away
        span = max(away, narrow)
        recent = lately * narrow * max(0, 1 - away / narrow) + cash
        if not rate:
            rate, own = recent / span, span
        else:
            own = min(own + away, widest)
            rate += min(1, away / own) * (cash / away - rate) if away else cash / own
            surprise = (recent - rate * span) ** 2 - max(recent, rate * span) / 2
            assume(abs(surprise) > 1e-6)
            if surprise > 0:
                rate, own = recent / span, span
        lately = recent / span
        if number < len(flow):
            record(window, 0, cash, now)
    found = importance(window, [held], now, circulation=1)
    assert found == [pytest.approx(per_tick(rate), abs=1e-12)]


@pytest.mark.parametrize("name", [name for name in WINDOWS if name != "static"])
def test_flows_are_the_past_rates_of_pages_that_were_read(name: str) -> None:
    """Page 0 gets 3 units every 3 circulations; page 1 was never read."""
    window = a_window(name, 9, pages=2)
    for now in range(3, 60, 3):
        record(window, 0, 3, now)
    flow, away = window.flows(61 * TICKS, TICKS)
    assert flow[0] == pytest.approx(per_tick(1), rel=0.01)
    assert np.isnan(flow[1])
    assert away[0] == 4 * TICKS
