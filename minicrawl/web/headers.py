"""Parsers of response headers.

An invalid header counts as absent, and no value makes a parser fail.

essence    MIME type without parameters: "text/html" for "Text/HTML; charset=utf-8"
"""

import re
from datetime import UTC, datetime
from typing import NamedTuple

# ---------------------------------------------------------------- Content-Type

HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
XML_TYPES = frozenset({"text/xml", "application/xml"})
NO_TYPES = frozenset(
    {"", "application/octet-stream", "application/unknown", "unknown/unknown", "*/*"}
)

_ESSENCE = re.compile(r"[\t\n\r ]*+([^\t\n\r ;,]*+)")
_CHARSET = re.compile(
    r""";[\t\n\r ]*+charset=(?:"([^"]*+)|'([^']*+)|([^\t\n\r ;,"']++))""", re.IGNORECASE | re.ASCII
)


def parse_content_type(content_type: str | None) -> tuple[str, str | None]:
    """Return the essence, or "", and the charset. Of several types the first counts."""
    if not content_type:
        return "", None
    essence = _ESSENCE.match(content_type)
    charset = _CHARSET.search(content_type)
    return (
        essence[1].lower() if essence else "",
        charset[charset.lastindex or 0] if charset else None,
    )


# The HTML patterns of the MIME Sniffing standard for an unknown type.
_LOOKS_LIKE_HTML = re.compile(
    rb"[\t\n\f\r ]*+<(?:!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b"
    rb"|body|br|p|!--)[ >]",
    re.IGNORECASE,
)
_LOOKS_LIKE_XHTML = re.compile(
    rb"(?:\xef\xbb\xbf)?+(?:[\t\n\f\r ]++|<\?(?s:.*?)\?>|<!--(?s:.*?)-->|<!doctype[^>\[]*+>)*+"
    rb"<html[\t\n\f\r >]",
    re.IGNORECASE,
)
_SNIFFED = 1445
"""Length of the resource header in the MIME Sniffing standard, in bytes."""


def is_html(content_type: str | None, first_bytes: bytes) -> bool | None:
    """Return whether a response is HTML, by type or first bytes; None if the bytes are needed."""
    essence, _ = parse_content_type(content_type)
    if essence in HTML_TYPES:
        return True
    if essence not in NO_TYPES and essence not in XML_TYPES:
        return False
    if not first_bytes:
        return None
    start = first_bytes[:_SNIFFED]
    if essence in NO_TYPES and _LOOKS_LIKE_HTML.match(start):
        return True
    return _LOOKS_LIKE_XHTML.match(start) is not None


# ---------------------------------------------------------------- Retry-After

LONGEST_WAIT_S = 86_400.0
"""Longest Retry-After that is respected."""

_SECONDS = re.compile(r"[\t ]*+([0-9]++)[\t ]*+\Z")
_DATE = re.compile(r"[\t ]*+[A-Z][a-z]++")


def retry_after_s(value: str | None, now: datetime) -> float | None:
    """Return the seconds until the server may be asked again; None without a valid value."""
    if not value:
        return None
    if seconds := _SECONDS.match(value):
        return _bounded(float(seconds[1]))
    date = http_date(value)
    return None if date is None else _bounded((date - now).total_seconds())


def _bounded(wait_s: float) -> float:
    return min(max(wait_s, 0.0), LONGEST_WAIT_S)


def http_date(value: str) -> datetime | None:
    """Return the date in a header, such as Last-Modified; None if there is none."""
    if not _DATE.match(value):  # the parser would read "-1" as a year, or "5;x" as a day
        return None
    from email.utils import parsedate_to_datetime  # slow to import, and rarely needed

    try:
        date = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    return date.replace(tzinfo=UTC) if date.tzinfo is None else date


# ---------------------------------------------------------------- X-Robots-Tag

# Rules with a value. Any other name before a colon is that of a crawler.
_VALUED_RULES = frozenset(
    {"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"}
)
_AGENT = re.compile(r"([\w.-]++)[\t ]*+:(.*)", re.DOTALL)


class RobotsTag(NamedTuple):
    """The robots rules of a page."""

    noindex: bool = False
    nofollow: bool = False

    def combined_with(self, other: "RobotsTag") -> "RobotsTag":
        """Return the stricter of both."""
        return RobotsTag(self.noindex or other.noindex, self.nofollow or other.nofollow)


NO_RESTRICTIONS = RobotsTag()


def parse_robots_tag(values: str, agent: str) -> RobotsTag:
    """Return the rules for `agent`. The name of a crawler applies to all rules after it."""
    rules: set[str] = set()
    for_us = True
    for part in values.lower().split(","):
        rule = part.strip()
        named = _AGENT.match(rule)
        if named and named[1] not in _VALUED_RULES:
            for_us = named[1] == agent.lower()
            rule = named[2].strip()
        if for_us:
            rules.add(rule)
    return RobotsTag(
        noindex=not rules.isdisjoint({"noindex", "none"}),
        nofollow=not rules.isdisjoint({"nofollow", "none"}),
    )


# ---------------------------------------------------------------- Link

_LINK = re.compile(r"""<([^<>]*+)>((?:[^,"<]++|"[^"]*+(?:"|\Z))*+)""")
_RELATION = re.compile(r""";[\t ]*+rel[\t ]*+=[\t ]*+(?:"([^"]*+)|([^\t ;,"]++))""", re.IGNORECASE)


def link_canonical(value: str | None) -> str | None:
    """Return the target of the first rel=canonical in a Link header, as written."""
    for target, parameters in _LINK.findall(value or ""):
        relation = _RELATION.search(parameters)
        if relation and "canonical" in (relation[1] or relation[2] or "").lower().split():
            return str(target).strip()
    return None
