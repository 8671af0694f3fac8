"""Parser for documents of any type: from a response to a parsed page.

writing   readers of plain text and Markdown
feed      titles of feeds
pdf       PDF files, in a process that can be killed
document  from a response of any type to a parsed page

Any bytes and headers can be parsed. Fields that a type does not have stay empty. Robots rules and
canonical links in the headers hold for every type. Feeds and sitemaps are read for their links, and
are never search results themselves.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from functools import partial
from importlib.util import find_spec
from itertools import chain, islice
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from minicrawl.model import ParsedPage
from minicrawl.web import sitemaps
from minicrawl.web.html_page import (
    DEFAULT_OPTIONS,
    ENOUGH,
    BodyFacts,
    ParseOptions,
    content_hash,
    page_of,
    parse_page,
)
from minicrawl.web.markup import TITLE_LENGTH, Markup, codec, decode, href, sniff, unescaped
from minicrawl.web.responses import DocumentType, parse_content_type, parse_robots_tag, type_of
from minicrawl.wording import counted

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage, PdfTextPage

# ================================================================ writing
#
# Plain text and Markdown: their links, titles and headings, as rendered.
#
# The time is linear for any text: no quantifier backtracks, and none is tried again on text it has
# read. Each link comes once, in the order of the text. Code in Markdown has no links.
#
# bare       URL in the text, such as `https://example.org/`
# fence      line before and after code, of backticks or tildes

_LONGEST_HREF = 8192
_LONGEST_WORDS = 200
_LONGEST_LINE = 4 * TITLE_LENGTH
_MOST_HEADINGS = 10_000


class Written(NamedTuple):
    """Title, links and headings of a text. Links are as written, each with its words."""

    title: str
    links: dict[str, str]
    headings: tuple[str, ...] = ()


def tidy(text: str, most: int = TITLE_LENGTH) -> str:
    """Return one line of at most `most` characters, without invalid characters."""
    line = " ".join(text[: 4 * most].replace("\0", " ").split())
    return line[:most].encode("utf-8", "replace").decode().rstrip()


# ---------------------------------------------------------------- bare URLs

_IN_A_URL = r"[^\s<>\"`\\{}|\0-\x1f]"
_BARE = re.compile(rf"https?://{_IN_A_URL}{{1,{_LONGEST_HREF}}}+", re.IGNORECASE)
_AFTER_A_URL = "?!.,:;*_~'"
"""Punctuation at the end of a bare URL that belongs to the sentence (GitHub Flavored Markdown,
6.9).
"""
_PAIRS = (("(", ")"), ("[", "]"))


def bare_urls(text: str) -> Iterator[str]:
    """Yield the URLs in plain text, without the punctuation that follows them."""
    for found in _BARE.finditer(text):
        yield _trimmed(found[0])


def _trimmed(url: str) -> str:
    """Strip trailing punctuation, but keep a closing bracket that the URL has opened."""
    left = {closing: url.count(closing) - url.count(opening) for opening, closing in _PAIRS}
    end = len(url)
    while end:
        last = url[end - 1]
        if left.get(last, 0) > 0:
            left[last] -= 1
        elif last not in _AFTER_A_URL:
            break
        end -= 1
    return url[:end]


def read_text(text: str) -> Written:
    """Read plain text. Its title is its first line."""
    lines = text.lstrip().split("\n", 1)
    return Written(tidy(lines[0]), dict.fromkeys(bare_urls(text), ""))


# ---------------------------------------------------------------- Markdown

_FENCE = re.compile(r" {0,3}(`{3,}+|~{3,}+)")
_FRONT_MATTER = re.compile(r"---[\t ]*+\n((?:(?!---[\t ]*+$).*\n){0,200}+)", re.MULTILINE)
_FRONT_TITLE = re.compile(r"^title:[\t ]*+(.++)$", re.MULTILINE)
_HEADING = re.compile(r" {0,3}#{1,6}[\t ]++(.*+)")
_UNDERLINE = re.compile(r" {0,3}(?:=++|-++)[\t ]*+\Z")
_LIST_ITEM = re.compile(r"[\t ]*+(?:[-*+]|[0-9]{1,9}[.)])[\t ]")
_DEFINITION = re.compile(r" {0,3}\[(?!\^)([^\[\]]{1,999}+)\]:[\t ]*+(?:<([^<>]++)>|([^\s<]\S*+))")
_CODE_MARK = re.compile("`++")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_SIGNS = str.maketrans("", "", "*_`[]")
_TOKEN = re.compile(
    r"\\."
    r"|(?P<opens>!?\[)"
    r"|\](?P<target>\([\t ]*+(?:<(?P<pointed>[^<>]*+)>"
    r"|(?P<plain>(?:[^\s()<\\]|\\.|\((?:[^\s()\\]|\\.)*+\))++)))?+"
    r"|<(?P<auto>https?://[^\s<>]*+)>"
    r"|<a[\t ](?P<said>[^<>]*+)>"
    rf"|(?P<bare>https?://{_IN_A_URL.replace('^', '^][', 1)}{{1,{_LONGEST_HREF}}}+)",
    re.IGNORECASE,
)


def read_markdown(text: str) -> Written:
    """Read CommonMark with bare URLs.

    The title is that of the front matter, or else the first heading.
    """
    front = _FRONT_MATTER.match(text)
    lines = _lines_without_code(text[front.end() :] if front else text)
    headings = tuple(islice(_headings(lines), _MOST_HEADINGS))
    named = _FRONT_TITLE.search(front[1]) if front else None
    title = tidy(named[1].strip().strip("\"'")) if named else ""
    links: dict[str, str] = {}
    for target, words in chain.from_iterable(_links(_without_code(line)) for line in lines):
        if target and len(target) <= _LONGEST_HREF:
            links.setdefault(target, words)
    return Written(title or next(iter(headings), ""), links, headings)


def _lines_without_code(text: str) -> list[str]:
    """Return the lines of a text, without fenced code and with indented code blanked."""
    lines, fence, is_apart = list[str](), "", True
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line[mark.end() :].strip():
                fence = ""
        elif mark and "`" not in line[mark.end() :]:
            fence = mark[1]
        else:
            is_code = is_apart and line.startswith(("    ", "\t")) and not _LIST_ITEM.match(line)
            is_apart = is_code or not line.strip()
            lines.append("" if is_code else line)
    return lines


def _without_code(line: str) -> str:
    """Remove code spans: each ends at the next run of as many backticks."""
    marks = list(_CODE_MARK.finditer(line))
    ends: dict[int, int] = {}
    end_of: list[int | None] = [None] * len(marks)
    # From the end, so that one pass tells each run of backticks the next one of its length.
    for number in reversed(range(len(marks))):
        length = len(marks[number][0])
        end_of[number] = ends.get(length)
        ends[length] = number
    pieces, begin, number = list[str](), 0, 0
    while number < len(marks):
        end = end_of[number]
        if end is not None:
            pieces.append(line[begin : marks[number].start()])
            begin, number = marks[end].end(), end
        number += 1
    return " ".join([*pieces, line[begin:]])


def _headings(lines: list[str]) -> Iterator[str]:
    before = ""
    for line in lines:
        heading = _HEADING.match(line)
        said = ""
        if heading:
            said = heading[1].rstrip().rstrip("#")
        elif _UNDERLINE.match(line):
            said = before
        if said := tidy(_ESCAPED.sub(r"\1", said[:_LONGEST_LINE]).translate(_SIGNS)):
            yield said
        before = "" if heading else line


def _links(line: str) -> Iterator[tuple[str, str]]:
    """Yield the links of a line with their words; a link from an earlier line has none."""
    if defined := _DEFINITION.match(line):
        yield _target(defined[2] or defined[3]), tidy(defined[1], _LONGEST_WORDS)
        return
    opened: list[tuple[bool, int]] = []
    for token in _TOKEN.finditer(line):
        if opens := token["opens"]:
            opened.append((opens[0] == "!", token.end()))
        elif token[0][0] == "]":
            is_image, begin = opened.pop() if opened else (False, token.start())
            if token["target"] and not is_image:
                begin = max(begin, token.start() - _LONGEST_WORDS)
                words = tidy(line[begin : token.start()].translate(_SIGNS), _LONGEST_WORDS)
                yield _target(token["pointed"] or token["plain"] or ""), words
        elif said := token["said"]:
            yield unescaped(href(said) or ""), ""
        elif url := token["auto"] or _trimmed(token["bare"] or ""):
            yield url, ""


def _target(written: str) -> str:
    return unescaped(_ESCAPED.sub(r"\1", written))


# ================================================================ feed
#
# The title of a feed. Its links are read like those of a sitemap, by `sitemaps`.

_READ = 20_000
_LONGEST = 4_000
_FIRST_ENTRY = re.compile(rb"<(?:[^\s<>/:]++:)?+(?:item|entry)[\s/>]")
_TITLE = re.compile(
    rb"<(?:[^\s<>/:]++:)?+title(?:\s[^<>]*+)?>\s*+"
    rb"(?:<!\[CDATA\[((?:[^\]]|\](?!\]>)){0,%d}+)|([^<]{0,%d}+))" % (_LONGEST, _LONGEST)
)


def title_of(body: bytes) -> str:
    """Return the title of the feed itself, which comes before its entries."""
    if body.lstrip()[:1] == b"{":
        return tidy(sitemaps.read_json_feed(body.decode(errors="replace"), 1).title[:_LONGEST])
    head = body[:_READ]
    entry = _FIRST_ENTRY.search(head)
    found = _TITLE.search(head, 0, entry.start() if entry else _READ)
    if found is None:
        return ""
    section, text = found.groups()
    encoding = codec(sniff(body) or "utf-8")
    if section is not None:
        return tidy(section.decode(encoding, "replace"))
    return tidy(unescaped(text.decode(encoding, "replace")))


# ================================================================ pdf
#
# PDF files: title, text and links, by PDFium.
#
# Call `parse_pdf` only where the process can be killed: a malicious file may take long or crash it.
# A file that cannot be read gives a reason and nothing else. At most `MOST_PAGES` pages and
# `MOST_CHARS` characters are read; a limit that was reached is reported. No script of a file runs,
# and nothing that it refers to is opened.
#
# link    area of a page that leads to a URL when clicked, or a URL in the text

MOST_PAGES = 2_000
MOST_CHARS = 5_000_000
_MOST_LINKS_OF_A_PAGE = 2_000
_LONGEST_URL = 8192
PDF_MISSING = "reading PDF needs pypdfium2: install minicrawl[pdf]"


class PdfText(NamedTuple):
    """Title, links and text of a file."""

    title: str = ""
    links: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    limit: str = ""  # why content is missing


def can_read_pdf() -> bool:
    """Return True if the package that reads PDF is installed."""
    return find_spec("pypdfium2") is not None


def parse_pdf(body: bytes) -> PdfText:
    """Read a PDF file. If its metadata have no title, the first line is the title."""
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(body)
    except pypdfium2.PdfiumError as error:
        return PdfText(limit=f"the PDF cannot be read: {tidy(str(error))}")
    with closing(document):
        found = _Reading()
        found.read(document)
        title = tidy(document.get_metadata_value("Title"))
        first = next(iter(found.lines), "")
        return PdfText(title or tidy(first), tuple(found.links), tuple(found.lines), found.limit)


class _Reading:
    """Content of the pages read so far."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.links: dict[str, None] = {}
        self.limit = ""
        self._left = MOST_CHARS

    def read(self, document: PdfDocument) -> None:
        """Read page after page; broken pages are skipped."""
        import pypdfium2

        count = len(document)
        for number in range(min(count, MOST_PAGES)):
            try:
                page = document[number]
            except pypdfium2.PdfiumError:
                self.limit = "not all pages of the PDF can be read"
                continue
            with closing(page):
                self._read_page(document, page)
            if not self._left:
                self.limit = f"only {MOST_CHARS:,} characters of a PDF are read"
                return
        if count > MOST_PAGES:
            self.limit = f"only {MOST_PAGES:,} pages of a PDF are read"

    def _read_page(self, document: PdfDocument, page: PdfPage) -> None:
        import pypdfium2

        for url in _areas(document, page):
            self.links.setdefault(url)
        try:
            with closing(page.get_textpage()) as text:
                self._read_text(text)
                for url in _urls_in(text):
                    self.links.setdefault(url)
        except pypdfium2.PdfiumError:
            self.limit = "not all pages of the PDF can be read"

    def _read_text(self, text: PdfTextPage) -> None:
        count = min(text.count_chars(), self._left)
        if count > 0:
            self._left -= count
            said = text.get_text_range(0, count).encode("utf-8", "replace").decode()
            lines = (" ".join(line.split()) for line in said.splitlines())
            self.lines += filter(None, lines)


def _areas(document: PdfDocument, page: PdfPage) -> Iterator[str]:
    """Yield the URLs of the clickable areas."""
    from pypdfium2 import raw

    at, link = ctypes.c_int(0), raw.FPDF_LINK()
    for _ in range(_MOST_LINKS_OF_A_PAGE):
        if not raw.FPDFLink_Enumerate(page, at, link):
            return
        action = raw.FPDFLink_GetAction(link)
        if action and raw.FPDFAction_GetType(action) == raw.PDFACTION_URI:
            length = min(raw.FPDFAction_GetURIPath(document, action, None, 0), _LONGEST_URL)
            written = ctypes.create_string_buffer(_LONGEST_URL)
            if 0 < raw.FPDFAction_GetURIPath(document, action, written, length) <= length:
                yield written.value.decode("utf-8", "replace")


def _urls_in(text: PdfTextPage) -> Iterator[str]:
    """Yield the URLs that PDFium finds in the text, even across line ends."""
    from pypdfium2 import raw

    found = raw.FPDFLink_LoadWebLinks(text)
    if not found:
        return
    try:
        for number in range(min(raw.FPDFLink_CountWebLinks(found), _MOST_LINKS_OF_A_PAGE)):
            length = min(raw.FPDFLink_GetURL(found, number, None, 0), _LONGEST_URL)
            written = (ctypes.c_ushort * _LONGEST_URL)()
            raw.FPDFLink_GetURL(found, number, written, length)
            url = bytes(written)[: 2 * max(length - 1, 0)].decode("utf-16le", "replace")
            if url.lower().startswith(("http://", "https://")):
                yield url
    finally:
        raw.FPDFLink_CloseWebLinks(found)


# ================================================================ document

_LOOKED_AT = 20 * ENOUGH
"""Number of characters after which a text counts as thin if it has too little text by then."""


class Received(NamedTuple):
    """A response as the readers need it. Header names are in lower case."""

    body: bytes
    url: str
    headers: Mapping[str, str]
    options: ParseOptions = DEFAULT_OPTIONS
    suspicious: int = 0
    known_content: int | None = None
    most_us: float = inf  # of work on HTML

    @property
    def content(self) -> int:
        """Hash of the body."""
        return content_hash(self.body) if self.known_content is None else self.known_content


def parse_document(
    body: bytes,
    url: str,
    headers: Mapping[str, str],
    options: ParseOptions = DEFAULT_OPTIONS,
    *,
    types: int,
    suspicious: int = 0,
    content: int | None = None,
    most_us: float = inf,
) -> ParsedPage:
    """Parse the document at a canonical `url` as one of `types`; other types give an empty page.

    `content` is the hash of the body, if known. HTML raises `TooExpensive` if it takes more than
    `most_us` of work.
    """
    kind = type_of(headers.get("content-type"), url, body, types)
    received = Received(body, url, headers, options, suspicious, content, most_us)
    if kind is None:
        return ParsedPage(content=received.content, is_thin=True)
    return READERS[kind](received)


def _read_html(received: Received) -> ParsedPage:
    body, url, headers, options, suspicious, content, most_us = received
    return parse_page(
        body, url, headers, options, suspicious=suspicious, content=content, most_us=most_us
    )


# ---------------------------------------------------------------- texts


def _read_writing(received: Received, read: Callable[[str], Written]) -> ParsedPage:
    text, encoding = decoded_text(received.body, received.headers.get("content-type"))
    found = read(text)
    facts = BodyFacts(received.content, encoding, is_thin=_is_thin(text))
    return _page_of(found.title, found.links.items(), facts, received)


def decoded_text(body: bytes, content_type: str | None) -> tuple[str, str]:
    """Return a text without markup, with uniform line ends; and its encoding."""
    text, encoding = decode(body, parse_content_type(content_type)[1])
    return text.replace("\r\n", "\n").replace("\r", "\n"), encoding


def _read_pdf(received: Received) -> ParsedPage:
    found = parse_pdf(received.body)
    text = "\n".join(found.lines)
    facts = BodyFacts(received.content, is_thin=_is_thin(text))
    page = _page_of(found.title, ((link, "") for link in found.links), facts, received)
    cut = "; ".join(filter(None, (page.cut, found.limit)))
    return page._replace(cut=cut, extracted=text if received.options.with_text else "")


def _is_thin(text: str) -> bool:
    return len(" ".join(text[:_LOOKED_AT].split())) < ENOUGH


def _page_of(
    title: str, links: Iterable[tuple[str, str]], facts: BodyFacts, received: Received
) -> ParsedPage:
    """Return a page with these links, each with its words."""
    url, headers, options = received.url, received.headers, received.options
    markup, rest = Markup(title=title), iter(links)
    markup.links.update(islice(rest, options.max_links))
    markup.has_more_links = any(True for _ in rest)
    return page_of(markup, facts, url, headers, options)


# ---------------------------------------------------------------- lists of links


def _read_sitemap(received: Received) -> ParsedPage:
    """Return all links that the sitemap lists, within the limits of the protocol."""
    found, facts = _listed(received), _facts_of_a_list(received)
    page = page_of(Markup(), facts, received.url, received.headers, received.options)
    if is_closed(received):
        return page._replace(noindex=True, is_sitemap=True)
    links = dict.fromkeys((*found.sitemaps, *found.pages))
    links.pop(received.url, None)
    return page._replace(
        links=tuple(links),
        words=("",) * len(links) if received.options.with_words else (),
        originals=found.originals,
        noindex=True,
        cut=found.limit,
        is_sitemap=True,
        sitemaps=tuple([one for one in found.sitemaps if one in links]),
        changed=found.changed,
    )


def _read_feed(received: Received) -> ParsedPage:
    found, most = _listed(received), received.options.max_links
    pages = dict.fromkeys(() if is_closed(received) else found.pages[:most])
    pages.pop(received.url, None)
    markup = Markup(title=title_of(received.body))
    facts = _facts_of_a_list(received)
    page = page_of(markup, facts, received.url, received.headers, received.options)
    has_more = len(found.pages) > most
    return page._replace(
        links=tuple(pages),
        words=("",) * len(pages) if received.options.with_words else (),
        originals=found.originals,
        noindex=True,
        changed=found.changed,
        cut=f"cut at {counted(most, 'link')}" if has_more else found.limit,
    )


def _listed(received: Received) -> sitemaps.Sitemap:
    marks = received.options.strip_marks
    return sitemaps.parse(received.body, received.url, strip_marks=marks)


def _facts_of_a_list(received: Received) -> BodyFacts:
    """Return facts with `is_thin`, so that two short lists are not taken for duplicates."""
    return BodyFacts(received.content, is_thin=True)


def is_closed(received: Received) -> bool:
    """Return True if the headers forbid crawlers to follow the links."""
    said = received.headers.get("x-robots-tag", "")
    return parse_robots_tag(said, received.options.agent).nofollow


READERS: dict[DocumentType, Callable[[Received], ParsedPage]] = {
    DocumentType.HTML: _read_html,
    DocumentType.PDF: _read_pdf,
    DocumentType.TEXT: partial(_read_writing, read=read_text),
    DocumentType.MARKDOWN: partial(_read_writing, read=read_markdown),
    DocumentType.FEED: _read_feed,
    DocumentType.SITEMAP: _read_sitemap,
}
