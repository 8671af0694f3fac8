"""URLs: from what a page wrote to the one name under which a page is known.

Law: a canonical URL is absolute, http or https, spelled as the WHATWG standard spells it, without
fragment and credentials and at most `LONGEST` long; to make it canonical again changes nothing.
Two URLs become one only where no server means two pages by them, so that no page is lost: the
query is not sorted, no slash, `www` or `index.html` goes. What goes is the mark of a visit: session
ids and what campaigns add to links, and only under names that mean nothing else.

origin     "https://example.com:8443": scheme, host, and the port where it is not the usual one
host       "example.com", "[2001:db8::1]": the name alone, an IPv6 address in its brackets
plain      a reference in which the standard changes nothing, such as "/docs/a.html?page=2"
"""

import re
from collections.abc import Iterable

from ada_url import join_url

LONGEST = 2048
"""Characters; whatever is longer is no page that people link to."""

_NO_BASE = "about:blank"  # nothing but a fragment is relative to it
_SCHEMES = ("http://", "https://")
_SHORTEST_ORIGIN = len("http://h")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")

# ---------------------------------------------------------------- plain references
# A prefix makes them absolute, without the parser: that halves the cost of a link. In doubt a
# reference is not plain.

_SEGMENT = r"/(?!\.|%2)[\w!$&()*+,;=@~.:%-]*+"  # no "." and no "..", however it is written
_HOST = r"(?:(?!xn--)[a-z0-9_-]++\.)++[a-z]{2,}+"  # no IPv4 address: these end in a number
# A relative one holds no colon before its first slash: that would make it a scheme.
_PLAIN = re.compile(
    rf"(?:(?P<absolute>https?://{_HOST}(?:{_SEGMENT})++)"
    rf"|(?P<rooted>(?!//)(?:{_SEGMENT})++)"
    rf"|(?P<relative>(?!\.|%2)[\w!$&()*+,;=@~.%-]++(?:{_SEGMENT})*+))"
    r"(?:\?[\w!$&()*+,;=@~.:%/?-]*+)?",
    re.ASCII,
)

# ---------------------------------------------------------------- the marks of a visit

# Only with a value: "?gclid" may be the page about it.
_MARK_IN_QUERY = re.compile(
    r"[&;](?:"
    r"utm_[a-z_]+|_ga|_gl|gclid|gclsrc|dclid|gbraid|wbraid|fbclid|igshid|msclkid|ttclid|twclid"
    r"|yclid|ysclid|mc_[ce]id|_hsenc|_hsmi|mkt_tok|oly_(?:anon|enc)_id|srsltid|vero_id"
    r"|jsessionid|phpsessid|aspsessionid[a-z]{8}|cftoken"
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


def canonical(href: str, base: str | None = None) -> str | None:
    """The URL that `href` stands for on a page at `base`; None where it names no page."""
    url = _absolute(href, base or _NO_BASE)
    return url and _page_name(url)


def canonical_links(hrefs: Iterable[str], base: str) -> list[str]:
    """`canonical` of all links of a page, each URL once, in the order of the page."""
    base_url = _absolute(base, _NO_BASE)
    if base_url is None:
        return []
    prefixes = _prefixes(base_url)
    urls: dict[str | None, None] = {}
    for href in dict.fromkeys(map(_without_fragment, hrefs)):
        plain = _PLAIN.fullmatch(href)
        url = prefixes[plain.lastgroup] + href if plain else _absolute(href, base_url)
        urls[url and _page_name(url)] = None
    return [url for url in urls if url]


def _prefixes(base_url: str) -> dict[str | None, str]:
    """What makes a plain reference absolute, by the name of its group in the pattern."""
    if not base_url.startswith(_SCHEMES):
        return {"absolute": "", "rooted": "", "relative": ""}
    root, rest = split(_without_credentials(base_url))
    folder = rest[: rest.partition("?")[0].rindex("/") + 1]
    return {"absolute": "", "rooted": root, "relative": root + folder}


def _absolute(href: str, base: str) -> str | None:
    """By the standard and no more, but for the fragment."""
    try:
        return join_url(base, href).partition("#")[0]
    except ValueError:
        # What the command line could not decode; browsers replace it.
        whole = _LONE_SURROGATE.sub("\N{REPLACEMENT CHARACTER}", href)
        return None if whole == href else _absolute(whole, base)


def _without_fragment(href: str) -> str:
    if "#" not in href:
        return href
    text = href.partition("#")[0]
    # A blank before the "#" is part of the URL; at the very end it would be trimmed.
    return text + "#" if text[-1:] <= " " else text


def _page_name(url: str) -> str | None:
    """What the standard's absolute URL becomes by our rules; None if it names no page."""
    if len(url) > LONGEST or not url.startswith(_SCHEMES):
        return None
    if "@" in url:
        url = _without_credentials(url)
    if "?" in url or ";" in url:
        url = _without_marks(url)
    return url


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


def seed(text: str) -> str | None:
    """The canonical URL that a person means, who may leave out the scheme; None if it is none."""
    text = text.strip()
    if text[:6].lower().startswith(("http:", "https:")):
        return canonical(text)
    address = _ADDRESS.fullmatch(text)
    if address is None:
        return None
    return canonical(("http://" if address[1] else "https://") + text)
