"""Internationalised host names in readable form.

A host that is shown leads to the same host when it is typed in. A label is shown in punycode if
it could be mistaken for another: if it mixes scripts that are not written together, or if all its
letters look like Latin ones under a Latin top-level domain. Only the display changes: URLs are
stored and sent in punycode.

    xn--bcher-kva.example     bücher.example
    xn--80ak6aa92e.com        as it is: in Cyrillic letters it looks like apple.com
"""

import re
import unicodedata
from functools import lru_cache

from ada_url import idna

_PREFIX = "xn--"
_HOST_IDN = re.compile(r"(?:(?<=://)|\A)[0-9A-Za-z.-]*xn--[0-9A-Za-z.-]*")
_HOST_ANYWHERE = re.compile(r"(?<![0-9A-Za-z.-])[0-9A-Za-z.-]*?xn--[0-9A-Za-z.-]*")
_TOGETHER = (
    {"HAN", "HIRAGANA", "KATAKANA", "LATIN"},
    {"HAN", "BOPOMOFO", "LATIN"},
    {"HAN", "HANGUL", "LATIN"},
)
"""Sets of scripts that one label may mix (UTS 39, highly restrictive)."""
_SCRIPTS = {"CJK": "HAN", "KATAKANA-HIRAGANA": "KATAKANA", "IDEOGRAPHIC": "HAN"}
_COMMON = frozenset(("DIGIT", "HYPHEN-MINUS"))
_LIKE_LATIN = frozenset("асԁеһіјӏорԛѕԝхуъЬҽпгѵѡкмнтввαβγεηικνοορτυχωѐҁոսցօհ")
"""Letters that look like Latin ones."""
_LONGEST_HOST = 255


def readable(text: str) -> str:
    """Return a text, which is a host or has URLs, with readable hosts."""
    return _HOST_IDN.sub(lambda host: readable_host(host[0]), text) if _PREFIX in text else text


def readable_hosts(text: str) -> dict[str, str]:
    """Return the readable form of each host in a text for which it differs."""
    if _PREFIX not in text:
        return {}
    shown = {host: readable_host(host) for host in set(_HOST_ANYWHERE.findall(text))}
    return {host: name for host, name in sorted(shown.items()) if name != host}


@lru_cache(1 << 10)
def readable_host(host: str) -> str:
    """Return the host in readable form, with ambiguous labels in punycode."""
    if len(host) > _LONGEST_HOST:
        return host
    labels = host.split(".")
    top = labels[-1] or labels[max(len(labels) - 2, 0)]
    is_latin = not top.startswith(_PREFIX)
    shown = ".".join(_readable(label, is_latin_top=is_latin) for label in labels)
    # What a browser would request for the text; "" if it refuses it.
    return shown if shown == host or idna.encode(shown).decode() == host else host


def _readable(label: str, *, is_latin_top: bool) -> str:
    if not label.startswith(_PREFIX):
        return label
    name = str(idna.decode(label))
    scripts = {_script(character) for character in name} - {""}
    is_of_one = len(scripts) == 1 or any(scripts <= together for together in _TOGETHER)
    is_clear = bool(name) and name.isprintable() and is_of_one
    return name if is_clear and not (is_latin_top and _LIKE_LATIN.issuperset(name)) else label


def _script(character: str) -> str:
    """Return the first word of a letter's Unicode name; "" for characters of all scripts."""
    first = unicodedata.name(character, "UNNAMED").partition(" ")[0]
    return (
        "" if first in _COMMON or unicodedata.combining(character) else _SCRIPTS.get(first, first)
    )
