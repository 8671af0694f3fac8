"""Cross-origin resource sharing: what a script may read of another origin, and send there.

Laws (https://fetch.spec.whatwg.org/#http-cors-protocol): a script reads what another origin allows
it to read. Headers of its own reach another origin only after a preflight, an OPTIONS request,
whose answer names them. Which headers these are, an origin is told only if it shares with the asker
at all, and has not named them by itself. A redirected preflight, or one that fails, allows nothing.
Nothing is sent that says who we are, so `*` in an answer stands for all names.

safe   a header that any form or image could have sent as well
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from minicrawl.model import Request, Response, Want

Headers = Sequence[tuple[str, str]]

_OF_BROWSERS = frozenset(("origin", "referer"))
"""No script can set these."""
_LONGEST_SAFE = 128
_UNSAFE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\"():<>?@\[\\\]{}]")
_USUAL_S, _LONGEST_S = 5.0, 7200.0
"""How long a preflight holds: what browsers take if nothing is said, and at most."""
_AGE = re.compile(r"[0-9]{1,9}")


def may_be_read(answer: object, asker: str) -> bool:
    """Return whether scripts of the origin `asker` may read an answer of another origin."""
    if not isinstance(answer, Response):
        return False
    allowed = answer.headers.get("access-control-allow-origin", "")
    return allowed in ("*", asker) and allowed != ""


def unsafe_names(headers: Headers) -> tuple[str, ...]:
    """Return the names of headers that need a preflight, sorted."""
    return tuple(sorted(name for name, value in headers if not _is_safe(name, value)))


def _is_safe(name: str, value: str) -> bool:
    if name in _OF_BROWSERS:
        return True
    return name == "accept" and len(value) <= _LONGEST_SAFE and not _UNSAFE.search(value)


def preflight_of(url: str, asker: str, names: Iterable[str]) -> Request:
    """Return the question which headers may be sent with a GET; with names, whether these may."""
    told = ",".join(names)
    headers = (
        ("origin", asker),
        ("access-control-request-method", "GET"),
        *((("access-control-request-headers", told),) if told else ()),
    )
    return Request(url=url, want=Want.PREFLIGHT, headers=headers, is_anonymous=True)


def takes_headers(answer: object, asker: str, names: Iterable[str]) -> bool:
    """Return whether the answer to a preflight allows all of these headers."""
    if not isinstance(answer, Response):
        return False
    said = answer.headers.get("access-control-allow-headers", "")
    allowed = {name.strip().lower() for name in said.split(",")}
    return may_be_read(answer, asker) and ("*" in allowed or allowed.issuperset(names))


def preflight_holds_s(answer: object) -> float:
    """Return for how long the answer to a preflight holds."""
    said = answer.headers.get("access-control-max-age", "") if isinstance(answer, Response) else ""
    return min(float(said), _LONGEST_S) if _AGE.fullmatch(said.strip()) else _USUAL_S


def cross_origin(headers: Headers, asker: str) -> tuple[tuple[str, str], ...]:
    """Return headers as another origin gets them: it is told who asks."""
    is_told = not asker or any(name == "origin" for name, _ in headers)
    return tuple(headers) if is_told or not headers else (*headers, ("origin", asker))
