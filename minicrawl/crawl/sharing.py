"""How a page's cash is shared among its links: alike, unless the user gave weights or a focus.

Pure: settings, the page and its links in, a `Spending` out. Links come out in ascending order.

internal   a link inside its site: it weighs less, so that a site cannot lift itself
dynamic    a page whose URL has a query: its links weigh less, and the rest stays with the virtual
           page
focus      a link that the user is after gets its part once more, `strength` times
"""

import re
from collections.abc import Callable, Sequence
from mimetypes import MimeTypes

from minicrawl.config import Focus, Order
from minicrawl.model import Link
from minicrawl.opic.journal import Spending
from minicrawl.opic.money import PARTS
from minicrawl.web.sites import site
from minicrawl.web.urls import host

Judge = Callable[[Link], bool]

_TYPES = MimeTypes()
"""The tables of the language: those of the machine differ from one to the next."""


class Sharing:
    """The user's weights and focus, ready for use."""

    def __init__(self, order: Order) -> None:
        self._internal = round(order.weight_internal * PARTS)
        self._dynamic = order.weight_dynamic
        self._judges = _judges(order)
        self.wants_words = bool(order.focus_words)

    def spending(self, url: str, pages: Sequence[int], links: Sequence[Link]) -> Spending:
        """Where the cash of the page at `url` goes; `pages` are those of its links."""
        targets = dict(zip(pages, links, strict=True))
        ordered = sorted(targets)
        if not ordered:
            return Spending(())
        weights = self._weights(url, [targets[page].url for page in ordered])
        focus = self._focus([targets[page] for page in ordered])
        return Spending(ordered, weights, focus, self._idle(url, weights))

    def _weights(self, url: str, targets: Sequence[str]) -> Sequence[int]:
        if self._internal != PARTS:
            own = site(host(url))
            weights = [self._internal if site(host(to)) == own else PARTS for to in targets]
            return weights if any(weights) else [PARTS] * len(weights)
        return [PARTS] * len(targets) if self._is_dynamic(url) else ()

    def _is_dynamic(self, url: str) -> bool:
        return self._dynamic < 1 and "?" in url

    def _idle(self, url: str, weights: Sequence[int]) -> int:
        """What no link weighs, so that the links together get the dynamic part of the cash."""
        if not self._is_dynamic(url):
            return 0
        if not self._dynamic:
            return sum(weights) * PARTS
        return round(sum(weights) * (1 - self._dynamic) / self._dynamic)

    def _focus(self, links: Sequence[Link]) -> Sequence[int]:
        if not self._judges:
            return ()
        strengths = [
            round(PARTS * sum(strength for judge, strength in self._judges if judge(link)))
            for link in links
        ]
        return strengths if any(strengths) else ()


def _judges(order: Order) -> list[tuple[Judge, float]]:
    kinds = ((order.focus, _by_url), (order.focus_type, _by_type), (order.focus_words, _by_words))
    return [(make(rule), rule.strength) for rules, make in kinds for rule in rules]


def _by_url(rule: Focus) -> Judge:
    search = re.compile(rule.pattern).search
    return lambda link: search(link.url) is not None


def _by_type(rule: Focus) -> Judge:
    """The type that a URL's ending promises; the true one is known only once it was asked for."""
    wanted = rule.pattern.lower()
    return lambda link: _TYPES.guess_type(link.url.partition("?")[0])[0] == wanted


def _by_words(rule: Focus) -> Judge:
    wanted = rule.pattern.lower().split()
    return lambda link: all(word in link.words.lower() for word in wanted)
