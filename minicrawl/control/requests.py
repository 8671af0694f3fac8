"""What may be asked of a running crawl, as values and as lines of JSON.

Laws: a request is one line of at most `LONGEST_LINE` bytes, and so is a reply. A value that the
settings would refuse is refused here with the same words, by whoever asks and by the crawl.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from minicrawl.config.sources import Given
from minicrawl.config.table import BY_NAME
from minicrawl.errors import UsageError
from minicrawl.web.urls import canonical_seed

LONGEST_LINE = 256 * 1024
MOST_URLS = 1000
MOST_HOSTS = 1000

Reply = dict[str, Any]


class Verb(StrEnum):
    """What the crawl is to do."""

    SHOW = "show"  # say what it is doing
    HOSTS = "hosts"  # say when these hosts may be asked; their ids
    ASKERS = "askers"  # say which processes asked for the latest pages
    PAUSE = "pause"  # begin no more requests
    RESUME = "resume"  # begin them again
    STOP = "stop"  # end
    SET = "set"  # change settings: their values by name
    ADD = "add"  # crawl these URLs as well


CHANGEABLE = ("workers", "concurrency", "delay", "max-rate", "hours", "pages", "small-edge")
"""The settings that may change while a crawl runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlRequest:
    """One request."""

    verb: Verb
    values: dict[str, object] | None = None  # of SET
    urls: tuple[str, ...] = ()  # of ADD
    hosts: tuple[int, ...] = ()  # of HOSTS

    def __post_init__(self) -> None:
        for name, value in (self.values or {}).items():
            if name not in CHANGEABLE:
                known = ", ".join(CHANGEABLE)
                raise UsageError(f"{name} cannot change while a crawl runs; {known} can")
            Given(value, name, " ").read_as(BY_NAME[name])
        if len(self.urls) > MOST_URLS:
            raise UsageError(f"at most {MOST_URLS:,} URLs at once, not {len(self.urls):,}")
        for url in self.urls:
            if canonical_seed(url, strip_marks=False) is None:
                raise UsageError(f"{url!r} is not a URL that can be crawled")

    def as_line(self) -> bytes:
        """The request as it is sent."""
        fields = {"urls": self.urls, "hosts": self.hosts, "values": self.values}
        given = {name: value for name, value in fields.items() if value}
        return as_line({"verb": self.verb, **given})


def as_line(message: Reply) -> bytes:
    """One line of JSON."""
    return json.dumps(message).encode() + b"\n"


def request_of(line: bytes) -> ControlRequest:
    """The request in a line; raises `UsageError` if it is none."""
    message = message_of(line)
    try:
        verb = Verb(message.get("verb", ""))
    except ValueError:
        known = ", ".join(Verb)
        raise UsageError(f"no such request; there are {known}") from None
    values, urls, hosts = (message.get(name) for name in ("values", "urls", "hosts"))
    if not isinstance(values, dict | None) or not isinstance(urls, list | None):
        raise UsageError("values must be an object, and urls a list")
    if not isinstance(hosts, list | None) or not all(isinstance(one, int) for one in hosts or ()):
        raise UsageError("hosts must be a list of numbers")
    named = tuple(map(str, urls or ()))
    return ControlRequest(
        verb=verb, values=values, urls=named, hosts=tuple((hosts or ())[:MOST_HOSTS])
    )


def message_of(line: bytes) -> Reply:
    """The object in a line of JSON; raises `UsageError` if there is none."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"not a line of JSON: {type(error).__name__}") from None
    if not isinstance(message, dict):
        raise UsageError("not a JSON object")
    return message
