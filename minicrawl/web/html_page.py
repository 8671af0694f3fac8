"""Parser for HTML pages: from a response to a parsed page.

Any bytes and headers can be parsed. A link is a canonical URL of another page, comes once, and may
be followed by robots. Links of a page to itself are reported separately. A reference to a place on
the page, such as `#top`, is not a link.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain
from math import inf
from typing import NamedTuple
from zlib import crc32

from minicrawl.model import NO_SCRIPTS, ParsedPage, Scripting, ScriptKind
from minicrawl.web.markup import (
    AT_ONCE_S,
    MOST_LINKS,
    STOP,
    UTF_8,
    UTF_16,
    UTF_16_US,
    Markup,
    attributes,
    decode,
    meta_refresh,
    scan,
    unescaped,
)
from minicrawl.web.page_numbers import Numbers, page_numbers
from minicrawl.web.responses import HTML_TYPES, link_canonical, parse_content_type, parse_robots_tag
from minicrawl.web.urls import (
    LONGEST,
    MOST_CHARS,
    ResolvedUrl,
    canonical,
    resolve,
    resolve_links_at,
)
from minicrawl.wording import counted

# ================================================================ thin
#
# Thin pages: those with hardly any text, such as errors, placeholders and empty lists.
#
# Many hosts have the same thin pages, which are not copies of each other.
#
# A page is thin if it has little text, or a heading like those of pages that servers generate. The
# check stops when there is enough text, and takes linear time at most.
#
# text      everything outside tags, comments, scripts, styles and the title; a tag ends at the
#           first ">"; whitespace is collapsed
# heading   the title, or the beginning of the text of a page without a title

ENOUGH = 200
"""Number of characters of text from which a page is not thin."""


def _raw(name: str) -> str:
    return rf"{name}{STOP}(?:[^<]++|<(?!/{name}))*+"


# An unclosed tag extends to the end of the page. No quantifier backtracks.
_TEXT = re.compile(
    r"(?:\s++|<(?:(?:[abdefghijklmnopqruvwxyz/?]|s(?![ct])|t(?![ie]))[^>]*+>"  # most tags
    r"|!--(?:-?>|[^-]*+(?:-(?!->)[^-]*+)*+(?:-->|\Z))"
    rf"|{_raw('script')}|{_raw('style')}|{_raw('template')}|{_raw('title')}"
    r"|[a-z!/?][^>]*+(?:>|\Z)|))*+([^<]{0,1000}+)",
    re.IGNORECASE | re.ASCII,
)
# Scripts, styles and entities have one of the excluded characters before long.
_PROSE = re.compile(r">\s*+([^<>{};=\s][^<>{};=]{11,400}+)<")
_SMALL = 2000  # characters; smaller pages are read as a whole
_PROSE_READ = 16_000
_PROSE_ENOUGH = ENOUGH * 3 // 2  # more than ENOUGH, as whitespace is not collapsed here
_AT_FIRST, _MORE = 1000, 4  # characters to read first, and the factor to read more
_BODY = "<body"

# A number counts only with the words of a status: "404 Not Found", but not "500 recipes".
_WORDS_OF_STATUS = (
    r"(?:page |file )?not found|forbidden|unauthori[sz]ed|bad (?:request|gateway)|access denied"
    r"|gateway time-?out|internal server error|service (?:temporarily )?unavailable|server error"
    r"|too many requests|method not allowed|request time-?out|gone|error|payment required"
)
_WHOLE = (
    rf"{_WORDS_OF_STATUS}|error [45][0-9][0-9]|[45][0-9][0-9]|(?:site |page )?under construction"
    r"|(?:site |page )?under maintenance|maintenance(?: mode)?|coming soon|account suspended"
    r"|just a moment|one moment,? please|please wait|loading|attention required|redirecting"
    r"|checking your browser|untitled(?: document| page)?|default page|test page|it works"
    r"|object moved|document (?:has )?moved|domain default page|parked domain|domain parking"
    r"|access to this page has been denied|sorry, you have been blocked|page unavailable"
)
_HEADING = re.compile(
    rf"(?:{_WHOLE})[.!…]*+(?:\Z| ?[|·«»–—-])"
    rf"|(?:http )?(?:error )?[45][0-9][0-9](?: -| –|:)? (?:{_WORDS_OF_STATUS})"
    r"|index of /|directory listing (?:for|of) /|welcome to (?:nginx|openresty|centos|caddy)"
    r"|apache2? (?:[a-z]+ )?default page|iis windows|buy this domain"
    r"|(?:[a-z]+ )?(?:apache |nginx )?(?:http )?(?:server )?test page"
    r"|(?:the |this )?domain (?:name )?(?:\S+ )?(?:is|may be|has) (?:parked|for sale|expired)"
    r"|(?:the |this )?(?:site|website|page) is (?:under construction|coming soon|parked|for sale)"
    r"|[^\s.]++(?:\.[^\s.]++)++ (?:is|may be) (?:parked|for sale)"
)
_LONGEST_HEADING = 100


def is_thin(text: str, title: str) -> bool:
    """Return True if a page with this text and this title is thin."""
    if title and _is_generated_heading(title):
        return True
    start = max(text.find(_BODY), 0)
    if _has_prose(text, start):
        return False
    beginning = _beginning(text, start)
    return len(beginning) < ENOUGH or (not title and _is_generated_heading(beginning))


def _is_generated_heading(heading: str) -> bool:
    return _HEADING.match(heading[:_LONGEST_HEADING].lower()) is not None


def _has_prose(text: str, start: int) -> bool:
    """Return True if the middle has enough text: a quick check for most pages."""
    if len(text) - start < _SMALL:
        return False
    found, middle = 0, (start + len(text)) // 2
    for piece in _PROSE.finditer(text, middle, middle + _PROSE_READ):
        found += len(piece[1])
        if found >= _PROSE_ENOUGH:
            return True
    return False


def _beginning(text: str, start: int) -> str:
    """Return the beginning of the text after <body>: enough characters, or all."""
    read = _AT_FIRST
    while len(words := _words(_TEXT.findall(text, start, start + read))) < ENOUGH:
        if start + read >= len(text):
            break
        read *= _MORE
    return words


def visible_text(text: str) -> str:
    """Return the text of a page outside its tags, scripts, styles and title, in one line."""
    return _words(_TEXT.findall(text))


def _words(pieces: list[str]) -> str:
    text = "\n".join(pieces)
    return " ".join((unescaped(text) if "&" in text else text).split())


# ================================================================ scripts
#
# Scripts of a page: could they add to the content of its markup?
#
# Every text gets an answer, in linear time. Pages of one template share a signature, whatever their
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
    # The plain search spares most pages the regular expression.
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


# ================================================================ text hashes
#
# Hashes of the text of a page, to see whether URLs of one shape have the same content.

# A piece of text ends at a quote, as strings in scripts differ with each request.
_PIECE = re.compile(rb">\s*+([^<\"'\s][^<\"']*+)")
_NUMERALS = b"0123456789"
_TITLE_BITS = 1024


class TextHashes(NamedTuple):
    """Hashes of the text of a page, independent of its markup and order; 0 without text."""

    text: int = 0
    gist: int = 0
    """Equal for pages that differ only in numbers, such as the months of a calendar."""


def title_hash(title: str) -> int:
    """Return a hash of the title without its digits; 0 without a title."""
    return crc32(title.encode(errors="surrogatepass").translate(None, _NUMERALS))


def title_bit(title: str) -> int:
    """Return one of 1024 bits for a title. Only pages with the same bit are compared."""
    return 1 << title_hash(title) % _TITLE_BITS


def text_hashes(body: bytes) -> TextHashes:
    """Return the hashes of the text between the tags of a page."""
    pieces = set(_PIECE.findall(body))
    gist = {piece.translate(None, _NUMERALS) for piece in pieces}
    return TextHashes(sum(map(crc32, pieces)), sum(map(crc32, gist)))


# ================================================================ page


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseOptions:
    """Content to extract from a page, and the name of the crawler."""

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
_GUESS_US, _SCRIPTS_US = 3000.0, 0.1
"""Extra cost of a page that is not UTF-8; cost per character of looking for scripts."""


def parse_page(
    body: bytes,
    url: str,
    headers: Mapping[str, str],
    options: ParseOptions = DEFAULT_OPTIONS,
    *,
    suspicious: int = 0,
    content: int | None = None,
    most_us: float = inf,
) -> ParsedPage:
    """Parse the page at a canonical `url`; raise `TooExpensive` above `most_us` of work.

    Header names are in lower case. `content` is the hash of the body, if known.
    """
    essence, charset = parse_content_type(headers.get("content-type"))
    text, encoding = decode(body, charset, most_us)
    if encoding != UTF_8:
        most_us -= UTF_16_US * len(body) if encoding in UTF_16 else _GUESS_US
    markup = scan(
        text,
        agent=options.agent,
        max_links=options.max_links,
        with_words=options.with_words,
        with_anchors=options.with_written,
        xhtml=essence == "application/xhtml+xml",
        types=options.types,
        with_sitemaps=options.with_sitemaps,
        most_us=most_us - _SCRIPTS_US * len(text) * options.with_scripting,
    )
    if encoding != UTF_8:
        markup = markup.in_encoding(encoding)
    facts = BodyFacts(
        content=content_hash(body) if content is None else content,
        encoding=encoding,
        is_thin=is_thin(text, markup.title),
    )
    if suspicious & title_bit(markup.title):
        numbers = page_numbers(text, url, headers.get("date", ""))
        facts = facts._replace(hashes=text_hashes(body), numbers=numbers)
    page = page_of(markup, facts, url, headers, options)
    if not options.with_scripting:
        return page
    return page._replace(scripting=scripting(text, len(page.links), is_thin=facts.is_thin))


class BodyFacts(NamedTuple):
    """Facts about a document that come from its body, not from its tags."""

    content: int
    encoding: str = "utf-8"
    is_thin: bool = False
    hashes: TextHashes = TextHashes()
    numbers: Numbers = ()


def page_of(
    markup: Markup,
    facts: BodyFacts,
    url: str,
    headers: Mapping[str, str],
    options: ParseOptions,
) -> ParsedPage:
    """Return the page described by its markup, its bytes and its headers."""
    robots = markup.robots
    if header := headers.get("x-robots-tag"):
        # The stricter of both counts, as for search engines.
        robots = robots.combined_with(parse_robots_tag(header, options.agent))
    resolver = _UrlResolver(markup, url, options)
    header = headers.get("refresh")
    sent = _header_refresh(header, url, options) if header else _NO_REFRESH
    found = _NO_LINKS if robots.nofollow else resolver.links(sent.link)
    links = found.links
    main = resolver.other_page(markup.canonical or link_canonical(headers.get("link")))
    refresh = sent.target or resolver.other_page(markup.refresh)
    resolved = chain(links.items(), filter(None, (main, refresh)))
    return ParsedPage(
        title=markup.title,
        links=tuple(links),
        words=found.words,
        written=resolver.written(links) if options.with_written else (),
        canonical=main and main.url,
        refresh=refresh and refresh.url,
        originals=tuple([(url, original) for url, original in resolved if original]),
        noindex=robots.noindex,
        encoding=facts.encoding,
        cut=_why_cut(markup, links, options),
        content=facts.content,
        text=facts.hashes.text,
        gist=facts.hashes.gist,
        numbers=facts.numbers,
        is_thin=facts.is_thin,
        self_link=found.self_link,
    )


def content_hash(body: bytes) -> int:
    """Return a 64-bit hash of the body, as a signed integer because SQLite has no other."""
    return int.from_bytes(blake2b(body, digest_size=8).digest(), "little", signed=True)


class _HeaderRefresh(NamedTuple):
    """Target of a Refresh header if it is immediate, or a link if it is delayed."""

    target: ResolvedUrl | None = None
    link: ResolvedUrl | None = None


_NO_REFRESH = _HeaderRefresh()


def _header_refresh(value: str, own: str, options: ParseOptions) -> _HeaderRefresh:
    """Parse a Refresh header, whose URL is relative to that of the page, not to its base."""
    refresh = meta_refresh(value.strip())
    if refresh is None or not refresh.url:
        return _NO_REFRESH
    found = resolve(refresh.url, own, strip_marks=options.strip_marks)
    if found is None or found.url == own:
        return _NO_REFRESH
    is_at_once = refresh.delay_s <= AT_ONCE_S
    return _HeaderRefresh(found) if is_at_once else _HeaderRefresh(link=found)


def _why_cut(markup: Markup, links: Collection[str], options: ParseOptions) -> str:
    if markup.has_more_links:
        return f"cut at {counted(options.max_links, 'link')}"
    if sum(map(len, links)) > MOST_CHARS - LONGEST:
        return f"cut at {MOST_CHARS:,} characters of links"
    return ""


class _FoundLinks(NamedTuple):
    """Links of a page to others, each with its original or None; and the words of each."""

    links: dict[str, str | None]
    words: tuple[str, ...]
    self_link: bool


_NO_LINKS = _FoundLinks({}, (), self_link=False)


class _UrlResolver:
    """Resolves the URLs of a page."""

    def __init__(self, markup: Markup, own: str, options: ParseOptions) -> None:
        self._hrefs, self._anchors = markup.links, markup.anchors
        self._base = (markup.base and canonical(markup.base, own)) or own
        self._own = own
        self._with_words, self._strip_marks = options.with_words, options.strip_marks

    def links(self, last: ResolvedUrl | None) -> _FoundLinks:
        """Return the links, with `last` appended."""
        stays = "#" if self._base == self._own else None
        hrefs = [href for href in self._hrefs if href != stays]
        if self._with_words:
            links, words = self._links_with_words(hrefs)
        else:
            links, words = resolve_links_at(hrefs, self._base, strip_marks=self._strip_marks), {}
        self_link = self._own in links
        links.pop(self._own, None)
        if last:
            links.setdefault(last.url, last.original)
        told = tuple([words.get(url, "") for url in links]) if self._with_words else ()
        return _FoundLinks(links, told, self_link)

    def written(self, links: Collection[str]) -> tuple[str, ...]:
        """Return the short entry of each link (see `references`), in order."""
        from minicrawl.web.references import entries  # deferred: most crawls keep none

        marks = self._strip_marks
        return entries(self._anchors, links, self._own, self._base, strip_marks=marks)

    def other_page(self, href: str | None) -> ResolvedUrl | None:
        """Return the URL of a reference, if it is another page."""
        found = resolve(href, self._base, strip_marks=self._strip_marks) if href else None
        return None if found is None or found.url == self._own else found

    def _links_with_words(
        self, hrefs: Iterable[str]
    ) -> tuple[dict[str, str | None], dict[str, str]]:
        links: dict[str, str | None] = {}
        words: dict[str, str] = {}
        room = MOST_CHARS
        for href in hrefs:
            found = resolve(href, self._base, strip_marks=self._strip_marks)
            if found and found.url not in links:
                room -= len(found.url)
                if room < 0:
                    break
                links[found.url], words[found.url] = found.original, self._hrefs[href]
        return links, words
