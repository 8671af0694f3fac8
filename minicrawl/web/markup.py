"""Scanner of HTML: from the text of a page to its title, base, links, canonical, refresh, robots.

tokens          finds the relevant tags of a page, their attributes, and character references
words of links  the words in an anchor and around it
scan            collects the content of the tags

No URL is resolved here. Each link comes once, in the order of the page. Of a base, a title, a
canonical link and a refresh, the first counts. All robots rules of the page are combined.

written    as in the page, with character references not decoded
said       the attributes of a tag, as written
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from html import unescape
from html.entities import html5
from math import inf
from typing import NamedTuple

from minicrawl.web.responses import (
    HTML_TYPES,
    NO_RESTRICTIONS,
    RobotsTag,
    parse_content_type,
    parse_robots_tag,
)

# ================================================================ tokens
#
# The relevant tags of a page, their attributes, and character references.
#
# Tags and attributes are found by the tokenization rules of the HTML standard, so no nesting, no
# size and no unclosed markup can hide a tag, and text is never mistaken for a tag. The time is
# linear for any text: no quantifier backtracks, an unclosed token extends to the end of the page,
# and each match goes on to the next relevant tag. Every character reference has a value, whatever
# its number.
#
# relevant     tag that is read: an anchor, <base>, <frame>, <iframe>, <link>, <meta>, <title>, and
#              the start and end of <noscript> and <svg>
# skipped      any other tag
# plain        in lower case, with every value in double quotes, as programs write. Most tags are
#              plain, and patterns for them take half the time
# raw text     content in which only its own end tag is markup, as in <style>
# escaped      script content after "<!--", where an inner <script> hides one </script>

S = r"[\t\n\f\r ]"
"""Pattern of a whitespace character."""

STOP = r"(?=[\t\n\f\r />])"
"""Pattern of the end of a tag name."""

_NAME = r"[^\t\n\f\r />][^\t\n\f\r />=]*+"  # a leading "=" is part of the name


def _value(opening: str) -> str:
    return (
        rf"(?:{S}*+={S}*+"
        rf"""(?:"{opening}[^"]*+)(?:"|\Z)|'{opening}[^']*+)(?:'|\Z)"""
        rf"""|{opening}[^\t\n\f\r >"'][^\t\n\f\r >]*+))?+)?+"""
    )


_VALUE = _value("(?:")
_CAPTURED_VALUE = _value("(")  # in one of three groups
ATTRIBUTES = rf"(?:[\t\n\f\r /]++|{_NAME}{_VALUE})*+"
"""Pattern of all attributes of a tag, up to its end or the end of the page."""

_ATTRIBUTE = re.compile(rf"({_NAME}){_CAPTURED_VALUE}")
_ATTRIBUTES_READ = 1 << 16  # characters; beyond that a tag is an attack


def attributes(text: str) -> dict[str, str]:
    """Return the attributes in a match of `ATTRIBUTES`, by lower-case name; the first one counts.

    Values are as written, with character references not decoded.
    """
    found: dict[str, str] = {}
    for name, *values in _ATTRIBUTE.findall(text, 0, _ATTRIBUTES_READ):
        found.setdefault(name.lower(), "".join(values))
    return found


_HREF = re.compile(
    rf"(?:[\t\n\f\r /]++|(?!href(?:[\t\n\f\r />=]|\Z)){_NAME}{_VALUE})*+href{_CAPTURED_VALUE}",
    re.IGNORECASE | re.ASCII,
)


def href(text: str) -> str | None:
    """Return the attribute href, as in `attributes`."""
    found = _HREF.match(text)
    return found and "".join(found.groups(""))


# ---------------------------------------------------------------- character references

_REFERENCE = re.compile(
    r"&(?:#(?:[xX][0-9a-fA-F]++|[0-9]++);?+|([a-zA-Z][a-zA-Z0-9]*+(?:;|(?!=))))"
)


# Python refuses to parse thousands of digits. Such a number is not a character anyway.
_LONG_NUMBER = re.compile(r"&#(?=[0-9]{9})0*+([0-9]{0,8})[0-9]*+")
_SHORT = len("&#12345678;")


def unescaped(text: str) -> str:
    """Return text with its character references decoded."""
    return unescape(text if len(text) <= _SHORT else _LONG_NUMBER.sub(r"&#0\1", text))


def decoded(value: str) -> str:
    """Return the value of an attribute with its character references decoded.

    Unlike in text, "&copy=1" and "&copyright" stay unchanged. That keeps queries intact in which
    "&" is not written as "&amp;".
    """
    return _REFERENCE.sub(_character, value) if "&" in value else value


def _character(reference: re.Match[str]) -> str:
    name = reference[1]
    return html5.get(name, reference[0]) if name else unescaped(reference[0])


# ---------------------------------------------------------------- plain tags

_PLAIN_ATTRIBUTE = r'[ \n]++[a-z-]++="[^"]*+"'
_PLAIN_END = r"[ \n]?+/?+>"

_TARGET = r'(?:id|name)="[^"]*+">'  # anchors to link to, without a link of their own
_NO_LINK = r'rel="(?!(?:alternate|canonical|next|prev|sitemap)")[a-z]++"'
_MAY_BE_RELEVANT = (
    rf"a[\t\n\f\r />](?!{_TARGET})|area|base|i?+frame|link(?![ \n]++{_NO_LINK})|meta|no|plaintext"
    r"|sc|style|svg|t(?:it|ex)|xmp"
)

# A tag that is not plain is skipped, except anchors and tags with these names.
_NAMES = (
    r"area|base|i?+frame|link|meta|/?+(?:noscript|svg)|no(?:embed|frames)|plaintext|script|style"
    r"|t(?:itle|extarea)|xmp"
)

# Common tags are tried first, without a loop, because entering a loop is slow.
_COMMON = r"(?:span|div|p|li|td|tr|code|dd|dt|em|pre|h[1-6]|ul|strong)"
_SKIPPED = (
    rf'<(?:/(?![nN][oO]|[sS][vV])[a-zA-Z][a-zA-Z0-9]*+>|{_COMMON}(?:>| [a-z-]++="[^"]*+">)'
    rf"|(?!{_MAY_BE_RELEVANT})[a-z][a-z0-9]*+(?:{_PLAIN_ATTRIBUTE})*+{_PLAIN_END}"
    rf"|(?![aA]{STOP}|(?i:{_NAMES}){STOP})/?+[a-zA-Z][^\t\n\f\r />]*+(?:>|{ATTRIBUTES}>))"
)

# Of "#top", only "#" is captured: many pages are full of such links.
_PLAIN_ANCHOR = (
    r'a[ \n]++(?:(?!href|rel)[a-z-]++="[^"]*+"[ \n]++)*+href="(?P<href>#|[^"]*+)[^"]*+"'
    rf'(?:>|(?:[ \n]++(?!rel)[a-z-]++="[^"]*+")*+{_PLAIN_END})'
)

# ---------------------------------------------------------------- other tags

_RELEVANT = (
    r"(?i:(?P<name>a(?:rea)?+|base|frame|link|meta|/?+(?:noscript|svg)))"
    rf"{STOP}(?P<said>{ATTRIBUTES})>"
)

_SCRIPT_END = rf"</script{STOP}"
_HIDDEN = rf"<script{STOP}(?:[^<-]++|-(?!->)|<(?!/script{STOP}))*+(?:{_SCRIPT_END})?+"
_ESCAPED = rf"<!--(?:-?>|(?:[^<-]++|-(?!->)|{_HIDDEN}|(?!{_SCRIPT_END})<)*+(?:-->)?+)"

_OPEN_END = r"(?:>|\Z)"
_OTHER = rf"/?+[a-zA-Z][^\t\n\f\r />]*+{ATTRIBUTES}{_OPEN_END}"
_COMMENT = r"!--(?:-?>|[^-]*+(?:-(?!-!?>)[^-]*+)*+(?:--!?>|\Z))"
_BOGUS_COMMENT = rf"(?:[!?]|/(?=[^a-zA-Z]))[^>]*+{_OPEN_END}"
_MORE_TEXT = r"(?:[^<]*+<(?![a-zA-Z/!?]))*+"  # after a "<" that does not begin a tag


def _raw(end_of_tag: str) -> str:
    text = rf"[^<]*+(?:<(?!/(?P=raw){STOP})[^<]*+)*+"
    script = rf"(?:[^<]++|{_ESCAPED}|(?!{_SCRIPT_END})<)*+"
    return (
        rf"(?i:(?P<raw>t(?:itle|extarea)|iframe|style|xmp|no(?:embed|frames)){STOP}"
        rf"(?P<raw_said>{ATTRIBUTES}){end_of_tag}(?P<content>{text})"
        rf"|script{STOP}{ATTRIBUTES}{end_of_tag}{script}|plaintext{STOP}{ATTRIBUTES}>(?s:.*+))"
    )


# ---------------------------------------------------------------- the token patterns


def _tokens(end_of_raw_tag: str) -> re.Pattern[str]:
    return re.compile(
        rf"(?:[^<]*+{_SKIPPED})*+[^<]*+"
        rf"(?:<(?:(?P<plain>{_PLAIN_ANCHOR})|{_RELEVANT}|{_raw(end_of_raw_tag)}"
        rf"|{_OTHER}|{_COMMENT}|{_BOGUS_COMMENT}|{_MORE_TEXT})|\Z)",
        re.ASCII,
    )


HTML = _tokens(">")
"""Pattern that matches up to the end of the next token. The groups of a relevant tag are:

- `href` of a plain anchor without rel, which begins at `plain`
- `name` of another tag, and its attributes `said`
- `raw`, the name of a raw text element, its attributes `raw_said` and its `content`
"""

HREF = HTML.groupindex["href"]
"""Number of the group `href`. It is read for every token, and by number in half the time."""


@cache
def xhtml_tokens() -> re.Pattern[str]:
    """Return the pattern for XHTML, where <script/> has no content. It is compiled on demand."""
    return _tokens("(?<!/)>")


# ================================================================ words of links
#
# Words of a link, in its anchor and around it.
#
# Whatever the markup, a bounded number of characters is read for each link.

LONGEST_TEXT = 200
"""Most characters of the text of a link."""

CHARS_AROUND = 50
"""Most characters of text that are kept on each side of a link. Words are never cut."""

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


class AnchorTag(NamedTuple):
    """First anchor of a page with this href as written. A link without an anchor has no text."""

    written: str
    text: str = ""
    rel: str = ""


def anchor_of(text: str, written: str, tag: re.Match[str]) -> AnchorTag:
    """Return the anchor with this start tag; its text may be the alt text of its image."""
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


# ================================================================ scan
#
# Collects the content of the tags, within the time that the caller has.
#
# Nothing before the scan distinguishes a page of prose from one of links, though 128 kB take 1 ms
# or 30. So the scan counts its *work*, an upper bound in microseconds for the scan and everything
# that follows from it, on the reference machine, and gives up when the work exceeds the caller's
# time. Tags that are skipped are charged by size first, as that costs nothing:
#
#     page of 30 kB with 50 links of 40 characters, 10,000 µs left
#       0.07 for each character                            2,100
#       9.0 + 0.08 x 40 for each link                        610   done, 7,290 to spare
#
# Only if that is too much, the characters that begin tags and attributes are counted, once:
#
#     page of 128 kB with 150 such links
#       0.07 for each character                            8,960
#       after 86 links: more than 10,000, so the 8,960 are replaced by
#         0.012 x 128,000 + 0.34 x 2,000 "<" + 0.1 x 6,000
#         blanks, quotes and slashes                       2,816
#       150 links                                          1,830   done, 5,354 to spare
#
# A page of 128 kB with 3,000 links exceeds both: `TooExpensive`. A child process parses its body.
# `python -m tests.fuzz --prices` searches for pages that take longer than their work.

TITLE_LENGTH = 300
"""Most characters of a title."""

AT_ONCE_S = 1
"""Longest delay of a refresh that counts as a redirect. With a longer one, it is a link."""

MOST_LINKS = 10_000
"""Most links of a page that are read. Few pages made by people have more than a thousand."""
_TITLE_READ = 20_000  # characters of markup that may be a title
_LONGEST_HREF = 8192  # characters; longer URLs are not kept


_PASSED_US, _UNCLOSED_US = 0.07, 0.1  # a character of skipped tags; of one never closed
_CHARACTER_US, _TAG_US, _ATTRIBUTE_US = 0.012, 0.34, 0.1  # the same, counted by marks
_BEFORE_ATTRIBUTES = " \n\t\r\f/\"'"
_TOKEN_US, _SAID_US = 1.5, 0.24  # a stop; a character of attributes that are read
_LINK_US, _HREF_US = 9.0, 0.08  # to resolve a link; for each of its characters
_WRITTEN_US, _WORDS_US = 14.0, 25.0
"""Extra cost of each link if its anchor is kept, and if the words around it are."""
_AROUND_US, _TAG_AROUND_US, _REFERENCE_US = 0.01, 0.3, 1.4
_FOREIGN_US = 0.6  # a character may expand to 18 in a host name


class TooExpensive(Exception):
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
    """Scan a page; raise `TooExpensive` if it takes more than `most_us` of work.

    `agent` is the crawler name that robots rules may use; alternates of these media `types` count
    as links.
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
        # An unclosed tag is read to the end of the page, at a higher price than skipped tags.
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
        """Replace the guess by size, once; raise `TooExpensive` if the work is still too much."""
        count = self.text.count
        attributes = sum(map(count, _BEFORE_ATTRIBUTES))
        counted_us = _CHARACTER_US * len(self.text) + _TAG_US * count("<")
        counted_us += _ATTRIBUTE_US * attributes
        self._left_us += max(self._guess_us - counted_us, 0)
        self._guess_us = 0.0
        if self._left_us < 0:
            raise TooExpensive

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
        if written is None:
            return
        # `ugc` and `sponsored` only say who wrote a link, and why.
        if "nofollow" in said.lower() and "nofollow" in _words_of(attributes(said).get("rel", "")):
            return
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
        relations = _words_of(values.get("rel", ""))
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


def _words_of(value: str) -> set[str]:
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
