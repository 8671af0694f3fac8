"""Numbers, times, sizes and shares as text."""

import math

import pytest
from hypothesis import given, strategies as st

from minicrawl.config.values.quantities import (
    as_percent,
    as_size,
    as_time,
    finite_number,
    part,
    seconds,
    size,
    whole_number,
)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *(("7", 7), (" -7 ", -7), (7, 7), ("1_000", 1000)),
        *((value, None) for value in ("7.0", 7.0, True, "", "9" * 5000, None, [7])),
    ],
)
def test_a_whole_number_has_no_point(value: object, expected: int | None) -> None:
    assert whole_number(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *(("1.5", 1.5), (2, 2.0), ("1e3", 1000.0)),
        *((value, None) for value in ("nan", "inf", math.inf, math.nan, 10**400)),
        *((value, None) for value in ("1,5", True, None)),
    ],
)
def test_infinity_nan_and_true_are_no_numbers(value: object, expected: float | None) -> None:
    assert finite_number(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *((30, 30), ("30", 30), ("0.5", 0.5), ("-5", -5), ("30s", 30), ("250ms", 0.25)),
        *((text, 5400) for text in ("90m", "1h30m", "1H 30M", "1.5h")),
        *(("2h", 7200), ("2d", 172_800), ("4w", 2_419_200), ("1w1d1h1m1s", 694_861)),
        *((value, None) for value in ("", "s", "30x", "30m1h", "1h30", "-1h")),
        *(("9" * 400 + "s", None), ([], None)),
    ],
)
def test_a_time_is_seconds_or_has_descending_units(value: object, expected: float | None) -> None:
    assert seconds(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *((5000, 5000), ("5000", 5000), ("10B", 10), ("10kB", 10_000), ("10KiB", 10_240)),
        *(("1.5 MB", 1_500_000), ("10GB", 10_000_000_000), ("1GiB", 1_073_741_824)),
        *(("2t", 2_000_000_000_000), ("1.5", 2), ("-1", -1)),
        *((value, None) for value in ("GB", "10XB", "-1GB", "9" * 400 + "GB", 1.5, None)),
    ],
)
def test_a_size_is_bytes_or_a_number_with_a_unit(value: object, expected: int | None) -> None:
    assert size(value) == expected


@given(st.integers(0, 9), st.integers(0, 23), st.integers(0, 59), st.integers(0, 59))
def test_a_time_is_the_sum_of_its_parts(days: int, hours: int, minutes: int, rest: int) -> None:
    found = seconds(f"{days}d{hours}h{minutes}m{rest}s")
    assert found == ((days * 24 + hours) * 60 + minutes) * 60 + rest


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0B"), (999, "999B"), (64 * 1024, "64KiB"), (10_000_000, "10MB"), (2**30, "1GiB")],
)
def test_a_size_is_shown_with_the_largest_unit_that_divides_it(count: int, text: str) -> None:
    assert as_size(count) == text
    assert size(text) == count


@pytest.mark.parametrize(
    ("time", "text"),
    [
        (0.0, "0s"),
        (0.1, "0.1s"),
        (90.0, "90s"),
        (60.0, "1m"),
        (3600.0, "1h"),
        (1e7 + 1, "10000001s"),
    ],
)
def test_a_time_is_shown_with_the_largest_unit_that_divides_it(time: float, text: str) -> None:
    assert as_time(time) == text
    assert seconds(text) == time


@given(st.integers(1, 1000))
def test_a_share_in_percent_is_read_as_it_is_shown(thousandths: int) -> None:
    assert part(as_percent(thousandths / 1000)) == pytest.approx(thousandths / 1000)
