"""Rates and hours as text: `10`, `500kB`, `10,500kB`; `22-6`, `22:30-6:15`."""

import re
from typing import NamedTuple

from minicrawl.config.values.kinds import InvalidValue, ValueKind, text
from minicrawl.config.values.quantities import finite_number, size

_HOURS = re.compile(r"([0-9]{1,2})(?::([0-5][0-9]))?\s*-\s*([0-9]{1,2})(?::([0-5][0-9]))?")
_LAST_HOUR, _HOUR_MIN = 24, 60
_HAS_UNIT = re.compile(r".*[A-Za-z]\s*(?:/s)?")
_LEAST_RATE, _MOST_RATE = 1e-6, 1e6


class Rates(NamedTuple):
    """Limits of requests and bytes per second; None for no limit."""

    requests: float | None = None
    bytes: float | None = None


def rates_of(text: str | None) -> Rates:
    rates = Rates() if text is None else _parsed_rates(text)
    assert rates is not None, "the settings have validated the text"
    return rates


def hours_of(text: str | None) -> tuple[int, int] | None:
    """Return the first minute of the range, and the first minute after it."""
    return None if text is None else _parsed_hours(text)


def _parsed_rates(text: str) -> Rates | None:
    rates = Rates()
    for part in (rate.strip().removesuffix("/s").strip() for rate in text.split(",")):
        if _HAS_UNIT.fullmatch(part):
            volume = size(part)
            if not volume or rates.bytes:
                return None
            rates = rates._replace(bytes=float(volume))
        else:
            number = finite_number(part)
            if number is None or rates.requests or not _LEAST_RATE <= number <= _MOST_RATE:
                return None
            rates = rates._replace(requests=number)
    return rates


def _parsed_hours(text: str) -> tuple[int, int] | None:
    match = _HOURS.fullmatch(text.strip())
    if match is None:
        return None
    begin, end = (
        int(hour) * _HOUR_MIN + int(minute or 0)
        for hour, minute in (match.group(1, 2), match.group(3, 4))
    )
    last = _LAST_HOUR * _HOUR_MIN
    return (begin % last, end) if max(begin, end) <= last and begin % last != end % last else None


def _read_rate(value: object) -> str:
    text = f"{value:g}" if isinstance(value, int | float) and not isinstance(value, bool) else value
    if isinstance(text, str) and text.isprintable() and _parsed_rates(text) is not None:
        return text
    expectation = (
        "must be requests a second such as 10 or 0.5, bytes such as 500kB, or both: 10,500kB"
    )
    raise InvalidValue(value, expectation)


RATE = ValueKind("RATE", _read_rate, accepts="float | str")
HOURS = text("HOURS", "hours of the day such as 22-6 or 22:30-6:15", _parsed_hours)
