"""Cross-origin resource sharing: decides what a script may read of another origin, and send there.

Laws (https://fetch.spec.whatwg.org/#http-cors-protocol): a script reads only what another origin
allows it to read. Its own headers reach another origin only after a preflight, an OPTIONS
request, whose response names them. An origin is told which headers these are only if it shares
with the asker at all, and did not allow them unasked. A redirected or failed preflight allows
nothing. Requests carry no logins or cookies, so `*` in a response stands for all names.

safe   header that any form or image could have sent as well
"""

import re
from collections.abc import Iterable, Sequence

from minicrawl.model import Request, Response, Want

Headers = Sequence[tuple[str, str]]

_OF_BROWSERS = frozenset(("origin", "referer"))
"""Headers that no script can set."""
_TYPES_OF_FORMS = frozenset(
    ("application/x-www-form-urlencoded", "multipart/form-data", "text/plain")
)
_LONGEST_SAFE = 128
_UNSAFE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\"():<>?@\[\\\]{}]")
_USUAL_S, _LONGEST_S = 5.0, 7200.0
"""Validity of a preflight: the default of browsers, and the maximum."""
_AGE = re.compile(r"[0-9]{1,9}")


def may_be_read(answer: object, asker: str) -> bool:
    """Return whether scripts of the origin `asker` may read a response of another origin."""
    if not isinstance(answer, Response):
        return False
    allowed = answer.headers.get("access-control-allow-origin", "")
    return allowed in ("*", asker) and allowed != ""


def unsafe_names(headers: Headers) -> tuple[str, ...]:
    """Return the names of headers that need a preflight, sorted."""
    names = list[str]()
    for name, value in headers:
        if name == "content-type":
            is_safe = value.partition(";")[0].strip().lower() in _TYPES_OF_FORMS
        elif name == "accept":
            is_safe = len(value) <= _LONGEST_SAFE and not _UNSAFE.search(value)
        else:
            is_safe = name in _OF_BROWSERS
        names += [] if is_safe else [name]
    return tuple(sorted(names))


def preflight_of(url: str, asker: str, names: Iterable[str], method: str = "GET") -> Request:
    """Return a preflight: it asks for the headers that are allowed, or whether `names` are."""
    joined = ",".join(names)
    headers = (
        ("origin", asker),
        ("access-control-request-method", method),
        *((("access-control-request-headers", joined),) if joined else ()),
    )
    return Request(url=url, want=Want.PREFLIGHT, headers=headers, is_anonymous=True)


def takes_headers(answer: object, asker: str, names: Iterable[str]) -> bool:
    """Return whether the response to a preflight allows all of these headers."""
    if not isinstance(answer, Response):
        return False
    said = answer.headers.get("access-control-allow-headers", "")
    allowed = {name.strip().lower() for name in said.split(",")}
    return may_be_read(answer, asker) and ("*" in allowed or allowed.issuperset(names))


def preflight_holds_s(answer: object) -> float:
    """Return for how many seconds the response to a preflight is valid."""
    said = answer.headers.get("access-control-max-age", "") if isinstance(answer, Response) else ""
    return min(float(said), _LONGEST_S) if _AGE.fullmatch(said.strip()) else _USUAL_S


def cross_origin(headers: Headers, asker: str) -> tuple[tuple[str, str], ...]:
    """Return a request's headers for another origin; if there are any, one names the asker."""
    is_told = not asker or any(name == "origin" for name, _ in headers)
    return tuple(headers) if is_told or not headers else (*headers, ("origin", asker))
