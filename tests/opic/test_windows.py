import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicrawl.opic.money import UNIT
from minicrawl.opic.windows import WINDOWS
from minicrawl.opic.windows.interpolation import Interpolation
from minicrawl.opic.windows.static import Static
from minicrawl.opic.windows.window import Window

TICKS = UNIT >> 16
"""In a unit of cash."""


def importance(window: Window, cash: list[float], now: float, turn: float) -> list[float]:
    """Times are in units; so is the estimate, per unit of time where the window measures that."""
    found = window.importance(np.array(cash), int(now * TICKS), int(turn * TICKS))
    return [float(one) for one in found]


def record(window: Window, page: int, cash: float, now: float, turn: float = 1) -> None:
    window.record(page, int(cash * UNIT), int(now * TICKS), int(turn * TICKS))


def a_window(name: str, width: float, pages: int = 1) -> Window:
    window = WINDOWS[name](width)
    window.grow(pages, 0)
    return window


def per_tick(units_per_unit: float) -> float:
    return units_per_unit / TICKS


def test_static_remembers_all() -> None:
    window = Static()
    window.grow(2, 0)
    record(window, 0, 1, now=1)
    record(window, 0, 2.5, now=9)
    assert list(window.history) == [3.5, 0]
    assert importance(window, [0.5, 1], now=9, turn=2) == [4 / 11, 1 / 11]
    assert window.measures_per_page() == 1


@pytest.mark.parametrize("name", WINDOWS)
def test_a_history_is_what_a_page_handed_on_as_far_as_it_counts(name: str) -> None:
    window = a_window(name, 8, pages=3)
    record(window, 0, 1.5, now=1)
    record(window, 2, 4, now=2)
    assert window.histories(np.array([2, 1, 0, 2])).tolist() == [4, 0, 1.5, 4]


def test_interpolation_adds_what_flowed_to_what_is_left_of_the_past() -> None:
    """T = 8: H = 1, then after 2 more units of time H = 1 * 6/8 + 3."""
    window = a_window("interpolation", 8)
    record(window, 0, 1, now=1)
    record(window, 0, 3, now=3)
    assert importance(window, [0], now=3, turn=1) == [per_tick(3.75 / 8)]
    assert importance(window, [0.5], now=5, turn=1) == [per_tick((3.75 * 6 / 8 + 0.5) / 8)]


def test_interpolation_of_a_page_away_longer_than_the_window_is_its_rate_since() -> None:
    window = a_window("interpolation", 8)
    record(window, 0, 5, now=20)
    assert importance(window, [0], now=20, turn=1) == [per_tick(5 * 8 / 20 / 8)]
    assert importance(window, [3], now=40, turn=1) == [per_tick(3 / 20)]


def test_interpolation_keeps_one_measure_a_page_however_narrow_the_window() -> None:
    window = a_window("interpolation", 1e-9)
    record(window, 0, 1, now=0)
    record(window, 0, 1, now=1)
    assert window.measures_per_page() == 1
    assert importance(window, [4], now=3, turn=1) == [per_tick(4 / 2)]


def test_a_page_never_read_is_judged_by_what_it_holds_since_its_birth() -> None:
    for name in ("interpolation", "variable", "fixed", "improved-fixed"):
        window = WINDOWS[name](8)
        window.grow(1, 10 * TICKS)
        assert importance(window, [3], now=30, turn=1) == [pytest.approx(per_tick(3 / 20))]


def test_variable_keeps_so_many_measures_and_no_more() -> None:
    window = a_window("variable", 2)
    for cash, now in ((8, 1), (1, 2), (3, 4), (5, 8)):
        record(window, 0, cash, now)
    assert importance(window, [0], now=9, turn=1) == [per_tick(8 / 6)]
    assert window.measures_per_page() == 3


def test_with_few_measures_the_time_runs_from_birth() -> None:
    window = a_window("variable", 8)
    record(window, 0, 2, now=1)
    record(window, 0, 4, now=4)
    assert importance(window, [0], now=9, turn=1) == [per_tick(6 / 4)]


def test_fixed_keeps_the_measures_of_the_last_turns() -> None:
    window = a_window("fixed", 5)
    for cash, now in ((8, 1), (1, 4), (3, 8), (5, 9)):
        record(window, 0, cash, now)
    assert importance(window, [0], now=10, turn=1) == [per_tick(8 / 5)]
    assert importance(window, [0], now=13.5, turn=1) == [per_tick(5 / 1)]


def test_fixed_forgets_a_page_that_was_not_read_for_so_long_and_improved_fixed_does_not() -> None:
    fixed, improved = a_window("fixed", 5), a_window("improved-fixed", 5)
    for window in (fixed, improved):
        for cash, now in ((9, 1), (1, 2), (2, 3), (3, 4)):
            record(window, 0, cash, now)
    assert importance(fixed, [7], now=20, turn=1) == [0]
    assert importance(improved, [7], now=20, turn=1) == [per_tick(6 / 3)]


def test_a_page_read_twice_at_one_time_has_a_finite_rate() -> None:
    window = a_window("variable", 1)
    record(window, 0, 0, now=0)
    record(window, 0, 0, now=0)
    assert importance(window, [0], now=0, turn=1) == [0]


@pytest.mark.parametrize("name", WINDOWS)
def test_a_web_in_which_nothing_changes_is_judged_alike_by_every_window(name: str) -> None:
    """Page 1 gets three times what page 0 gets, and both are read every 2 units of time."""
    window = a_window(name, 8, pages=2)
    for now in range(2, 2000, 2):
        record(window, 0, 0.5, now)
        record(window, 1, 1.5, now)
    poor, rich = importance(window, [0, 0], now=1998, turn=1)
    assert rich / poor == pytest.approx(3)


measures = st.lists(st.tuples(st.integers(1, 40), st.integers(0, 9)), min_size=1, max_size=30)


@given(measures, st.integers(1, 30))
def test_interpolation_follows_its_formula(flow: list[tuple[int, int]], width: int) -> None:
    window = Interpolation(width)
    window.grow(1, 0)
    history, now = 0.0, 0
    for away, cash in flow:
        now += away
        record(window, 0, cash, now)
        history = history * (width - away) / width + cash if away < width else cash * width / away
    assert importance(window, [0], now, turn=1) == [pytest.approx(per_tick(history / width))]


@given(measures, st.integers(1, 30), st.integers(0, 20))
def test_measuring_windows_follow_their_definitions(
    flow: list[tuple[int, int]], width: int, later: int
) -> None:
    windows = {name: a_window(name, width) for name in ("variable", "fixed", "improved-fixed")}
    now = 0
    seen: list[tuple[int, int]] = []
    for away, cash in flow:
        now += away
        seen.append((now, cash))
        for window in windows.values():
            record(window, 0, cash, now)
    now += later
    recent = sum(read_at >= now - width for read_at, _ in seen)
    counting = {"variable": width, "fixed": recent, "improved-fixed": max(3, recent)}
    for name, window in windows.items():
        kept = seen[max(0, len(seen) - counting[name]) :]
        since = ([0] + [read_at for read_at, _ in seen])[len(seen) - len(kept)]
        rate = sum(cash for _, cash in kept) / (kept[-1][0] - since) if kept else 0
        assert importance(window, [0], now, turn=1) == [pytest.approx(per_tick(rate))], name


def test_widths_are_in_turns_of_all_the_cash_there_is() -> None:
    window = a_window("interpolation", 2)
    record(window, 0, 1, now=4, turn=4)
    record(window, 0, 1, now=6, turn=4)
    assert importance(window, [0], now=6, turn=4) == [per_tick((1 * 6 / 8 + 1) / 8)]


@pytest.mark.parametrize("name", WINDOWS)
def test_a_window_that_was_saved_goes_on_as_if_nothing_had_been(name: str) -> None:
    lived = a_window(name, 3, pages=3)
    for now, page in enumerate([0, 1, 0, 0, 1, 0], 1):
        record(lived, page, now, now, turn=2)
    loaded = restored(lived, name, pages=3)
    for window in (lived, loaded):
        window.grow(1, 7 * TICKS)
        record(window, 1, 0.25, now=8, turn=2)
        record(window, 2, 0.5, now=9, turn=2)
    cash = [0.5, 1, 0, 2]
    assert importance(loaded, cash, 12, 2) == importance(lived, cash, 12, 2)
    assert list(map(loaded.past, range(4))) == list(map(lived.past, range(4)))


@pytest.mark.parametrize("name", WINDOWS)
def test_the_pages_of_a_range_are_judged_as_among_all(name: str) -> None:
    window = a_window(name, 3, pages=2)
    for now, page in enumerate([0, 1, 0, 3, 2, 3], 1):
        if now == 3:
            window.grow(3, now * TICKS)
        record(window, page, now, now, turn=2)
    cash = np.arange(5.0)
    whole = window.importance(cash, 9 * TICKS, 2 * TICKS)
    for first in range(5):
        for end in range(first, 6):
            part = window.importance(cash[first:end], 9 * TICKS, 2 * TICKS, first)
            assert part.tolist() == whole[first:end].tolist()


@pytest.mark.parametrize("name", WINDOWS)
def test_of_pages_that_were_never_read_there_is_but_their_birth(name: str) -> None:
    window = a_window(name, 3, pages=2)
    for now in (1, 2, 4):
        window.grow(2, now * TICKS)
    for first in range(8):
        for end in range(first, 9):
            born = window.births(first, end)
            pasts = list(map(window.past, range(first, end)))
            window.grow(1, 9 * TICKS)
            assert [(0, time, None) for time in born.by_page().tolist()] == pasts


def restored(window: Window, name: str, pages: int) -> Window:
    loaded = WINDOWS[name](3)
    histories, times, packed = zip(*map(window.past, range(pages)), strict=True)
    measures = {page: one for page, one in enumerate(packed) if one is not None}
    blocks = zip(np.array_split(histories, 2), np.array_split(times, 2), strict=True)
    loaded.restore(blocks, measures)
    return loaded
