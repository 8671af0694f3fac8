"""Numbers, times and sizes: parsed from text or numbers, and formatted as text.

A parser returns None for an invalid value. True, false, infinity and nan are not numbers.
"""

import math
import re
from operator import index

_DECIMAL = r"([0-9]+(?:\.[0-9]+)?)"

_SECONDS = {"w": 604_800, "d": 86_400, "h": 3600, "m": 60, "s": 1, "ms": 0.001}
_TIME = re.compile(r"\s*".join(rf"(?:{_DECIMAL}\s*{unit})?" for unit in _SECONDS), re.IGNORECASE)

_PERCENT = re.compile(rf"{_DECIMAL}\s*%")

_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_SIZE = re.compile(rf"{_DECIMAL}\s*([kmgt]?)(i?)b?", re.IGNORECASE)


def whole_number(value: object) -> int | None:
    try:
        if isinstance(value, str):
            return int(value)
        return None if isinstance(value, bool) else index(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None


def finite_number(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def seconds(value: object) -> float | None:
    """Parse seconds, or a time with units, largest first: 1h30m, 1.5h, 250ms."""
    if (plain := finite_number(value)) is not None:
        return plain
    match = _TIME.fullmatch(value.strip()) if isinstance(value, str) else None
    if not match or not any(match.groups()):
        return None
    counts = zip(match.groups("0"), _SECONDS.values(), strict=True)
    return finite_number(sum(float(count) * unit for count, unit in counts))


def span_s(value: object) -> float | None:
    """Parse a time with units; None for a plain number."""
    return seconds(value) if finite_number(value) is None else None


def size(value: object) -> int | None:
    """Parse bytes, or a size with a unit: 10MB is 10,000,000 bytes, 10MiB is 10 x 1024^2."""
    if (plain := whole_number(value)) is not None:
        return plain
    match = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    if not match:
        return None
    unit = (1024 if match[3] else 1000) ** _POWERS[match[2].lower()]
    count = finite_number(float(match[1]) * unit)
    return None if count is None else round(count)


def part(value: object) -> float | None:
    """Parse a share of 1, or a percentage: 0.9 or 90%."""
    if (plain := finite_number(value)) is not None:
        return plain
    match = _PERCENT.fullmatch(value.strip()) if isinstance(value, str) else None
    return None if match is None else float(match[1]) / 100


def as_percent(share: float) -> str:
    return f"{100 * share:g}%"


def as_time(value: object) -> str:
    """Format seconds with the largest unit that divides them: 1h, 30s, 0.1s."""
    seconds = float(str(value))
    for unit, length in _SECONDS.items():
        if length >= 1 and seconds and not seconds % length:
            return f"{seconds / length:.15g}{unit}"
    return f"{seconds:.15g}s"


def as_size(value: object) -> str:
    """Format bytes with the largest unit that divides them: 10MB, 64KiB, 999B."""
    count = int(str(value))
    for prefix, power in reversed(_POWERS.items()):
        for base, infix in ((1024, "i"), (1000, "")):
            if prefix and count and not count % base**power:
                return f"{count // base**power}{prefix.upper()}{infix}B"
    return f"{count}B"
