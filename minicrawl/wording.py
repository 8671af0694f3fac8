"""Numbers and times in sentences."""

from datetime import UTC, datetime, timedelta
from functools import lru_cache


def counted(number: int, noun: str, plural: str = "") -> str:
    """Format a number with its noun: `1 page`, `2,000 pages`, `1 index`, `2 indices`."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def as_duration(seconds: float) -> str:
    """Format a duration as h:mm:ss, preceded by days: `0:01:30`, `1 day, 2:00:00`."""
    return str(timedelta(seconds=round(seconds)))


@lru_cache(maxsize=1)  # most pages were fetched once, so both their times are the same
def iso(at: float) -> str:
    """Format a time as ISO 8601 in UTC, to the second."""
    return f"{datetime.fromtimestamp(int(at), UTC).isoformat()[:-6]}Z"


def rate(per_second: float) -> str:
    """Format a rate, to two digits if small: 1,234/s, 12/s, 0.25/s."""
    figures = f"{per_second:,.0f}" if per_second >= 9.5 else f"{per_second:.2g}"  # noqa: PLR2004
    return f"{figures}/s"
