"""Content of the tags of a page: title, base, links with their words, canonical, refresh, robots.

No URL is resolved here. Each link comes once, in the order of the page. Of a base, a title, a
canonical link and a refresh, the first counts. All robots rules of the page are combined.

The scan counts its *work*, an upper bound in microseconds for the scan and everything that follows
from it, on the machine of reference. Nothing before the scan distinguishes a page of prose from one
of links, though 128 kB take 1 ms or 30. Tags that are skipped are first charged by size; if that
makes the page too expensive, their marks are counted instead. The scan gives up when the work
exceeds the caller's time. `python -m tests.fuzz --prices` searches for pages that take longer.

written    as in the page, with character references not decoded
said       the attributes of a tag, as written
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b
from itertools import accumulate
from math import inf
from typing import NamedTuple

from minicrawl.model import NO_SCRIPTS, Scripting, ScriptKind
from minicrawl.web.headers import (
    HTML_TYPES,
    NO_RESTRICTIONS,
    RobotsTag,
    parse_content_type,
    parse_robots_tag,
)
from minicrawl.web.html.tokens import (
    ATTRIBUTES,
    HREF,
    HTML,
    STOP,
    S,
    attributes,
    decoded,
    href,
    unescaped,
    xhtml_tokens,
)
from minicrawl.web.urls import resolve_each, split

# ================================================================ written
#
# Links as written: one short entry for each link of a page.
#
# An entry preserves what was written: href, text and rel. A link written in the usual way, relative
# to its page and without text, has an empty entry. Entries contain no separators, so they can be
# joined.
#
# entry      form, fragment, text and rel; empty parts at the end are omitted
# form       empty for the shortest relative reference, "=" for the whole URL, "/" for its path from
#            the root, or "!" and the reference as written

LONGEST_TEXT = 200
"""Most characters of the text of a link."""
LONGEST_FORM = 2_000
"""Most characters of a reference as written; longer ones are stored as the resolved URL."""
BETWEEN_ENTRIES, BETWEEN_PARTS = "\x1e", "\x1f"
_WHOLE, _ROOTED, _OTHER = "=", "/", "!"
_SEPARATORS = str.maketrans("", "", "\x1c\x1d\x1e\x1f")


class AnchorTag(NamedTuple):
    """First anchor of a page with some href; empty fields for a link without an anchor."""

    written: str
    text: str = ""
    rel: str = ""


def entries(
    anchors: Mapping[str, AnchorTag],
    links: Collection[str],
    own: str,
    base: str,
    *,
    strip_marks: bool = True,
) -> tuple[str, ...]:
    """Return the entry of each link of the page at `own`; anchors with a text come first."""
    found: dict[str, AnchorTag] = {}
    for written, url in resolve_each(anchors, base, strip_marks=strip_marks):
        anchor = anchors[written]
        if url in links and (url not in found or (anchor.text and not found[url].text)):
            found[url] = anchor
    folders = _folders(own)
    return tuple([_entry(found.get(url), url, folders, has_base=own != base) for url in links])


def read_entry(entry: str, own: str, target: str) -> AnchorTag:
    """Return the link to the target as it was written on the page at `own`."""
    form, text, rel = (*entry.split(BETWEEN_PARTS), "", "")[:3]
    if form.startswith(_OTHER):
        return AnchorTag(form[1:], text, rel)
    if form.startswith(_WHOLE):
        return AnchorTag(target + form[1:], text, rel)
    if form.startswith(_ROOTED):
        return AnchorTag(_rooted(target) + form[1:], text, rel)
    return AnchorTag((_relative(_folders(own), target) or target) + form, text, rel)


def joined(found: Iterable[str]) -> str:
    """Join entries into one text."""
    return BETWEEN_ENTRIES.join(found)


def parted(text: str) -> list[str]:
    """Split a text into its entries."""
    return text.split(BETWEEN_ENTRIES)


def _entry(anchor: AnchorTag | None, url: str, folders: list[str], *, has_base: bool) -> str:
    if anchor is None:
        return ""
    written = anchor.written.translate(_SEPARATORS)
    parts = _form(written, url, folders, has_base=has_base), anchor.text, anchor.rel
    return BETWEEN_PARTS.join(parts).rstrip(BETWEEN_PARTS)


def _form(written: str, url: str, folders: list[str], *, has_base: bool) -> str:
    if len(written) > LONGEST_FORM:
        return _WHOLE
    href, hash_sign, fragment = written.partition("#")
    if href == url:
        return f"{_WHOLE}{hash_sign}{fragment}"
    if not has_base and href == _relative(folders, url):
        return hash_sign + fragment
    if href.startswith("/") and href == _rooted(url):
        return f"{_ROOTED}{hash_sign}{fragment}"
    return _OTHER + written


def _folders(url: str) -> list[str]:
    """Return the folder of a page and those above it, the nearest first."""
    origin, path = split(url)
    names = path.partition("?")[0].split("/")[:-1]
    return list(accumulate((f"{name}/" for name in names), initial=origin))[:0:-1]


def _relative(folders: list[str], url: str) -> str | None:
    """Return the shortest relative reference to a URL; None if it is on another host."""
    for above, folder in enumerate(folders):
        if url.startswith(folder):
            return "../" * above + url[len(folder) :]
    return None


def _rooted(url: str) -> str:
    return split(url)[1]


# ================================================================ words
#
# Words of a link, in its anchor and around it.
#
# Whatever the markup, a bounded number of characters is read for each link.

CHARS_AROUND = 50
"""Characters of text on each side of a link that count as around it, without cut words."""

MARKUP_AROUND = 600  # characters of markup searched for these
ANCHOR_READ = 2000  # characters after which an unclosed anchor ends
_ANCHOR_ENDS = re.compile(rf"</?a{STOP}", re.IGNORECASE | re.ASCII)
_NOT_TEXT = re.compile(
    r"^[^<>]*>"  # the rest of a tag that begins before the text
    r"|<!--.*?(?:-->|\Z)|<(script|style)\b.*?(?:</\1[^>]*+>|\Z)|<[^>]*+(?:>|\Z)",
    re.IGNORECASE | re.ASCII | re.DOTALL,
)


def _close(text: str, end: int) -> int:
    """Return the end of the anchor content that begins at `end`."""
    limit = end + ANCHOR_READ
    closing = _ANCHOR_ENDS.search(text, end, limit)
    return closing.start() if closing else min(limit, len(text))


def words_around(text: str, start: int, end: int) -> str:
    """Return the words of the anchor with the start tag `text[start:end]`, and those around it."""
    close = _close(text, end)
    before = _last(_plain_words(text[max(start - MARKUP_AROUND, 0) : start]))
    after = _first(_plain_words(text[close : close + MARKUP_AROUND]))
    return " ".join(filter(None, [before, *_plain_words(text[end:close]), after]))


def _first(words: list[str]) -> str:
    """Return the first words that fit into `CHARS_AROUND`."""
    text = " ".join(words)
    if len(text) > CHARS_AROUND:
        text = text[: CHARS_AROUND + 1].rpartition(" ")[0]
    return text


def _last(words: list[str]) -> str:
    """Return the last words that fit into `CHARS_AROUND`."""
    text = " ".join(words)
    if len(text) > CHARS_AROUND:
        text = text[-CHARS_AROUND - 1 :].partition(" ")[2]
    return text


def _plain_words(markup: str) -> list[str]:
    return decoded(_NOT_TEXT.sub(" ", markup)).split()


@cache
def _image() -> re.Pattern[str]:
    """Return the pattern, compiled on demand, as most crawls do not need it."""
    return re.compile(rf"<img{STOP}({ATTRIBUTES})", re.IGNORECASE | re.ASCII)


def anchor_of(text: str, written: str, tag: re.Match[str]) -> AnchorTag:
    """Return the anchor with this start tag; without a text, that of its image."""
    said = {} if tag["plain"] else attributes(tag["said"])
    rel = _said(said.get("rel", ""))
    if not tag["plain"] and tag["name"].lower() == "area":
        return AnchorTag(written, _said(said.get("alt", "")), rel)
    content = text[tag.end() : _close(text, tag.end())]
    words = " ".join(_plain_words(content))[:LONGEST_TEXT]
    image = None if words else _image().search(content)
    return AnchorTag(written, _said(attributes(image[1]).get("alt", "")) if image else words, rel)


def _said(value: str) -> str:
    return " ".join(decoded(value).split())[:LONGEST_TEXT]


# ================================================================ markup

TITLE_LENGTH = 300
"""Most characters of a title."""

AT_ONCE_S = 1
"""Longest delay of a refresh that counts as a redirect. With a longer one, it is a link."""

MOST_LINKS = 10_000
"""Of a page; the others are not read. Few pages of people have more than a thousand."""
_TITLE_READ = 20_000  # characters of markup that may be a title
_LONGEST_HREF = 8192  # characters; longer URLs are not kept


_PASSED_US, _UNCLOSED_US = 0.07, 0.1  # a character of skipped tags; of one never closed
_CHARACTER_US, _TAG_US, _ATTRIBUTE_US = 0.012, 0.34, 0.1  # the same, counted by marks
_BEFORE_ATTRIBUTES = " \n\t\r\f/\"'"
_TOKEN_US, _SAID_US = 1.5, 0.24  # a stop; a character of attributes that are read
_LINK_US, _HREF_US = 9.0, 0.08  # to resolve a link; for each of its characters
_WRITTEN_US, _WORDS_US = 14.0, 25.0
"""Extra cost of each link if what surrounds it is read."""
_AROUND_US, _TAG_AROUND_US, _REFERENCE_US = 0.01, 0.3, 1.4
_FOREIGN_US = 0.6  # a character may expand to 18 in a host name


class TooDear(Exception):
    """The page takes longer to parse than the caller has time for."""


class MetaRefresh(NamedTuple):
    """A meta refresh: the delay and the URL. An empty URL is the page itself."""

    delay_s: int
    url: str


@dataclass(slots=True, kw_only=True)
class Markup:
    """Content of the tags of a page, collected during the scan. No URL is resolved yet.

    `links` has the hrefs without fragments, distinct and in order, with their words. Links with
    nofollow are omitted.
    """

    title: str = ""
    base: str | None = None
    links: dict[str, str] = field(default_factory=dict)
    anchors: dict[str, AnchorTag] = field(default_factory=dict)  # on request
    canonical: str | None = None
    refresh: str | None = None  # the URL of a refresh without delay
    robots: RobotsTag = NO_RESTRICTIONS
    has_more_links: bool = False


def scan(  # noqa: PLR0913  # each is given by its name
    text: str,
    *,
    agent: str = "minicrawl",
    max_links: int = MOST_LINKS,
    with_words: bool = False,
    with_anchors: bool = False,
    xhtml: bool = False,
    types: frozenset[str] = HTML_TYPES,
    with_sitemaps: bool = False,
    most_us: float = inf,
) -> Markup:
    """Scan a page; raise `TooDear` if it takes more than `most_us` of work.

    `agent` is the crawler name that robots rules may use; `types` are those of alternates that
    count as links.
    """
    relations = _RELATIONS_AND_SITEMAPS if with_sitemaps else _RELATIONS
    wanted = _Wanted(agent.lower(), max_links, with_words, with_anchors, types, relations, most_us)
    page = _PageScanner(text.replace("\0", "\N{REPLACEMENT CHARACTER}"), wanted)
    links = page.links
    for token in (xhtml_tokens() if xhtml else HTML).finditer(page.text):
        href = token[HREF]
        if href is None:
            page.read(token)
        elif href not in links or "&" in href:
            page.add_link(href, token)
    return page.found


class _Wanted(NamedTuple):
    """Content to collect, and the name of the crawler."""

    agent: str
    max_links: int
    with_words: bool
    with_anchors: bool
    types: frozenset[str]
    relations: frozenset[str]  # relations of a <link> to another page, whatever its type
    most_us: float


class _PageScanner:
    """Collects the content of the tags of one page."""

    def __init__(self, text: str, wanted: _Wanted) -> None:
        self.text = text
        self.wanted = wanted
        self.max_links = wanted.max_links
        self.looks_around = wanted.with_words or wanted.with_anchors
        self.found = Markup()
        self.links = self.found.links
        self.open: set[str] = set()
        last = text.find("<", text.rfind(">") + 1)
        unclosed = len(text) - last if last >= 0 else 0
        self._guess_us = _PASSED_US * len(text)
        self._left_us = wanted.most_us - self._guess_us
        self._spend(_UNCLOSED_US * unclosed)
        self._link_us = _LINK_US + _WRITTEN_US * wanted.with_anchors + _WORDS_US * wanted.with_words

    def _spend(self, work_us: float) -> None:
        self._left_us -= work_us
        if self._left_us < 0:
            self._count_marks()

    def _count_marks(self) -> None:
        """Replace the guess, once; raise `TooDear` if there is still too much work."""
        count = self.text.count
        attributes = sum(map(count, _BEFORE_ATTRIBUTES))
        counted_us = _CHARACTER_US * len(self.text) + _TAG_US * count("<")
        counted_us += _ATTRIBUTE_US * attributes
        self._left_us += max(self._guess_us - counted_us, 0)
        self._guess_us = 0.0
        if self._left_us < 0:
            raise TooDear

    def read(self, token: re.Match[str]) -> None:
        """Process any token but a plain anchor."""
        self._left_us -= _TOKEN_US
        if name := token["name"]:
            self._spend(_SAID_US * len(token["said"]))
            _READERS[name.lower()](self, token)
        elif token["raw"]:
            self._spend(_SAID_US * len(token["raw_said"]))
            self._read_raw(token)
        elif self._left_us < 0:
            self._count_marks()

    def read_anchor(self, tag: re.Match[str]) -> None:
        said = tag["said"]
        written = href(said)
        if written is not None and not (
            "nofollow" in said.lower() and _is_nofollow(attributes(said))
        ):
            self.add_link(written, tag)

    def add_link(self, written: str, anchor: re.Match[str] | None = None) -> None:
        """Add a link, and decode its character references."""
        if len(written) > _LONGEST_HREF:
            return
        whole = href = written
        if "&" in written:
            self._spend(_REFERENCE_US * written.count("&"))
            whole = href = decoded(written)
        if "#" in href:
            href = href[: href.index("#") + 1]
        if href in self.links:
            return
        each_us = _HREF_US if href.isascii() else _FOREIGN_US
        self._left_us -= self._link_us + each_us * len(href)
        if self._left_us < 0:
            self._count_marks()
        if len(self.links) < self.max_links:
            self.links[href] = ""
            if self.looks_around and anchor:
                self._look_around(href, whole, anchor)
        else:
            self.found.has_more_links = True

    def _look_around(self, href: str, whole: str, anchor: re.Match[str]) -> None:
        if self.wanted.with_anchors:
            self.found.anchors[href] = anchor_of(self.text, whole, anchor)
        start = anchor.start("plain") if anchor["plain"] else anchor.start("name")
        start, end = start - len("<"), anchor.end()
        self._spend(self._work_around_us(start, end))
        if self.wanted.with_words:
            self.links[href] = words_around(self.text, start, end)

    def _work_around_us(self, start: int, end: int) -> float:
        """Return the work to read the content of an anchor and its surroundings."""
        close = self.text.find("</a", end, end + ANCHOR_READ)
        stop = close if close >= 0 else end + ANCHOR_READ
        around = MARKUP_AROUND if self.wanted.with_words else 0
        first, last = max(start - around, 0), stop + around
        tags, references = (self.text.count(sign, first, last) for sign in "<&")
        return _AROUND_US * (last - first) + _TAG_AROUND_US * tags + _REFERENCE_US * references

    def _read_raw(self, tag: re.Match[str]) -> None:
        name = tag["raw"].lower()
        if name == "iframe":
            self._read_source(tag["raw_said"])
        elif name == "title" and not self.found.title and "svg" not in self.open:
            said = unescaped(tag["content"][:_TITLE_READ]).split()
            self.found.title = " ".join(said)[:TITLE_LENGTH].rstrip()

    def read_frame(self, tag: re.Match[str]) -> None:
        self._read_source(tag["said"])

    def _read_source(self, said: str) -> None:
        if source := attributes(said).get("src"):
            self.add_link(source)

    def read_link(self, tag: re.Match[str]) -> None:
        if not _MAY_LEAD.search(tag["said"]):
            return
        values = attributes(tag["said"])
        target = values.get("href")
        if target is None:
            return
        relations = _tokens(values.get("rel", ""))
        if "canonical" in relations and self.found.canonical is None:
            self.found.canonical = decoded(target)
        if "nofollow" not in relations and _leads_to_page(values, relations, self.wanted):
            self.add_link(target)

    def read_base(self, tag: re.Match[str]) -> None:
        target = href(tag["said"])
        if target is not None and self.found.base is None:
            self.found.base = decoded(target)

    def read_meta(self, tag: re.Match[str]) -> None:
        lower = tag["said"].lower()
        if "robots" in lower or self.wanted.agent in lower or "refresh" in lower:
            self._read_meta(attributes(tag["said"]))

    def _read_meta(self, values: dict[str, str]) -> None:
        content = decoded(values.get("content", ""))
        if values.get("name", "").lower() in {"robots", self.wanted.agent}:
            rules = parse_robots_tag(content, self.wanted.agent)
            self.found.robots = self.found.robots.combined_with(rules)
        elif values.get("http-equiv", "").lower() == "refresh":
            self._read_refresh(meta_refresh(content))

    def _read_refresh(self, refresh: MetaRefresh | None) -> None:
        if refresh is None or not refresh.url:
            return
        # In <noscript> it applies only to browsers without scripts.
        if refresh.delay_s > AT_ONCE_S or "noscript" in self.open:
            self.add_link(refresh.url.replace("&", "&amp;"))
        elif self.found.refresh is None:
            self.found.refresh = refresh.url


_READERS: dict[str, Callable[[_PageScanner, re.Match[str]], None]] = {
    "a": _PageScanner.read_anchor,
    "area": _PageScanner.read_anchor,
    "base": _PageScanner.read_base,
    "frame": _PageScanner.read_frame,
    "link": _PageScanner.read_link,
    "meta": _PageScanner.read_meta,
    "noscript": lambda page, _: page.open.add("noscript"),
    "/noscript": lambda page, _: page.open.discard("noscript"),
    "svg": lambda page, _: page.open.add("svg"),
    "/svg": lambda page, _: page.open.discard("svg"),
}

# Most <link> tags are stylesheets and icons.
_MAY_LEAD = re.compile("canonical|next|prev|alternate|sitemap|&", re.IGNORECASE)
_RELATIONS = frozenset(("next", "prev"))
_RELATIONS_AND_SITEMAPS = _RELATIONS | {"sitemap"}


def _is_nofollow(values: dict[str, str]) -> bool:
    """Return True for `nofollow`; `ugc` and `sponsored` only say who wrote a link, and why."""
    return "nofollow" in _tokens(values.get("rel", ""))


def _tokens(value: str) -> set[str]:
    return set(decoded(value).lower().split())


def _leads_to_page(values: dict[str, str], relations: set[str], wanted: _Wanted) -> bool:
    if not relations.isdisjoint(wanted.relations):
        return True
    if "alternate" not in relations or "stylesheet" in relations:
        return False
    essence, _ = parse_content_type(values.get("type"))
    return not essence or essence in wanted.types


# ---------------------------------------------------------------- meta refresh

_REFRESH = re.compile(
    rf"{S}*+(?=[0-9.])([0-9]*+)[0-9.]*+(?:\Z|(?=[;,\t\n\f\r ]){S}*+[;,]?+{S}*+"
    rf"""(?:url{S}*+={S}*+)?+(?:"([^"]*+)|'([^']*+)|(.*+)))""",
    re.IGNORECASE | re.ASCII | re.DOTALL,
)
_DELAY_DIGITS = 9
_NOT_IN_URLS = str.maketrans("", "", "\t\n\r")


def meta_refresh(content: str) -> MetaRefresh | None:
    """Parse a meta refresh by the steps of the HTML standard; None if it is invalid."""
    found = _REFRESH.match(content)
    if found is None:
        return None
    delay_s = int(found[1].lstrip("0")[:_DELAY_DIGITS] or 0)
    url = found[2] or found[3] or found[4] or ""
    return MetaRefresh(delay_s, url.translate(_NOT_IN_URLS).strip(" "))


# ================================================================ scripts
#
# Scripts of a page: could they add to the content of its markup?
#
# Any text has an answer, in linear time. Pages of one template share a signature, whatever their
# content: numbers and hashes in the names of scripts are ignored.
#
# tracker    script that watches readers, or shows them advertisements
# shell      page with scripts and hardly anything else
# hint       empty element for scripts to fill, or a script that fills elements

FEW_LINKS = 5
"""Most links of a shell: a page with more links is a list of them."""
_INLINE_READ = 20_000
_NAMED = 40
"""Characters at the start of an inline script that name it: what follows may be content."""

TRACKERS = re.compile(
    r"googletagmanager\.com|google-analytics\.com|googlesyndication\.com|doubleclick\.net|gtag\("
    r"|googleadservices\.com|connect\.facebook\.net|facebook\.com/tr|hotjar\.com|clarity\.ms"
    r"|segment\.(?:com|io)|matomo|piwik|plausible\.io|cloudflareinsights\.com|newrelic\.com"
    r"|nr-data\.net|scorecardresearch\.com|quantserve\.com|chartbeat\.com|mixpanel\.com"
    r"|amazon-adsystem\.com|criteo\.(?:com|net)|taboola\.com|outbrain\.com|yandex\.ru/metrika"
    r"|bat\.bing\.com|statcounter\.com|sentry-cdn\.com|optimizely\.com|goatcounter\.com",
    re.IGNORECASE,
)
"""Names of trackers, in a URL or in a script."""

_SCRIPT = re.compile(
    rf"<script{STOP}([^<>]{{0,2000}}+)>((?:[^<]++|<(?!/script{STOP}))*+)", re.IGNORECASE | re.ASCII
)
_ON_LOAD = re.compile(r"<body[^<>]{0,500}?\sonload\s*=", re.IGNORECASE | re.ASCII)
_RUNS = re.compile(
    r"\s*(?:(?:text|application)/(?:x-)?(?:java|ecma)script\b.*|module\s*|)\Z", re.IGNORECASE
)
_FILLS = re.compile(
    r"createElement|innerHTML|outerHTML|insertAdjacent|append(?:Child)?\(|replaceChildren"
    r"|document\.write|attachShadow|customElements|\bfetch\(|XMLHttpRequest|\.html\(|\$\.(?:get|ajax)"
    r"|location\s*=|location\.(?:href|replace|assign)|(?:push|replace)State"
)
_TO_FILL = re.compile(
    r"<(div|main|section|nav|ul|ol|table|tbody|aside|article|header|footer|span|p)\b"
    r"(?=[^<>]{0,300}?\s(?:id|class|data-[a-z-]{1,30})\s*+=)[^<>]{0,500}+>\s*+</\1\s*+>",
    re.IGNORECASE | re.ASCII,
)
_ELEMENT_OF_ITS_OWN = re.compile(r"<([a-z][a-z0-9]*+-[a-z0-9-]*+)", re.IGNORECASE | re.ASCII)
_VARYING = re.compile(r"[?#].*|[0-9a-f]{6,}|[0-9]+", re.IGNORECASE | re.DOTALL)
_NO_LETTER = re.compile(r"[^A-Za-z]+")
_MARKS = 20


def scripting(text: str, links: int, *, is_thin: bool) -> Scripting:
    """Return what the scripts of a page may add; the page has `links` links without them."""
    names, fills = _scripts(text)
    has_onload = "onload" in text and _ON_LOAD.search(text) is not None
    if not names and not has_onload:
        return NO_SCRIPTS
    elements = sorted(set(_ELEMENT_OF_ITS_OWN.findall(text)))[:_MARKS]
    is_shell = links == 0 or (is_thin and links <= FEW_LINKS)
    if is_shell and (is_thin or fills or has_onload or _is_to_be_filled(text, elements)):
        kind = ScriptKind.SHELL
    elif fills or _is_to_be_filled(text, elements):
        kind = ScriptKind.SOME
    else:
        return NO_SCRIPTS
    named = "\n".join((kind.name, *sorted(set(names)), *elements))
    digest = blake2b(named.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return Scripting(kind, int.from_bytes(digest, "little"))


def _scripts(text: str) -> tuple[list[str], bool]:
    """Return the names of active scripts other than trackers, and True if one fills elements."""
    names, fills = list[str](), False
    for said, inline in _SCRIPT.findall(text):
        values = attributes(said)
        source = values.get("src", "")
        code = inline[:_INLINE_READ]
        if not _RUNS.match(values.get("type", "")) or TRACKERS.search(source or code):
            continue
        if source:
            names.append(_VARYING.sub("", source))
        elif code.strip():
            names.append(_NO_LETTER.sub(" ", code[:_NAMED]).strip())
            fills = fills or _FILLS.search(code) is not None
    return names, fills


def _is_to_be_filled(text: str, elements: list[str]) -> bool:
    return bool(elements) or _TO_FILL.search(text) is not None
