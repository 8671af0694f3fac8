"""What pages have asked for while they were rendered, so that it is asked for once.

Laws: what a server says must not be kept, is not kept. A script about which it says nothing is kept
until the crawl ends; other things are not. There are at most `MOST` of them, with `MOST_BYTES`
together; what was wanted longest ago goes first.
"""

from __future__ import annotations

import math
import re
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from typing import NamedTuple

MOST_BYTES = 32_000_000
MOST = 10_000
_NEVER = re.compile(r"no-store|no-cache|private", re.IGNORECASE)
_MAX_AGE = re.compile(r"max-age\s*=\s*\"?([0-9]{1,9})", re.IGNORECASE)


class FoundResource(NamedTuple):
    """What a server answered; status 0 if it did not."""

    status: int = 0
    content_type: str = ""
    body: bytes = b""


class ResourceCache:
    """By what was wanted: a URL, and what else makes a difference."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes, self._bytes = most_bytes, 0
        self._kept = OrderedDict[Hashable, tuple[FoundResource, float]]()

    def get(self, wanted: Hashable, now: float) -> FoundResource | None:
        """What is kept, if it still holds."""
        found, until = self._kept.get(wanted, (None, 0.0))
        if found is None or until <= now:
            return None
        self._kept.move_to_end(wanted)
        return found

    def put(self, wanted: Hashable, found: FoundResource, until: float) -> None:
        """Keep it until then, if there is room."""
        self._bytes -= len(self._kept.pop(wanted, (FoundResource(), 0.0))[0].body)
        if len(found.body) > self._most_bytes:
            return
        self._kept[wanted] = found, until
        self._bytes += len(found.body)
        while self._bytes > self._most_bytes or len(self._kept) > MOST:
            _, (gone, _) = self._kept.popitem(last=False)
            self._bytes -= len(gone.body)


def fresh_for_s(headers: Mapping[str, str], *, is_script: bool) -> float:
    """For how long an answer may be used again."""
    said = headers.get("cache-control", "")
    if _NEVER.search(said) or headers.get("vary", "").strip() == "*" or "set-cookie" in headers:
        return 0.0
    age = _MAX_AGE.search(said)
    if age is not None:
        return float(age[1])
    return math.inf if is_script else 0.0
