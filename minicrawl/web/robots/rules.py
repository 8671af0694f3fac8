"""Parse robots.txt by RFC 9309, and like Google's parser where the RFC leaves it open.

Laws: only the groups that name the crawler apply, or the groups of `*` if there are none. A host
that cannot answer forbids everything. Parsing takes time proportional to the length. `match`
compares paths and rules. Escapes are decoded as by the RFC, unlike in Google's matcher: `/%61` is
`/a`.

/robots.txt itself follows the rules like any path: a caller that checks it has it already.
"""

import math
import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from minicrawl.model import Failed, FailureKind, Refused
from minicrawl.web.robots.match import Matcher, normalize_pattern

ANSWER_VALID_S = 24 * 3600.0
"""How long a robots.txt may be cached. RFC 9309 allows a day."""

SILENCE_VALID_S = 3600.0
"""How long to wait after a host could not answer."""

_MAX_LINE_BYTES = 8 * 2083 - 1

_FIELD = re.compile(
    rb"""(?P<agent> user[- ]?agent)
    | (?P<allow> allow)
    | (?P<forbid> diss?allow | diss?alow | diasllow | disallaw)
    | (?P<delay> crawl[- ]?delay)
    | (?P<sitemap> site-?map)""",
    re.IGNORECASE | re.VERBOSE,
)
_EVERYONE = re.compile(rb"\*(?:\s|$)")
_TOKEN = re.compile(rb"[a-zA-Z_-]*")


# ---------------------------------------------------------------- rules


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of a host for the crawler. Files with the same rules are equal."""

    allowed: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    crawl_delay_s: float | None = None
    sitemaps: tuple[str, ...] = ()
    _matcher: Matcher = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_matcher", Matcher(self.allowed, self.forbidden))

    def allows(self, url: str) -> bool:
        """Whether a canonical URL of this host may be requested."""
        start = url.find("/", len("https://"))
        return self._matcher.allows(url[start:] if start > 0 else "/")

    def text(self) -> str:
        """The shortest robots.txt with these rules. `from_text` parses it."""
        lines = ["User-agent: *"]
        lines += [f"Allow: {pattern}" for pattern in self.allowed]
        lines += [f"Disallow: {pattern}" for pattern in self.forbidden]
        if self.crawl_delay_s is not None:
            lines.append(f"Crawl-delay: {self.crawl_delay_s}")
        lines += [f"Sitemap: {sitemap}" for sitemap in self.sitemaps]
        return "\n".join(lines)

    @staticmethod
    def from_text(text: str) -> "Rules":
        return _read(text.encode().split(b"\n"), agent="*")


ALLOW_ALL = Rules()
FORBID_ALL = Rules(forbidden=("/",))


# ---------------------------------------------------------------- parsing


def parse(body: bytes, agent: str, *, cut: bool = False) -> Rules:
    """The rules for `agent`, a product token. `cut`: the end of the body is missing.

    The last line of such a body is ignored, because half a rule is another rule.
    """
    text = _utf8(body)
    if cut:
        text = text[: max(text.rfind(b"\n"), text.rfind(b"\r")) + 1]
    return _read((line[:_MAX_LINE_BYTES] for line in text.splitlines() if line), agent)


@dataclass(slots=True)
class _Group:
    """The combined rules of all groups of an agent."""

    allowed: set[str] = field(default_factory=set)
    forbidden: set[str] = field(default_factory=set)
    delays_s: list[float] = field(default_factory=list)

    def add(self, name: str, value: bytes) -> None:
        if name == "delay":
            self.delays_s += _delay_s(value)
        elif not value.startswith((b"/", b"*")):
            return
        elif name == "forbid":
            self.forbidden.add(normalize_pattern(value.decode("latin-1")))
        else:
            self._allow(normalize_pattern(value.decode("latin-1")))

    def _allow(self, pattern: str) -> None:
        self.allowed.add(pattern)
        folder, slash, page = pattern.rpartition("/")
        if slash and page.startswith("index.htm"):
            self.allowed.add(f"{folder}/$")

    def rules(self, sitemaps: Iterable[str]) -> Rules:
        return Rules(
            allowed=tuple(sorted(self.allowed)),
            forbidden=tuple(sorted(self.forbidden - self.allowed)),
            crawl_delay_s=max(self.delays_s, default=None),
            sitemaps=tuple(sitemaps),
        )


def _read(lines: Iterable[bytes], agent: str) -> Rules:
    """Parse the groups. Only a rule ends a list of agents; a blank line does not."""
    token = agent.lower().encode()
    everyones = _Group()
    ours: _Group | None = None
    group: _Group | None = None
    ruled = False
    sitemaps: dict[str, None] = {}
    for name, value in filter(None, map(_field, lines)):
        if name == "agent":
            if ruled:
                group, ruled = None, False
            if _EVERYONE.match(value):
                group = group or everyones
            elif _names(value, token):
                group = ours = ours or _Group()
        elif name == "sitemap":
            sitemaps[value.decode(errors="replace")] = None
        else:
            ruled = ruled or name != "delay"
            if group is not None:
                group.add(name, value)
    return (ours or everyones).rules(filter(None, sitemaps))


def _names(value: bytes, token: bytes) -> bool:
    found = _TOKEN.match(value)
    return found is not None and found[0].lower() == token


def _field(line: bytes) -> tuple[str, bytes] | None:
    """The field and its value. Between two words the colon may be missing."""
    content = line.partition(b"#")[0].strip()
    known = _FIELD.match(content)
    if known is None or known.lastgroup is None:
        return None
    _, colon, value = content.partition(b":")
    if not colon:
        match content.split():
            case [_, word]:
                value = word
            case _:
                return None
    return known.lastgroup, value.strip()


def _delay_s(value: bytes) -> list[float]:
    try:
        delay_s = float(value)
    except ValueError:
        return []
    return [delay_s] if math.isfinite(delay_s) and delay_s >= 0 else []


def _utf8(body: bytes) -> bytes:
    if body.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return body.decode("utf-16", errors="ignore").encode()
    return body.removeprefix(BOM_UTF8)


# ---------------------------------------------------------------- after a request


class RobotsDecision(NamedTuple):
    """Rules, and the time until robots.txt has to be requested again."""

    rules: Rules
    valid_s: float

    @property
    def has_no_answer(self) -> bool:
        """Whether the host could not answer."""
        return self.valid_s == SILENCE_VALID_S


_NO_SUCH_FILE = (FailureKind.NOT_FOUND, FailureKind.CLIENT_ERROR, FailureKind.BAD_REDIRECT)


def decision_for(answer: Rules | Failed | Refused, known: Rules = FORBID_ALL) -> RobotsDecision:
    """The rules after a request for robots.txt. `known` are the rules before it.

    A missing file forbids nothing. A host that cannot answer keeps its old rules for now, and
    forbids everything if it has none: after an overload, a timeout, or a redirect that the crawler
    does not follow.
    """
    if isinstance(answer, Rules):
        return RobotsDecision(answer, ANSWER_VALID_S)
    if isinstance(answer, Failed) and answer.kind in _NO_SUCH_FILE:
        return RobotsDecision(ALLOW_ALL, ANSWER_VALID_S)
    return RobotsDecision(known, SILENCE_VALID_S)
