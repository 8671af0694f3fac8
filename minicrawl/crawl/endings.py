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
from minicrawl.frontier.known import Pages
from minicrawl.model import (
    Failed,
    FailureKind,
    Fetched,
    Moved,
    Originals,
    Page,
    Reading,
    Refused,
    State,
    Unchanged,
)
from minicrawl.web.headers import retry_after_s
from minicrawl.web.urls import Name, name_of

_SPELLINGS = 3
"""URLs by which a page is asked for in all; some servers lead everybody to a session of his own."""


class Policy(NamedTuple):
    """How often a page that failed so is asked for in all, and whether it is the host's fault."""

    tries: int
    strike: bool


POLICIES = {
    FailureKind.DNS: Policy(2, True),
    FailureKind.CONNECT: Policy(3, True),
    FailureKind.TLS: Policy(1, True),
    FailureKind.TIMEOUT: Policy(2, True),
    FailureKind.RESET: Policy(3, True),
    FailureKind.PROTOCOL: Policy(1, False),
    FailureKind.ENCODING: Policy(1, False),
    FailureKind.TOO_LARGE: Policy(1, False),
    FailureKind.CROWDED: Policy(3, False),
    FailureKind.THROTTLED: Policy(5, True),
    FailureKind.SERVER_ERROR: Policy(3, True),
    FailureKind.NOT_FOUND: Policy(1, False),
    FailureKind.CLIENT_ERROR: Policy(1, False),
    FailureKind.BAD_STATUS: Policy(1, False),
    FailureKind.BAD_REDIRECT: Policy(1, False),
    FailureKind.LOST: Policy(2, False),
    FailureKind.INTERRUPTED: Policy(1, False),  # it is no try, so there is always another one
}


@dataclass(frozen=True, slots=True)
class Read:
    """The page was read: its links share its cash, unless it is another page by its content.

    What was foreseen need not be looked up any more when its links are met. Of very many links the
    new pages are known before its turn ends: these are `introduced`.
    """

    page: Page
    reading: Reading
    foreseen: Pages = field(default_factory=dict)
    introduced: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Leads:
    """The page is a redirect: it stands for its target."""

    target: str
    originals: Originals = ()


@dataclass(frozen=True, slots=True)
class Same:
    """Asked for again, the page had not changed: its links share its cash once more."""


@dataclass(frozen=True, slots=True)
class Dead:
    """The page has nothing to hand on to; `why` says what the answer itself does not."""

    state: State
    why: str = ""


@dataclass(frozen=True, slots=True)
class Again:
    """Not over: once more, later; by this URL, where the server insists on marks of a visit."""

    spelled: str | None = None


Ending = Read | Leads | Same | Dead | Again


class End(NamedTuple):
    """What a page is from now on, and why, where the answer itself does not say it."""

    state: State
    why: str = ""


def ending(
    url: str,
    fetched: Page | Moved | Unchanged | Refused | Failed,
    reading: Reading | None,
    tries: int,
    *,
    max_tries: int = 5,
    strip_marks: bool = True,
) -> Ending:
    """What becomes of the page at `url` after so many tries; `reading` is that of a `Page`."""
    match fetched:
        case Page():
            if reading is None:
                raise ValueError(f"{url} came but was not read")
            if reading.refresh is None:
                return Read(fetched, reading)
            return Leads(reading.refresh, reading.originals)
        case Moved():
            target = name_of(fetched.target, url, strip_marks=strip_marks)
            return _redirected(url, target, tries)
        case Unchanged():
            return Same()
        case Refused():
            return Dead(State.of(fetched.reason))
        case Failed():
            again = tries < tries_of(fetched.kind, max_tries)
            return Again() if again else _given_up(fetched.kind, tries)
    assert_never(fetched)


def _redirected(url: str, target: Name | None, tries: int) -> Leads | Again | Dead:
    if target is None:
        return Dead(State.BAD_REDIRECT, "that is no page")
    if target.url == url:
        if target.original and tries < _SPELLINGS:
            return Again(target.original)
        return Dead(State.BAD_REDIRECT, "that is the page itself")
    return Leads(target.url, ((target.url, target.original),) if target.original else ())


def tries_of(kind: FailureKind, max_tries: int) -> int:
    """How often is asked in all what fails so."""
    return min(POLICIES[kind].tries, max_tries)


def _given_up(kind: FailureKind, tries: int) -> Dead:
    why = f"tried {tries} times" if tries > 1 else ""
    if tries < POLICIES[kind].tries:
        why = f"tried {tries} of {POLICIES[kind].tries} times (--max-tries)"
    return Dead(State.of(kind), why)


def strike(fetched: object, today: float) -> tuple[FailureKind, float | None] | None:
    """What a failure counts against the host, and the pause that the host asked for.

    A page that the deadline cut is read, but its host is as slow as if it were not.
    """
    if isinstance(fetched, Page) and fetched.cut is FailureKind.TIMEOUT:
        return FailureKind.TIMEOUT, None
    if not isinstance(fetched, Failed) or not POLICIES[fetched.kind].strike:
        return None
    return fetched.kind, retry_after_s(fetched.retry_after, datetime.fromtimestamp(today, UTC))


def in_words(fetched: Fetched) -> str:
    """What was wrong with an answer, in one line."""
    name, status, detail = _said(fetched)
    said = detail or str(status or "")
    return f"{name.rpartition(':')[2]}: {said}".removesuffix(": ")


def outcome(
    fetched: Fetched, network: Network, reading: Reading | None = None, end: End | None = None
) -> tuple[str, int | None, str]:
    """A fetch in three words: what it was, its status, and what there is to say."""
    name, status, detail = _said(fetched)
    if isinstance(fetched, Page) and fetched.cut:
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


def _said(fetched: Fetched) -> tuple[str, int | None, str]:
    match fetched:
        case Page():
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
