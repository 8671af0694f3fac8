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

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate, chain
from typing import NamedTuple

from ada_url import join_url

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

# Plain references become absolute with a prefix instead of the parser, at a fifth of the cost. In
# doubt, a reference is not plain.

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
    form = url and _canonical_form(url, strip_marks)
    return ResolvedUrl(form, _original(url, form)) if url and form else None


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


PICTURES = ("urn:view:", "urn:fullPage:")
"""Beginnings of the names of pictures of rendered pages: of the top, and of the whole. The URL of
the page follows. Browsertrix names them so.
"""


def pictured(urn: str) -> str:
    """Return the URL of the page that a picture shows; other URLs stay unchanged."""
    for beginning in PICTURES:
        urn = urn.removeprefix(beginning)
    return urn


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
        url = here.join(written)
        form = url and _canonical_form(url, strip_marks)
        if url and form and form not in names:
            # Counted after resolving: a page of short references with a long base can stand for
            # gigabytes.
            room -= len(form)
            if room < 0:
                break
            names[form] = None if form is url else _original(url, form)
    return names


def resolve_each(
    hrefs: Iterable[str], base: str, *, strip_marks: bool = True
) -> Iterator[tuple[str, str]]:
    """Yield each reference that has a canonical URL, together with that URL."""
    here = _Base(_absolute(base, _NO_BASE) or _NO_BASE)
    for href in hrefs:
        url = here.join(href)
        form = url and _canonical_form(url, strip_marks)
        if form:
            yield href, form


class _Base:
    """Base URL, to which references are relative."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._root, self._folders = "", [""]  # without http or https, nothing resolves to a page
        if url.startswith(_SCHEMES):
            self._root, path = split(_without_credentials(url) if "@" in url else url)
            names = path.partition("?")[0].split("/")[:-1]
            self._folders = list(accumulate((f"{name}/" for name in names), initial=self._root))[1:]

    def join(self, written: str) -> str | None:
        """Return the absolute URL. A reference that climbs above the root stays at the root."""
        href = written
        if "#" in href:
            href = href.partition("#")[0]
            # A space before the "#" is part of the URL, but at the end the parser would strip it.
            href = f"{href}#" if href[-1:] <= " " else href
        plain = _PLAIN.fullmatch(href)
        if plain is None:
            return _absolute(href, self._url)
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


def _canonical_form(url: str, strip_marks: bool) -> str | None:
    """Return the canonical form of an absolute URL; None if too long, or not http or https."""
    if len(url) > LONGEST or not url.startswith(_SCHEMES):
        return None
    if "@" in url:
        url = _without_credentials(url)
    if strip_marks and ("?" in url or ";" in url):
        url = _without_marks(url)
    return url


def _original(url: str, form: str) -> str | None:
    """Return the absolute URL without credentials, or None if it is the canonical form."""
    if "@" in url:
        url = _without_credentials(url)
    return None if url == form else url


def _without_credentials(url: str) -> str:
    authority, path = split(url)
    scheme, slashes, name = authority.partition("//")
    return scheme + slashes + name.rpartition("@")[2] + path


def _without_marks(url: str) -> str:
    url, question, query = url.partition("?")
    if ";" in url:
        authority, path = split(url)
        url = authority + _MARK_IN_PATH.sub("", path)
    parameters = _MARK_IN_QUERY.sub("", f"&{query}")[1:]
    # Remove a query if nothing is left of it, but keep one that was empty.
    return url + question + parameters if parameters or not query else url


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


# Local servers, and servers named by their address, seldom have a certificate.
_LOCAL = r"(?:[a-z0-9-]+\.)*localhost|(?:[0-9]{1,3}\.){3}[0-9]{1,3}|\[[0-9a-f:.]+\]"
_LABEL = r"[^\s/?#@:\\.\[\]]+"
_ADDRESS = re.compile(
    rf"(?:({_LOCAL})|(?:{_LABEL}\.)+(?![0-9]){_LABEL}\.?)(?::[0-9]+)?(?:[/?#]\S*)?",
    re.IGNORECASE,
)


def canonical_seed(text: str, *, strip_marks: bool = True) -> str | None:
    """Return the canonical URL of a user's text, with or without scheme; None if it is none."""
    seed = resolve_seed(text, strip_marks=strip_marks)
    return seed and seed.url


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

    remaining = iter(lines)
    first = next(remaining, "")
    names = [name.strip().lower() for name in next(csv.reader([first]), [])]
    if _URL_COLUMN in names:
        rows = csv.reader(remaining)
        place = names.index(_URL_COLUMN)
        texts = ((rows.line_num + 1, row[place] if place < len(row) else "") for row in rows)
    else:
        texts = ((n, line.partition("#")[0]) for n, line in enumerate(chain([first], remaining), 1))
    for number, cell in texts:
        text = cell.strip()
        url = canonical_seed(text, strip_marks=False)
        if url is not None:
            yield text if with_logins and "@" in text else url
        elif text:
            complain(number, text)


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
