"""The rule of a robots.txt that matches a path. Patterns are prepared once for many checks.

The longest rule that matches decides (RFC 9309), so each rule has a rank, and the greatest rank
among the matching rules is the verdict: even forbids, odd allows. For this robots.txt

    Disallow: /shop/         rank 12: twice its 6 characters
    Allow: /shop/help        rank 21: twice its 10 characters, and 1 as it allows
    Disallow: /*.pdf$        rank 14

the verdicts are:

    path                     ranks          verdict
    /shop/cart               12             forbidden
    /shop/help/prices        12, 21         allowed
    /shop/help.pdf           12, 14, 21     allowed: the longest rule, not the strictest one
    /terms.pdf               14             forbidden
    /                        1              allowed: no rule matches

The file comes from the server, which may use it to stop a crawler: a check must take little time
for any rules and any path. Rules without a star inside are sorted, and a bisection finds the
longest one that begins the path. Rules with stars are tried one by one. If that would take too
long, those that forbid are compared by their beginning alone, up to the first star. That forbids
more than the file asks for, never less: a wrong "no" costs a page, a wrong "yes" breaks a promise.

A printable ASCII character equals its escape, so `%2A` and `%24` in a pattern match a literal
star and dollar sign. Four characters differ from their escapes: "%", "#", and in a path "/" and
"?", which divide it. After the first "?" the last two divide nothing, and equal their escapes.

rule       pattern of a path that is allowed or forbidden; `*` is any run of characters, a `$` at
           the end is the end of the path
rank       twice a pattern's length, plus one if it allows: the greatest rank decides
escape     "%" and two hexadecimal digits
key        normalised form in which paths and pieces of patterns are compared
literal    pattern without a star inside; found by bisection
starred    pattern with a star inside; tried one after the other
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from string import ascii_letters, digits, hexdigits
from typing import NamedTuple

# More than twice the maximum of 3,000 real files.
_MAX_STARRED, _MAX_STARRED_CHARS = 1000, 32 * 1024
_UNRULED = 1  # rank without a matching rule: that of an empty pattern that allows

_UNRESERVED = ascii_letters + digits + "-._~"
_PRINTABLE = "".join(map(chr, range(0x20, 0x7F)))

# Not after a "%" that starts no escape: it would become one with the decoded character.
_ESCAPE = re.compile("(?<!%)(?<!%[0-9a-fA-F])%([0-9a-fA-F]{2})")
_BARE_PERCENT = re.compile("%(?![0-9a-fA-F]{2})")
_BYTES = {code: f"%{code:02X}" for code in range(0x80, 0x100)}


class _Spellings(dict[str, str]):
    """Replacement of each escape, by its two digits. Some characters are decoded."""

    def __init__(self, decoded: str) -> None:
        for code in (high + low for high in hexdigits for low in hexdigits):
            char = chr(int(code, 16))
            self[code] = char if char in decoded else f"%{code.upper()}"

    def __missing__(self, code: str) -> str:
        """Return "%" and the code unchanged: this is not an escape."""
        return f"%{code}"


_IN_RULES = _Spellings(_UNRESERVED)
_IN_PATHS = _Spellings(re.sub("[%#/?]", "", _PRINTABLE))
_IN_QUERIES = _Spellings(re.sub("[%#]", "", _PRINTABLE))


def normalize_pattern(pattern: str) -> str:
    """Decode escapes of unreserved characters, uppercase other escapes, and escape bytes.

    Bytes beyond ASCII come as Latin-1 characters. The function is idempotent.
    """
    pattern = _ESCAPE.sub(lambda escape: _IN_RULES[escape[1]], pattern)
    return pattern if pattern.isascii() else pattern.translate(_BYTES)


def _respelled(text: str, spellings: _Spellings) -> str:
    if "%" not in text:
        return text
    start, *parts = text.split("%")
    return start + "".join([spellings[part[:2]] + part[2:] for part in parts])


def _key(text: str) -> str:
    path, question, query = text.partition("?")
    return _respelled(path, _IN_PATHS) + question + _respelled(query, _IN_QUERIES)


class _Literals:
    """Prefixes with ranks, for the greatest rank among the prefixes of a path.

    In sorted order, all prefixes of a path come before it. The nearest entry before the path is
    either a prefix itself, or shares the prefixes of the path, which are linked as its parents.
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


class _Starred(NamedTuple):
    """A pattern split at its stars. The tail is the piece between the last star and a `$`."""

    rank: int
    head: str
    middle: tuple[str, ...]
    tail: str
    longest: str  # piece of middle and tail; a path without it cannot match

    def matches(self, path: str) -> bool:
        """Return True if the path matches. The first position of each piece is always the best."""
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
    keys, in_query = list[str](), False
    for piece in pattern.removesuffix("$").split("*"):
        keys.append(_respelled(piece, _IN_QUERIES) if in_query else _key(piece))
        in_query = in_query or "?" in piece  # everything after a "?" is query
    head, *pieces = keys
    tail = pieces.pop() if pieces and pattern.endswith("$") else ""
    middle = tuple(filter(None, pieces))
    return _Starred(rank, head, middle, tail, max(*middle, tail, "", key=len))


# The search for a piece may compare the whole piece at each place of the path. Real files are far
# from that, so the cost is tracked only if it could be high. Prices are nanoseconds, measured with
# the worst known input.
_CHEAP = 80_000
_BUDGET = 100_000
_LOOK, _FIND, _DECODE = 90, 90, 150
_COMPARISONS = 4  # of characters, in a nanosecond


class _Stars:
    """Starred patterns, the greatest rank first."""

    __slots__ = ("_chars", "_ends", "_further", "_heads", "_patterns", "_ranks", "_searches")

    def __init__(self, patterns: Sequence[_Starred]) -> None:
        self._patterns = tuple(patterns)
        # Out of budget, only the heads of the patterns that forbid are compared.
        self._heads = _Literals(
            {star.head: star.rank for star in patterns[::-1] if star.rank % 2 == 0}
        )
        self._ranks = [-pattern.rank for pattern in self._patterns]
        self._chars = sum(
            sum(map(len, star.middle)) + len(star.tail) + 1 for star in self._patterns
        )
        self._further = sum(len(pattern.middle) for pattern in self._patterns if pattern.middle[1:])
        # A piece is compared only where its last character is in the path, at this price.
        self._ends = {pattern.longest[-1] for pattern in self._patterns}
        self._searches = [
            (star.longest, star.longest[-1], 6 + len(star.longest) // 3) for star in patterns
        ]

    def rank(self, path: str, least: int, budget: int, cheap: int) -> int:
        """Return the greatest rank of the matching patterns, or `least` if that is greater."""
        count = bisect_right(self._ranks, -least)
        length = len(path)
        comparisons = min(self._chars, count * length // 4) * length
        if comparisons // _COMPARISONS + self._further * _FIND > cheap:
            return self._rank_within(budget, path, least, count)
        for pattern in self._patterns[:count]:
            if pattern.longest in path and pattern.matches(path):
                return pattern.rank
        return least

    def _rank_within(self, budget: int, path: str, least: int, count: int) -> int:
        length = len(path)
        budget -= count * _LOOK + len(self._ends) * length // 2
        if budget <= 0:
            return max(least, self._heads.rank(path))
        starts = {end: path.count(end) for end in self._ends}
        for place, (longest, end, price) in enumerate(self._searches[:count]):
            if not starts[end]:
                continue
            budget -= length + starts[end] * price
            if budget > 0 and longest not in path:
                continue
            pattern = self._patterns[place]
            budget -= min(len(pattern.middle), length) * _FIND + length * (2 + len(longest) // 3)
            if budget <= 0:
                return max(least, self._heads.rank(path))
            if pattern.matches(path):
                return pattern.rank
        return least


class _Patterns:
    """The patterns of a host, for the greatest rank that matches a key."""

    __slots__ = ("_exact", "_literals", "_stars")

    def __init__(self, ranked: Iterable[tuple[int, str]]) -> None:
        self._exact: dict[str, int] = {}
        literals: list[tuple[str, int]] = []
        starred: list[_Starred] = []
        for rank, pattern in ranked:
            cut = _cut(pattern, rank)
            if cut.longest:
                starred.append(cut)
            elif pattern.endswith("$") and "*" not in pattern:
                self._exact[cut.head] = max(cut.rank, self._exact.get(cut.head, 0))
            else:
                literals.append((cut.head, cut.rank))
        starred.sort(reverse=True)
        # Of the patterns that are too many, only heads of those that forbid match.
        chars = list(accumulate(pattern.rank // 2 for pattern in starred))
        affordable = min(bisect_right(chars, _MAX_STARRED_CHARS), _MAX_STARRED)
        self._stars = _Stars(starred[:affordable]) if affordable else None
        literals += [
            (costly.head, costly.rank) for costly in starred[affordable:] if costly.rank % 2 == 0
        ]
        # Sorted, so that the greatest rank of equal literals remains.
        self._literals = _Literals(dict(sorted(literals)))

    def rank(self, key: str, budget: int, cheap: int) -> int:
        least = max(self._literals.rank(key), self._exact.get(key, 0))
        return least if self._stars is None else self._stars.rank(key, least, budget, cheap)


class Matcher:
    """The rules of a host, prepared for checks."""

    __slots__ = ("_patterns", "_unsure")

    def __init__(self, allowed: Iterable[str], forbidden: Iterable[str]) -> None:
        ranked = [(2 * len(pattern), pattern) for pattern in forbidden]
        ranked += [(2 * len(pattern) + 1, pattern) for pattern in allowed]
        self._patterns = _Patterns(ranked)
        unsure = [
            pattern for pattern in ranked if "%" in pattern[1] and _depends_on_place(pattern[1])
        ]
        self._unsure = _Patterns(unsure) if unsure else None  # other keys may match these, too

    def allows(self, path: str, budget: int = _BUDGET, cheap: int = _CHEAP) -> bool:
        """Return whether the rules allow a path: the part of a canonical URL after its origin.

        A check that may cost more than `cheap` is within the budget, or forbids.
        """
        key = path
        if "%" in path:
            key, budget = _key(path), budget - _DECODE * path.count("%")
        if self._unsure is None:
            return self._patterns.rank(key, budget, cheap) % 2 == 1
        # Other keys: the path as written, and the key with all "/" and "?" of the query escaped.
        above, question, query = key.partition("?")
        escaped = above + question + query.replace("/", "%2F").replace("?", "%3F")
        ranks = [
            self._unsure.rank(other_key, budget // 3, cheap)
            for other_key in (_respelled(path, _IN_RULES), escaped)
        ]
        return max(self._patterns.rank(key, budget // 3, cheap), *ranks) % 2 == 1


def _depends_on_place(pattern: str) -> bool:
    """Return True if one key is not enough: text after a star may be in the path or the query.

    A "%" that is not an escape needs more keys too: it may become the start of one.
    """
    behind_star = pattern.partition("?")[0].partition("*")[2]
    is_either = any(escape in behind_star for escape in ("%2F", "%2f", "%3F", "%3f"))
    return is_either or _BARE_PERCENT.search(pattern) is not None
