"""URLs that may be listed by sitemaps that are pages: seeds, or linked from pages.

Laws: a sitemap lists pages and sitemaps of its own host, and of hosts whose robots.txt names it
(sitemaps.org, cross submission), as in `hosts.sitemap_queue`; other URLs are not links. A sitemap
in an index is as far from the seeds as the index, so the pages of a seed's sitemap are as far as
links of a seed. At most `max_sitemaps` sitemaps of a host count as listed by an index, so a chain
of indexes ends.
"""

from collections import defaultdict

from minicrawl.crawl.hosts.sitemap_queue import SitemapQueue
from minicrawl.model import ParsedPage
from minicrawl.web.urls import host, origin
from minicrawl.wording import counted


class ListedPages:
    """Remembers the sitemaps that indexes of each host have listed."""

    def __init__(self, sitemaps: SitemapQueue, max_sitemaps: int) -> None:
        self._sitemaps, self._max_sitemaps = sitemaps, max_sitemaps
        self._listed = defaultdict[str, set[str]](set)  # sitemaps by the host of their index

    def admit(self, url: str, parsed: ParsedPage) -> ParsedPage:
        """Return the sitemap at this URL without the links that it may not list."""
        may_list: dict[str, bool] = {}  # by origin
        own = host(url)
        for link in parsed.links:
            of_origin = origin(link)
            if of_origin not in may_list:
                is_own = host(link) == own
                may_list[of_origin] = is_own or self._sitemaps.names(of_origin, url)
        sitemaps = [link for link in parsed.sitemaps if may_list[origin(link)]]
        known = self._listed[own] if sitemaps else set[str]()  # an index may be read again
        new = [link for link in sitemaps if link not in known]
        known.update(new[: max(self._max_sitemaps - len(known), 0)])
        dropped = {*parsed.sitemaps} - known
        links = [link for link in parsed.links if may_list[origin(link)] and link not in dropped]
        why = [parsed.cut] if parsed.cut else []
        if {*new} - known:
            why.append(f"cut at {counted(self._max_sitemaps, 'sitemap')}")
        elif len(links) < len(parsed.links):
            left_out = counted(len(parsed.links) - len(links), "URL")
            why.append(f"{left_out} of hosts whose robots.txt does not name this sitemap")
        return parsed._replace(
            links=tuple(links),
            words=parsed.words[: len(links)],  # a sitemap has no words
            sitemaps=tuple([link for link in sitemaps if link in known]),
            cut="; ".join(why),
        )
