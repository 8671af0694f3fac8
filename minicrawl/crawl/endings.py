"""How a page's turn ends: decided from what came, before anything is done.

Pure: a fetched value in, an ending out. Policies are tables.

again    the page keeps its turn and is asked for once more, later
strike   the failure counts against the host
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple, assert_never

from minicrawl.model import (
    Failed,
    FailureKind,
    Moved,
    Page,
    Reading,
    Refused,
    State,
    Unchanged,
)
from minicrawl.web.headers import retry_after_s
from minicrawl.web.urls import canonical


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
    FailureKind.THROTTLED: Policy(5, True),
    FailureKind.SERVER_ERROR: Policy(3, True),
    FailureKind.NOT_FOUND: Policy(1, False),
    FailureKind.CLIENT_ERROR: Policy(1, False),
    FailureKind.BAD_STATUS: Policy(1, False),
    FailureKind.BAD_REDIRECT: Policy(1, False),
    FailureKind.LOST: Policy(2, False),
}


@dataclass(frozen=True, slots=True)
class Read:
    """The page was read: its links share its cash, unless it is another page by its content."""

    page: Page
    reading: Reading


@dataclass(frozen=True, slots=True)
class Leads:
    """The page is a redirect: it stands for its target."""

    target: str


@dataclass(frozen=True, slots=True)
class Same:
    """Asked for again, the page had not changed: its links share its cash once more."""


@dataclass(frozen=True, slots=True)
class Dead:
    """The page has nothing to hand on to."""

    state: State


@dataclass(frozen=True, slots=True)
class Again:
    """Not over: once more, later."""


Ending = Read | Leads | Same | Dead | Again


def ending(
    url: str,
    fetched: Page | Moved | Unchanged | Refused | Failed,
    reading: Reading | None,
    tries: int,
) -> Ending:
    """What becomes of the page at `url` after so many tries; `reading` is that of a `Page`."""
    match fetched:
        case Page():
            if reading is None:
                raise ValueError(f"{url} came but was not read")
            return Read(fetched, reading) if reading.refresh is None else Leads(reading.refresh)
        case Moved():
            target = canonical(fetched.target, url)
            if target is None or target == url:
                return Dead(State.BAD_REDIRECT)
            return Leads(target)
        case Unchanged():
            return Same()
        case Refused():
            return Dead(State.of(fetched.reason))
        case Failed():
            again = tries < POLICIES[fetched.kind].tries
            return Again() if again else Dead(State.of(fetched.kind))
    assert_never(fetched)


def strike(fetched: object, today: float) -> tuple[FailureKind, float | None] | None:
    """What a failure counts against the host, and the pause that the host asked for.

    A page that the deadline cut is read, but its host is as slow as if it were not.
    """
    if isinstance(fetched, Page) and fetched.cut is FailureKind.TIMEOUT:
        return FailureKind.TIMEOUT, None
    if not isinstance(fetched, Failed) or not POLICIES[fetched.kind].strike:
        return None
    return fetched.kind, retry_after_s(fetched.retry_after, datetime.fromtimestamp(today, UTC))


def outcome(fetched: Page | Moved | Unchanged | Refused | Failed) -> tuple[str, int | None, str]:
    """A fetch in three words: what it was, its status, and what there is to say."""
    match fetched:
        case Page():
            return "page", fetched.status, f"cut: {fetched.cut}" if fetched.cut else ""
        case Moved():
            return "moved", fetched.status, fetched.target
        case Unchanged():
            return "unchanged", 304, ""
        case Refused():
            return f"refused:{fetched.reason}", fetched.status, fetched.detail
        case Failed():
            return f"failed:{fetched.kind}", fetched.status, fetched.detail
    assert_never(fetched)
