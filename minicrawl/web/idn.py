"""Hosts with letters beyond ASCII, as people read them.

Laws: what is shown leads to the same host when it is typed in again. A label is shown in punycode
if it could be taken for another one: if it mixes scripts that are not written together, or if all
its letters look like Latin ones under a Latin top-level domain. Nothing but what is shown changes:
URLs are stored and sent in punycode.
"""

import re
import unicodedata
from functools import lru_cache

_PREFIX = "xn--"
_HOST = re.compile(r"(?:(?<=://)|\A)[0-9A-Za-z.-]*xn--[0-9A-Za-z.-]*")
_HOST_ANYWHERE = re.compile(r"(?<![0-9A-Za-z.-])[0-9A-Za-z.-]*?xn--[0-9A-Za-z.-]*")
_TOGETHER = (
    {"HAN", "HIRAGANA", "KATAKANA", "LATIN"},
    {"HAN", "BOPOMOFO", "LATIN"},
    {"HAN", "HANGUL", "LATIN"},
)
"""Scripts that one label may mix (UTS 39, highly restrictive)."""
_SCRIPTS = {"CJK": "HAN", "KATAKANA-HIRAGANA": "KATAKANA", "IDEOGRAPHIC": "HAN"}
_COMMON = frozenset(("DIGIT", "HYPHEN-MINUS"))
_LIKE_LATIN = frozenset("асԁеһіјӏорԛѕԝхуъЬҽпгѵѡкмнтввαβγεηικνοορτυχωѐҁոսցօհ")
"""Letters that look like Latin ones."""
_LONGEST_HOST = 255


def readable(text: str) -> str:
    """A text that is a host, or has URLs, with readable hosts."""
    return _HOST.sub(lambda host: readable_host(host[0]), text) if _PREFIX in text else text


def readable_hosts(text: str) -> dict[str, str]:
    """The hosts anywhere in a text that are shown otherwise than they are sent, and how."""
    if _PREFIX not in text:
        return {}
    shown = {host: readable_host(host) for host in set(_HOST_ANYWHERE.findall(text))}
    return {host: name for host, name in sorted(shown.items()) if name != host}


@lru_cache(1 << 10)
def readable_host(host: str) -> str:
    """The host with each label readable that cannot be taken for another one."""
    if len(host) > _LONGEST_HOST:
        return host
    labels = host.split(".")
    top = labels[-1] or labels[max(len(labels) - 2, 0)]
    is_latin = not top.startswith(_PREFIX)
    shown = ".".join(_readable(label, is_latin_top=is_latin) for label in labels)
    return shown if shown == host or _typed(shown) == host else host


def _typed(host: str) -> str:
    """The host that a browser makes of this one; "" if it refuses it."""
    import ada_url  # a table is shown without it if no host needs it

    return ada_url.idna.encode(host).decode()


def _readable(label: str, *, is_latin_top: bool) -> str:
    if not label.startswith(_PREFIX):
        return label
    import ada_url

    found = str(ada_url.idna.decode(label))
    is_clear = bool(found) and found.isprintable() and _is_of_one_script(found)
    return found if is_clear and not (is_latin_top and _LIKE_LATIN.issuperset(found)) else label


def _is_of_one_script(label: str) -> bool:
    scripts = {_script(character) for character in label} - {""}
    return len(scripts) == 1 or any(scripts <= together for together in _TOGETHER)


def _script(character: str) -> str:
    """The first word of the name of a letter; "" for what all scripts share."""
    first = unicodedata.name(character, "UNNAMED").partition(" ")[0]
    return (
        "" if first in _COMMON or unicodedata.combining(character) else _SCRIPTS.get(first, first)
    )
