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
_NUMBER = re.compile("[0-9]+")
_WORD = re.compile("[^0-9._/-]+")
_LONGEST_ENDING = 5


def shape(target: str) -> str:
    """The shape of what follows the origin in a canonical URL."""
    path, question, query = target.partition("?")
    folder, _, name = path.rpartition("/")
    keys = "&".join(sorted(set(_keys(query))))
    return f"{program(folder)}/{_shape_of_name(name)}{question}{keys}"


def _shape_of_folder(name: str) -> str:
    return "*" if _TOKEN.fullmatch(name) else _NUMBER.sub("#", name)


def _shape_of_name(name: str) -> str:
    """Its ending says which program wrote it; its words are what the page is about."""
    if _TOKEN.fullmatch(name):
        return "*"
    stem, dot, ending = name.rpartition(".")
    if not stem or len(ending) > _LONGEST_ENDING:
        stem, dot, ending = name, "", ""
    return _NUMBER.sub("#", _WORD.sub("a", stem)) + dot + ending


def most_repeated(target: str) -> int:
    """How often the segment that is there most often stands in the path.

    Numbers and single characters do not count: archives and caches are sorted into such folders.
    """
    segments = [part for part in target.partition("?")[0].split("/") if len(part) > 1]
    if len(segments) == len(set(segments)):
        return 1
    return max(Counter(part for part in segments if not part.isdecimal()).values(), default=1)


def segments(target: str) -> int:
    """How many segments the path has."""
    return target.partition("?")[0].count("/")


# ---------------------------------------------------------------- parameters


def program(target: str) -> str:
    """The path without what is counted up or made up in it: who answers for the parameters."""
    return "/".join(map(_shape_of_folder, target.partition("?")[0].split("/")))


def in_order(target: str) -> str:
    """The same with its parameters in the order of their names; twins keep theirs."""
    path, question, query = target.partition("?")
    return f"{path}{question}{'&'.join(sorted(query.split('&'), key=_key))}"


def parameters(target: str) -> frozenset[str]:
    """The names of its parameters."""
    return frozenset(_keys(target.partition("?")[2]))


def without(target: str, name: str) -> str:
    """The same without the parameters of this name."""
    path, _, query = target.partition("?")
    kept = [part for part in query.split("&") if _key(part) != name]
    return f"{path}?{'&'.join(kept)}" if kept else path


def values(target: str, name: str) -> str:
    """What the parameters of this name are set to, as it is written."""
    query = target.partition("?")[2]
    return "&".join(part for part in query.split("&") if _key(part) == name)


def _keys(query: str) -> list[str]:
    return [_key(part) for part in query.split("&")] if query else []


def _key(part: str) -> str:
    return part.partition("=")[0]


# ---------------------------------------------------------------- text

_PIECE = re.compile(
    rb">\s*+([^<\"'\s][^<\"']*+)"
)  # up to a quote: what scripts assign differs with each visit
_NUMERALS = b"0123456789"
_NO_DIGITS = str.maketrans("", "", _NUMERALS.decode())
_TITLE_BITS = 1024


class Said(NamedTuple):
    """Hashes of what pages say, whatever its markup and order; 0 for those that say nothing."""

    text: int = 0
    gist: int = 0
    """The same for pages that differ in numbers alone, as the months of a calendar do."""


def title_code(title: str) -> int:
    """A hash of the title but for its numbers; 0 for none."""
    return crc32(title.translate(_NO_DIGITS).encode(errors="surrogatepass"))


def title_bit(title: str) -> int:
    """One bit for the title, out of a few: pages of one bit may be worth comparing."""
    return 1 << title_code(title) % _TITLE_BITS


def said(body: bytes) -> Said:
    """What the page says, roughly: what stands between its tags."""
    pieces = set(_PIECE.findall(body))
    gist = {piece.translate(None, _NUMERALS) for piece in pieces}
    return Said(sum(map(crc32, pieces)), sum(map(crc32, gist)))
