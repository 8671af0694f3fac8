"""Traps: what a URL alone gives away, which URLs look like the work of one program, and whether two
pages say the same.

Law: nothing is decided here that content has to prove; two URLs of one shape are only suspected to
be alike. The time is proportional to the URL, or to the page.

segment    what stands between two slashes of a path
shape      a URL without what a program counts up or makes up: numbers, tokens, the letters of the
           last segment, the values of its parameters and their order
token      a segment that no person would write: a session id, a UUID
"""

import re
from collections import Counter
from typing import NamedTuple
from zlib import crc32

_TOKEN = re.compile(
    "(?=[^0-9]*+[0-9])(?:[0-9A-Za-z]{12,}+|[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})"
)
_SHORTEST_TOKEN = 12
_DIGITS_AS_ONE = str.maketrans(dict.fromkeys("0123456789", "#"))
_WORD = re.compile("[^0-9._/-]+")
_LONGEST_ENDING = 5
_LONGEST_NAME = 255
"""Files have no longer ones: of those that do, only the end tells."""
MOST_SEGMENTS = 64
"""Of a path that are looked at one by one; what is deeper counts as one segment."""
MOST_PARAMETERS = 32
"""Of a URL that tell its shape, or can be found to change nothing. Nobody's pages have more."""


def shape(target: str) -> str:
    """The shape of what follows the origin in a canonical URL."""
    path, question, query = target.partition("?")
    folder, _, name = path.rpartition("/")
    keys = "&".join(sorted(set(map(_key, query.split("&", MOST_PARAMETERS)[:MOST_PARAMETERS]))))
    return f"{program(folder)}/{_shape_of_name(name)}{question}{keys}"


def _shape_of_name(name: str) -> str:
    """Its ending says which program wrote it; its words are what the page is about."""
    if _is_token(name):
        return "*"
    name = name[-_LONGEST_NAME:]
    stem, dot, ending = name.rpartition(".")
    if not stem or len(ending) > _LONGEST_ENDING:
        stem, dot, ending = name, "", ""
    return _without_numbers(_WORD.sub("a", stem)) + dot + ending


def _is_token(segment: str) -> bool:
    return len(segment) >= _SHORTEST_TOKEN and _TOKEN.fullmatch(segment) is not None


def _without_numbers(text: str) -> str:
    """Each number becomes one sign, however many there are: each turn halves the longest."""
    text = text.translate(_DIGITS_AS_ONE)
    while "##" in text:
        text = text.replace("##", "#")
    return text


def most_repeats(target: str) -> int:
    """How often the segment that is there most often stands in the path.

    Numbers and single characters do not count: archives and caches are sorted into such folders.
    """
    parts = [part for part in target.partition("?")[0].split("/") if len(part) > 1]
    if len(parts) == len(set(parts)):
        return 1
    times = Counter(parts).items()
    return max((count for part, count in times if not part.isdecimal()), default=1)


def segments(target: str) -> int:
    """How many segments the path has."""
    return target.partition("?")[0].count("/")


# ---------------------------------------------------------------- parameters


def program(target: str) -> str:
    """The path without what is counted up or made up in it: who answers for the parameters."""
    *parts, rest = target.partition("?")[0].split("/", MOST_SEGMENTS)
    told = ["*" if _is_token(part) else part for part in parts]
    told.append("*" if _is_token(rest) else rest)
    return _without_numbers("/".join(told))


def with_sorted_parameters(target: str) -> str:
    """The same with its parameters in the order of their names; twins keep theirs."""
    path, question, query = target.partition("?")
    return f"{path}{question}{'&'.join(sorted(query.split('&'), key=_key))}"


def parameters(target: str) -> frozenset[str]:
    """The names of its parameters."""
    return frozenset(_keys(target.partition("?")[2]))


def without_parameter(target: str, name: str) -> str:
    """The same without the parameters of this name."""
    path, _, query = target.partition("?")
    kept = [part for part in query.split("&") if part.partition("=")[0] != name]
    return f"{path}?{'&'.join(kept)}" if kept else path


def parameter_values(target: str, name: str) -> str:
    """What the parameters of this name are set to, as it is written."""
    query = target.partition("?")[2]
    return "&".join(part for part in query.split("&") if _key(part) == name)


def _keys(query: str) -> list[str]:
    return [part.partition("=")[0] for part in query.split("&")] if query else []


def _key(part: str) -> str:
    return part.partition("=")[0]


# ---------------------------------------------------------------- text

_PIECE = re.compile(
    rb">\s*+([^<\"'\s][^<\"']*+)"
)  # up to a quote: what scripts assign differs with each visit
_NUMERALS = b"0123456789"
_NO_DIGITS = str.maketrans("", "", _NUMERALS.decode())
_TITLE_BITS = 1024


class TextHashes(NamedTuple):
    """Hashes of what pages say, whatever its markup and order; 0 for those that say nothing."""

    text: int = 0
    gist: int = 0
    """The same for pages that differ in numbers alone, as the months of a calendar do."""


def title_hash(title: str) -> int:
    """A hash of the title but for its numbers; 0 for none."""
    return crc32(title.translate(_NO_DIGITS).encode(errors="surrogatepass"))


def title_bit(title: str) -> int:
    """One bit for the title, out of a few: pages of one bit may be worth comparing."""
    return 1 << title_hash(title) % _TITLE_BITS


def text_hashes(body: bytes) -> TextHashes:
    """What the page says, roughly: what stands between its tags."""
    pieces = set(_PIECE.findall(body))
    gist = {piece.translate(None, _NUMERALS) for piece in pieces}
    return TextHashes(sum(map(crc32, pieces)), sum(map(crc32, gist)))
