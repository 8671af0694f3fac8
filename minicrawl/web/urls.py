"""URLs: parse, resolve and canonicalize.

A canonical URL is absolute, http or https, serialized by the WHATWG URL standard, without fragment
and credentials, and at most `LONGEST` characters long. Canonicalization is idempotent. Two URLs
share a canonical form only if no server uses them for two pages, so no page is lost: the query is
not sorted, and no slash, `www` or `index.html` is removed. Only visit marks are removed: session
ids and campaign parameters whose names mean nothing else. `strip_marks=False` keeps them.

original   URL with the marks that its canonical form lacks
origin     scheme, host, and the port if it is not the default: "https://example.com:8443"
host       name or address alone: "example.com", "[2001:db8::1]"
location   origin and path of any node of a graph, as stored
plain      reference that the standard does not change, such as "/docs/a.html?page=2"
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from importlib.util import find_spec
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from itertools import accumulate, chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ada_url import join_url

if TYPE_CHECKING:
    from tldextract import TLDExtract


LONGEST = 2048
"""Most characters of a URL. Nobody links to longer ones."""

MOST_CHARS = 6 * 1024 * 1024
"""Most characters of all absolute URLs of a document."""

_NO_BASE = "about:blank"  # only a fragment can be relative to it
_SCHEMES = ("http://", "https://")
_SHORTEST_ORIGIN = len("http://h")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")

# A host name has at most 253 characters. The parser takes quadratic time for a longer one.
_LONGEST_AUTHORITY = 320
_TOO_LONG_AUTHORITY = re.compile(
    r"(?:[^/\\?#:]*+:[/\\\0- ]*+|[\0- ]*+[/\\][\t\n\r]*+[/\\][/\\\0- ]*+)"
    rf"[^/\\?#]{{{_LONGEST_AUTHORITY + 1}}}"
)

# ---------------------------------------------------------------- plain references
# They become absolute with a prefix instead of the parser, at a fifth of the cost. In doubt, a
# reference is not plain.

_LETTER = r"-a-zA-Z0-9_!$&()*+,;=@~.%"
_SEGMENT = rf"/(?!\.|%2)[{_LETTER}:]*+"  # neither "." nor "..", encoded or not
_HOST = (  # not an IPv4 address, which ends in a number
    rf"(?![^/]{{{_LONGEST_AUTHORITY + 1}}})(?:(?!xn--)[a-z0-9_-]++\.)++[a-z]{{2,}}+"
)
# A relative reference has no colon before its first slash, which would end a scheme.
_RELATIVE = rf"(?!\.|%2)[{_LETTER}]++(?:{_SEGMENT})*+"
_PLAIN = re.compile(
    rf"(?:(?P<absolute>https?://{_HOST}(?:{_SEGMENT})++)"
    rf"|(?P<rooted>(?!//)(?:{_SEGMENT})++)"
    rf"|(?P<above>(?:\.\./)++){_RELATIVE}"
    rf"|(?P<relative>{_RELATIVE}))"
    rf"(?:\?[{_LETTER}:/?]*+)?",
    re.ASCII,
)

# ---------------------------------------------------------------- visit marks

# Only with a value: "?gclid" may be a page about it.
_MARK_IN_QUERY = re.compile(
    r"[&;](?:"
    # the search, advertisement or social network that a visitor came from
    r"utm_[a-z_]+|_ga|_gl|gclid|gclsrc|dclid|gbraid|wbraid|gad_(?:source|campaignid)|srsltid"
    r"|fbclid|fb_action_(?:ids|types)|igsh(?:id)?|msclkid|ttclid|twclid|yclid|ysclid|_openstat"
    r"|li_fat_id|rdt_cid|sccid|epik|irclickid|irgwc|cjevent|wickedid|rb_clickid"
    r"|_branch_(?:match_id|referrer)|(?:mtm|pk)_(?:campaign|source|medium|keyword|kwd|content|cid)"
    # the mailing
    r"|mc_[ce]id|_hsenc|_hsmi|__hs(?:tc|sc|fp)|hsctatracking|hsa_[a-z]+|mkt_tok|_kx|__s|dm_i"
    r"|oly_(?:anon|enc)_id|vero_(?:id|conv)|ml_subscriber(?:_hash)?|bsft_[a-z]+id"
    # the visitor
    r"|jsessionid|phpsessid|aspsessionid[a-z]{8}|oscsid|zenid|cftoken"
    r"|cfid(?==[^&;]*[&;]cftoken=)"  # alone it may be any id
    r"|_?sid(?==[0-9a-f]{32}(?![^&;]))"  # also ambiguous, unless the value is a hash
    r")=[^&;]*",
    re.ASCII | re.IGNORECASE,
)
# Not after a dot or a slash: "/..;jsessionid=1/" without it is another path.
_MARK_IN_PATH = re.compile(
    r"(?<![/.])(?<!%2e)(?:;jsessionid=[^/;]*)+",
    re.ASCII | re.IGNORECASE,
)


class ResolvedUrl(NamedTuple):
    """A canonical URL, and its original if that differs."""

    url: str
    original: str | None = None


def canonical(href: str, base: str | None = None, *, strip_marks: bool = True) -> str | None:
    """Return the canonical URL of `href` on a page at `base`; None if it is not http or https."""
    url = _absolute(href, base or _NO_BASE)
    return url and _canonical_form(url, strip_marks)


def resolve(href: str, base: str | None = None, *, strip_marks: bool = True) -> ResolvedUrl | None:
    """Return the canonical URL as in `canonical`, with its original."""
    url = _absolute(href, base or _NO_BASE)
    found = url and _canonical_form(url, strip_marks)
    return ResolvedUrl(found, _original(url, found)) if url and found else None


POSTED = r"[?&]__wb_method=POST&__wb_post_digest=[0-9a-f]{32}\Z"
"""Regular expression for the end of a name that `posted` returns."""
_POSTED = re.compile(POSTED)


def posted(url: str, body: bytes) -> str:
    """Return the URL that names the response to a POST, which is not the page of a GET.

    The form is that of web archives (pywb, browsertrix), with a digest in place of the body: a
    body may be long or secret, and URLs are shown everywhere.
    """
    # A cryptographic hash, because the digest is part of a page's identity: with a weak one, two
    # bodies could be made to share a page.
    digest = hashlib.sha256(body).hexdigest()[:32]
    return f"{url}{'&' if '?' in url else '?'}__wb_method=POST&__wb_post_digest={digest}"


def posted_to(url: str) -> str:
    """Return the URL that a POST named by `posted` was sent to; other URLs stay unchanged."""
    return _POSTED.sub("", url)


def resolve_links(
    hrefs: Iterable[str], base: str, *, strip_marks: bool = True
) -> dict[str, str | None]:
    """Return the canonical URLs of all links of a page, each with its first original or None.

    Short references can have long URLs, so links beyond `MOST_CHARS` characters are dropped.
    """
    base_url = _absolute(base, _NO_BASE)
    return {} if base_url is None else resolve_links_at(hrefs, base_url, strip_marks=strip_marks)


def resolve_links_at(
    hrefs: Iterable[str], base: str, *, strip_marks: bool = True
) -> dict[str, str | None]:
    """Return the links as in `resolve_links`; `base` is absolute, such as a canonical URL."""
    here = _Base(base)
    names: dict[str, str | None] = {}
    room = MOST_CHARS
    for written in hrefs:
        href = _without_fragment(written) if "#" in written else written
        plain = _PLAIN.fullmatch(href)
        url = here.join(href, plain) if plain else _absolute(href, base)
        found = url and _canonical_form(url, strip_marks)
        if url and found and found not in names:
            # Counted after resolving: a page of short references with a long base can stand for
            # gigabytes.
            room -= len(found)
            if room < 0:
                break
            names[found] = None if found is url else _original(url, found)
    return names


def resolve_each(
    hrefs: Iterable[str], base: str, *, strip_marks: bool = True
) -> Iterator[tuple[str, str]]:
    """Yield each reference that has a canonical URL, together with that URL."""
    base_url = _absolute(base, _NO_BASE)
    here = _Base(base_url or _NO_BASE)
    for href in hrefs:
        reference = _without_fragment(href) if "#" in href else href
        plain = _PLAIN.fullmatch(reference)
        url = here.join(reference, plain) if plain else _absolute(reference, base_url or _NO_BASE)
        found = url and _canonical_form(url, strip_marks)
        if found:
            yield href, found


class _Base:
    """Base URL that resolves plain references."""

    def __init__(self, url: str) -> None:
        self._root, self._folders = "", [""]  # without http or https, nothing resolves to a page
        if url.startswith(_SCHEMES):
            self._root, rest = split(_without_credentials(url) if "@" in url else url)
            names = rest.partition("?")[0].split("/")[:-1]
            self._folders = list(accumulate((f"{name}/" for name in names), initial=self._root))[1:]

    def join(self, href: str, plain: re.Match[str]) -> str:
        """Return the absolute URL. A reference that climbs above the root stays at the root."""
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
    """Resolve by the standard, without the fragment; None for an invalid URL."""
    if len(href) > _LONGEST_AUTHORITY and _TOO_LONG_AUTHORITY.match(href):
        return None
    try:
        return join_url(base, href).partition("#")[0]
    except ValueError:
        # Undecodable bytes of the command line. Browsers replace them.
        whole = _LONE_SURROGATE.sub("\N{REPLACEMENT CHARACTER}", href)
        return None if whole == href else _absolute(whole, base)


def _without_fragment(href: str) -> str:
    text = href.partition("#")[0]
    # A space before the "#" is part of the URL, but at the end the parser would strip it.
    return text + "#" if text[-1:] <= " " else text


def _canonical_form(url: str, strip_marks: bool) -> str | None:
    """Return the canonical form of an absolute URL; None if too long, or not http or https."""
    if len(url) > LONGEST or not url.startswith(_SCHEMES):
        return None
    if "@" in url:
        url = _without_credentials(url)
    if strip_marks and ("?" in url or ";" in url):
        url = _without_marks(url)
    return url


def _original(url: str, found: str) -> str | None:
    """Return the absolute URL without credentials, or None if it is the canonical form."""
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
    # Remove a query if nothing is left of it, but keep one that was empty.
    return url + question + kept if kept or not query else url


# ---------------------------------------------------------------- parts of a canonical URL


def split(url: str) -> tuple[str, str]:
    """Return the origin, and the rest from the first slash of the path on."""
    path = url.index("/", _SHORTEST_ORIGIN)
    return url[:path], url[path:]


def origin(url: str) -> str:
    return url[: url.index("/", _SHORTEST_ORIGIN)]


def host(url: str) -> str:
    authority = url.split("/", 3)[2]
    if ":" not in authority or authority[-1] == "]":
        return authority
    return authority.rpartition(":")[0]


# ---------------------------------------------------------------- URLs from users

# Local servers, and servers named by their address, seldom have a certificate.
_LOCAL = r"(?:[a-z0-9-]+\.)*localhost|(?:[0-9]{1,3}\.){3}[0-9]{1,3}|\[[0-9a-f:.]+\]"
_LABEL = r"[^\s/?#@:\\.\[\]]+"
_ADDRESS = re.compile(
    rf"(?:({_LOCAL})|(?:{_LABEL}\.)+(?![0-9]){_LABEL}\.?)(?::[0-9]+)?(?:[/?#]\S*)?",
    re.IGNORECASE,
)


def canonical_seed(text: str, *, strip_marks: bool = True) -> str | None:
    """Return the canonical URL of a user's text, with or without scheme; None if it is none."""
    found = resolve_seed(text, strip_marks=strip_marks)
    return found and found.url


def resolve_seed(text: str, *, strip_marks: bool = True) -> ResolvedUrl | None:
    """Return the canonical URL as in `canonical_seed`, with its original."""
    text = text.strip()
    if not text[:6].lower().startswith(("http:", "https:")):
        address = _ADDRESS.fullmatch(text)
        if address is None:
            return None
        text = ("http://" if address[1] else "https://") + text
    return resolve(text, strip_marks=strip_marks)


_URL_COLUMN = "url"


def read_seeds(
    lines: Iterable[str], complain: Callable[[int, str], None], *, with_logins: bool = False
) -> Iterator[str]:
    """Yield the URLs of a list with one URL a line, or in the column `url` of a CSV file.

    `#` begins a comment. Other lines are reported to `complain`. Logins in URLs are removed, or
    kept as written with `with_logins`.
    """
    import csv  # every worker process imports this module, but no worker reads seeds

    rest = iter(lines)
    first = next(rest, "")
    names = [name.strip().lower() for name in next(csv.reader([first]), [])]
    if _URL_COLUMN in names:
        rows = csv.reader(rest)
        place = names.index(_URL_COLUMN)
        texts = ((rows.line_num + 1, row[place] if place < len(row) else "") for row in rows)
    else:
        texts = ((n, line.partition("#")[0]) for n, line in enumerate(chain([first], rest), 1))
    for number, cell in texts:
        text = cell.strip()
        url = canonical_seed(text, strip_marks=False)
        if url is not None:
            yield text if with_logins and "@" in text else url
        elif text:
            complain(number, text)


# ---------------------------------------------------------------- nodes that need not be URLs

Location = tuple[str, str]
"""Origin and path; joined they are the canonical URL or the name of a node."""


def location(name: str) -> Location:
    """Return the location of the node with this name; for a URL, the location that crawls store.

    Any other name, such as a host, a title or a number, is an origin of its own with an empty path.
    The origin of a URL is never a name, because it would be a URL itself.
    """
    url = canonical(name, strip_marks=False)
    return (name, "") if url is None else split(url)


def host_of(origin: str) -> str:
    """Return the host of an origin. A name that is not a URL is its own host."""
    return host(f"{origin}/") if origin.startswith(_SCHEMES) else origin


# ================================================================ idn
#
# Internationalised host names in readable form.
#
# A host that is shown leads to the same host when it is typed in. A label is shown in punycode if
# it could be mistaken for another: if it mixes scripts that are not written together, or if all its
# letters look like Latin ones under a Latin top-level domain. Only the display changes: URLs are
# stored and sent in punycode.

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
    return shown if shown == host or _typed(shown) == host else host


def _typed(host: str) -> str:
    """Return the host that a browser would request for this one; "" if it refuses it."""
    import ada_url  # most tables have no such host and need no import

    return ada_url.idna.encode(host).decode()


def _readable(label: str, *, is_latin_top: bool) -> str:
    if not label.startswith(_PREFIX):
        return label
    import ada_url

    found = str(ada_url.idna.decode(label))
    scripts = {_script(character) for character in found} - {""}
    is_of_one = len(scripts) == 1 or any(scripts <= together for together in _TOGETHER)
    is_clear = bool(found) and found.isprintable() and is_of_one
    return found if is_clear and not (is_latin_top and _LIKE_LATIN.issuperset(found)) else label


def _script(character: str) -> str:
    """Return the first word of a letter's Unicode name; "" for characters of all scripts."""
    first = unicodedata.name(character, "UNNAMED").partition(" ")[0]
    return (
        "" if first in _COMMON or unicodedata.combining(character) else _SCRIPTS.get(first, first)
    )


# ================================================================ sites
#
# Sites: hosts that belong together, by the Public Suffix List of tldextract.
#
# The site of a host is its registrable domain. A host without one, such as `localhost` or a public
# suffix, is its own site. The private section of the list counts too, so every name under github.io
# is a site. The site of an IP address is its network, a /24 of IPv4 or a /64 of IPv6, because such
# a network mostly has one owner.

_ENDS_OF_ADDRESSES = frozenset("0123456789]")
"""Last characters of addresses, which need no look-up in the list."""
_HOST_BITS_6, _HOST_BITS_4 = 64, 8
_PUNYCODE = "xn--"


def is_address(host: str) -> bool:
    """Return True if the host of a canonical URL is an IP address."""
    return host[-1:] in _ENDS_OF_ADDRESSES


@lru_cache(maxsize=1 << 14)
def site(host: str) -> str:
    """Return the site of the host of a canonical URL."""
    if is_address(host):
        return _network(host)
    if _PUNYCODE not in host and host[-1:] != ".":
        return _below_suffix(host)
    found = _extract().extract_str(host)
    if not found.suffix and found.subdomain:
        # Under an unknown top-level domain, every name of two labels is registrable.
        return f"{found.subdomain.rpartition('.')[2]}.{found.domain}"
    return found.top_domain_under_public_suffix or host


def _below_suffix(host: str) -> str:
    """Look up the site in the list, 10 times as fast as tldextract. Crawls do it for every host."""
    suffixes, before, rest = _suffixes(), "", host
    while True:
        label, _, above = rest.partition(".")
        if f"!{rest}" in suffixes:
            return rest
        if not above or rest in suffixes or f"*.{above}" in suffixes:
            return f"{before}.{rest}" if before else host
        before, rest = label, above


def has_public_suffix(host: str) -> bool:
    """Return True if the host is a name below a suffix of the list, such as example.org."""
    found = _extract().extract_str(host)
    return bool(found.suffix and found.domain)


def domains(host: str) -> tuple[str | None, ...] | None:
    """Return registry suffix and registered domain of a host, and both with private suffixes.

    None for an IP address. For `a.b.github.io` they are io, github.io, github.io and b.github.io.
    """
    if is_address(host):
        return None
    found = _extract().extract_str(host)
    return tuple(
        one or None
        for one in (
            found.registry_suffix,
            found.top_domain_under_registry_suffix,
            found.suffix,
            found.top_domain_under_public_suffix,
        )
    )


def _network(host: str) -> str:
    """Return the network of an IP address."""
    try:
        if host[0] != "[":
            return _of_ipv4(IPv4Address(host))
        address = IPv6Address(host.strip("[]"))
    except AddressValueError:
        return host  # a name that looks like an address
    carried = address.ipv4_mapped or address.sixtofour
    if carried is not None:
        return _of_ipv4(carried)
    first = IPv6Address(int(address) >> _HOST_BITS_6 << _HOST_BITS_6)
    return f"[{first}]/{first.max_prefixlen - _HOST_BITS_6}"


def _of_ipv4(address: IPv4Address) -> str:
    first = IPv4Address(int(address) >> _HOST_BITS_4 << _HOST_BITS_4)
    return f"{first}/{first.max_prefixlen - _HOST_BITS_4}"


@cache
def _suffixes() -> frozenset[str]:
    """Return the rules of the list, as written."""
    written = _written_list()
    if written is None:
        return frozenset(_extract().tlds)
    lines = (line.rstrip() for line in written.splitlines())
    return frozenset(line for line in lines if line and not line.startswith("//"))


def _written_list() -> str | None:
    """Return the text of the list, or None if this tldextract keeps it in another file."""
    package = find_spec("tldextract")
    for place in (package and package.submodule_search_locations) or ():
        file = Path(place, ".tld_set_snapshot")
        if file.exists():
            return file.read_text(encoding="utf-8")
    return None


@cache
def _extract() -> TLDExtract:
    """Return an extractor. tldextract is imported on first use, as it imports an HTTP client."""
    from tldextract import TLDExtract

    # No network and no cache folder: the answer depends only on the host.
    return TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)


# ================================================================ shapes
#
# Shapes of URLs, by which crawler traps are suspected. All functions take linear time.
#
# A shape proves nothing: two URLs of one shape are only suspected to be alike, and their content
# has to confirm it.
#
# target     part of a canonical URL after the origin
# segment    part of a path between two slashes
# shape      target without its generated parts: numbers, tokens, the letters of the last segment,
#            the values of the parameters and their order
# token      segment that no person would write, such as a session id or a UUID

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
    """Return the shape of a target."""
    path, question, query = target.partition("?")
    folder, _, name = path.rpartition("/")
    keys = "&".join(sorted(set(map(_key, query.split("&", MOST_PARAMETERS)[:MOST_PARAMETERS]))))
    return f"{program(folder)}/{_shape_of_name(name)}{question}{keys}"


def _shape_of_name(name: str) -> str:
    """Return the shape of the last segment: its extension stays, its words become one letter."""
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
    """Return the number of segments of the path."""
    return target.partition("?")[0].count("/")


# ---------------------------------------------------------------- parameters


def program(target: str) -> str:
    """Return the path without numbers and tokens: the program that gets the parameters."""
    *parts, rest = target.partition("?")[0].split("/", MOST_SEGMENTS)
    shapes = ["*" if _is_token(part) else part for part in parts]
    shapes.append("*" if _is_token(rest) else rest)
    return _without_numbers("/".join(shapes))


def with_sorted_parameters(target: str) -> str:
    """Return the target with its parameters sorted by name; equal names keep their order."""
    path, question, query = target.partition("?")
    return f"{path}{question}{'&'.join(sorted(query.split('&'), key=_key))}"


def parameters(target: str) -> frozenset[str]:
    """Return the names of the parameters."""
    return frozenset(_keys(target.partition("?")[2]))


def without_parameter(target: str, name: str) -> str:
    """Return the target without the parameters of this name."""
    path, _, query = target.partition("?")
    kept = [part for part in query.split("&") if part.partition("=")[0] != name]
    return f"{path}?{'&'.join(kept)}" if kept else path


def parameter_values(target: str, name: str) -> str:
    """Return the parameters of this name with their values, as written."""
    query = target.partition("?")[2]
    return "&".join(part for part in query.split("&") if _key(part) == name)


def _keys(query: str) -> list[str]:
    return [part.partition("=")[0] for part in query.split("&")] if query else []


def _key(part: str) -> str:
    return part.partition("=")[0]
