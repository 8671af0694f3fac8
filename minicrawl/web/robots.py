"""robots.txt: what a host asks of us, by RFC 9309 and, where that is silent, as Google's matcher.

Laws: the group that names us speaks alone, and where none does, the groups of `*`; of all rules
that match a path the longest decides, and allow wins a tie; a host that cannot answer forbids all;
a check costs little whatever the file, and a file that makes it dear forbids more, never less.

rule       a pattern of a path that is allowed or forbidden; `*` is any run of characters, a `$`
           at the end is the end of the path
rank       twice a pattern's length, and one more if it allows: the greatest rank decides
literal    a pattern without a star inside: found by bisection, however many there are
starred    a pattern with a star inside: searched for, one after the other

/robots.txt is no exception to the rules here: who asks us has it already.
"""

import math
import re
from bisect import bisect_right
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

from minicrawl.model import Failed, FailureKind, Refused

ANSWER_HOLDS_S = 24 * 3600.0
"""How long an answer may be used before it is asked for again; RFC 9309 allows a day."""

SILENCE_HOLDS_S = 3600.0
"""How long a host that could not answer is left alone."""

_MAX_LINE_BYTES = 8 * 2083 - 1
# Twice what the greediest of 3,000 real files has for everyone.
_MAX_STARRED, _MAX_STARRED_CHARS = 1000, 32 * 1024
_UNRULED = 1  # the rank where nothing matches: a pattern of no length that allows

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
_ESCAPED = re.compile(r"%[0-9a-fA-F]{2}")
_ESCAPES = {code: f"%{code:02X}" for code in range(0x80, 0x100)}


# ---------------------------------------------------------------- matching


class _Starred(NamedTuple):
    """A pattern cut at its stars. The tail is what stands between the last star and a `$`."""

    rank: int
    head: str
    middle: tuple[str, ...]
    tail: str
    longest: str  # of middle and tail: a path without it need not be searched

    def matches(self, path: str) -> bool:
        """Each piece where it comes first leaves the most room for the next: no way back."""
        if not path.startswith(self.head):
            return False
        end = len(self.head)
        for piece in self.middle:
            start = path.find(piece, end)
            if start < 0:
                return False
            end = start + len(piece)
        return path.endswith(self.tail) and end + len(self.tail) <= len(path)


def _cut(pattern: str, rank: int) -> _Starred:
    head, *pieces = pattern.removesuffix("$").split("*")
    tail = pieces.pop() if pieces and pattern.endswith("$") else ""
    middle = tuple(filter(None, pieces))
    return _Starred(rank, head, middle, tail, max(*middle, tail, "", key=len))


class _Literals:
    """Patterns that match by their beginning: the greatest rank of those a path begins with.

    In sorted order whatever a path begins with lies before it, and the nearest one is a prefix
    of the path or shares its prefixes with it: each knows the longest that it begins with itself.
    """

    __slots__ = ("_parents", "_prefixes", "_ranks")

    def __init__(self, ranks: Mapping[str, int]) -> None:
        self._prefixes = sorted(ranks)
        self._parents: list[int] = []
        self._ranks: list[int] = []
        chain: list[int] = []
        for place, prefix in enumerate(self._prefixes):
            while chain and not prefix.startswith(self._prefixes[chain[-1]]):
                chain.pop()
            parent = chain[-1] if chain else -1
            self._parents.append(parent)
            self._ranks.append(max(ranks[prefix], self._ranks[parent] if chain else 0))
            chain.append(place)

    def rank(self, path: str) -> int:
        place = bisect_right(self._prefixes, path) - 1
        while place >= 0:
            if path.startswith(self._prefixes[place]):
                return self._ranks[place]
            place = self._parents[place]
        return _UNRULED


class _Matcher:
    """Rules made ready: which of all that match a path has the greatest rank?"""

    __slots__ = ("_exact", "_literals", "_starred")

    def __init__(self, allowed: Iterable[str], forbidden: Iterable[str]) -> None:
        self._exact: dict[str, int] = {}
        literals: list[tuple[str, int]] = []
        starred: list[_Starred] = []
        for allows, pattern in [(0, it) for it in forbidden] + [(1, it) for it in allowed]:
            cut = _cut(pattern, 2 * len(pattern) + allows)
            if cut.longest:
                starred.append(cut)
            elif pattern.endswith("$") and "*" not in pattern:
                self._exact[cut.head] = cut.rank
            else:
                literals.append((cut.head, cut.rank))
        starred.sort(reverse=True)
        affordable = _affordable(starred)
        self._starred = tuple(starred[:affordable])
        literals += [(dear.head, dear.rank) for dear in starred[affordable:] if dear.rank % 2 == 0]
        self._literals = _Literals(dict(sorted(literals)))

    def allows(self, path: str) -> bool:
        rank = max(self._literals.rank(path), self._exact.get(path, 0))
        for pattern in self._starred:
            if pattern.rank < rank:
                break
            if pattern.longest in path and pattern.matches(path):
                return pattern.rank % 2 == 1
        return rank % 2 == 1


def _affordable(starred: Iterable[_Starred]) -> int:
    """How many may be searched for; of the rest, what forbids does so by its head alone."""
    chars = list(accumulate(pattern.rank // 2 for pattern in starred))
    return min(bisect_right(chars, _MAX_STARRED_CHARS), _MAX_STARRED)


# ---------------------------------------------------------------- rules


@dataclass(frozen=True, slots=True)
class Rules:
    """What a host asks of us. Files that ask the same of us in the same words are equal here."""

    allowed: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    crawl_delay_s: float | None = None
    sitemaps: tuple[str, ...] = ()
    _matcher: _Matcher = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_matcher", _Matcher(self.allowed, self.forbidden))

    def allows(self, url: str) -> bool:
        """May this canonical URL be asked for? Its host is taken for granted."""
        start = url.find("/", len("https://"))
        path = url[start:] if start > 0 else "/"
        return self._matcher.allows(_normal(path) if "%" in path else path)

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
            self.forbidden.add(_normal(value.decode("latin-1")))
        else:
            self._allow(_normal(value.decode("latin-1")))

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


def _normal(pattern: str) -> str:
    """Bytes beyond ASCII escaped, escapes in upper case; what is escaped is left so."""
    if "%" in pattern:
        pattern = _ESCAPED.sub(lambda found: found[0].upper(), pattern)
    return pattern if pattern.isascii() else pattern.translate(_ESCAPES)


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


class Verdict(NamedTuple):
    """Rules, and for how long they may be used before robots.txt is asked for again."""

    rules: Rules
    holds_s: float

    @property
    def is_silence(self) -> bool:
        """The host could not say."""
        return self.holds_s == SILENCE_HOLDS_S


_NO_SUCH_FILE = (FailureKind.NOT_FOUND, FailureKind.CLIENT_ERROR, FailureKind.BAD_REDIRECT)


def verdict(answer: Rules | Failed | Refused, known: Rules = FORBID_ALL) -> Verdict:
    """What holds after robots.txt was asked for; `known` is what held before, if it was ever had.

    A file that is not there forbids nothing. A host that cannot say forbids all, for now: so do
    its overload, its timeouts, and a redirect to where we do not go.
    """
    if isinstance(answer, Rules):
        return Verdict(answer, ANSWER_HOLDS_S)
    if isinstance(answer, Failed) and answer.kind in _NO_SUCH_FILE:
        return Verdict(ALLOW_ALL, ANSWER_HOLDS_S)
    return Verdict(known, SILENCE_HOLDS_S)
