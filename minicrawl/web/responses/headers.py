"""Parsers of response headers. An invalid header counts as absent; no value makes a parser fail.

essence    MIME type without parameters: "text/html" for "Text/HTML; charset=utf-8"
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import NamedTuple

_ESSENCE = re.compile(r"[\t\n\r ]*+([^\t\n\r ;,/]++/[^\t\n\r ;,]++)")
_CHARSET = re.compile(
    r""";[\t\n\r ]*+charset=(?:"([^"]*+)|'([^']*+)|([^\t\n\r ;,"']++))""", re.IGNORECASE | re.ASCII
)


def parse_content_type(content_type: str | None) -> tuple[str, str | None]:
    """Return the essence, or "", and the charset. Of several types the first counts.

    A type without a slash, such as "html", is none, as in browsers: the first bytes decide.
    """
    if not content_type:
        return "", None
    essence = _ESSENCE.match(content_type)
    charset = _CHARSET.search(content_type)
    return (
        essence[1].lower() if essence else "",
        charset[charset.lastindex or 0] if charset else None,
    )


LONGEST_WAIT_S = 86_400.0
"""Longest Retry-After that is respected."""

_SECONDS = re.compile(r"[\t ]*+([0-9]++)[\t ]*+(?:,|\Z)")  # of a repeated header the first
_DATE = re.compile(r"[\t ]*+[A-Z][a-z]++")
_USUAL_DATE = re.compile(
    r"[A-Z][a-z]{2}, ([0-9]{2}) ([A-Z][a-z]{2}) ([0-9]{4}) ([0-9]{2}):([0-9]{2}):([0-9]{2}) GMT"
)
_MONTHS = {
    name: number
    for number, name in enumerate(
        ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"), 1
    )
}


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
    if (usual := _USUAL_DATE.fullmatch(value)) and (month := _MONTHS.get(usual[2])):
        # This takes a tenth of the parser's time: in a recrawl, each response may have a date.
        with suppress(ValueError):
            day, year, hour, minute, second = map(int, usual.group(1, 3, 4, 5, 6))
            return datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    if not _DATE.match(value):  # the parser would read "-1" as a year, or "5;x" as a day
        return None
    from email.utils import parsedate_to_datetime  # slow to import, and rarely needed

    try:
        date = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    return date.replace(tzinfo=UTC) if date.tzinfo is None else date


_STALE = re.compile(r"no-store|no-cache", re.IGNORECASE)
_MAX_AGE = re.compile(r"max-age\s*=\s*\"?([0-9]{1,9})", re.IGNORECASE)


def max_age_s(headers: Mapping[str, str]) -> float | None:
    """Return for how many seconds a response is fresh, or None if its headers do not say."""
    directives = headers.get("cache-control", "")
    age = None if _STALE.search(directives) else _MAX_AGE.search(directives)
    return None if age is None else float(age[1])


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


def robots_words(values: str, agent: str = "") -> set[str]:
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
    return rules


def parse_robots_tag(values: str, agent: str) -> RobotsTag:
    """Return the rules for `agent` that concern a crawl."""
    rules = robots_words(values, agent)
    return RobotsTag(
        noindex=not rules.isdisjoint({"noindex", "none"}),
        nofollow=not rules.isdisjoint({"nofollow", "none"}),
    )


_LINK = re.compile(r"""<([^<>]*+)>((?:[^,"<]++|"[^"]*+(?:"|\Z))*+)""")
_RELATION = re.compile(r""";[\t ]*+rel[\t ]*+=[\t ]*+(?:"([^"]*+)|([^\t ;,"]++))""", re.IGNORECASE)


def link_canonical(value: str | None) -> str | None:
    """Return the target of the first rel=canonical in a Link header, as written."""
    for target, parameters in _LINK.findall(value or ""):
        relation = _RELATION.search(parameters)
        if relation and "canonical" in (relation[1] or relation[2] or "").lower().split():
            return str(target).strip()
    return None
