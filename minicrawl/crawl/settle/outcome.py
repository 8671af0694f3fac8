"""How a page's turn ends: decided from what came, before anything is done.

Pure: a fetched value in, an ending out. Policies are tables.

again    the page keeps its turn and is asked for once more, later
strike   the failure counts against the host
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple, assert_never

from minicrawl.config import Network
from minicrawl.frontier.url_index import PagesByUrl
from minicrawl.model import (
    Failed,
    FailureKind,
    FetchResult,
    Moved,
    Originals,
    ParsedPage,
    Refused,
    Response,
    State,
    Unchanged,
)
from minicrawl.web.headers import retry_after_s
from minicrawl.web.urls import ResolvedUrl, resolve

_SPELLINGS = 3
"""URLs by which a page is asked for in all; some servers lead everybody to a session of his own."""


class RetryPolicy(NamedTuple):
    """How often a page that failed so is asked for in all, and whether it is the host's fault."""

    tries: int
    strike: bool


RETRY_POLICIES = {
    FailureKind.DNS: RetryPolicy(2, True),
    FailureKind.CONNECT: RetryPolicy(3, True),
    FailureKind.TLS: RetryPolicy(1, True),
    FailureKind.TIMEOUT: RetryPolicy(2, True),
    FailureKind.RESET: RetryPolicy(3, True),
    FailureKind.PROTOCOL: RetryPolicy(1, False),
    FailureKind.ENCODING: RetryPolicy(1, False),
    FailureKind.TOO_LARGE: RetryPolicy(1, False),
    FailureKind.CROWDED: RetryPolicy(3, False),
    FailureKind.THROTTLED: RetryPolicy(5, True),
    FailureKind.SERVER_ERROR: RetryPolicy(3, True),
    FailureKind.NOT_FOUND: RetryPolicy(1, False),
    FailureKind.CLIENT_ERROR: RetryPolicy(1, False),
    FailureKind.BAD_STATUS: RetryPolicy(1, False),
    FailureKind.BAD_REDIRECT: RetryPolicy(1, False),
    FailureKind.LOST: RetryPolicy(2, False),
    FailureKind.INTERRUPTED: RetryPolicy(1, False),  # it is no try, so there is always another one
}


@dataclass(frozen=True, slots=True)
class WasRead:
    """The page was read: its links share its cash, unless it is another page by its content.

    What was foreseen need not be looked up any more when its links are met. Of very many links the
    new pages are known before its turn ends: these are `introduced`.
    """

    page: Response
    reading: ParsedPage
    looked_up: PagesByUrl = field(default_factory=dict)
    introduced: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Redirects:
    """The page is a redirect: it stands for its target."""

    target: str
    originals: Originals = ()


@dataclass(frozen=True, slots=True)
class NotModified:
    """Asked for again, the page had not changed: its links share its cash once more."""


@dataclass(frozen=True, slots=True)
class GivenUp:
    """The page has nothing to hand on to; `why` says what the answer itself does not."""

    state: State
    why: str = ""


@dataclass(frozen=True, slots=True)
class Retry:
    """Not over: once more, later; by this URL, where the server insists on marks of a visit."""

    spelled: str | None = None


Outcome = WasRead | Redirects | NotModified | GivenUp | Retry


class TurnEnd(NamedTuple):
    """What a page is from now on, and why, where the answer itself does not say it."""

    state: State
    why: str = ""


def decide_outcome(
    url: str,
    fetched: Response | Moved | Unchanged | Refused | Failed,
    reading: ParsedPage | None,
    tries: int,
    *,
    max_tries: int = 5,
    strip_marks: bool = True,
) -> Outcome:
    """What becomes of the page at `url` after so many tries; `reading` is that of a `Response`."""
    match fetched:
        case Response():
            if reading is None:
                raise ValueError(f"{url} came but was not read")
            if reading.refresh is None:
                return WasRead(fetched, reading)
            return Redirects(reading.refresh, reading.originals)
        case Moved():
            target = resolve(fetched.target, url, strip_marks=strip_marks)
            return _redirected(url, target, tries)
        case Unchanged():
            return NotModified()
        case Refused():
            return GivenUp(State.of(fetched.reason))
        case Failed():
            again = tries < tries_of(fetched.kind, max_tries)
            return Retry() if again else _given_up(fetched.kind, tries)
    assert_never(fetched)


def _redirected(url: str, target: ResolvedUrl | None, tries: int) -> Redirects | Retry | GivenUp:
    if target is None:
        return GivenUp(State.BAD_REDIRECT, "that is no page")
    if target.url == url:
        if target.original and tries < _SPELLINGS:
            return Retry(target.original)
        return GivenUp(State.BAD_REDIRECT, "that is the page itself")
    return Redirects(target.url, ((target.url, target.original),) if target.original else ())


def tries_of(kind: FailureKind, max_tries: int) -> int:
    """How often is asked in all what fails so."""
    return min(RETRY_POLICIES[kind].tries, max_tries)


def _given_up(kind: FailureKind, tries: int) -> GivenUp:
    why = f"tried {tries} times" if tries > 1 else ""
    if tries < RETRY_POLICIES[kind].tries:
        why = f"tried {tries} of {RETRY_POLICIES[kind].tries} times (--max-tries)"
    return GivenUp(State.of(kind), why)


def strike_of(fetched: object, today: float) -> tuple[FailureKind, float | None] | None:
    """What a failure counts against the host, and the pause that the host asked for.

    A page that the deadline cut is read, but its host is as slow as if it were not.
    """
    if isinstance(fetched, Response) and fetched.cut is FailureKind.TIMEOUT:
        return FailureKind.TIMEOUT, None
    if not isinstance(fetched, Failed) or not RETRY_POLICIES[fetched.kind].strike:
        return None
    return fetched.kind, retry_after_s(fetched.retry_after, datetime.fromtimestamp(today, UTC))


def in_words(fetched: FetchResult) -> str:
    """What was wrong with an answer, in one line."""
    name, status, detail = _said(fetched)
    said = detail or str(status or "")
    return f"{name.rpartition(':')[2]}: {said}".removesuffix(": ")


def describe_outcome(
    fetched: FetchResult,
    network: Network,
    reading: ParsedPage | None = None,
    end: TurnEnd | None = None,
) -> tuple[str, int | None, str]:
    """A fetch in three words: what it was, its status, and what there is to say."""
    name, status, detail = _said(fetched)
    if isinstance(fetched, Response) and fetched.cut:
        told = fetched.cut_detail
        detail = f"cut: {told}" if told else _why_cut(fetched.cut, network)
    if reading is not None and reading.cut:
        detail = _and(detail, reading.cut)
    if end is not None and end.why:
        name, detail = end.state.outcome, _and(detail, end.why)
    return name, status, detail


def _why_cut(kind: FailureKind, network: Network) -> str:
    if kind is FailureKind.TOO_LARGE:
        return f"cut at {network.max_body_bytes:,} bytes (--max-body)"
    if kind is FailureKind.CROWDED:
        return f"cut as all bodies were over {network.max_bodies_bytes:,} bytes (--max-bodies)"
    if kind is FailureKind.TIMEOUT:
        return f"cut after {network.timeout_s:g} s (--timeout)"
    return f"cut: {kind}"


def _said(fetched: FetchResult) -> tuple[str, int | None, str]:
    match fetched:
        case Response():
            return "page", fetched.status, f"cut: {fetched.cut}" if fetched.cut else ""
        case Moved():
            return "moved", fetched.status, fetched.target
        case Unchanged():
            return "unchanged", 304, ""
        case Refused():
            return State.of(fetched.reason).outcome, fetched.status, fetched.detail
        case Failed():
            return State.of(fetched.kind).outcome, fetched.status, fetched.detail
    assert_never(fetched)


def _and(detail: str, more: str) -> str:
    return f"{detail}; {more}" if detail else more
