"""Parser of robots.txt by RFC 9309, and like Google's parser where the RFC leaves it open.

Only the groups that name the crawler apply, or the groups of `*` if there are none. A host that
cannot answer forbids everything, unless its older rules are known. Parsing takes linear time.
Escapes are decoded as in the RFC, unlike in Google's matcher: `/%61` is `/a`.

/robots.txt itself follows the rules like any path: its caller has already fetched it.
"""

import math
import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from minicrawl.model import Failed, Refused
from minicrawl.states import State
from minicrawl.web.robots.patterns import Matcher, normalize_pattern
from minicrawl.web.robots.usage import Preference, UsageRule, joined, of_rules, rule_of

MOST_ROBOTS_BYTES = 512 * 1024
"""Most bytes of a robots.txt that are read. RFC 9309 asks for 500 KiB at least."""
ANSWER_VALID_S = 24 * 3600.0
"""Time for which a robots.txt may be cached. RFC 9309 allows a day."""

SILENCE_VALID_S = 3600.0
"""Time to wait after a host could not answer."""

# The limit of Google's parser, eight times the longest URL of old browsers. Longer lines are cut,
# not skipped: what is left of a rule that forbids still forbids.
_MAX_LINE_BYTES = 8 * 2083 - 1
_MOST_USAGE_RULES, _MOST_LICENCES = 100, 5
_MOST_STORED = 10 * _MOST_USAGE_RULES
"""Most usage rules of a host, including those of files other than robots.txt."""

# Misspellings that Google's parser accepts count: the author of `Dissallow: /private` meant to
# forbid it.
_FIELD = re.compile(
    rb"""(?P<agent> user[- ]?agent)
    | (?P<allow> allow)
    | (?P<forbid> diss?allow | diss?alow | diasllow | disallaw)
    | (?P<delay> crawl[- ]?delay)
    | (?P<sitemap> site-?map)
    | (?P<usage> content-(?:usage|signal))
    | (?P<licence> license)""",
    re.IGNORECASE | re.VERBOSE,
)
_EVERYONE = re.compile(rb"\*(?:\s|$)")
_TOKEN = re.compile(rb"[a-zA-Z_-]*")


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of a host for the crawler. Files with the same rules are equal."""

    allowed: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    crawl_delay_s: float | None = None
    sitemaps: tuple[str, ...] = ()
    usage: tuple[UsageRule, ...] = ()
    licences: tuple[str, ...] = ()
    _matcher: Matcher = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_matcher", Matcher(self.allowed, self.forbidden))

    def allows(self, url: str) -> bool:
        """Return True if a canonical URL of this host may be requested."""
        return not self.forbidden or self._matcher.allows(_target(url))

    def preferences(self, url: str) -> Iterator[Preference]:
        """Yield the usage preferences of the host for a page."""
        target = _target(url)
        return of_rules(self.usage, lambda pattern: not Matcher((), (pattern,)).allows(target))

    def denial(self, url: str, purpose: str) -> str:
        """Return the source that denies a page's use for a purpose; "" if none does."""
        preference = joined(self.preferences(url)).get(purpose)
        return "" if preference is None or preference.allowed else preference.where

    def with_usage(self, rules: Iterable[UsageRule]) -> "Rules":
        """Return these rules with the usage rules of another file, such as a tdmrep.json."""
        new = (rule._replace(pattern=normalize_pattern(rule.pattern)) for rule in rules)
        usage = dict.fromkeys((*self.usage, *new))
        return replace(self, usage=tuple(islice(usage, _MOST_STORED)))

    def text(self) -> str:
        """Return the shortest robots.txt with these rules. `from_text` parses it."""
        lines = ["User-agent: *"]
        lines += [f"Allow: {pattern}" for pattern in self.allowed]
        lines += [f"Disallow: {pattern}" for pattern in self.forbidden]
        if self.crawl_delay_s is not None:
            lines.append(f"Crawl-delay: {self.crawl_delay_s}")
        lines += [rule.line() for rule in self.usage]
        lines += [f"License: {licence}" for licence in self.licences]
        lines += [f"Sitemap: {sitemap}" for sitemap in self.sitemaps]
        return "\n".join(lines)

    @staticmethod
    def from_text(text: str) -> "Rules":
        return _read(text.encode().split(b"\n"), agent="*", most_usage=_MOST_STORED)


@lru_cache(1000)
def _target(url: str) -> str:
    start = url.find("/", len("https://"))
    return url[start:] if start > 0 else "/"


ALLOW_ALL = Rules()
FORBID_ALL = Rules(forbidden=("/",))


def parse(body: bytes, agent: str, *, cut: bool = False) -> Rules:
    """Return the rules for `agent`, a product token. `cut`: the end of the body is missing.

    The last line of such a body is ignored, because half a rule is a different rule.
    """
    if body.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        text = body.decode("utf-16", errors="ignore").encode()
    else:
        text = body.removeprefix(BOM_UTF8)
    if cut:
        text = text[: max(text.rfind(b"\n"), text.rfind(b"\r")) + 1]
    return _read((line[:_MAX_LINE_BYTES] for line in text.splitlines() if line), agent)


@dataclass(slots=True)
class _Group:
    """The combined rules of all groups of an agent."""

    allowed: set[str] = field(default_factory=set)
    forbidden: set[str] = field(default_factory=set)
    delays_s: list[float] = field(default_factory=list)
    usage: dict[UsageRule, None] = field(default_factory=dict)

    def add(self, name: str, value: bytes) -> None:
        if name == "delay":
            self.delays_s += _delay_s(value)
        elif name == "usage":
            self.usage[_usage_rule(value)] = None
        elif not value.startswith((b"/", b"*")):
            return
        elif name == "forbid":
            self.forbidden.add(normalize_pattern(value.decode("latin-1")))
        else:
            pattern = normalize_pattern(value.decode("latin-1"))
            self.allowed.add(pattern)
            # As in Google's matcher: a site that allows its index page under one name means the
            # folder as well.
            folder, slash, page = pattern.rpartition("/")
            if slash and page.startswith("index.htm"):
                self.allowed.add(f"{folder}/$")

    def rules(
        self,
        sitemaps: Iterable[str],
        usage: Iterable[UsageRule],
        licences: Iterable[str],
        most_usage: int,
    ) -> Rules:
        return Rules(
            allowed=tuple(sorted(self.allowed)),
            forbidden=tuple(sorted(self.forbidden - self.allowed)),
            # The longest one: if several groups of ours disagree, the host may have meant any of
            # them.
            crawl_delay_s=max(self.delays_s, default=None),
            sitemaps=tuple(sitemaps),
            usage=tuple(islice(dict.fromkeys((*usage, *self.usage)), most_usage)),
            licences=tuple(islice(licences, _MOST_LICENCES)),
        )


def _read(lines: Iterable[bytes], agent: str, most_usage: int = _MOST_USAGE_RULES) -> Rules:
    """Parse the groups. Only a rule ends a list of agents; a blank line does not."""
    token = agent.lower().encode()
    everyones = _Group()
    ours: _Group | None = None
    group: _Group | None = None
    ruled = False
    sitemaps, licences = dict[str, None](), dict[str, None]()
    usage: dict[UsageRule, None] = {}  # before the first group
    has_agents = False
    for name, value in filter(None, map(_field, lines)):
        if name == "agent":
            has_agents = True
            if ruled:
                group, ruled = None, False
            if _EVERYONE.match(value):
                group = group or everyones
            elif (product := _TOKEN.match(value)) and product[0].lower() == token:
                group = ours = ours or _Group()
        elif name == "sitemap":
            sitemaps[value.decode(errors="replace")] = None
        elif name == "licence":
            if group is not None or not has_agents:
                licences[value.decode(errors="replace")] = None
        elif name == "usage" and not has_agents:
            usage[_usage_rule(value)] = None
        else:
            ruled = ruled or name not in {"delay", "usage"}
            if group is not None:
                group.add(name, value)
    more = filter(None, sitemaps), usage, filter(None, licences)
    return (ours or everyones).rules(*more, most_usage)


def _usage_rule(value: bytes) -> UsageRule:
    rule = rule_of(value.decode(errors="replace"))
    # A pattern is bytes, as URLs are.
    pattern = value.partition(b" ")[0] if rule.pattern else b""
    return rule._replace(pattern=normalize_pattern(pattern.decode("latin-1")))


def _field(line: bytes) -> tuple[str, bytes] | None:
    """Return the field and its value. Between two words the colon may be missing."""
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


class RobotsDecision(NamedTuple):
    """Rules, and the time until robots.txt has to be requested again."""

    rules: Rules
    valid_s: float

    @property
    def has_no_answer(self) -> bool:
        return self.valid_s == SILENCE_VALID_S


_NO_SUCH_FILE = (State.NOT_FOUND, State.CLIENT_ERROR, State.BAD_REDIRECT)


def decision_for(answer: Rules | Failed | Refused, known: Rules = FORBID_ALL) -> RobotsDecision:
    """Return the rules after a request for robots.txt; `known` are those before it.

    A missing file forbids nothing. A host that cannot answer (overload, timeout, or a redirect that
    the crawler does not follow) keeps its old rules for now, and forbids everything if it has none.
    """
    if isinstance(answer, Rules):
        return RobotsDecision(answer, ANSWER_VALID_S)
    if isinstance(answer, Failed) and answer.kind in _NO_SUCH_FILE:
        return RobotsDecision(ALLOW_ALL, ANSWER_VALID_S)
    return RobotsDecision(known, SILENCE_VALID_S)
