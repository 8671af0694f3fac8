"""Rates and hours as text."""

import pytest

from minicrawl.config import Politeness, Settings
from minicrawl.config.values.pace import Rates, hours_of, rates_of
from minicrawl.errors import UsageError


@pytest.mark.parametrize(
    ("text", "rates"),
    [
        (None, Rates()),
        ("none", Rates()),
        (10, Rates(10.0)),
        ("10", Rates(10.0)),
        ("0.5/s", Rates(0.5)),
        ("500kB", Rates(None, 500_000.0)),
        ("10, 1MB/s", Rates(10.0, 1e6)),
        ("1MiB,2", Rates(2.0, 1024.0**2)),
    ],
)
def test_a_rate_counts_requests_bytes_or_both(text: str | float | None, rates: Rates) -> None:
    assert rates_of(Settings.of(max_rate=text).politeness.max_rate) == rates


@pytest.mark.parametrize("text", ["", "0", "-1", "x", "1,2", "1kB,2kB", "nan", "1e99", True])
def test_an_invalid_rate_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="must be requests a second"):
        Settings.of(max_rate=text)


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        (None, None),
        ("22-6", (1320, 360)),
        ("8-24", (480, 1440)),
        ("24-6", (0, 360)),
        ("22:30 - 6:15", (1350, 375)),
    ],
)
def test_hours_are_minutes_of_the_day(text: str | None, hours: tuple[int, int] | None) -> None:
    assert hours_of(text) == hours


@pytest.mark.parametrize("text", ["", "22", "6-6", "0-24", "22-25", "22:60-1", "24:30-1", "a-b"])
def test_invalid_hours_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="must be hours of the day"):
        Settings.of(hours=text)


def test_a_delay_is_a_time_or_adapts() -> None:
    assert Settings.of(delay="auto").politeness.delay_s == "auto"
    adaptive = Politeness(delay_s="auto", delay_factor=4, min_delay_s=1, max_delay_s=20)
    waits = [adaptive.delay_after(answer_s) for answer_s in (None, 0.01, 2.0, 60.0)]
    assert waits == [1.0, 1.0, 8.0, 20.0]
    assert adaptive.delay_after(0.01, is_local=True) == 0.04
    assert Settings.of(delay=3).politeness.delay_after(60.0) == 3.0
