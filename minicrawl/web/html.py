"""HTML: what the tags of a page say, found in one pass over its text without building a tree.

Law: tags are found by the tokenization rules of the HTML standard, so no nesting, no size and no
markup left open can hide a link from us, and what the standard takes for text is none. The time is
proportional to the text, whatever it is: in a token no quantifier gives back what it took, and
one that has no end is taken to the end of the page.

raw text     content in which only its own end tag is markup, as in <style>
escaped      in a script behind "<!--": there an inner <script> hides one </script>
plain tag    one that says nothing to us and in whose attributes there is no "<": the search may
             stumble through it, as there is nothing in it that it could take for a tag
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from html import unescape
from html.entities import html5
from typing import NamedTuple

from minicrawl.web.headers import HTML_TYPES, NO_WISHES, RobotsTag, media_type, robots_tag

# ---------------------------------------------------------------- the grammar of a tag

_S = r"[\t\n\f\r ]"
_NAME = r"[^\t\n\f\r />][^\t\n\f\r />=]*+"  # a "=" at its start is part of it


def _value(opening: str) -> str:
    return (
        rf"(?:{_S}*+={_S}*+"
        rf"""(?:"{opening}[^"]*+)(?:"|\Z)|'{opening}[^']*+)(?:'|\Z)"""
        rf"""|{opening}[^\t\n\f\r >"'][^\t\n\f\r >]*+))?+)?+"""
    )


_VALUE = _value("(?:")
_CAPTURED_VALUE = _value("(")  # in one of three groups
ATTRIBUTES = rf"(?:[\t\n\f\r /]++|{_NAME}{_VALUE})*+"
"""All from the name of a tag to its end, or to the end of the page."""

_ATTRIBUTE = re.compile(rf"({_NAME}){_CAPTURED_VALUE}")
_ATTRIBUTES_READ = 1 << 16  # characters; beyond that a tag is an attack


def attributes(text: str) -> dict[str, str]:
    """The attributes in what `ATTRIBUTES` matched, by lower-case name; of twins the first counts.

    Values are as written: their character references are still to be decoded.
    """
    found: dict[str, str] = {}
    for name, *values in _ATTRIBUTE.findall(text, 0, _ATTRIBUTES_READ):
        found.setdefault(name.lower(), "".join(values))
    return found


_REFERENCE = re.compile(
    r"&(?:#(?:[xX][0-9a-fA-F]++|[0-9]++);?+|([a-zA-Z][a-zA-Z0-9]*+(?:;|(?!=))))"
)


def decoded(value: str) -> str:
    """The value of an attribute, its character references decoded.

    Other than in text, "&copy=1" and "&copyright" stay as they are: the standard saves the
    queries of those who did not write "&amp;".
    """
    return _REFERENCE.sub(_character, value) if "&" in value else value


def _character(reference: re.Match[str]) -> str:
    name = reference[1]
    return html5.get(name, reference[0]) if name else unescape(reference[0])


# ---------------------------------------------------------------- the tokens of a page

_STOP = r"(?=[\t\n\f\r />])"
_OPEN_END = r"(?:>|\Z)"

_BEFORE_HREF = rf"(?:[\t\n\f\r /]++|(?!href(?:[\t\n\f\r />=]|\Z)){_NAME}{_VALUE})*+"
_ANCHOR = rf"a(?:rea)?+{_STOP}(?P<anchor>{_BEFORE_HREF}href{_CAPTURED_VALUE}{ATTRIBUTES})>"

_TELLING = rf"(?P<name>base|frame|link|meta|noscript|svg){_STOP}(?P<said>{ATTRIBUTES})>"
_CLOSING = rf"/(?P<closed>noscript|svg){_STOP}{ATTRIBUTES}>"

_RAW_NAME = r"(?P<raw>t(?:itle|extarea)|iframe|style|xmp|no(?:embed|frames))"
_RAW_TEXT = rf"[^<]*+(?:<(?!/(?P=raw){_STOP})[^<]*+)*+"
_RAW = rf"{_RAW_NAME}{_STOP}(?P<raw_said>{ATTRIBUTES})%s(?P<content>{_RAW_TEXT})"

_SCRIPT_END = rf"</script{_STOP}"
_HIDDEN = rf"<script{_STOP}(?:[^<-]++|-(?!->)|<(?!/script{_STOP}))*+(?:{_SCRIPT_END})?+"
_ESCAPED = rf"<!--(?:-?>|(?:[^<-]++|-(?!->)|{_HIDDEN}|(?!{_SCRIPT_END})<)*+(?:-->)?+)"
_SCRIPT = rf"script{_STOP}{ATTRIBUTES}%s(?:[^<]++|{_ESCAPED}|(?!{_SCRIPT_END})<)*+"

_PLAINTEXT = rf"plaintext{_STOP}{ATTRIBUTES}>(?s:.*+)"

_NO_LESS_THAN = r"""(?:"[^"<]*+"|'[^'<]*+')"""
_PLAIN = rf"""[^<>"'=]*+(?:(?<![\t\n\f\r /"'])={_NO_LESS_THAN}[^<>"'=]*+)*+>"""
_OTHER = rf"/?[a-z](?!{_PLAIN})[^\t\n\f\r />]*+{ATTRIBUTES}{_OPEN_END}"

_COMMENT = r"!--(?:-?>|[^-]*+(?:-(?!-!?>)[^-]*+)*+(?:--!?>|\Z))"
_BOGUS_COMMENT = rf"(?:[!?]|/(?=[^a-z]))[^>]*+{_OPEN_END}"

# Most tags are none of ours, and to try all names on each of them would take twice the time.
_PLAIN_END_TAG = r"/(?!noscript>|svg>)[a-z0-9]++>"
_FIRST_TWO_LETTERS = r"[abfilmnpstx][acefilmortv\t\n\f\r />]"


def _token(end_of_raw_tag: str) -> re.Pattern[str]:
    raw = f"{_RAW}|{_SCRIPT}".replace("%s", end_of_raw_tag)
    return re.compile(
        f"<(?!{_PLAIN_END_TAG})(?:"
        f"(?={_FIRST_TWO_LETTERS})(?:{_ANCHOR}|{_TELLING}|{raw}|{_PLAINTEXT})"
        f"|{_CLOSING}|{_OTHER}|{_COMMENT}|{_BOGUS_COMMENT})",
        re.IGNORECASE | re.ASCII,
    )


_HTML_TOKEN = _token(">")
_XHTML_TOKEN = _token("(?<!/)>")  # only there has <script/> no content

# ---------------------------------------------------------------- what a page says

TITLE_LENGTH = 300
"""Characters of a title that are kept."""

AT_ONCE_S = 1
"""A refresh that waits longer lets people read the page: its target is a link like others."""

_TITLE_READ = 20_000  # characters of markup in which they are looked for
_LONGEST_HREF = 8192  # characters; what is longer is no URL that we would keep


class Refresh(NamedTuple):
    """A meta refresh: after so many seconds to this URL; the empty one is the page itself."""

    delay_s: int
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Markup:
    """What the tags of a page say, nothing resolved yet.

    `links` are hrefs as written, without what follows "#", each once and in the order of the
    page, with their words; those marked nofollow are not among them.
    """

    title: str = ""
    base: str | None = None
    links: dict[str, str] = field(default_factory=dict)
    canonical: str | None = None
    refresh: str | None = None  # the target of one that leaves at once
    robots: RobotsTag = NO_WISHES


def scan(
    text: str,
    *,
    agent: str = "minicrawl",
    max_links: int = 10_000,
    with_words: bool = False,
    xhtml: bool = False,
) -> Markup:
    """Read all of `text`; `agent` is the name that a page may use to speak to us alone."""
    tokens = _XHTML_TOKEN if xhtml else _HTML_TOKEN
    page = _Page(text.replace("\0", "\N{REPLACEMENT CHARACTER}"), agent, max_links, with_words)
    for tag in tokens.finditer(page.text):
        match tag.lastgroup:
            case "anchor":
                page.read_anchor(tag)
            case "said":
                _READERS[tag["name"].lower()](page, attributes(tag["said"]))
            case "content":
                page.read_raw(tag)
            case "closed":
                page.open.discard(tag["closed"].lower())
    return page.markup()


class _Page:
    """What has been found so far."""

    def __init__(self, text: str, agent: str, max_links: int, with_words: bool) -> None:
        self.text = text
        self.agent = agent.lower()
        self.max_links = max_links
        self.with_words = with_words
        self.title = ""
        self.base: str | None = None
        self.links: dict[str, str] = {}
        self.canonical: str | None = None
        self.refresh: str | None = None
        self.robots = NO_WISHES
        self.open: set[str] = set()

    def markup(self) -> Markup:
        return Markup(
            title=self.title,
            base=self.base,
            links=self.links,
            canonical=self.canonical,
            refresh=self.refresh,
            robots=self.robots,
        )

    def read_anchor(self, tag: re.Match[str]) -> None:
        href = tag[2] or tag[3] or tag[4] or ""
        if len(href) > _LONGEST_HREF:
            return
        if "nofollow" not in tag["anchor"].lower() or not _is_nofollow(attributes(tag["anchor"])):
            self._add_link(decoded(href), tag)

    def read_raw(self, tag: re.Match[str]) -> None:
        name = tag["raw"].lower()
        if name == "iframe":
            self.read_frame(attributes(tag["raw_said"]))
        elif name == "title" and not self.title and "svg" not in self.open:
            words = unescape(tag["content"][:_TITLE_READ]).split()
            self.title = " ".join(words)[:TITLE_LENGTH].rstrip()

    def read_frame(self, said: dict[str, str]) -> None:
        if source := said.get("src"):
            self._add_link(decoded(source))

    def read_link(self, said: dict[str, str]) -> None:
        href = said.get("href")
        if href is None:
            return
        relations = _tokens(said.get("rel", ""))
        if "canonical" in relations and self.canonical is None:
            self.canonical = decoded(href)
        if "nofollow" not in relations and _leads_to_page(said, relations):
            self._add_link(decoded(href))

    def read_base(self, said: dict[str, str]) -> None:
        href = said.get("href")
        if href is not None and self.base is None:
            self.base = decoded(href)

    def read_meta(self, said: dict[str, str]) -> None:
        content = decoded(said.get("content", ""))
        if said.get("name", "").lower() in {"robots", self.agent}:
            self.robots = self.robots.and_also(robots_tag(content, self.agent))
        elif said.get("http-equiv", "").lower() == "refresh":
            self._read_refresh(meta_refresh(content))

    def _read_refresh(self, refresh: Refresh | None) -> None:
        if refresh is None or not refresh.url:
            return
        # In <noscript> it sends away only those who cannot run scripts.
        if refresh.delay_s > AT_ONCE_S or "noscript" in self.open:
            self._add_link(refresh.url)
        elif self.refresh is None:
            self.refresh = refresh.url

    def _add_link(self, href: str, anchor: re.Match[str] | None = None) -> None:
        if "#" in href:
            href = href[: href.index("#") + 1]
        if href not in self.links and len(self.links) < self.max_links:
            words = _words(self.text, *anchor.span()) if anchor and self.with_words else ""
            self.links[href] = words


_READERS: dict[str, Callable[[_Page, dict[str, str]], None]] = {
    "base": _Page.read_base,
    "frame": _Page.read_frame,
    "link": _Page.read_link,
    "meta": _Page.read_meta,
    "noscript": lambda page, _: page.open.add("noscript"),
    "svg": lambda page, _: page.open.add("svg"),
}


def _is_nofollow(said: dict[str, str]) -> bool:
    """Only `nofollow` asks not to follow; `ugc` and `sponsored` say who wrote a link, and why."""
    return "nofollow" in _tokens(said.get("rel", ""))


def _tokens(value: str) -> set[str]:
    return set(decoded(value).lower().split())


def _leads_to_page(said: dict[str, str], relations: set[str]) -> bool:
    if not relations.isdisjoint({"next", "prev"}):
        return True
    if "alternate" not in relations or "stylesheet" in relations:
        return False
    essence, _ = media_type(said.get("type"))
    return not essence or essence in HTML_TYPES  # others are feeds


# ---------------------------------------------------------------- meta refresh

_REFRESH = re.compile(
    rf"{_S}*+(?=[0-9.])([0-9]*+)[0-9.]*+(?:\Z|(?=[;,\t\n\f\r ]){_S}*+[;,]?+{_S}*+"
    rf"""(?:url{_S}*+={_S}*+)?+(?:"([^"]*+)|'([^']*+)|(.*+)))""",
    re.IGNORECASE | re.ASCII | re.DOTALL,
)
_DELAY_DIGITS = 9
_NOT_IN_URLS = str.maketrans("", "", "\t\n\r")


def meta_refresh(content: str) -> Refresh | None:
    """Where a page goes by itself, by the steps of the HTML standard; None where it stays."""
    said = _REFRESH.match(content)
    if said is None:
        return None
    delay_s = int(said[1].lstrip("0")[:_DELAY_DIGITS] or 0)
    url = said[2] or said[3] or said[4] or ""
    return Refresh(delay_s, url.translate(_NOT_IN_URLS).strip(" "))


# ---------------------------------------------------------------- the words of a link

_WORDS_AROUND = 10
_MARKUP_AROUND = 600  # characters in which they are looked for
_ANCHOR_READ = 2000  # characters of markup before an anchor that is left open ends for us
_ANCHOR_ENDS = re.compile(rf"</?a{_STOP}", re.IGNORECASE | re.ASCII)
_NO_WORDS = re.compile(
    r"^[^<>]*>"  # the rest of a tag that begins before the window
    r"|<!--.*?(?:-->|\Z)|<(script|style)\b.*?(?:</\1[^>]*+>|\Z)|<[^>]*+(?:>|\Z)",
    re.IGNORECASE | re.ASCII | re.DOTALL,
)


def _words(text: str, start: int, end: int) -> str:
    """What the anchor says whose start tag is `text[start:end]`, with the words around it."""
    limit = end + _ANCHOR_READ
    closing = _ANCHOR_ENDS.search(text, end, limit)
    close = closing.start() if closing else min(limit, len(text))
    before = _plain_words(text[max(start - _MARKUP_AROUND, 0) : start])[-_WORDS_AROUND:]
    after = _plain_words(text[close : close + _MARKUP_AROUND])[:_WORDS_AROUND]
    return " ".join([*before, *_plain_words(text[end:close]), *after])


def _plain_words(markup: str) -> list[str]:
    return unescape(_NO_WORDS.sub(" ", markup)).split()
