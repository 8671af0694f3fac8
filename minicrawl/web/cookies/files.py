"""Files of cookies, as curl, wget and browser extensions write them."""

import math
from collections.abc import Iterable, Iterator

from minicrawl.web.cookies.cookie import MOST_BYTES, Cookie

HEADER = "# Netscape HTTP Cookie File\n"
_HTTP_ONLY = "#HttpOnly_"
_FIELDS = 7
_SWITCHES = {"TRUE": True, "FALSE": False}


class BadLine(Exception):
    """A line is not a cookie. The message does not quote it, as it may hold a secret."""

    def __init__(self, number: int, why: str) -> None:
        super().__init__(number, why)
        self.number, self.why = number, why


def read_cookies(lines: Iterable[str]) -> Iterator[Cookie]:
    """Yield the cookies of a file; raise `BadLine`.

    A line has seven fields, separated by tabs: domain, whether subdomains count, path, whether TLS
    is required, expiry time or 0, name and value. `#` begins a comment, `#HttpOnly_` does not.
    """
    for number, line in enumerate(lines, 1):
        text = line.rstrip("\r\n")
        is_http_only = text.startswith(_HTTP_ONLY)
        text = text.removeprefix(_HTTP_ONLY)
        if not text.strip() or (text.startswith("#") and not is_http_only):
            continue
        cookie = _cookie_of(text.split("\t"), is_http_only=is_http_only)
        if isinstance(cookie, str):
            raise BadLine(number, cookie)
        yield cookie


def _cookie_of(fields: list[str], *, is_http_only: bool) -> Cookie | str:
    """Return the cookie, or a text that says what is wrong."""
    if len(fields) == _FIELDS - 1:
        fields = [*fields, ""]  # some writers omit an empty value
    if len(fields) != _FIELDS:
        return f"must have {_FIELDS} fields, separated by tabs"
    domain, below, path, secure, expires, name, value = fields
    host, ends = domain.removeprefix(".").lower(), _number(expires)
    checks = {
        "the second and the fourth field must be TRUE or FALSE": {below, secure} <= {*_SWITCHES},
        "the fifth field must be a time in seconds, or 0": ends is not None,
        "must have a domain, and a path that begins with a slash": host and path[:1] == "/",
        "must have a name and a value of printable characters": name
        and (name + value + path + host).isprintable()
        and ";" not in name + value,
        f"must have at most {MOST_BYTES:,} characters": len(name) + len(value) <= MOST_BYTES,
    }
    wrong = [why for why, is_met in checks.items() if not is_met]
    if wrong:
        return wrong[0]
    return Cookie(
        name=name,
        value=value,
        domain=host,
        path=path,
        expires=ends or None,
        is_secure=_SWITCHES[secure],
        is_host_only=not _SWITCHES[below],
        is_http_only=is_http_only,
    )


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def write_cookies(cookies: Iterable[Cookie]) -> str:
    return HEADER + "".join(map(_line, cookies))


def _line(cookie: Cookie) -> str:
    marks = {True: "TRUE", False: "FALSE"}
    fields = (
        ("" if cookie.is_host_only else ".") + cookie.domain,
        marks[not cookie.is_host_only],
        cookie.path,
        marks[cookie.is_secure],
        "0" if cookie.expires is None else f"{math.ceil(cookie.expires)}",
        cookie.name,
        cookie.value,
    )
    return (_HTTP_ONLY if cookie.is_http_only else "") + "\t".join(fields) + "\n"
