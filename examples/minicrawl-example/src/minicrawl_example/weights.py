"""A weigher: a function of a page and its links that says how much of the cash each link gets."""

from collections.abc import Sequence


def first_links(_url: str, links: Sequence[str]) -> list[float]:
    """Weigh the first link 1, the second 1/2, the third 1/3 and so on."""
    return [1 / place for place in range(1, len(links) + 1)]
