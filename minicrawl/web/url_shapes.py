"""Shapes of URLs, by which crawler traps are suspected. All functions take linear time.

A shape proves nothing: two URLs of one shape are only suspected to be alike, and their content
has to confirm it.

    /cal/2026/11/day.html?m=3&d=7     /cal/#/#/a.html?d&m

target     part of a canonical URL after the origin
segment    part of a path between two slashes
shape      target without its generated parts: numbers, tokens, the letters of the last segment,
           the values of the parameters and their order
token      segment that no person would write, such as a session id or a UUID
"""

import re
from collections import Counter

_TOKEN = re.compile(
    "(?=[^0-9]*+[0-9])(?:[0-9A-Za-z]{12,}+|[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})"
)
_SHORTEST_TOKEN = 12
_DIGITS_AS_ONE = str.maketrans(dict.fromkeys("0123456789", "#"))
_WORD = re.compile("[^0-9._/-]+")
_LONGEST_ENDING = 5
_LONGEST_NAME = 255
"""Longest file name. Of longer segments, only the end counts."""
MOST_SEGMENTS = 64
"""Most segments of a path that are examined. The rest counts as one segment."""
MOST_PARAMETERS = 32
"""Most parameters of a URL that count for its shape. Real pages do not have more."""


def shape(target: str) -> str:
    path, question, query = target.partition("?")
    folder, _, name = path.rpartition("/")
    last = "*"
    if not _is_token(name):  # its extension stays, its words become one letter
        name = name[-_LONGEST_NAME:]
        stem, dot, ending = name.rpartition(".")
        if not stem or len(ending) > _LONGEST_ENDING:
            stem, dot, ending = name, "", ""
        last = _without_numbers(_WORD.sub("a", stem)) + dot + ending
    keys = "&".join(sorted(set(map(_key, query.split("&", MOST_PARAMETERS)[:MOST_PARAMETERS]))))
    return f"{program(folder)}/{last}{question}{keys}"


def _is_token(segment: str) -> bool:
    return len(segment) >= _SHORTEST_TOKEN and _TOKEN.fullmatch(segment) is not None


def _without_numbers(text: str) -> str:
    """Replace each number by one `#`. Each round halves the longest run."""
    text = text.translate(_DIGITS_AS_ONE)
    while "##" in text:
        text = text.replace("##", "#")
    return text


def most_repeats(target: str) -> int:
    """Return how often the most frequent segment occurs in the path.

    Numbers and single characters do not count, because archives and caches use such folders.
    """
    parts = [part for part in target.partition("?")[0].split("/") if len(part) > 1]
    if len(parts) == len(set(parts)):
        return 1
    times = Counter(parts).items()
    return max((count for part, count in times if not part.isdecimal()), default=1)


def segments(target: str) -> int:
    return target.partition("?")[0].count("/")


def program(target: str) -> str:
    """Return the path without numbers and tokens: the program that gets the parameters."""
    *parts, last = target.partition("?")[0].split("/", MOST_SEGMENTS)
    shapes = ["*" if _is_token(part) else part for part in parts]
    shapes.append("*" if _is_token(last) else last)
    return _without_numbers("/".join(shapes))


def with_sorted_parameters(target: str) -> str:
    """Return the target with its parameters sorted by name; equal names keep their order."""
    path, question, query = target.partition("?")
    return f"{path}{question}{'&'.join(sorted(query.split('&'), key=_key))}"


def parameters(target: str) -> frozenset[str]:
    query = target.partition("?")[2]
    return frozenset(map(_key, query.split("&"))) if query else frozenset()


def without_parameter(target: str, name: str) -> str:
    path, _, query = target.partition("?")
    parts = [part for part in query.split("&") if part.partition("=")[0] != name]
    return f"{path}?{'&'.join(parts)}" if parts else path


def parameter_values(target: str, name: str) -> str:
    """Return the parameters of this name with their values, as written."""
    query = target.partition("?")[2]
    return "&".join(part for part in query.split("&") if _key(part) == name)


def _key(part: str) -> str:
    return part.partition("=")[0]
