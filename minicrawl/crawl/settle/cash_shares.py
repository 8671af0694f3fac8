"""Shares of a page's cash for its links: equal, or by the weights of a weigher.

A weigher is a function of the URL of a page and of the URLs of its links. It returns a weight of at
least 0 for each link: a row of a link matrix. `--weight-internal WEIGHT` is the built-in weigher;
packages add others by entry points in `minicrawl.weights`, and users name one in place of WEIGHT.

Example: a page of a.example links to itself, to blog.a.example and to b.example. With
--weight-internal 0.5, the links to the two pages of its site weigh .5 and that to b.example 1, so
they get a fourth, a fourth and a half of what the small edge leaves.

Laws: shares depend on the proportions of the weights alone, and are exact to the atom. If all
weights are 0, the links share alike. A weigher that raises ends the crawl: to guess would move cash
as nobody asked, and the steps of a store stay for ever.
"""

from collections.abc import Callable, Sequence
from typing import cast

from minicrawl import ext
from minicrawl.config import Order
from minicrawl.errors import MinicrawlError
from minicrawl.model import ParsedPage
from minicrawl.opic.ledger.books import Spending
from minicrawl.opic.ledger.money import PARTS
from minicrawl.web.sites import site
from minicrawl.web.urls import host

Weigher = Callable[[str, Sequence[str]], Sequence[float]]
MOST_WEIGHT = 1e6
"""Largest weight of a package: money counts weights in 65,536ths."""


class CashShares:
    """Splits cash among links. Links come out in ascending order."""

    def __init__(self, order: Order) -> None:
        weight = order.weight_internal
        self._weights: Weigher | None = None  # if all links weigh the same
        if isinstance(weight, str):
            self._weights = _of_package(weight)
        elif round(weight * PARTS) != PARTS:
            self._weights = within_site(weight)

    def spending(self, url: str, pages: Sequence[int], parsed: ParsedPage) -> Spending:
        """Return the spending of the page at `url`, whose links lead to `pages`, in this order."""
        ordered = sorted(set(pages))
        if self._weights is None or not ordered:
            return Spending(ordered, self_link=parsed.self_link)
        row = self._weights(url, parsed.links)
        # Two links may lead to one page, which counts once, as without weights.
        weight_of = dict(zip(pages, row, strict=True))
        weights = [round(weight_of[page] * PARTS) for page in ordered]
        weights = weights if any(weights) else [PARTS] * len(weights)
        return Spending(ordered, weights, self_link=parsed.self_link)


def within_site(weight: float) -> Weigher:
    def weights(url: str, links: Sequence[str]) -> list[float]:
        own = site(host(url))
        return [weight if site(host(link)) == own else 1.0 for link in links]

    return weights


def _of_package(name: str) -> Weigher:
    weigh = cast(Weigher, ext.required(ext.WEIGHTS, name, "weigher"))

    def weights(url: str, links: Sequence[str]) -> list[float]:
        try:
            row = [float(weight) for weight in weigh(url, links)]
        except Exception as error:
            raised = f"{type(error).__name__}: {error}"
            raise MinicrawlError(f"the weigher {name!r} raised {raised} for {url}") from error
        if len(row) != len(links):
            raise MinicrawlError(
                f"the weigher {name!r} returned {len(row)} weights for {len(links)} links of {url}"
            )
        for weight in row:
            if not 0 <= weight <= MOST_WEIGHT:
                raise MinicrawlError(
                    f"the weigher {name!r} returned the weight {weight} for {url}: "
                    f"it must be from 0 to {MOST_WEIGHT:,.0f}"
                )
        return row

    return weights
