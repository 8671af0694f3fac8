"""How a page's cash is shared among its links: equally, or by the user's weights and focus.

Pure: settings, the page and its links in, a `Spending` out. Links come out in ascending order.

internal   a link inside its site: it weighs less, so that a site cannot promote itself
emphasis   a link in bold or in a heading: its page says that it matters, so it may weigh more
dynamic    a page whose URL has a query: its links weigh less, and the rest stays with the virtual
           page
focus      a link that the user looks for gets its part once more, `strength` times; by words, so
           often for each word in it or around it that is looked for, or times the similarity of
           these words to those: the cosine of the angle between the two counts of words
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from math import sqrt

from minicrawl.config import Focus, Order
from minicrawl.model import ParsedPage
from minicrawl.opic.journal import Spending, focus_granted
from minicrawl.opic.ledger import Ledger, Plan
from minicrawl.opic.money import PARTS
from minicrawl.web.sites import site
from minicrawl.web.urls import host

Judge = Callable[[str, str], float]
"""How often the user looks for a link, by its URL and its words."""

_WORD = re.compile(r"\w+")
_MOST_OF_IT = 0.9


class CashShares:
    """Shares cash by the user's weights and focus."""

    def __init__(self, order: Order) -> None:
        self._internal = round(order.weight_internal * PARTS)
        self._dynamic = order.weight_dynamic
        self._emphasis = order.weight_emphasis
        self._judges = _judges(order)
        are_all_1 = order.weight_internal == self._dynamic == self._emphasis == 1
        self._are_equal = are_all_1 and not self._judges

    def spending(self, url: str, pages: Sequence[int], parsed: ParsedPage) -> Spending:
        """Where the cash of the page at `url` goes; `pages` are those of its links."""
        ordered = sorted(set(pages))
        if self._are_equal or not ordered:
            return Spending(ordered, self_link=parsed.self_link)
        links, words = parsed.links, parsed.words or [""] * len(parsed.links)
        link_of = dict(zip(pages, zip(links, words, strict=True), strict=True))
        targets = [link_of[page] for page in ordered]
        weights = self._weights(url, [link for link, _ in targets], {*parsed.emphasised})
        idle = self._idle(url, weights)
        return Spending(ordered, weights, self._focus(targets), idle, parsed.self_link)

    def _weights(
        self, url: str, targets: Sequence[str], emphasised: Collection[str]
    ) -> Sequence[int]:
        if self._internal == PARTS and (self._emphasis == 1 or not emphasised):
            return [PARTS] * len(targets) if self._is_dynamic(url) else ()
        weights = self._by_site(url, targets)
        if emphasised:
            weights = [
                round(weight * self._emphasis) if to in emphasised else weight
                for to, weight in zip(targets, weights, strict=True)
            ]
        return weights if any(weights) else [PARTS] * len(weights)

    def _by_site(self, url: str, targets: Sequence[str]) -> list[int]:
        if self._internal == PARTS:
            return [PARTS] * len(targets)
        own = site(host(url))
        return [self._internal if site(host(to)) == own else PARTS for to in targets]

    def _is_dynamic(self, url: str) -> bool:
        return self._dynamic < 1 and "?" in url

    def _idle(self, url: str, weights: Sequence[int]) -> int:
        """The weight that no link has, so that the links together get the dynamic part only."""
        if not self._is_dynamic(url):
            return 0
        if not self._dynamic:
            return sum(weights) * PARTS
        return round(sum(weights) * (1 - self._dynamic) / self._dynamic)

    def _focus(self, targets: Sequence[tuple[str, str]]) -> Sequence[int]:
        if not self._judges:
            return ()
        strengths = [
            round(PARTS * sum(strength * judge(*target) for judge, strength in self._judges))
            for target in targets
        ]
        return strengths if any(strengths) else ()


class FocusTally:
    """How much of what the strengths of a focus ask for the virtual page could pay."""

    def __init__(self) -> None:
        self._wanted = self._granted = 0

    def add(self, ledger: Ledger, plans: Iterable[Plan], spending: Spending) -> None:
        """A page with focused links handed on its cash."""
        for plan in plans:
            wanted, granted = focus_granted(ledger, plan, spending)
            self._wanted += wanted
            self._granted += granted

    def shortfall(self) -> str:
        """A line for the user, if strengths had much less effect than they say; else nothing."""
        if self._granted >= _MOST_OF_IT * self._wanted:
            return ""
        return (
            f"--focus: strengths were capped, as the virtual page could pay only "
            f"{self._granted / self._wanted:.0%} of what they ask for: larger ones change the "
            "order among focused links, and little else"
        )


def is_in_focus(order: Order) -> Callable[[str], bool]:
    """Whether a page is looked for by its URL alone."""
    judges = _judges(Order(focus=order.focus, focus_type=order.focus_type))
    return lambda url: any(judge(url, "") for judge, _ in judges)


def _judges(order: Order) -> list[tuple[Judge, float]]:
    kinds = (
        (order.focus, _by_url),
        (order.focus_type, _by_type),
        (order.focus_words, _by_words),
        (order.focus_similar, _by_similarity),
    )
    return [(make(rule), rule.strength) for rules, make in kinds for rule in rules]


def _by_url(rule: Focus) -> Judge:
    search = re.compile(rule.pattern).search
    return lambda url, _: search(url) is not None


def _by_type(rule: Focus) -> Judge:
    """The type that a URL's suffix suggests; the true one is known only after a request."""
    from mimetypes import MimeTypes

    types = MimeTypes()  # Python's own table, because those of machines differ
    wanted = rule.pattern.lower()
    return lambda url, _: types.guess_type(url.partition("?")[0])[0] == wanted


def _by_words(rule: Focus) -> Judge:
    """The words in and around the link that are, or have in them, a word of the rule."""
    wanted = rule.pattern.lower().split()
    return lambda _, words: sum(
        any(word in said for word in wanted) for said in words.lower().split()
    )


def _by_similarity(rule: Focus) -> Judge:
    wanted = _counted(rule.pattern)
    return lambda _, words: _cosine(wanted, _counted(words))


def _counted(text: str) -> Counter[str]:
    return Counter(_WORD.findall(text.lower()))


def _cosine(one: Counter[str], other: Counter[str]) -> float:
    common = sum(count * other[word] for word, count in one.items())
    return common / (_length(one) * _length(other)) if common else 0.0


def _length(counts: Counter[str]) -> float:
    return sqrt(sum(count * count for count in counts.values()))
