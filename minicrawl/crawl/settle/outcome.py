"""Decides the outcome of a page's turn from its response, before anything changes.

Pure: a fetch result in, an outcome out. The retry policies are in the table of `states`.

chain    consecutive redirects, and the cookies that came with them
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import NamedTuple, assert_never

from minicrawl.model import (
    Failed,
    FetchResult,
    Moved,
    Originals,
    PageId,
    ParsedPage,
    Refused,
    Response,
    Unchanged,
)
from minicrawl.states import FAILURES, State, policy_of
from minicrawl.web.responses.challenges import COOKIE_WALL
from minicrawl.web.responses.headers import retry_after_s
from minicrawl.web.urls import ResolvedUrl, resolve

_MOST_BEGINNINGS = 1000
"""Limit of pages where redirects to one page began."""
_MOST_SESSION_TRIES = 3
"""Limit of requests for a page that redirects to itself to start a session: by a mark in its URL,
or with a cookie.
"""
_FAILURES = {state.outcome: state for state in FAILURES}


@dataclass(frozen=True, slots=True)
class WasRead:
    """The page was read: its links share its cash, unless it stands for another page."""

    response: Response
    parsed: ParsedPage


@dataclass(frozen=True, slots=True)
class Redirects:
    """The page is a redirect: it stands for its target."""

    target: str
    originals: Originals = ()
    sets_cookies: bool = False


@dataclass(frozen=True, slots=True)
class NotModified:
    """The page has not changed since it was last read: its links share its cash once more."""


@dataclass(frozen=True, slots=True)
class GivenUp:
    """The page is a dead end; `reason` adds what the response itself does not tell."""

    state: State
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Retry:
    """The page is requested again later, at `request_url` if the server insists on its marks."""

    request_url: str | None = None


Outcome = WasRead | Redirects | NotModified | GivenUp | Retry


class TurnEnd(NamedTuple):
    """New state of the page; `reason` adds what the response itself does not tell."""

    state: State
    reason: str = ""
    led_to: tuple[int, ...] = ()
    """Target of a redirect, if unread, or pages that are requested again."""
    has_changed: bool = False
    """True if the content differs from the last reading."""


class RedirectChain(NamedTuple):
    """Consecutive redirects that led to a page."""

    hops: int = 0
    sets_cookies: bool = False
    """True if cookies came with a redirect of the chain or with a response since."""
    begun_at: tuple[int, ...] = ()
    """Pages where the chain began, if cookies are kept."""

    def led_on(self, page: PageId, *, has_jar: bool, sets_cookies: bool) -> "RedirectChain":
        begun_at = self.begun_at or (page,) if has_jar else ()
        return RedirectChain(self.hops + 1, self.sets_cookies or sets_cookies, begun_at)

    def joined(self, other: "RedirectChain") -> "RedirectChain":
        begun_at = dict.fromkeys((*self.begun_at, *other.begun_at))
        return RedirectChain(
            max(self.hops, other.hops),
            self.sets_cookies or other.sets_cookies,
            tuple(islice(begun_at, _MOST_BEGINNINGS)),
        )


NO_CHAIN = RedirectChain()


def decide_outcome(
    url: str,
    fetched: Response | Moved | Unchanged | Refused | Failed,
    parsed: ParsedPage | None,
    tries: int,
    *,
    max_tries: int | None = None,
    strip_marks: bool = True,
) -> Outcome:
    """Return the outcome of the page after `tries` requests; a `Response` needs `parsed`."""
    match fetched:
        case Response():
            if parsed is None:
                raise ValueError(f"{url}: a response without its parsed page")
            if parsed.refresh is None:
                return WasRead(fetched, parsed)
            return Redirects(parsed.refresh, parsed.originals, bool(fetched.cookies))
        case Moved():
            target = resolve(fetched.target, url, strip_marks=strip_marks)
            return _redirected(url, target, tries, sets_cookies=bool(fetched.cookies))
        case Unchanged():
            return NotModified()
        case Refused():
            return GivenUp(fetched.reason)
        case Failed(kind):
            is_over = tries >= tries_of(kind, max_tries)
            # An interruption is no failure of the page, and uses up no try.
            reason, allowed = f"tried {tries} times" if tries > 1 else "", policy_of(kind).tries
            if tries < allowed:
                reason = f"tried {tries} of {allowed} times (--max-tries)"
            is_given_up = is_over and kind is not State.INTERRUPTED
            return GivenUp(kind, reason) if is_given_up else Retry()
    assert_never(fetched)


def _redirected(
    url: str, target: ResolvedUrl | None, tries: int, *, sets_cookies: bool
) -> Redirects | Retry | GivenUp:
    if target is None:
        return GivenUp(State.BAD_REDIRECT, "the target is not a page")
    if target.url == url:
        if (target.original or sets_cookies) and tries < _MOST_SESSION_TRIES:
            return Retry(target.original)
        wall = f"; {COOKIE_WALL}" if sets_cookies else ""
        return GivenUp(State.BAD_REDIRECT, f"that is the page itself{wall}")
    originals = ((target.url, target.original),) if target.original else ()
    return Redirects(target.url, originals, sets_cookies)


def tries_of(kind: State, max_tries: int | None) -> int:
    """Return the number of requests after which a page with this kind of failure is given up."""
    tries = policy_of(kind).tries
    return tries if max_tries is None else min(tries, max_tries)


def tries_so_far(outcomes: Iterable[str], max_tries: int | None) -> int:
    """Return the number of tries of the turn that these outcomes, oldest first, have left open."""
    tries = 0
    for outcome in outcomes:
        kind = _FAILURES.get(outcome)
        if kind is not State.INTERRUPTED:
            tries += 1
        if kind is not None and tries >= tries_of(kind, max_tries):
            tries = 0  # given up: the next request began another turn
    return tries


def fault_of(fetched: FetchResult, today: float) -> tuple[State, float | None] | None:
    """Return the failure, if the host pauses after it, and the pause that the host asked for.

    A page that was cut off at the timeout is read, but its host is too slow all the same.
    """
    if isinstance(fetched, Response) and fetched.cut is State.TIMEOUT:
        return State.TIMEOUT, None
    if not isinstance(fetched, Failed) or policy_of(fetched.kind).pause is None:
        return None
    return fetched.kind, retry_after_s(fetched.retry_after, datetime.fromtimestamp(today, UTC))
