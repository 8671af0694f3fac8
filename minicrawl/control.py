"""Requests to a running crawl, by the socket beside its store: values, and lines of JSON.

Laws: a request is one line of at most `LONGEST_LINE` bytes, and so is a reply, which may be 16
times as long. Both the client and the crawl refuse a value that the settings would refuse, with the
same message. Without a running crawl, the caller gets an error of one line. The wait for a reply is
limited. Where the path of a socket would be too long for its address, a shorter name leads to it.
"""

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import Any

from minicrawl.config.sources import Given
from minicrawl.config.table import BY_NAME
from minicrawl.errors import NoCrawlError, StoreError, UsageError
from minicrawl.store.reader import real_path
from minicrawl.web.urls import canonical_seed

LONGEST_LINE = 256 * 1024
MOST_URLS = 1000
MOST_HOSTS = 1000
MOST_PAGES = 10_000
NOTIFY_SOCKET = "NOTIFY_SOCKET"
"""Environment variable: address at which systemd listens to a service of `Type=notify`."""

Reply = dict[str, Any]


class Verb(StrEnum):
    SHOW = "show"  # return the state of the crawl
    HOSTS = "hosts"  # return when these hosts, given by id, may be contacted
    ASKERS = "askers"  # return which processes requested the latest pages
    PAUSE = "pause"  # begin no more requests
    RESUME = "resume"  # begin requests again
    STOP = "stop"  # end the crawl
    SET = "set"  # change settings: their values by name
    ADD = "add"  # crawl these URLs as well
    CHANGED = "changed"  # note that these pages, given by id, have changed


CHANGEABLE = ("workers", "concurrency", "delay", "max-rate", "hours", "pages", "small-edge")
"""Settings that may change while a crawl runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlRequest:
    """One request."""

    verb: Verb
    values: dict[str, object] | None = None  # of SET
    urls: tuple[str, ...] = ()  # of ADD
    hosts: tuple[int, ...] = ()  # of HOSTS
    pages: tuple[int, ...] = ()  # of CHANGED

    def __post_init__(self) -> None:
        for name, value in (self.values or {}).items():
            if name not in CHANGEABLE:
                known = ", ".join(CHANGEABLE)
                raise UsageError(f"{name} cannot change while a crawl runs; {known} can")
            Given(value, name, " ").read_as(BY_NAME[name])
        for kind, items, most in (
            ("URLs", self.urls, MOST_URLS),
            ("hosts", self.hosts, MOST_HOSTS),
            ("pages", self.pages, MOST_PAGES),
        ):
            if len(items) > most:
                raise UsageError(f"at most {most:,} {kind} at once, not {len(items):,}")
        for url in self.urls:
            if canonical_seed(url, strip_marks=False) is None:
                raise UsageError(f"{url!r} is not a URL that can be crawled")

    def as_line(self) -> bytes:
        """Return the request as a line."""
        numbers = {"hosts": self.hosts, "pages": self.pages}
        fields = {"urls": self.urls, "values": self.values, **numbers}
        given = {name: value for name, value in fields.items() if value}
        return as_line({"verb": self.verb, **given})


def as_line(message: Reply) -> bytes:
    """Return a message as one line of JSON."""
    return json.dumps(message).encode() + b"\n"


def request_of(line: bytes) -> ControlRequest:
    """Return the request in a line; raises `UsageError` if it is invalid."""
    message = message_of(line)
    try:
        verb = Verb(message.get("verb", ""))
    except ValueError:
        known = ", ".join(Verb)
        raise UsageError(f"unknown verb: give one of {known}") from None
    values, urls = message.get("values"), message.get("urls")
    if not isinstance(values, dict | None) or not isinstance(urls, list | None):
        raise UsageError("values must be an object, and urls a list")
    hosts, pages = _numbers(message, "hosts"), _numbers(message, "pages")
    named = tuple(map(str, urls or ()))
    return ControlRequest(verb=verb, values=values, urls=named, hosts=hosts, pages=pages)


def _numbers(message: Reply, name: str) -> tuple[int, ...]:
    numbers = message.get(name) or []
    if not isinstance(numbers, list) or not all(
        isinstance(number, int) and number >= 0 for number in numbers
    ):
        raise UsageError(f"{name} must be a list of numbers")
    return tuple(numbers)


def message_of(line: bytes) -> Reply:
    """Return the JSON object in a line; raises `UsageError` if there is none."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"not a line of JSON: {type(error).__name__}") from None
    if not isinstance(message, dict):
        raise UsageError("not a JSON object")
    return message


SUFFIX = "-control"
PATIENCE_S = 10.0
_LONGEST_PATH = 100  # of the 108 bytes that Linux has for the path of a socket
_LONGEST_NAME = 80
_DESCRIPTORS = Path("/proc/self/fd")


def socket_path(store: Path) -> Path:
    """Return the path of a store's socket. A name that is too long for a socket is hashed."""
    place = real_path(store)
    name = f"{place.name}{SUFFIX}"
    if len(os.fsencode(name)) > _LONGEST_NAME:
        name = f"{sha256(os.fsencode(place.name)).hexdigest()[:16]}{SUFFIX}"
    return place.with_name(name)


@contextmanager
def short_name(path: Path) -> Iterator[str]:
    """Yield a name for the path that fits into the address of a socket."""
    if len(os.fsencode(path)) <= _LONGEST_PATH or not _DESCRIPTORS.is_dir():
        yield str(path)
        return
    # A short path to the same socket: by the descriptor of its open folder. Changing the working
    # directory would also shorten the path, but for all threads.
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"{_DESCRIPTORS}/{folder}/{path.name}"
    finally:
        os.close(folder)


def ask(store: Path, request: ControlRequest, patience_s: float = PATIENCE_S) -> Reply:
    """Return the reply of the crawl of this store; raises `NoCrawlError` if there is none."""
    path = socket_path(store)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(patience_s)
        try:
            with short_name(path) as name:
                connection.connect(name)
            with suppress(BrokenPipeError):  # the reason of an early refusal can still be read
                connection.sendall(request.as_line())
            with connection.makefile("rb") as replies:
                line = replies.readline(16 * LONGEST_LINE)
        except (FileNotFoundError, ConnectionError, NotADirectoryError) as error:
            raise NoCrawlError(
                f"no crawl of {store} is running: start one with `minicrawl crawl`"
            ) from error
        except OSError as error:
            why = f"cannot be reached: {error.strerror or error}"
            if isinstance(error, PermissionError):
                why = "belongs to another user"
            elif isinstance(error, TimeoutError):
                why = "does not answer: try again in a moment"
            raise StoreError(f"the crawl of {store} {why}") from error
    if not line.endswith(b"\n"):
        raise NoCrawlError(f"the crawl of {store} has just ended")
    reply = message_of(line)
    if "error" in reply:
        raise StoreError(str(reply["error"]))
    return reply


def tell_systemd(state: str) -> None:
    """Send a state, such as `READY=1`, to the service manager that started this process."""
    address = os.environ[NOTIFY_SOCKET]
    # A crawl goes on if the manager is gone.
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as connection, suppress(OSError):
        connection.connect(f"\0{address[1:]}" if address.startswith("@") else address)
        connection.sendall(state.encode())
