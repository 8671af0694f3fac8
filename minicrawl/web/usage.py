"""Usage preferences: what a site allows its pages to be used for.

Sites say so in several ways, and each has words of its own. All are read as answers for four
purposes; what is not said stays open:

    Content-Signal: search=yes, ai-train=no      search allowed, ai-train denied
    Content-Usage: /art/ train-ai=n              ai-train denied below /art/
    <meta name="robots" content="noai">          ai-input and ai-train denied
    tdm-reservation: 1                           ai-train denied

    syntax            where                      source
    Content-Usage     robots.txt, HTTP header    draft-ietf-aipref-attach, draft-ietf-aipref-vocab
    Content-Signal    robots.txt, HTTP header    draft-romm-aipref-contentsignals (Cloudflare)
    tdm-reservation   HTTP header, meta          W3C TDM Reservation Protocol
    noai, noarchive   X-Robots-Tag, meta robots  DeviantArt 2022; search engines since 1996
    noindex, none     X-Robots-Tag, meta robots  search engines

Laws: of two sources that disagree, the one that denies counts. Within a robots.txt the longest path
counts, as for Allow and Disallow. A word that nobody defined says nothing.

purpose   search (indexes and snippets), ai-input (input of a model, as for answers), ai-train
          (training of a model), archive (copies that are shown)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from minicrawl.web.responses import robots_words

PURPOSES = ("search", "ai-input", "ai-train", "archive")

_LABELS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {purpose: (purpose,) for purpose in PURPOSES}
    | dict.fromkeys(("train-ai", "train-genai", "tdm"), ("ai-train",))
    | dict.fromkeys(("all", "bots"), PURPOSES)
)
"""Purposes by the words of the two vocabularies; drafts of the first had several."""
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
"""Parts of a value that are read."""


class Preference(NamedTuple):
    """Answer for one purpose, and where it was said."""

    purpose: str
    allowed: bool
    where: str


class UsageRule(NamedTuple):
    """Line of a robots.txt: what holds for paths that match a pattern."""

    pattern: str
    """As in Allow; "" for all paths."""
    value: str


def rule_of(value: str) -> UsageRule:
    """Return the rule in the value of a line, which may begin with a path."""
    if not value.startswith(("/", "*")):
        return UsageRule("", value)
    pattern, _, rest = value.partition(" ")
    return UsageRule(pattern, rest.strip())


def answers(value: str) -> dict[str, bool]:
    """Return the answers in a value such as `search=yes, ai-train=no`."""
    found: dict[str, bool] = {}
    for part in value.lower().split(",")[:_MOST]:
        label, _, answer = part.partition("=")
        allowed = _ANSWERS.get(answer.partition(";")[0].strip())
        if allowed is not None:
            for purpose in _LABELS.get(label.strip(), ()):
                found[purpose] = found.get(purpose, True) and allowed
    return found


def of_robots(
    rules: Iterable[UsageRule], matches: Callable[[str], bool], where: str
) -> Iterator[Preference]:
    """Yield what the rules of a robots.txt say of a path that these patterns match."""
    longest: dict[str, tuple[int, bool]] = {}
    for rule in rules:
        if rule.pattern and not matches(rule.pattern):
            continue
        for purpose, allowed in answers(rule.value).items():
            length, before = longest.get(purpose, (-1, True))
            if len(rule.pattern) > length:
                longest[purpose] = len(rule.pattern), allowed
            elif len(rule.pattern) == length:
                longest[purpose] = length, before and allowed
    for purpose, (_, allowed) in longest.items():
        yield Preference(purpose, allowed, where)


def of_headers(headers: Mapping[str, str]) -> Iterator[Preference]:
    """Yield what the headers of a response say; their names are in lower case."""
    for name in _FIELDS:
        for purpose, allowed in answers(headers.get(name, "")).items():
            yield Preference(purpose, allowed, name)
    yield from _of_words("x-robots-tag", headers.get("x-robots-tag", ""))
    yield from _of_reservation("tdm-reservation", headers.get("tdm-reservation", ""))


def of_meta(metas: Iterable[tuple[str, str]]) -> Iterator[Preference]:
    """Yield what the `meta` elements of a page say, given their names and contents."""
    for name, content in metas:
        if name == "robots":
            yield from _of_words("meta robots", content)
        elif name == "tdm-reservation":
            yield from _of_reservation("meta tdm-reservation", content)
        elif name in _FIELDS:
            for purpose, allowed in answers(content).items():
                yield Preference(purpose, allowed, f"meta {name}")


def joined(found: Iterable[Preference]) -> dict[str, Preference]:
    """Return one answer for each purpose of which something was said."""
    chosen: dict[str, Preference] = {}
    for one in found:
        before = chosen.get(one.purpose)
        if before is None or (before.allowed and not one.allowed):
            chosen[one.purpose] = one
    return {purpose: chosen[purpose] for purpose in PURPOSES if purpose in chosen}


def _of_words(where: str, value: str) -> Iterator[Preference]:
    for word in sorted(robots_words(value) & _DENIED_BY_WORD.keys()):
        for purpose in _DENIED_BY_WORD[word]:
            yield Preference(purpose, allowed=False, where=where)


def _of_reservation(where: str, value: str) -> Iterator[Preference]:
    if value.strip() in {"0", "1"}:
        yield Preference("ai-train", value.strip() == "0", where)
