"""Numbers, times and sizes, out of text or out of numbers; None is what cannot be one.

True, false, infinity and nan are no numbers.
"""

import math
import re
from operator import index

_DECIMAL = r"([0-9]+(?:\.[0-9]+)?)"

_SECONDS = {"d": 86_400, "h": 3600, "m": 60, "s": 1, "ms": 0.001}
_TIME = re.compile(r"\s*".join(rf"(?:{_DECIMAL}\s*{unit})?" for unit in _SECONDS), re.IGNORECASE)

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
        found = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def seconds(value: object) -> float | None:
    """A number of seconds, or a time in units, the largest first: 1h30m, 1.5h, 250ms."""
    if (plain := finite_number(value)) is not None:
        return plain
    found = _TIME.fullmatch(value.strip()) if isinstance(value, str) else None
    if not found or not any(found.groups()):
        return None
    counts = zip(found.groups("0"), _SECONDS.values(), strict=True)
    return finite_number(sum(float(count) * unit for count, unit in counts))


def size(value: object) -> int | None:
    """A number of bytes, or one with a unit: 10MB is 10,000,000 of them, 10MiB is 10 x 1024^2."""
    if (plain := whole_number(value)) is not None:
        return plain
    found = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    if not found:
        return None
    unit = (1024 if found[3] else 1000) ** _POWERS[found[2].lower()]
    count = finite_number(float(found[1]) * unit)
    return None if count is None else round(count)
