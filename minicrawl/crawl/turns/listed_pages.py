"""Sitemaps that are pages: seeds, or linked from pages. What they list are their links.

Laws: a sitemap lists pages and sitemaps of its own host, and of hosts whose robots.txt names it
(sitemaps.org, cross submission), as in `hosts.sitemap_queue`; the rest is no link. A sitemap in an
index is as far from the seeds as the index, so what a seed lists is read as its own links are. No
more than `--max-sitemaps` of a host count as listed by an index, so a chain of indexes ends.
"""

from __future__ import annotations

from collections import Counter

from minicrawl.crawl.hosts.onboarding import HostOnboarding
from minicrawl.model import ParsedPage
from minicrawl.web.urls import host, origin
from minicrawl.wording import counted


class ListedPages:
    """What sitemaps may list."""

    def __init__(self, onboarding: HostOnboarding, max_sitemaps: int) -> None:
        self._onboarding, self._max_sitemaps = onboarding, max_sitemaps
        self._listed = Counter[str]()

    def admit(self, url: str, parsed: ParsedPage) -> ParsedPage:
        """The sitemap at this URL with the links that it may list."""
        known: dict[str, bool] = {}
        own = host(url)
        for link in parsed.links:
            of_origin = origin(link)
            if of_origin not in known:
                is_own = host(link) == own
                known[of_origin] = is_own or self._onboarding.names_sitemap(of_origin, url)
        sitemaps = [one for one in parsed.sitemaps if known[origin(one)]]
        left = max(self._max_sitemaps - self._listed[own], 0)
        self._listed[own] += min(len(sitemaps), left)
        dropped = {*parsed.sitemaps} - {*sitemaps[:left]}
        links = [one for one in parsed.links if known[origin(one)] and one not in dropped]
        return parsed._replace(
            links=tuple(links),
            words=parsed.words[: len(links)],  # a sitemap has no words
            sitemaps=tuple(sitemaps[:left]),
            cut=_why_cut(parsed, len(links), self._max_sitemaps if sitemaps[left:] else None),
        )


def _why_cut(parsed: ParsedPage, links: int, most: int | None) -> str:
    reasons = [parsed.cut]
    if most is not None:
        reasons.append(f"cut at {counted(most, 'sitemap')} (--max-sitemaps)")
    elif links < len(parsed.links):
        others = counted(len(parsed.links) - links, "URL")
        reasons.append(f"{others} of hosts whose robots.txt does not name this sitemap")
    return "; ".join(filter(None, reasons))
