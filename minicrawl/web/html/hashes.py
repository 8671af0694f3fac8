"""Hashes by which pages are compared: of the body, of the title, and of the text between the tags.

Two URLs of one shape are suspected to be one page. Equal text proves it, whatever the markup and
the order; equal text without its digits suggests an endless calendar.
"""

import re
from hashlib import blake2b
from typing import NamedTuple
from zlib import crc32

# A piece of text ends at a quote, as strings in scripts differ with each request.
_PIECE = re.compile(rb">\s*+([^<\"'\s][^<\"']*+)")
_NUMERALS = b"0123456789"
_TITLE_BITS = 4096


class TextHashes(NamedTuple):
    """Hashes of the text of a page, independent of its markup and order; 0 without text."""

    text: int = 0
    template: int = 0
    """Equal for pages that differ only in numbers, such as the months of a calendar."""


def title_hash(title: str) -> int:
    """Return a hash of the title without its digits; 0 without a title."""
    return crc32(title.encode(errors="surrogatepass").translate(None, _NUMERALS))


def title_bit(title: str) -> int:
    """Return one of 4,096 bits for a title. Only pages with the same bit are compared."""
    return 1 << title_hash(title) % _TITLE_BITS


def text_hashes(body: bytes) -> TextHashes:
    """Return the hashes of the text between the tags of a page."""
    pieces = set(_PIECE.findall(body))
    templates = {piece.translate(None, _NUMERALS) for piece in pieces}
    return TextHashes(sum(map(crc32, pieces)), sum(map(crc32, templates)))


def content_hash(body: bytes) -> int:
    """Return a 64-bit hash of the body, as a signed integer because SQLite has no other."""
    return int.from_bytes(blake2b(body, digest_size=8).digest(), "little", signed=True)
