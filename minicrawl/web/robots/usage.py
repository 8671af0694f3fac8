"""Usage preferences: the uses of its pages that a site allows or denies.

Sites state them in several ways, each with words of its own. All are read as answers for four
purposes; a purpose without an answer stays open:

    Content-Signal: search=yes, ai-train=no      search allowed, ai-train denied
    Content-Usage: /art/ train-ai=n              ai-train denied below /art/
    <meta name="robots" content="noai">          ai-input and ai-train denied
    tdm-reservation: 1                           ai-train denied

    syntax            where                      source
    Content-Usage     robots.txt, HTTP header    draft-ietf-aipref-attach, draft-ietf-aipref-vocab
    Content-Signal    robots.txt, HTTP header    draft-romm-aipref-contentsignals (Cloudflare)
    tdm-reservation   HTTP header, meta          W3C TDM Reservation Protocol
    tdmrep.json       /.well-known               W3C TDM Reservation Protocol
    RSL               file named by License: in  RSL 1.0 (Really Simple Licensing)
                      robots.txt; script
    rel=license       Link header, a, link       Creative Commons licences and CC0
    noai, noarchive   X-Robots-Tag, meta robots  DeviantArt 2022; search engines since 1996
    noindex, none     X-Robots-Tag, meta robots  search engines

Laws: of two sources that disagree, the one that denies counts. Within a robots.txt or tdmrep.json
the longest path counts, as for Allow and Disallow; in RSL every prohibition that covers a page
counts. Unknown words are ignored. A use that RSL permits for money is denied. A Creative Commons
licence allows all purposes, but one with NC or ND only search and archive: whether a model is
commercial, or an adaptation, is not for a crawler to say.

purpose   search (indexes and snippets), ai-input (input of a model, as for answers), ai-train
          (training of a model), archive (copies that are shown)
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import urlsplit

from minicrawl.web.html.attributes import attributes
from minicrawl.web.responses.headers import robots_words

PURPOSES = ("search", "ai-input", "ai-train", "archive")

_LABELS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {purpose: (purpose,) for purpose in PURPOSES}
    | dict.fromkeys(("train-ai", "train-genai", "tdm"), ("ai-train",))
    | dict.fromkeys(("all", "bots"), PURPOSES)
    | {"ai-all": ("ai-input", "ai-train"), "ai-index": ("ai-input",)}
)
"""Purposes by the words of the vocabularies; drafts of aipref and RSL had several."""
_ANSWERS: Mapping[str, bool] = MappingProxyType(
    {"y": True, "yes": True, "?1": True, "n": False, "no": False, "?0": False}
)
_DENIED_BY_WORD: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "noai": ("ai-input", "ai-train"),
        "noarchive": ("archive",),
        "nocache": ("archive",),
        "noindex": ("search",),
        "none": ("search",),
    }
)
_FIELDS = ("content-usage", "content-signal")
_MOST = 50
"""Most parts of a value that are read."""
ROBOTS, TDMREP, RSL = "robots.txt", "tdmrep.json", "rsl"
TDMREP_PATH = "/.well-known/tdmrep.json"
MOST_BYTES, _MOST_RULES = 64 * 1024, 100
"""Limits of a file of preferences, and of the rules in it."""
_FROM = re.compile(rf";from=({re.escape(TDMREP)}|{RSL})\Z")
_NOT_IN_PATHS = frozenset(" \t\r\n#")
_FREE = frozenset(("", "free", "attribution"))
"""Payments of RSL that cost no money."""
_SCRIPT = re.compile(
    r"<script\s(?:(?!application/rsl\+xml)[^<>])*+application/rsl\+xml[^<>]*+>", re.IGNORECASE
)
_CC_URL = r"(?:(?!creativecommons\.org)[^<>])*+creativecommons\.org[^<>]*+"
"""Rest of a tag that names the site. Only the first name is tried, for linear time."""
_CC_TAG = re.compile(rf"<(?:a|area|link)(\s{_CC_URL})>", re.IGNORECASE)
_CC_LINK = re.compile(rf"<({_CC_URL})>([^<,]*)", re.IGNORECASE)
_CC = re.compile(r"/(?:licenses/(by(?:-nc)?(?:-nd|-sa)?)|publicdomain/(?:zero|mark))(?:/|\Z)")


class Preference(NamedTuple):
    """Answer for one purpose, and where it was said."""

    purpose: str
    allowed: bool
    where: str


class UsageRule(NamedTuple):
    """Preferences for paths that match a pattern, from a line of robots.txt or another file."""

    pattern: str
    """Pattern of paths, as in Allow; "" for all paths."""
    value: str
    where: str = ROBOTS

    def line(self) -> str:
        """Return a line of robots.txt that `rule_of` reads as this rule."""
        origin = "" if self.where == ROBOTS else f";from={self.where}"
        return f"Content-Usage: {self.pattern} {self.value}{origin}"


def rule_of(value: str) -> UsageRule:
    """Return the rule in the value of a line, which may begin with a path."""
    pattern, where = "", ROBOTS
    if value.startswith(("/", "*")):
        pattern, _, value = value.partition(" ")
    if source := _FROM.search(value):
        where, value = source[1], value[: source.start()]
    return UsageRule(pattern, value.strip(), where)


def answers(value: str) -> dict[str, bool]:
    """Return the answers in a value such as `search=yes, ai-train=no`."""
    by_purpose: dict[str, bool] = {}
    for part in value.lower().split(",")[:_MOST]:
        label, _, answer = part.partition("=")
        allowed = _ANSWERS.get(answer.partition(";")[0].strip())
        if allowed is not None:
            for purpose in _LABELS.get(label.strip(), ()):
                by_purpose[purpose] = by_purpose.get(purpose, True) and allowed
    return by_purpose


def of_rules(rules: Iterable[UsageRule], matches: Callable[[str], bool]) -> Iterator[Preference]:
    """Yield the preferences for a path; `matches` tells whether a pattern matches the path."""
    longest: dict[tuple[str, str], tuple[int, bool]] = {}
    for rule in rules:
        if rule.pattern and not matches(rule.pattern):
            continue
        rank = 0 if rule.where == RSL else len(rule.pattern)
        for purpose, allowed in answers(rule.value).items():
            length, before = longest.get((rule.where, purpose), (-1, True))
            if rank > length:
                longest[rule.where, purpose] = rank, allowed
            elif rank == length:
                longest[rule.where, purpose] = rank, before and allowed
    for (where, purpose), (_, allowed) in longest.items():
        yield Preference(purpose, allowed, where)


def of_headers(headers: Mapping[str, str]) -> Iterator[Preference]:
    """Yield the preferences in response headers, whose names are in lower case."""
    for name in _FIELDS:
        for purpose, allowed in answers(headers.get(name, "")).items():
            yield Preference(purpose, allowed, name)
    yield from _of_words("x-robots-tag", headers.get("x-robots-tag", ""))
    yield from _of_reservation("tdm-reservation", headers.get("tdm-reservation", ""))
    for link in _CC_LINK.finditer(headers.get("link", "")):
        if "license" in link[2].lower():
            yield from _of_licence("link", link[1])


def of_meta(metas: Iterable[tuple[str, str]]) -> Iterator[Preference]:
    """Yield the preferences in the `meta` elements of a page, given as names and contents."""
    for name, content in metas:
        if name == "robots":
            yield from _of_words("meta robots", content)
        elif name == "tdm-reservation":
            yield from _of_reservation("meta tdm-reservation", content)
        elif name in _FIELDS:
            for purpose, allowed in answers(content).items():
                yield Preference(purpose, allowed, f"meta {name}")


def of_markup(markup: str, url: str) -> Iterator[Preference]:
    """Yield the preferences in licences of a page: in its links to them, and in RSL."""
    for tag in _CC_TAG.finditer(markup):
        values = attributes(tag[1])
        if "license" in values.get("rel", "").lower().split():
            yield from _of_licence("rel=license", values.get("href", ""))
    path = urlsplit(url).path or "/"
    for tag in islice(_SCRIPT.finditer(markup), _MOST):
        limit = tag.end() + MOST_BYTES
        end = markup.find("</script", tag.end(), limit)
        text = markup[tag.end() : limit if end < 0 else end]
        # A pattern is cut at its first `*`: it may then cover more paths, never fewer.
        yield from of_rules(
            rsl_rules(text, url),
            lambda pattern: path.startswith(pattern.rstrip("$").partition("*")[0]),
        )


def tdmrep_rules(text: str) -> list[UsageRule]:
    """Return the rules in a tdmrep.json; none if the text is invalid."""
    try:
        listed = json.loads(text)
    except (ValueError, RecursionError):
        return []
    rules: list[UsageRule] = []
    for entry in listed[:_MOST_RULES] if isinstance(listed, list) else []:
        pattern = entry.get("location") if isinstance(entry, dict) else None
        if isinstance(pattern, str) and pattern.startswith(("/", "*")):
            answer = {"0": "y", "1": "n"}.get(str(entry.get("tdm-reservation")))
            if answer and not set(pattern) & _NOT_IN_PATHS:
                rules.append(UsageRule(pattern, f"ai-train={answer}", TDMREP))
    return rules


def rsl_rules(text: str, url: str) -> list[UsageRule]:
    """Return the rules of an RSL file for the host of a URL; none if the text is invalid."""
    from lxml import etree  # few crawls and reports meet RSL

    parser = etree.XMLParser(recover=True, resolve_entities=False, no_network=True)
    try:
        root = etree.fromstring(text[:MOST_BYTES].encode("utf-8", "replace"), parser)
    except etree.XMLSyntaxError:
        return []
    if root is None:
        return []
    rules: dict[UsageRule, None] = {}
    for content in root.iter("{*}content"):
        pattern = _pattern(content.get("url") or "", url)
        for licence in content.iterchildren("{*}license") if pattern is not None else ():
            elements = [
                (_local(element), element.get("type") or "", element.text or "")
                for element in licence
            ]
            for value in _values_of_rsl(elements):
                rules[UsageRule(pattern or "", value, RSL)] = None
    return list(rules)[:_MOST_RULES]


def _local(element: object) -> str:
    return str(getattr(element, "tag", "")).rpartition("}")[2]


def _pattern(written: str, url: str) -> str | None:
    """Return the pattern of paths of this host, or None if another host is meant."""
    if "://" in written:
        scheme, _, place = written.partition("://")
        host, slash, path = place.partition("/")
        if (scheme.lower(), host.lower()) != (urlsplit(url).scheme, urlsplit(url).netloc):
            return None
        written = slash + path
    is_path = not written or written.startswith(("/", "*"))
    return written if is_path and not set(written) & _NOT_IN_PATHS else None


def _values_of_rsl(elements: Sequence[tuple[str, str, str]]) -> Iterator[str]:
    """Yield the answers of a licence, given its elements as names, types and texts."""
    is_paid = any(name == "payment" and kind not in _FREE for name, kind, _ in elements)
    # A permission for some users, or for some countries, is no answer for everybody.
    is_limited = any(
        name in {"permits", "prohibits"} and kind != "usage" for name, kind, _ in elements
    )
    for name, kind, text in elements:
        words = text.lower().replace(",", " ").split()[:_MOST] if kind == "usage" else []
        if name == "prohibits" or (name == "permits" and is_paid):
            yield from (f"{word}=n" for word in words if word in _LABELS)
        elif name == "permits" and not is_limited:
            # `ai-index` is a part of ai-input: a permission for it does not cover all of that.
            yield from (f"{word}=y" for word in words if word in _LABELS and word != "ai-index")


def joined(preferences: Iterable[Preference]) -> dict[str, Preference]:
    """Return one answer for each purpose that has any. A denial overrides a permission."""
    chosen: dict[str, Preference] = {}
    for preference in preferences:
        before = chosen.get(preference.purpose)
        if before is None or (before.allowed and not preference.allowed):
            chosen[preference.purpose] = preference
    return {purpose: chosen[purpose] for purpose in PURPOSES if purpose in chosen}


def _of_words(where: str, value: str) -> Iterator[Preference]:
    for word in sorted(robots_words(value) & _DENIED_BY_WORD.keys()):
        for purpose in _DENIED_BY_WORD[word]:
            yield Preference(purpose, allowed=False, where=where)


def _of_reservation(where: str, value: str) -> Iterator[Preference]:
    if value.strip() in {"0", "1"}:
        yield Preference("ai-train", value.strip() == "0", where)


def _of_licence(where: str, licence: str) -> Iterator[Preference]:
    if terms := _CC.search(licence.lower()):
        is_open = not {"nc", "nd"} & set((terms[1] or "").split("-"))
        for purpose in PURPOSES if is_open else ("search", "archive"):
            yield Preference(purpose, allowed=True, where=where)
