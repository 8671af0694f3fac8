"""Scans a page for the content of its tags, within the time that the caller has.

No URL is resolved here. Each link comes once, in the order of the page. Of a base, a title, a
canonical link and a refresh, the first counts. All robots rules of the page are combined.

Nothing before the scan distinguishes a page of prose from one of links, though 128 kB take 1 ms
or 30. So the scan counts its *work*, an upper bound in microseconds for the scan and everything
that follows from it, on the reference machine, and gives up when the work exceeds the caller's
time. Tags that are skipped are charged by size first, as that costs nothing:

    page of 30 kB with 50 links of 40 characters, 10,000 µs left
      0.07 for each character                            2,100
      9.0 + 0.08 x 40 for each link                        610   done, 7,290 to spare

Only if that is too much, the characters that begin tags and attributes are counted, in one piece
of the page after the other, until it is not:

    page of 128 kB with 140 such links
      0.07 for each character                            8,960
      after 86 links: more than 10,000, so for the first 16 kB, 1,120 are replaced by
        0.012 x 16,000 + 0.34 x 250 "<" + 0.1 x 750
        blanks, quotes and slashes                         352
      140 links                                          1,708   done, 100 to spare

A page of 128 kB with 3,000 links exceeds both: `TooExpensive`. A child process parses its body.
`python -m tests.proofs.fuzz --prices` searches for pages that take longer than their work.

written    as in the page, with character references not decoded
said       the attributes of a tag, as written
"""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf

from minicrawl.web.encoding.labels import encoded_query
from minicrawl.web.html.anchors import (
    ANCHOR_READ,
    MARKUP_AROUND,
    AnchorTag,
    anchor_of,
    words_around,
)
from minicrawl.web.html.attributes import S, attributes, decoded, href, unescaped
from minicrawl.web.html.tokens import HREF, HTML, SETS_APART, nesting, xhtml_tokens
from minicrawl.web.responses.headers import (
    NO_RESTRICTIONS,
    RobotsTag,
    parse_content_type,
    parse_robots_tag,
)
from minicrawl.web.responses.prices import TooExpensive
from minicrawl.web.responses.types import HTML_TYPES

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
_PIECE = 16_000  # characters whose marks are counted at once
_BEFORE_ATTRIBUTES = b" \n\t\r\f/\"'"
_TOKEN_US, _SAID_US = 1.5, 0.24  # a stop; a character of attributes that are read
_LINK_US, _HREF_US = 9.0, 0.08  # to resolve a link; for each of its characters
_WRITTEN_US, _WORDS_US = 14.0, 25.0
"""Extra cost of each link if its anchor is kept, and if the words around it are."""
_AROUND_US, _TAG_AROUND_US, _REFERENCE_US = 0.01, 0.3, 1.4
_FOREIGN_US = 0.6  # a character may expand to 18 in a host name


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

    def in_encoding(self, encoding: str) -> "Markup":
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseOptions:
    """Content to extract from a page, and the name of the crawler, which robots rules may use."""

    agent: str = "minicrawl"
    max_links: int = MOST_LINKS
    with_words: bool = False
    with_written: bool = False
    strip_marks: bool = True
    types: frozenset[str] = HTML_TYPES  # media types of alternates that are read
    with_sitemaps: bool = False
    with_text: bool = False  # for documents whose text only their parser can extract
    with_scripting: bool = False


DEFAULT_OPTIONS = ParseOptions()


def scan(
    text: str,
    options: ParseOptions = DEFAULT_OPTIONS,
    *,
    xhtml: bool = False,
    most_us: float = inf,
) -> Markup:
    """Scan a page; raise `TooExpensive` if it takes more than `most_us` of work.

    The text has no U+0000, for which HTML has U+FFFD.
    """
    page = _PageScanner(text, options, xhtml=xhtml, most_us=most_us)
    links = page.links
    for token in (xhtml_tokens() if xhtml else HTML).finditer(page.text):
        href = token[HREF]
        if href is None:
            page.read(token)
        elif href not in links or "&" in href:
            page.add_link(href, token)
    return page.markup


class _PageScanner:
    """Collects the content of the tags of one page."""

    def __init__(self, text: str, options: ParseOptions, *, xhtml: bool, most_us: float) -> None:
        self.text = text
        self.options = options
        self.max_links = options.max_links
        self.looks_around = options.with_words or options.with_written
        self._agent = options.agent.lower()
        self.markup = Markup()
        self.links = self.markup.links
        self._xhtml = xhtml
        self._open: Counter[str] = Counter()  # elements that are open at `_read_to`
        self._read_to = self._plain_to = 0  # between these, no element sets tags apart
        # An unclosed tag is read to the end of the page, at a higher price than skipped tags.
        last = text.find("<", text.rfind(">") + 1)
        unclosed = len(text) - last if last >= 0 else 0
        self._left_us = most_us - _PASSED_US * len(text)
        self._counted_to = 0
        self._spend(_UNCLOSED_US * unclosed)
        self._link_us = (
            _LINK_US + _WRITTEN_US * options.with_written + _WORDS_US * options.with_words
        )

    def _spend(self, work_us: float) -> None:
        self._left_us -= work_us
        if self._left_us < 0:
            self._count_marks()

    def _count_marks(self) -> None:
        """Count marks until the work is not too much; raise `TooExpensive` if it still is."""
        while self._left_us < 0:
            piece = self.text[self._counted_to : self._counted_to + _PIECE]
            if not piece:
                raise TooExpensive
            self._counted_to += len(piece)
            self._left_us += max(_PASSED_US * len(piece) - _passing_us(piece), 0)

    def read(self, token: re.Match[str]) -> None:
        """Process any token but a plain anchor."""
        self._left_us -= _TOKEN_US
        if name := token["name"]:
            self._spend(_SAID_US * len(token["said"]))
            _READERS[name.lower()](self, token)
        elif token["raw"]:
            self._spend(_SAID_US * len(token["raw_said"]))
            name = token["raw"].lower()
            if name == "iframe":
                self.read_frame(token)
            elif not self.markup.title and not self._check_apart(token.start("raw") - 1):
                said = unescaped(token["content"][:_TITLE_READ]).split()
                self.markup.title = " ".join(said)[:TITLE_LENGTH].rstrip()
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
        href = written
        if "&" in written:
            self._spend(_REFERENCE_US * written.count("&"))
            href = decoded(written)
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
                self._look_around(href, anchor)
        else:
            self.markup.has_more_links = True

    def _look_around(self, href: str, anchor: re.Match[str]) -> None:
        if self.options.with_written:
            self.markup.anchors[href] = anchor_of(self.text, anchor)
        start = anchor.start("plain") if anchor["plain"] else anchor.start("name")
        start, end = start - len("<"), anchor.end()
        # The work to read the content of an anchor and its surroundings.
        close = self.text.find("</a", end, end + ANCHOR_READ)
        stop = close if close >= 0 else end + ANCHOR_READ
        around = MARKUP_AROUND if self.options.with_words else 0
        first, last = max(start - around, 0), stop + around
        tags, references = (self.text.count(sign, first, last) for sign in "<&")
        work_us = _AROUND_US * (last - first) + _TAG_AROUND_US * tags + _REFERENCE_US * references
        self._spend(work_us)
        if self.options.with_words:
            self.links[href] = words_around(self.text, start, end)

    def _check_apart(self, start: int) -> bool:
        """Read up to a tag, and return True if it is in a template or a drawing."""
        begin = max(self._read_to, self._plain_to)
        is_open = self._open["template"] > 0 or self._open["svg"] > 0
        if not is_open and not SETS_APART.search(self.text, begin, start):
            self._plain_to = start
            return False
        self._read_nesting(start)
        return self._open["template"] > 0 or self._open["svg"] > 0

    def _read_nesting(self, end: int) -> None:
        """Note which elements are open at the beginning of a tag."""
        self._spend(_passing_us(self.text[self._read_to : end]))
        for tag in nesting(xhtml=self._xhtml).finditer(self.text, self._read_to, end):
            name = (tag["name"] or "").lower()
            if name == "/noscript":
                # It ends at once: its content is raw text in browsers, which nests nothing.
                self._open["noscript"] = 0
            elif name.startswith("/"):
                self._open[name[1:]] = max(self._open[name[1:]] - 1, 0)
            elif name and not (name == "svg" and tag["said"].endswith("/")):  # that may be empty
                self._open[name] += 1
        self._read_to = end

    def read_frame(self, tag: re.Match[str]) -> None:
        if source := attributes(tag["said"] or tag["raw_said"] or "").get("src"):
            self.add_link(source)

    def read_link(self, tag: re.Match[str]) -> None:
        if not _MAY_LEAD.search(tag["said"]):
            return
        values = attributes(tag["said"])
        target = values.get("href")
        if target is None:
            return
        relations = _words_of(values.get("rel", ""))
        is_first = "canonical" in relations and self.markup.canonical is None
        if is_first and not self._check_apart(tag.start("name") - 1):
            self.markup.canonical = decoded(target)
        if "nofollow" not in relations and _leads_to_page(values, relations, self.options):
            self.add_link(target)

    def read_base(self, tag: re.Match[str]) -> None:
        target = href(tag["said"])
        is_first = target is not None and self.markup.base is None
        if target is not None and is_first and not self._check_apart(tag.start("name") - 1):
            self.markup.base = decoded(target)

    def read_meta(self, tag: re.Match[str]) -> None:
        lower = tag["said"].lower()
        if "robots" in lower or self._agent in lower or "refresh" in lower:
            self._read_meta(attributes(tag["said"]), tag.start("name") - 1)

    def _read_meta(self, values: dict[str, str], start: int) -> None:
        content = decoded(values.get("content", ""))
        if values.get("name", "").lower() in {"robots", self._agent}:
            if not self._check_apart(start):
                rules = parse_robots_tag(content, self._agent)
                self.markup.robots = self.markup.robots.combined_with(rules)
        elif values.get("http-equiv", "").lower() == "refresh":
            delay_s, url = meta_refresh(content) or (0, "")
            if not url:
                return
            if delay_s <= AT_ONCE_S:
                self._read_nesting(start)
            # In <noscript> it applies only to browsers without scripts.
            if delay_s > AT_ONCE_S or self._open.total():
                self.add_link(url.replace("&", "&amp;"))
            elif self.markup.refresh is None:
                self.markup.refresh = url


_READERS: dict[str, Callable[[_PageScanner, re.Match[str]], None]] = {
    "a": _PageScanner.read_anchor,
    "area": _PageScanner.read_anchor,
    "base": _PageScanner.read_base,
    "frame": _PageScanner.read_frame,
    "link": _PageScanner.read_link,
    "meta": _PageScanner.read_meta,
}

# Most <link> tags are stylesheets and icons.
_MAY_LEAD = re.compile("canonical|next|prev|alternate|sitemap|&", re.IGNORECASE)
_RELATIONS = frozenset(("next", "prev"))
_RELATIONS_AND_SITEMAPS = _RELATIONS | {"sitemap"}


def _passing_us(text: str) -> float:
    """Return the work to pass a text, by the signs at which the scan stops."""
    octets = text.encode("utf-8", "surrogatepass")
    # One pass, where a count of each sign would take eight.
    attributes = len(octets) - len(octets.translate(None, _BEFORE_ATTRIBUTES))
    tags_us = _TAG_US * octets.count(b"<") + _ATTRIBUTE_US * attributes
    return _CHARACTER_US * len(text) + tags_us


def _words_of(value: str) -> set[str]:
    return set(decoded(value).lower().split())


def _leads_to_page(values: dict[str, str], relations: set[str], options: ParseOptions) -> bool:
    of_pages = _RELATIONS_AND_SITEMAPS if options.with_sitemaps else _RELATIONS
    if not relations.isdisjoint(of_pages):
        return True
    if "alternate" not in relations or "stylesheet" in relations:
        return False
    essence, _ = parse_content_type(values.get("type"))
    return not essence or essence in options.types


_REFRESH = re.compile(
    rf"{S}*+(?=[0-9.])([0-9]*+)[0-9.]*+(?:\Z|(?=[;,\t\n\f\r ]){S}*+[;,]?+{S}*+"
    rf"""(?:url{S}*+={S}*+)?+(?:"([^"]*+)|'([^']*+)|(.*+)))""",
    re.IGNORECASE | re.ASCII | re.DOTALL,
)
_DELAY_DIGITS = 9
_NOT_IN_URLS = str.maketrans("", "", "\t\n\r")


def meta_refresh(content: str) -> tuple[int, str] | None:
    """Return the delay in seconds and the URL of a refresh, "" for the page itself.

    By the steps of the HTML standard; None if it is invalid.
    """
    parts = _REFRESH.match(content)
    if parts is None:
        return None
    delay_s = int(parts[1].lstrip("0")[:_DELAY_DIGITS] or 0)
    url = parts[2] or parts[3] or parts[4] or ""
    return delay_s, url.translate(_NOT_IN_URLS).strip(" ")
