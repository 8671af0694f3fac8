"""URLs: from what a page wrote to the one name under which a page is known.

Law: a canonical URL is absolute, http or https, spelled as the WHATWG standard spells it, without
fragment and credentials and at most `LONGEST` long; to make it canonical again changes nothing.
Two URLs become one only where no server means two pages by them, so that no page is lost: the
query is not sorted, no slash, `www` or `index.html` goes. What goes is the mark of a visit: session
ids and what campaigns add to links, and only under names that mean nothing else; with
`strip_marks=False` they stay, too.

original   the URL with the marks that its canonical form lacks
origin     "https://example.com:8443": scheme, host, and the port where it is not the usual one
host       "example.com", "[2001:db8::1]": the name alone, an IPv6 address in its brackets
plain      a reference in which the standard changes nothing, such as "/docs/a.html?page=2"
"""

import re
from collections.abc import Iterable
from itertools import accumulate
from typing import NamedTuple

from ada_url import join_url

LONGEST = 2048
"""Characters; whatever is longer is no page that people link to."""

MOST_CHARS = 6 * 1024 * 1024
"""Of all links of a document, written out."""

_NO_BASE = "about:blank"  # nothing but a fragment is relative to it
_SCHEMES = ("http://", "https://")
_SHORTEST_ORIGIN = len("http://h")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")

# A name has 253 characters at most. To spell a longer one takes the square of its length.
_LONGEST_AUTHORITY = 320
_TOO_LONG_AUTHORITY = re.compile(
    r"(?:[^/\\?#:]*+:[/\\\0- ]*+|[\0- ]*+[/\\][\t\n\r]*+[/\\][/\\\0- ]*+)"
    rf"[^/\\?#]{{{_LONGEST_AUTHORITY + 1}}}"
)

# ---------------------------------------------------------------- plain references
# A prefix makes them absolute, without the parser: that is a fifth of the cost of a link. In doubt
# a reference is not plain.

_LETTER = r"-a-zA-Z0-9_!$&()*+,;=@~.%"
_SEGMENT = rf"/(?!\.|%2)[{_LETTER}:]*+"  # no "." and no "..", however it is written
_HOST = (  # no IPv4 address: these end in a number
    rf"(?![^/]{{{_LONGEST_AUTHORITY + 1}}})(?:(?!xn--)[a-z0-9_-]++\.)++[a-z]{{2,}}+"
)
# A relative one holds no colon before its first slash: that would make it a scheme.
_RELATIVE = rf"(?!\.|%2)[{_LETTER}]++(?:{_SEGMENT})*+"
_PLAIN = re.compile(
    rf"(?:(?P<absolute>https?://{_HOST}(?:{_SEGMENT})++)"
    rf"|(?P<rooted>(?!//)(?:{_SEGMENT})++)"
    rf"|(?P<above>(?:\.\./)++){_RELATIVE}"
    rf"|(?P<relative>{_RELATIVE}))"
    rf"(?:\?[{_LETTER}:/?]*+)?",
    re.ASCII,
)

# ---------------------------------------------------------------- the marks of a visit

# Only with a value: "?gclid" may be the page about it.
_MARK_IN_QUERY = re.compile(
    r"[&;](?:"
    # where a search, an advertisement or a network sent somebody from
    r"utm_[a-z_]+|_ga|_gl|gclid|gclsrc|dclid|gbraid|wbraid|gad_(?:source|campaignid)|srsltid"
    r"|fbclid|fb_action_(?:ids|types)|igsh(?:id)?|msclkid|ttclid|twclid|yclid|ysclid|_openstat"
    r"|li_fat_id|rdt_cid|sccid|epik|irclickid|irgwc|cjevent|wickedid|rb_clickid"
    r"|_branch_(?:match_id|referrer)|(?:mtm|pk)_(?:campaign|source|medium|keyword|kwd|content|cid)"
    # which mail to whom
    r"|mc_[ce]id|_hsenc|_hsmi|__hs(?:tc|sc|fp)|hsctatracking|hsa_[a-z]+|mkt_tok|_kx|__s|dm_i"
    r"|oly_(?:anon|enc)_id|vero_(?:id|conv)|ml_subscriber(?:_hash)?|bsft_[a-z]+id"
    # which visitor
    r"|jsessionid|phpsessid|aspsessionid[a-z]{8}|oscsid|zenid|cftoken"
    r"|cfid(?==[^&;]*[&;]cftoken=)"  # alone it is anything's id
    r"|_?sid(?==[0-9a-f]{32}(?![^&;]))"  # so is this, but where it is a hash
    r")=[^&;]*",
    re.ASCII | re.IGNORECASE,
)
# Not behind a dot or a slash: without it "/..;jsessionid=1/" is another path.
_MARK_IN_PATH = re.compile(
    r"(?<![/.])(?<!%2e)(?:;jsessionid=[^/;]*)+",
    re.ASCII | re.IGNORECASE,
)


class ResolvedUrl(NamedTuple):
    """A canonical URL, and its original where that differs."""

    url: str
    original: str | None = None


def canonical(href: str, base: str | None = None, *, strip_marks: bool = True) -> str | None:
    """The URL that `href` stands for on a page at `base`; None where it names no page."""
    url = _absolute(href, base or _NO_BASE)
    return url and _canonical_form(url, strip_marks)


def resolve(href: str, base: str | None = None, *, strip_marks: bool = True) -> ResolvedUrl | None:
    """The same with its original."""
    url = _absolute(href, base or _NO_BASE)
    found = url and _canonical_form(url, strip_marks)
    return ResolvedUrl(found, _original(url, found)) if url and found else None


def canonical_links(hrefs: Iterable[str], base: str) -> list[str]:
    """`canonical` of all links of a page, each URL once, in the order of the page."""
    return list(resolve_links(hrefs, base))


def resolve_links(
    hrefs: Iterable[str], base: str, *, strip_marks: bool = True
) -> dict[str, str | None]:
    """The same with the original of each, as it was met first, or None.

    A short reference may name a long URL: beyond `MOST_CHARS` no more are taken.
    """
    base_url = _absolute(base, _NO_BASE)
    if base_url is None:
        return {}
    here = _Base(base_url)
    names: dict[str, str | None] = {}
    room = MOST_CHARS
    for href in dict.fromkeys(_without_fragment(href) if "#" in href else href for href in hrefs):
        plain = _PLAIN.fullmatch(href)
        url = here.join(href, plain) if plain else _absolute(href, base_url)
        found = url and _canonical_form(url, strip_marks)
        if url and found and found not in names:
            room -= len(found)
            if room < 0:
                break
            names[found] = None if found is url else _original(url, found)
    return names


class _Base:
    """What makes plain references absolute."""

    def __init__(self, url: str) -> None:
        self._root, self._folders = "", [""]  # nothing does where they do not lead to a page
        if url.startswith(_SCHEMES):
            self._root, rest = split(_without_credentials(url))
            names = rest.partition("?")[0].split("/")[:-1]
            self._folders = list(accumulate((f"{name}/" for name in names), initial=self._root))[1:]

    def join(self, href: str, plain: re.Match[str]) -> str:
        """Above the root there is nothing: whoever climbs on stays there."""
        match plain.lastgroup:
            case "relative":
                return self._folders[-1] + href
            case "above":
                climb = plain.end("above")
                depth = len(self._folders) - 1 - climb // len("../")
                return self._folders[max(depth, 0)] + href[climb:]
            case "rooted":
                return self._root + href
            case _:
                return href


def _absolute(href: str, base: str) -> str | None:
    """By the standard and no more, but for the fragment and for hosts that cannot be."""
    if len(href) > _LONGEST_AUTHORITY and _TOO_LONG_AUTHORITY.match(href):
        return None
    try:
        return join_url(base, href).partition("#")[0]
    except ValueError:
        # What the command line could not decode; browsers replace it.
        whole = _LONE_SURROGATE.sub("\N{REPLACEMENT CHARACTER}", href)
        return None if whole == href else _absolute(whole, base)


def _without_fragment(href: str) -> str:
    text = href.partition("#")[0]
    # A blank before the "#" is part of the URL; at the very end it would be trimmed.
    return text + "#" if text[-1:] <= " " else text


def _canonical_form(url: str, strip_marks: bool) -> str | None:
    """What the standard's absolute URL becomes by our rules; None if it names no page."""
    if len(url) > LONGEST or not url.startswith(_SCHEMES):
        return None
    if "@" in url:
        url = _without_credentials(url)
    if strip_marks and ("?" in url or ";" in url):
        url = _without_marks(url)
    return url


def _original(url: str, found: str) -> str | None:
    """The absolute URL, if its marks are what its name lacks."""
    if "@" in url:
        url = _without_credentials(url)
    return None if url == found else url


def _without_credentials(url: str) -> str:
    authority, rest = split(url)
    scheme, slashes, name = authority.partition("//")
    return scheme + slashes + name.rpartition("@")[2] + rest


def _without_marks(url: str) -> str:
    url, question, query = url.partition("?")
    if ";" in url:
        authority, path = split(url)
        url = authority + _MARK_IN_PATH.sub("", path)
    kept = _MARK_IN_QUERY.sub("", f"&{query}")[1:]
    # A query of which nothing is left goes, one that was empty stays.
    return url + question + kept if kept or not query else url


# ---------------------------------------------------------------- parts of a canonical URL


def split(url: str) -> tuple[str, str]:
    """The origin, and the rest from the first slash of the path."""
    path = url.index("/", _SHORTEST_ORIGIN)
    return url[:path], url[path:]


def origin(url: str) -> str:
    return url[: url.index("/", _SHORTEST_ORIGIN)]


def host(url: str) -> str:
    authority = url.split("/", 3)[2]
    if ":" not in authority or authority[-1] == "]":
        return authority
    return authority.rpartition(":")[0]


# ---------------------------------------------------------------- what people write

# A server on one's own desk seldom has a certificate, nor has one that is called by its address.
_LOCAL = r"(?:[a-z0-9-]+\.)*localhost|(?:[0-9]{1,3}\.){3}[0-9]{1,3}|\[[0-9a-f:.]+\]"
_LABEL = r"[^\s/?#@:\\.\[\]]+"
_ADDRESS = re.compile(
    rf"(?:({_LOCAL})|(?:{_LABEL}\.)+(?![0-9]){_LABEL}\.?)(?::[0-9]+)?(?:[/?#]\S*)?",
    re.IGNORECASE,
)


def canonical_seed(text: str, *, strip_marks: bool = True) -> str | None:
    """The canonical URL that a person means, who may leave out the scheme; None if it is none."""
    found = resolve_seed(text, strip_marks=strip_marks)
    return found and found.url


def resolve_seed(text: str, *, strip_marks: bool = True) -> ResolvedUrl | None:
    """The same with its original."""
    text = text.strip()
    if not text[:6].lower().startswith(("http:", "https:")):
        address = _ADDRESS.fullmatch(text)
        if address is None:
            return None
        text = ("http://" if address[1] else "https://") + text
    return resolve(text, strip_marks=strip_marks)
