"""Facts of one page that the checks of an audit need, from its markup and its headers.

Any markup has facts, in linear time. They are numbers of one fixed layout, so that a million pages
fit into one array, and references to other URLs, of which most pages have none:

    <title>Shop</title>             title_chars 4, title 0x7a…, the hash that finds duplicates
    <img src=a.png>                 without_alt 1
    <link rel=canonical href=/b>    reference ("canonical", "https://example.org/b")

Comments, scripts, templates, drawings and <noscript> are skipped: no tag in them is a fault.
"""

import json
import re
from collections.abc import Mapping
from enum import StrEnum
from hashlib import blake2b
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from minicrawl.audit.facts.page_faults import COMMENT, FAULTS, element_pattern, faults_of
from minicrawl.web.encoding.labels import UTF_8, encoded_query, encoding_of_label
from minicrawl.web.html.attributes import ATTRIBUTES, STOP, attributes, decoded, unescaped
from minicrawl.web.languages import is_known_language
from minicrawl.web.responses.headers import link_canonical, parse_content_type, parse_robots_tag
from minicrawl.web.urls import canonical, host

FLAGS = (
    *("noindex_meta", "noindex_header", "nofollow", "html_lang", "viewport", "no_default_hreflang"),
    *("charset", "bad_json", "no_self_hreflang", "unknown_hreflang", "twice_hreflang", "refresh"),
    *("insecure_form", "compressed", "cached", "hsts", "csp", "doctype", "is_https", "filler"),
)
"""Facts that are true or false, each a bit of `flags`."""


class _Kind(StrEnum):
    """Kind of a fact; that of a number is its type in NumPy."""

    FLAG = "flag"
    TEXT = "text"
    HEADING = "heading"
    HASH = "<u8"
    FEW = "u1"
    COUNT = "<u2"
    SIZE = "<u4"


class Fact(NamedTuple):
    """A fact of a page. A flag is a bit of `flags`; a text has three numbers.

    title           hash of the first text that is not empty
    title_chars     its length
    titles          how many there are
    """

    name: str
    kind: _Kind


FACTS = (
    *(Fact(name, _Kind.FLAG) for name in FLAGS),
    Fact("title", _Kind.TEXT),
    Fact("description", _Kind.TEXT),
    Fact("h1", _Kind.HEADING),
    Fact("text", _Kind.HASH),
    Fact("canonicals", _Kind.FEW),
    Fact("without_alt", _Kind.COUNT),
    Fact("mixed", _Kind.COUNT),
    Fact("nofollow_links", _Kind.COUNT),
    Fact("words", _Kind.COUNT),
    *(Fact(name, _Kind.FEW) for name in FAULTS),
    Fact("size", _Kind.SIZE),
)
"""All facts. A row here is a column of the audit; the text of a heading of any level is read, too.

What makes another fact is below, or in `page_faults`.
"""


def _named(*kinds: _Kind) -> tuple[str, ...]:
    return tuple(fact.name for fact in FACTS if fact.kind in kinds)


HEADINGS = _named(_Kind.HEADING)
BIT = {name: 1 << place for place, name in enumerate(FLAGS)}
_TEXTS = _named(_Kind.TEXT, _Kind.HEADING)
LAYOUT = np.dtype(
    [
        ("flags", "<u4"),
        *((name, "<u8") for name in _named(_Kind.TEXT, _Kind.HEADING, _Kind.HASH)),
        *((f"{name}_chars", "<u2") for name in _TEXTS),
        *((f"{name}s", "u1") for name in _TEXTS),
        *(
            (name, kind.value)
            for name, kind in FACTS
            if kind in (_Kind.FEW, _Kind.COUNT, _Kind.SIZE)
        ),
    ]
)
"""Layout of the numbers of a page."""
VERSION = crc32(repr((13, FLAGS, LAYOUT.descr)).encode())
"""Version of the facts: pages are read again after it has changed.

Raise the number if the same markup gives other values of the same facts.
"""
_MOST = {name: np.iinfo(LAYOUT[name]).max for name in LAYOUT.names or ()}

_MOST_READ = 2_000_000
"""Most characters of markup that are read; no page made by people is longer."""
_LONGEST_HEADING, _MOST_REFERENCES, _LONGEST_JSON = 2000, 200, 200_000
_TAG_NAMES = (
    rf"{'|'.join(HEADINGS)}|img|link|meta|a|html|body|form|base|button|input"
    r"|iframe|source|video|audio|embed|object"
)
_RAW = r"script|style|template|title|textarea|noscript|svg"
# Each pattern begins with a plain "<", which is found ten times as fast as a choice of characters.
_TOKEN = re.compile(
    rf"<(?:{COMMENT}"
    rf"|(?i:(?P<raw>{_RAW}){STOP}(?P<raw_attributes>{ATTRIBUTES})(?:>|\Z)"
    rf"(?P<content>(?:[^<]++|<(?!/(?P=raw){STOP}))*+)"
    rf"|(?P<name>{_TAG_NAMES}){STOP}(?P<attributes>{ATTRIBUTES})(?:>|\Z)))",
    re.ASCII,
)
_NOT_TEXT = re.compile(
    rf"<(?:{COMMENT}|(?i:({_RAW}){STOP}(?:[^<]++|<(?!/\1{STOP}))*+)|[^>]*+(?:>|\Z))", re.ASCII
)
_TAG = re.compile(r"<[^>]*+(?:>|\Z)")
_DOCTYPE = re.compile(rf"\s*+(?:<{COMMENT}\s*+)*+<!doctype\s++html", re.IGNORECASE)
_HEADING_END = {
    name: re.compile(rf"</?{name}{STOP}", re.IGNORECASE | re.ASCII) for name in HEADINGS
}
_LINE_OF_PROSE = 60  # characters; shorter lines are mostly navigation
_HIDDEN = element_pattern(_RAW)
_INSECURE_VALUE = re.compile(r"\(\s*+['\"]?+\s*+http://", re.IGNORECASE)
_INSECURE_STYLE = re.compile(r"(?:url\(|@import)\s*+['\"]?+\s*+http://", re.IGNORECASE)
_STYLE = re.compile(r"""\sstyle\s*+=\s*+(?:"[^"]*+"|'[^']*+')""", re.IGNORECASE)
_SEARCH_ENGINES = ("", "googlebot", "bingbot")
"""Robots whose directives count; "" stands for all robots."""
_META_ROBOTS = frozenset(("robots", *_SEARCH_ENGINES[1:]))
_CODINGS = ("gzip", "br", "zstd", "deflate")
_FRESH = ("cache-control", "expires", "etag", "last-modified")
HEADS = ("canonical", "next", "prev")
_NO_ZOOM = re.compile(
    r"user-scalable\s*=\s*(?:no|0)\b|maximum-scale\s*=\s*(?:0|1(?:\.0*)?(?![\d.]))", re.IGNORECASE
)
SESSION_ID = re.compile(r"[;?&](?:(?:j|php|asp)?sess(?:ion)?id\w*|sid)=", re.IGNORECASE)


class UrlReference(NamedTuple):
    """A URL that the head of a page names: canonical, alternate for a language, next or prev.

    The kind "session" is for links with a session id; `url` is without it.
    """

    kind: str
    url: str


Facts = tuple[bytes, tuple[UrlReference, ...]]
"""Numbers in the order of `LAYOUT`, and references."""


def facts_of(
    markup: str, url: str, headers: Mapping[str, str], size: int, encoding: str = UTF_8
) -> Facts:
    """Return the facts of the page at `url`; `size` is that of its body in bytes."""
    return _Page(markup[:_MOST_READ], url, encoding).facts(headers, size)


def text_hash(text: str) -> int:
    """Return a hash of a text that ignores case and spacing; 0 for no text."""
    plain = " ".join(text.lower().split())
    code = blake2b(plain.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(code, "little") if plain else 0


class _Page:
    def __init__(self, markup: str, url: str, encoding: str) -> None:
        self._markup, self._url, self._base, self._encoding = markup, url, url, encoding
        self._has_base = False
        self._is_https = url.startswith("https:")
        self._flags = {"is_https"} if self._is_https else set[str]()
        self._texts: dict[str, list[str]] = {name: [] for name in _TEXTS}
        self._counts = dict.fromkeys(_named(_Kind.FEW, _Kind.COUNT), 0)
        self._references: dict[UrlReference, None] = {}
        self._lang, self._languages = "", list[str]()
        self._charset, self._is_in_body = "", False

    def _read_headers(self, headers: Mapping[str, str]) -> None:
        robots_tag = headers.get("x-robots-tag", "")
        robots = [parse_robots_tag(robots_tag, agent) for agent in _SEARCH_ENGINES if robots_tag]
        self._note(
            noindex_header=any(rules.noindex for rules in robots),
            nofollow=any(rules.nofollow for rules in robots),
            refresh="url" in headers.get("refresh", "").lower(),
            compressed=any(coding in headers.get("content-encoding", "") for coding in _CODINGS),
            cached=any(name in headers for name in _FRESH),
            hsts="strict-transport-security" in headers,
            csp="content-security-policy" in headers,
            charset="charset=" in headers.get("content-type", "").lower(),
        )
        if target := link_canonical(headers.get("link")):
            self._refer("canonical", target)

    def _read_markup(self) -> None:
        self._note(doctype=_DOCTYPE.match(self._markup) is not None)
        for token in _TOKEN.finditer(self._markup):
            if raw := token["raw"]:
                self._read_raw(raw.lower(), token)
            elif name := token["name"]:
                self._read_tag(name.lower(), token)
        if self._is_https and _INSECURE_VALUE.search(self._markup):  # seldom
            styles = _STYLE.findall(_HIDDEN.sub("", self._markup))
            self._counts["mixed"] += sum(map(bool, map(_INSECURE_STYLE.search, styles)))

    def facts(self, headers: Mapping[str, str], size: int) -> Facts:
        self._read_headers(headers)
        self._read_markup()
        plain = unescaped(_NOT_TEXT.sub("\n", self._markup)).lower()
        counts = self._counts | {f"{name}s": len(texts) for name, texts in self._texts.items()}
        titles = [text for name in ("title", "h1") for text in self._texts[name][:1]]
        counts |= faults_of(self._markup, self._url, headers, titles, self._lang, plain)
        sent = parse_content_type(headers.get("content-type", ""))[1]
        both = {encoding_of_label(sent), encoding_of_label(self._charset)}
        counts["charset_conflict"] = bool(sent and self._charset) and len(both) > 1
        # A sorted set: pages with the same long lines in another order are duplicates as well.
        prose = sorted({line for line in plain.split("\n") if len(line) >= _LINE_OF_PROSE})
        firsts = {name: next(filter(None, texts), "") for name, texts in self._texts.items()}
        counts |= {f"{name}_chars": len(text) for name, text in firsts.items()}
        firsts["text"] = "\n".join(prose)
        counts |= {name: text_hash(text) for name, text in firsts.items()}
        codes = self._languages
        names_itself = any(
            reference.kind == "alternate" and reference.url == self._url
            for reference in self._references
        )
        self._note(
            filler=counts.pop("filler", 0) > 0,
            no_self_hreflang=bool(codes) and not names_itself,
            unknown_hreflang=not all(map(is_known_language, codes)),
            twice_hreflang=len(set(codes)) < len(codes),
            no_default_hreflang=len(set(codes)) > 1 and "x-default" not in codes,
        )
        counts |= {"size": size, "flags": sum(BIT[name] for name in self._flags)}
        numbers = np.zeros((), LAYOUT)
        for name, value in counts.items():
            numbers[name] = min(value, _MOST[name])
        to_others = [  # a page may be its own canonical
            reference
            for reference in self._references
            if reference.kind not in HEADS or reference.url != self._url
        ]
        return numbers.tobytes(), tuple(to_others[:_MOST_REFERENCES])

    def _read_raw(self, name: str, token: re.Match[str]) -> None:
        values = attributes(token["raw_attributes"])
        if name == "title":
            self._texts["title"].append(_words(token["content"]))
        elif name == "script":
            self._counts["mixed"] += self._is_insecure(values.get("src", ""))
            if "ld+json" in values.get("type", "").lower():
                self._read_data(token["content"])
        elif name == "style" and self._is_https:
            self._counts["mixed"] += len(_INSECURE_STYLE.findall(token["content"]))

    def _read_data(self, text: str) -> None:
        if len(text) > _LONGEST_JSON:  # longer than any that people write
            return
        try:
            data = json.loads(text.strip().removeprefix("<![CDATA[").removesuffix("]]>"))
        except (ValueError, RecursionError):
            self._note(bad_json=True)
        else:
            self._counts["data_gaps"] += _data_gaps(data)

    def _read_tag(self, name: str, token: re.Match[str]) -> None:
        if name in _RARE and not any(map(token["attributes"].lower().__contains__, _RARE[name])):
            return  # most tags of most pages
        self._is_in_body |= name == "body"
        if name in HEADINGS:
            self._texts[name].append(self._heading_after(name, token.end()))
        values = attributes(token["attributes"])
        if reader := getattr(self, f"read_{name}", None):
            reader(values)
        if name in _LOADS:
            loaded = [values.get(where, "") for where in _LOADED]
            loaded += values.get("srcset", "").split(",")
            self._counts["mixed"] += any(map(self._is_insecure, loaded))

    def _heading_after(self, name: str, start: int) -> str:
        last = start + _LONGEST_HEADING
        # It also ends where the next of its level starts: each character is read once.
        end = _HEADING_END[name].search(self._markup, start, last)
        inside = self._markup[start : end.start() if end else last]
        # An image counts as its text.
        return _words(_ALT.sub(lambda image: attributes(image[1]).get("alt", ""), inside))

    def read_base(self, values: dict[str, str]) -> None:
        """Resolve later references by the first base with a URL."""
        if not self._has_base and "href" in values:
            self._has_base = True
            self._base = canonical(decoded(values["href"]), self._url) or self._url

    def read_img(self, values: dict[str, str]) -> None:
        is_decoration = values.get("role") == "presentation" or values.get("aria-hidden") == "true"
        self._counts["without_alt"] += "alt" not in values and not is_decoration

    def read_link(self, values: dict[str, str]) -> None:
        relations = values.get("rel", "").lower().split()
        target = decoded(values.get("href", ""))
        self._counts["canonicals"] += "canonical" in relations
        self._counts["canonical_late"] |= self._is_in_body and "canonical" in relations
        for kind in HEADS:
            if kind in relations:
                self._refer(kind, target)
        if "alternate" in relations and "hreflang" in values:
            self._languages.append(values["hreflang"].strip().lower())
            self._refer("alternate", target)
        elif {"stylesheet", "icon", "preload"} & set(relations):
            self._counts["mixed"] += self._is_insecure(target)

    def read_meta(self, values: dict[str, str]) -> None:
        name, content = values.get("name", "").lower(), decoded(values.get("content", ""))
        if name == "description":
            self._texts["description"].append(_words(content))
        elif name in _META_ROBOTS:
            robots = parse_robots_tag(content, "")
            self._note(noindex_meta=robots.noindex, nofollow=robots.nofollow)
        elif name == "viewport":
            self._counts["zoom_off"] += _NO_ZOOM.search(content) is not None
        pragma = values.get("http-equiv", "").lower()
        self._note(
            viewport=name == "viewport",
            charset="charset" in values or pragma == "content-type",
            refresh=pragma == "refresh" and "url" in content.lower(),
            csp=pragma == "content-security-policy",
        )
        declared = parse_content_type(content)[1] if pragma == "content-type" else ""
        self._charset = self._charset or values.get("charset", "").strip() or declared or ""

    def read_a(self, values: dict[str, str]) -> None:
        """Note a link with a session id, or with nofollow to the own site, which it distrusts."""
        written = decoded(values.get("href", ""))
        if SESSION_ID.search(written):
            self._refer("session", written)
        if "nofollow" in values.get("rel", "").lower():
            target = self._resolved(written)
            self._counts["nofollow_links"] += target is not None and host(target) == host(self._url)

    def read_form(self, values: dict[str, str]) -> None:
        """Note a form, or a control that sends its form elsewhere."""
        target = values.get("action") or values.get("formaction", "")
        self._note(insecure_form=self._is_insecure(target))

    read_button = read_input = read_form

    def read_html(self, values: dict[str, str]) -> None:
        self._lang = self._lang or (values.get("lang") or values.get("xml:lang") or "").strip()
        self._note(html_lang=bool(self._lang))

    def _refer(self, kind: str, target: str) -> None:
        if (url := self._resolved(target)) is not None:
            self._references.setdefault(UrlReference(kind, url))

    def _resolved(self, written: str) -> str | None:
        return canonical(encoded_query(written, self._encoding), self._base)

    def _is_insecure(self, url: str) -> bool:
        return self._is_https and url.strip().lower().startswith("http://")

    def _note(self, **facts: bool) -> None:
        self._flags.update(name for name, is_so in facts.items() if is_so)


_RARE = {"a": ("nofollow", "sess", "sid="), "button": ("formaction",), "input": ("formaction",)}
"""Tags that matter only with one of these among their attributes."""
_LOADS = ("img", "iframe", "source", "video", "audio", "embed", "object")
_LOADED = ("src", "data", "poster")
"""Attributes of these tags whose URL browsers load; `srcset` has several."""


_ALT = re.compile(rf"<img{STOP}({ATTRIBUTES})>", re.IGNORECASE | re.ASCII)


def _words(markup: str) -> str:
    return " ".join(unescaped(_TAG.sub("", markup)).split())


_REQUIRED: dict[str, tuple[tuple[str, ...], ...]] = {
    "product": (("name",), ("offers", "review", "aggregateRating")),
    **dict.fromkeys(("article", "newsarticle", "blogposting"), (("headline", "name"),)),
    "recipe": (("name",), ("image",)),
    "event": (("name",), ("startDate",), ("location",)),
    "breadcrumblist": (("itemListElement",),),
    "faqpage": (("mainEntity",),),
    "jobposting": (("title",), ("description",), ("datePosted",), ("hiringOrganization",)),
    "localbusiness": (("name",), ("address",)),
    "videoobject": (("name",), ("thumbnailUrl",), ("uploadDate",)),
}
"""Properties that search engines require by type, each with its alternatives."""


def _data_gaps(data: Any) -> int:
    """Count items, at the top of the data and in graphs and lists there, that lack a property."""
    gaps, waiting = 0, [data]
    while waiting:
        item = waiting.pop()
        if isinstance(item, list):
            waiting += item
        elif isinstance(item, dict):
            waiting.append(item.get("@graph"))
            kind = item.get("@type")
            kinds = kind if isinstance(kind, list) else [kind]
            required = [name for kind in kinds for name in _REQUIRED.get(str(kind).lower(), ())]
            gaps += not all(any(item.get(name) for name in names) for names in required)
    return gaps
