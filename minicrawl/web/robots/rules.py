"""robots.txt: what a host asks of us, by RFC 9309 and, where that is silent, as Google's matcher.

Laws: the group that names us speaks alone, and where none does, the groups of `*`; a host that
cannot answer forbids all; to read a file takes time in proportion to its length. How paths and
rules are compared is said in `robots_match`. Escapes are one thing of which Google's matcher and
the RFC say different things: `/%61` is `/a` by the RFC, and here.

/robots.txt is no exception to the rules here: who asks us has it already.
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
"""How long an answer may be used before it is asked for again; RFC 9309 allows a day."""

SILENCE_VALID_S = 3600.0
"""How long a host that could not answer is left alone."""

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
    """What a host asks of us. Files that ask the same of us in the same words are equal here."""

    allowed: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    crawl_delay_s: float | None = None
    sitemaps: tuple[str, ...] = ()
    _matcher: Matcher = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_matcher", Matcher(self.allowed, self.forbidden))

    def allows(self, url: str) -> bool:
        """May this canonical URL be asked for? Its host is taken for granted."""
        start = url.find("/", len("https://"))
        return self._matcher.allows(url[start:] if start > 0 else "/")

    def text(self) -> str:
        """The smallest robots.txt that says this; `from_text` reads it back."""
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


# ---------------------------------------------------------------- reading


def parse(body: bytes, agent: str, *, cut: bool = False) -> Rules:
    """What the file says to `agent`, a product token; `cut` if the body's end is missing.

    A line that was cut is not obeyed: half a rule is another rule.
    """
    text = _utf8(body)
    if cut:
        text = text[: max(text.rfind(b"\n"), text.rfind(b"\r")) + 1]
    return _read((line[:_MAX_LINE_BYTES] for line in text.splitlines() if line), agent)


@dataclass(slots=True)
class _Group:
    """What all groups of an agent say together."""

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
    """Only rules end a list of agents; other lines, blank ones among them, do not count."""
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
    """The name we know it by and the value; the colon may be missing between two words."""
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


# ---------------------------------------------------------------- what follows from a fetch


class RobotsDecision(NamedTuple):
    """Rules, and for how long they may be used before robots.txt is asked for again."""

    rules: Rules
    holds_s: float

    @property
    def is_silence(self) -> bool:
        """The host could not say."""
        return self.holds_s == SILENCE_VALID_S


_NO_SUCH_FILE = (FailureKind.NOT_FOUND, FailureKind.CLIENT_ERROR, FailureKind.BAD_REDIRECT)


def decision_for(answer: Rules | Failed | Refused, known: Rules = FORBID_ALL) -> RobotsDecision:
    """What holds after robots.txt was asked for; `known` is what held before, if it was ever had.

    A file that is not there forbids nothing. A host that cannot say forbids all, for now: so do
    its overload, its timeouts, and a redirect to where we do not go.
    """
    if isinstance(answer, Rules):
        return RobotsDecision(answer, ANSWER_VALID_S)
    if isinstance(answer, Failed) and answer.kind in _NO_SUCH_FILE:
        return RobotsDecision(ALLOW_ALL, ANSWER_VALID_S)
    return RobotsDecision(known, SILENCE_VALID_S)
