"""Keeps responses to requests of pages, so that each URL is requested once.

Laws: a response that must not be stored is not stored. Without caching headers, a script is kept
until the crawl ends, and other responses are not kept. There are at most `MOST` responses, with
`MOST_BYTES` together; the least recently used is dropped first.
"""

from __future__ import annotations

import math
import re
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from typing import NamedTuple

from minicrawl.web.responses.headers import max_age_s

MOST_BYTES = 32_000_000
MOST = 10_000
_NEVER = re.compile(r"no-store|no-cache|private", re.IGNORECASE)


class ResourceAnswer(NamedTuple):
    """Response of a server; status 0 if there was none."""

    status: int = 0
    content_type: str = ""
    body: bytes = b""


class ResourceCache:
    """Cache of responses, by URL and by everything else that makes a difference."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes, self._bytes = most_bytes, 0
        self._answers = OrderedDict[Hashable, tuple[ResourceAnswer, float]]()

    def get(self, key: Hashable, now: float) -> ResourceAnswer | None:
        """Return the cached response, if it is fresh."""
        answer, until = self._answers.get(key, (None, 0.0))
        if answer is None or until <= now:
            return None
        self._answers.move_to_end(key)
        return answer

    def put(self, key: Hashable, answer: ResourceAnswer, until: float) -> None:
        """Keep a response until the time `until`, unless it is larger than the whole cache."""
        self._bytes -= len(self._answers.pop(key, (ResourceAnswer(), 0.0))[0].body)
        if len(answer.body) > self._most_bytes:
            return
        self._answers[key] = answer, until
        self._bytes += len(answer.body)
        while self._bytes > self._most_bytes or len(self._answers) > MOST:
            _, (gone, _) = self._answers.popitem(last=False)
            self._bytes -= len(gone.body)


def fresh_for_s(headers: Mapping[str, str], *, is_script: bool) -> float:
    """Return for how many seconds a response may be used again."""
    said = headers.get("cache-control", "")
    if _NEVER.search(said) or headers.get("vary", "").strip() == "*" or "set-cookie" in headers:
        return 0.0
    age_s = max_age_s(headers)
    if age_s is not None:
        return age_s
    return math.inf if is_script else 0.0
