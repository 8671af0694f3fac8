"""Text of a page from its bytes, and its title, links and robots rules from the text.

tokens          finds the relevant tags of a page, their attributes, and character references
words of links  the words in an anchor and around it
scan            collects the content of the tags: title, base, links, canonical, refresh, robots
encoding        from the bytes of a page to its text

No URL is resolved here. Each link comes once, in the order of the page. Of a base, a title, a
canonical link and a refresh, the first counts. All robots rules of the page are combined.

written    as in the page, with character references not decoded
said       the attributes of a tag, as written
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from html import unescape
from html.entities import html5
from itertools import islice
from math import inf
from typing import NamedTuple
from urllib.parse import quote_from_bytes

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
#              the start and end of <noscript>, <svg> and <template>
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
    for name, double, single, bare in _ATTRIBUTE.findall(text, 0, _ATTRIBUTES_READ):
        found.setdefault(name.lower(), double or single or bare)
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
    r"|sc|style|svg|t(?:emp|it|ex)|xmp"
)

# A tag that is not plain is skipped, except anchors and tags with these names.
_NAMES = (
    r"area|base|i?+frame|link|meta|/?+(?:noscript|svg|template)|no(?:embed|frames)|plaintext|script"
    r"|style|t(?:itle|extarea)|xmp"
)

# Common tags are tried first, without a loop, because entering a loop is slow. Nor do most end
# tags look ahead for the relevant ones, </noscript>, </svg> and </template>.
_COMMON = r"(?:span|div|p|li|td|tr|code|dd|dt|em|pre|h[1-6]|ul|strong)"
_END = (
    r"(?:s(?:pan|trong|ection)|[a-mo-ru-z][a-z0-9]*+|t[a-df-z][a-z0-9]*+"
    r"|(?![nN][oO]|[sS][vV]|[tT][eE])[a-zA-Z][a-zA-Z0-9]*+)"
)
_SKIPPED = (
    rf'<(?:/{_END}>|{_COMMON}(?:>| [a-z-]++="[^"]*+">)'
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
    r"(?i:(?P<name>a(?:rea)?+|base|frame|link|meta|/?+(?:noscript|svg|template)))"
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
# `python -m tests.proofs.fuzz --prices` searches for pages that take longer than their work.

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
_BEFORE_ATTRIBUTES = b" \n\t\r\f/\"'"
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

    def in_encoding(self, encoding: str) -> Markup:
        """Return the content of a page in another encoding than UTF-8, with its queries escaped."""
        base, canonical, refresh = (
            href and encoded_query(href, encoding)
            for href in (self.base, self.canonical, self.refresh)
        )
        links = {encoded_query(href, encoding): words for href, words in self.links.items()}
        anchors = {encoded_query(href, encoding): tag for href, tag in self.anchors.items()}
        return replace(
            self, base=base, canonical=canonical, refresh=refresh, links=links, anchors=anchors
        )


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
        self.open = Counter[str]()
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
        octets = self.text.encode("utf-8", "surrogatepass")
        # One pass, where a count of each sign would take eight.
        attributes = len(octets) - len(octets.translate(None, _BEFORE_ATTRIBUTES))
        counted_us = _CHARACTER_US * len(self.text) + _TAG_US * octets.count(b"<")
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
        elif name == "title" and not self.found.title and not self._is_apart():
            said = unescaped(tag["content"][:_TITLE_READ]).split()
            self.found.title = " ".join(said)[:TITLE_LENGTH].rstrip()

    def read_start(self, tag: re.Match[str]) -> None:
        """Note that an element is open. An empty drawing may close itself, unlike HTML."""
        name = tag["name"].lower()
        self.open[name] += name != "svg" or not tag["said"].endswith("/")

    def read_end(self, tag: re.Match[str]) -> None:
        name = tag["name"][1:].lower()
        # A noscript ends at once: its content is raw text in browsers, which nests nothing.
        self.open[name] = 0 if name == "noscript" else max(self.open[name] - 1, 0)

    def _is_apart(self) -> bool:
        """Return True in a template or a drawing, where tags say nothing about the page."""
        return self.open["template"] > 0 or self.open["svg"] > 0

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
        if "canonical" in relations and self.found.canonical is None and not self._is_apart():
            self.found.canonical = decoded(target)
        if "nofollow" not in relations and _leads_to_page(values, relations, self.wanted):
            self.add_link(target)

    def read_base(self, tag: re.Match[str]) -> None:
        target = href(tag["said"])
        if target is not None and self.found.base is None and not self._is_apart():
            self.found.base = decoded(target)

    def read_meta(self, tag: re.Match[str]) -> None:
        lower = tag["said"].lower()
        if "robots" in lower or self.wanted.agent in lower or "refresh" in lower:
            self._read_meta(attributes(tag["said"]))

    def _read_meta(self, values: dict[str, str]) -> None:
        content = decoded(values.get("content", ""))
        if values.get("name", "").lower() in {"robots", self.wanted.agent}:
            if self._is_apart():
                return
            rules = parse_robots_tag(content, self.wanted.agent)
            self.found.robots = self.found.robots.combined_with(rules)
        elif values.get("http-equiv", "").lower() == "refresh":
            self._read_refresh(meta_refresh(content))

    def _read_refresh(self, refresh: MetaRefresh | None) -> None:
        if refresh is None or not refresh.url:
            return
        # In <noscript> it applies only to browsers without scripts.
        if refresh.delay_s > AT_ONCE_S or self.open["noscript"] or self._is_apart():
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
    **dict.fromkeys(("noscript", "svg", "template"), _PageScanner.read_start),
    **dict.fromkeys(("/noscript", "/svg", "/template"), _PageScanner.read_end),
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


# ================================================================ encoding
#
# Encodings: from the bytes of a page to its text.
#
# Every page has a text, whatever its bytes and its labels. The encoding comes from, in this order:
# a byte order mark, the Content-Type, a declaration in the first 1024 bytes (by the labels of the
# WHATWG Encoding Standard), UTF-8 if the bytes are valid, a later declaration as in browsers,
# GB18030 or Big5 if the bytes look like Chinese in it, windows-1252.
#
# Nearly any bytes are characters in GB18030, but in Chinese some 300 characters make up more than
# half of a text. Bytes read in the wrong encoding rarely become these: lower-case Cyrillic, Greek
# and Hebrew letters become characters of GB2312's second level, which are rare, and letters of
# other scripts become characters from all over the table.

FALLBACK = "windows-1252"
UTF_8 = "utf-8"

# ---------------------------------------------------------------- labels

# Labels by encoding. The "replacement" encodings of the standard are missing: a page with such a
# label is decoded by its bytes, as its markup is ASCII.
_LABELS = """
utf-8: unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf8 x-unicode20utf8
ibm866: 866 cp866 csibm866
iso-8859-2: csisolatin2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2
iso-8859-3: csisolatin3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3
iso-8859-4: csisolatin4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4
iso-8859-5: csisolatincyrillic cyrillic iso-ir-144 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988
iso-8859-6: arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6-e
iso-8859-6: iso-8859-6-i iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987
iso-8859-7: csisolatingreek ecma-118 elot_928 greek greek8 iso-ir-126 iso8859-7 iso88597
iso-8859-7: iso_8859-7 iso_8859-7:1987 sun_eu_greek
iso-8859-8: csiso88598e csisolatinhebrew hebrew iso-8859-8-e iso-ir-138 iso8859-8 iso88598
iso-8859-8: iso_8859-8 iso_8859-8:1988 visual
iso-8859-8-i: csiso88598i logical
iso-8859-10: csisolatin6 iso-ir-157 iso8859-10 iso885910 l6 latin6
iso-8859-13: iso8859-13 iso885913
iso-8859-14: iso8859-14 iso885914
iso-8859-15: csisolatin9 iso8859-15 iso885915 iso_8859-15 l9
iso-8859-16:
koi8-r: cskoi8r koi koi8 koi8_r
koi8-u: koi8-ru
macintosh: csmacintosh mac x-mac-roman
windows-874: dos-874 iso-8859-11 iso8859-11 iso885911 tis-620
windows-1250: cp1250 x-cp1250
windows-1251: cp1251 x-cp1251
windows-1252: ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100
windows-1252: iso8859-1 iso88591 iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii x-cp1252
windows-1253: cp1253 x-cp1253
windows-1254: cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9
windows-1254: iso_8859-9:1989 l5 latin5 x-cp1254
windows-1255: cp1255 x-cp1255
windows-1256: cp1256 x-cp1256
windows-1257: cp1257 x-cp1257
windows-1258: cp1258 x-cp1258
x-mac-cyrillic: x-mac-ukrainian
gbk: chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 iso-ir-58 x-gbk
gb18030:
big5: big5-hkscs cn-big5 csbig5 x-x-big5
euc-jp: cseucpkdfmtjapanese x-euc-jp
iso-2022-jp: csiso2022jp
shift_jis: csshiftjis ms932 ms_kanji shift-jis sjis windows-31j x-sjis
euc-kr: cseuckr csksc56011987 iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601
euc-kr: windows-949
utf-16be: unicodefffe
utf-16le: csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16
x-user-defined:
"""

# Encodings for which Python has another name or a more complete codec.
_CODECS = {
    "iso-8859-8-i": "iso-8859-8",
    "macintosh": "mac-roman",
    "windows-874": "cp874",
    "x-mac-cyrillic": "mac-cyrillic",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "euc-kr": "cp949",
    "x-user-defined": FALLBACK,
}


def _encodings() -> dict[str, str]:
    encodings: dict[str, str] = {}
    for line in _LABELS.split("\n")[1:-1]:
        encoding, _, labels = line.partition(":")
        encodings |= dict.fromkeys([encoding, *labels.split()], encoding)
    return encodings


_ENCODINGS = _encodings()


def encoding_of_label(label: str | None) -> str | None:
    """Return the encoding of a label, by its name in the standard; None if unknown."""
    return _ENCODINGS.get(label.strip("\t\n\f\r ").lower()) if label else None


# ---------------------------------------------------------------- declarations

_PRESCAN_BYTES = 1024  # by the standard
_LATE_BYTES = 1 << 16
_MOST_DECLARATIONS, _DECLARATION_READ = 10, 1024
"""Limits for declarations: a page has one or two, of a line each; an attack has many long ones."""

_SPACES = r"[\t\n\f\r ]*+"
_TAG = re.compile(
    r"<(?:!--(?:-?>|(?s:.*?)(?:-->|\Z))"
    rf"|meta(?=[\t\n\f\r /])({ATTRIBUTES})>"
    rf"|/?[a-z][^\t\n\f\r >]*+{ATTRIBUTES}(?:>|\Z)"
    r"|[!?/][^>]*+)",
    re.IGNORECASE | re.ASCII,
)
_CHARSET = re.compile(
    rf"""charset{_SPACES}={_SPACES}(?:"([^"]*)"|'([^']*)'|(?!["'])([^\t\n\f\r ;]*+)|)""",
    re.IGNORECASE | re.ASCII,
)
_XML_ENCODING = re.compile(
    rf"""encoding{_SPACES}={_SPACES}(?:"([^"]*+)"|'([^']*+)')""",
)
_XML = "<?xml"


def sniff(body: bytes, limit: int = _PRESCAN_BYTES) -> str | None:
    """Return the encoding that a page declares in its first bytes."""
    head = body[:limit].decode("latin-1")
    if head.startswith("<\0?\0x\0"):
        return "utf-16le"
    if head.startswith("\0<\0?\0x"):
        return "utf-16be"
    metas = (tag[1] for tag in _TAG.finditer(head) if tag[1] and "charset" in tag[1].lower())
    for meta in islice(metas, _MOST_DECLARATIONS):
        if encoding := _by_meta(attributes(meta[:_DECLARATION_READ])):
            return encoding
    if not head.startswith(_XML):
        return None
    declared = _XML_ENCODING.search(head, len(_XML), max(head.find(">"), 0))
    return _ascii_compatible(declared[declared.lastindex or 0]) if declared else None


def _by_meta(attributes: dict[str, str]) -> str | None:
    if "charset" in attributes:
        return _ascii_compatible(attributes["charset"])
    if attributes.get("http-equiv", "").lower() != "content-type":
        return None
    charset = _CHARSET.search(attributes.get("content", ""))
    return _ascii_compatible(charset[charset.lastindex]) if charset and charset.lastindex else None


def _ascii_compatible(label: str) -> str | None:
    """Return the encoding of a label that was read as ASCII, so UTF-16 becomes UTF-8."""
    encoding = encoding_of_label(label)
    if encoding in UTF_16:
        return UTF_8
    return FALLBACK if encoding == "x-user-defined" else encoding


# ---------------------------------------------------------------- from bytes to text

_MARKS = (
    (codecs.BOM_UTF8, UTF_8),
    (codecs.BOM_UTF16_BE, "utf-16be"),
    (codecs.BOM_UTF16_LE, "utf-16le"),
)


UTF_16 = frozenset(("utf-16le", "utf-16be"))
UTF_16_US = 0.08
"""Time for a byte of UTF-16 if each surrogate lacks its other half: an error handler is called."""


def decode(body: bytes, content_type_charset: str | None, most_us: float = inf) -> tuple[str, str]:
    """Return the text of a page and the name of its encoding. Invalid bytes become U+FFFD.

    Raise `TooExpensive` for UTF-16 that may take more than `most_us`.
    """
    for mark, encoding in _MARKS:
        if body.startswith(mark):
            _refuse_expensive(body, encoding, most_us)
            return _text(body[len(mark) :], encoding), encoding
    declared = encoding_of_label(content_type_charset) or sniff(body)
    if declared:
        _refuse_expensive(body, declared, most_us)
        return _text(body, declared), declared
    try:
        return body.decode(UTF_8), UTF_8
    except UnicodeDecodeError:
        late = sniff(body, _LATE_BYTES) or chinese(body) or FALLBACK
        return _text(body, late), late


def _refuse_expensive(body: bytes, encoding: str, most_us: float) -> None:
    if encoding in UTF_16 and UTF_16_US * len(body) > most_us:
        raise TooExpensive


# ---------------------------------------------------------------- Chinese

_COMMON_IN_CHINESE = (
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种"
    "事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与长把机十民"
    "第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应战向头文体政美相见被利什二等产或新己制身果加西斯月"
    "话合回特代内信表化老给世位次度门任常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活尔更别打女变"
    "四神总何电数安少报才结反受目太量再感建务做接必场件计管期市直德资命山金指克许统区保至队形社便空决治展马科司五基眼"
    "书非则听白却界达光放强即像难且权思王象完设式色路记南品住告类求据程北边死张该交规万取拉格望觉术领共确传师观清今切"
    "院让识候带导争运笔网页站首搜索登录注册版简繁输载图片闻联测试字码编汉语影音乐游戏"
)
_OTHER_IN_TAIWAN = (
    "个個们們来來为為国國说說时時会會对對这這着著过過发發后後里裡种種经經么麼学學现現当當没沒动動还還进進样樣开開从從"
    "实實军軍无無与與长長机機关關点點业業两兩间間问問并並应應战戰头頭体體见見产產话話给給门門儿兒东東声聲员員论論处處"
    "义義几幾认認条條题題尔爾别別变變总總电電数數报報结結务務场場计計资資许許统統区區队隊决決马馬书書则則听聽达達强強"
    "难難权權设設记記类類据據边邊张張该該规規万萬觉覺术術领領确確传傳师師观觀让讓识識带帶导導争爭运運笔筆网網页頁录錄"
    "册冊简簡输輸载載图圖闻聞联聯测測试試码碼编編汉漢语語乐樂游遊戏戲将將"
)
"""Pairs of a simplified character and its traditional form."""
_TRADITIONAL = str.maketrans(dict(zip(_OTHER_IN_TAIWAN[::2], _OTHER_IN_TAIWAN[1::2], strict=True)))
_CHARACTERS = {
    "gb18030": frozenset(_COMMON_IN_CHINESE),
    "big5": frozenset(_COMMON_IN_CHINESE.translate(_TRADITIONAL)),
}
_SAMPLE_BYTES = 1 << 13
_LEAST_SHARE = 0.4
_FEWEST = 3
_MOST_INVALID = 0.01
_NEIGHBOURS = (
    ("euc-kr", re.compile("[\uac00-\ud7a3]"), 0.95),
    ("euc-jp", re.compile("[\u3040-\u30ff]"), 0.25),
    ("shift_jis", re.compile("[\u3040-\u30ff]"), 0.25),
)
"""Encodings, the letters that identify their languages, and the least share of these."""
_HIGH = re.compile(rb"[\x80-\xff]")
_NEUTRAL = re.compile("[\0-\x7f\u2010-\u203b\u3000-\u303f\uff00-\uffef]+")
"""ASCII, and punctuation that Chinese shares with other languages."""


def chinese(body: bytes) -> str | None:
    """Return GB18030 or Big5 if a sample looks like Chinese in it, else None."""
    first = _HIGH.search(body)
    if first is None:
        return None
    sample = body[first.start() : first.start() + _SAMPLE_BYTES]
    if _is_of_neighbours(sample):
        return None
    share, encoding = max((_share(sample, encoding), encoding) for encoding in _CHARACTERS)
    return encoding if share >= _LEAST_SHARE else None


def _share(sample: bytes, encoding: str) -> float:
    """Return the share of common characters among those that identify a language."""
    told = _NEUTRAL.sub("", _text(sample, encoding))
    common = sum(map(_CHARACTERS[encoding].__contains__, told))
    is_enough = common >= max(_FEWEST, _LEAST_SHARE * len(told) + 1)
    return common / len(told) if is_enough and _is_whole(told) else 0.0


def _is_whole(told: str) -> bool:
    """Return True if hardly any byte is invalid; the sample may end within a character."""
    return told.count("\ufffd") <= _MOST_INVALID * len(told) + told.endswith("\ufffd")


def _is_of_neighbours(sample: bytes) -> bool:
    """Return True for Korean or Japanese in encodings whose bytes are valid in GB18030."""
    for encoding, letters, least in _NEIGHBOURS:
        told = _NEUTRAL.sub("", _text(sample, encoding))
        if _is_whole(told) and len(letters.findall(told)) >= least * max(len(told), 1):
            return True
    return False


_MULTI_BYTE = {
    *(UTF_8, "utf-16le", "utf-16be"),
    *("gb18030", "big5hkscs", "euc-jp", "iso-2022-jp", "cp932", "cp949"),
}
"""Codecs in which a character may have several bytes."""


def _text(body: bytes, encoding: str) -> str:
    name = codec(encoding)
    if name in _MULTI_BYTE:
        return body.decode(name, errors="replace")
    # An error handler takes 0.2 µs for each undefined byte; a table costs nothing for it.
    return codecs.charmap_decode(body, "replace", _characters(name))[0]


@cache
def _characters(name: str) -> str:
    """Return the character of each byte in a single-byte codec; U+FFFD for undefined bytes."""
    return bytes(range(256)).decode(name, errors="replace")


def codec(encoding: str) -> str:
    """Return the Python codec of an encoding, by its name in the standard."""
    return _CODECS.get(encoding, encoding)


# ---------------------------------------------------------------- queries of links

_OUTPUT_CODECS = {"gbk": "gbk", "utf-16le": UTF_8, "utf-16be": UTF_8}
"""Codecs that differ from those of `codec` when a text is encoded."""
_LEADS = {
    "shift_jis": (*range(0x81, 0xA0), *range(0xE0, 0xED), *range(0xFA, 0xFD)),
    "big5": range(0xA1, 0xFF),
}
"""First bytes of the pairs that browsers send; of some characters, Python prefers another pair."""
_OF_SHIFT_JIS = str.maketrans("\N{MINUS SIGN}\N{YEN SIGN}\N{OVERLINE}", "\uff0d\\~")
_IN_QUERY = "".join(map(chr, {*range(ord("!"), ord("~") + 1)} - {*b"\"#<>'"}))
_AT_ENDS = "".join(map(chr, range(ord(" ") + 1)))
_UNMAPPED = "minicrawl-query"


def _reference_to(error: UnicodeError) -> tuple[str | bytes, int]:
    assert isinstance(error, UnicodeEncodeError)
    missing = error.object[error.start : error.end]
    if error.encoding == "gbk" and missing == "€":
        return b"\x80", error.end
    return "".join(f"%26%23{ord(character)}%3B" for character in missing), error.end


codecs.register_error(_UNMAPPED, _reference_to)


def encoded_query(href: str, encoding: str) -> str:
    """Return a reference with its query escaped in the encoding of its page, as browsers do.

    Parsers of URLs escape in UTF-8, and leave what is escaped. Only the query depends on the page.
    """
    if encoding == UTF_8 or href.isascii():
        return href
    whole, sign, fragment = href.partition("#")
    path, question, query = whole.partition("?")
    if query.isascii():
        return href
    query = (query if sign else query.rstrip(_AT_ENDS)).translate(_NOT_IN_URLS)
    octets = _output(query, encoding)
    return f"{path}{question}{quote_from_bytes(octets, _IN_QUERY)}{sign}{fragment}"


def _output(text: str, encoding: str) -> bytes:
    """Encode a text; a character that the encoding lacks becomes an escaped reference."""
    if encoding not in _LEADS:
        return text.encode(_OUTPUT_CODECS.get(encoding) or codec(encoding), _UNMAPPED)
    pairs, rest = _pairs(encoding), "ascii"
    if encoding == "shift_jis":
        text, rest = text.translate(_OF_SHIFT_JIS), codec(encoding)
    return b"".join([pairs.get(sign) or sign.encode(rest, _UNMAPPED) for sign in text])


@cache
def _pairs(encoding: str) -> dict[str, bytes]:
    """Return the characters of two bytes."""
    pairs: dict[str, bytes] = {}
    for lead in _LEADS[encoding]:
        for trail in range(0x40, 0xFF):
            with suppress(UnicodeDecodeError):
                pair = bytes((lead, trail))
                pairs.setdefault(pair.decode(codec(encoding)), pair)
    return pairs
