"""Permitted uses of archived pages, as their sites state them."""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from minicrawl.report.archived.page_versions import PageVersion, kept_pages, readable_version
from minicrawl.report.selected_pages import Block
from minicrawl.report.snapshot import Snapshot, page_of
from minicrawl.store import tables
from minicrawl.web.html.page_text import metas
from minicrawl.web.responses.types import DocumentType
from minicrawl.web.robots.rules import Rules
from minicrawl.web.robots.usage import PURPOSES, Preference, joined, of_headers, of_markup, of_meta
from minicrawl.web.urls import canonical, origin

ALLOW, DENY, UNSET = "allow", "deny", "unset"
_RULES_REMEMBERED = 1000


class PermittedPages:
    """Filter that drops and counts the pages whose sites deny a purpose, if one is given.

    The last version of a page decides. Earlier versions that deny the purpose are dropped as well.
    `counts` has the numbers of remaining pages by purpose and permission.
    """

    def __init__(self, snapshot: Snapshot, purpose: str | None) -> None:
        self._snapshot, self.purpose = snapshot, purpose
        self._usage = UsageOfPages(snapshot)
        self.denied = self.denied_versions = 0
        self.counts = {purpose: dict.fromkeys((ALLOW, DENY, UNSET), 0) for purpose in PURPOSES}

    def of(self, blocks: Iterable[Block]) -> Iterator[Block]:
        """Yield the blocks without the rows of denied pages."""
        with kept_pages(self._snapshot) as archive:
            for block in blocks:
                places = []
                for place, url in enumerate(block["url"]):
                    preferences = self._usage.of(url, readable_version(archive, url))
                    if not self._is_denied(preferences):
                        places.append(place)
                        for purpose, counts in self.counts.items():
                            counts[stated(preferences.get(purpose))["answer"]] += 1
                self.denied += len(block["url"]) - len(places)
                if places:
                    yield {name: [values[at] for at in places] for name, values in block.items()}

    def drops(self, url: str, page: PageVersion) -> bool:
        """Return True for a version of a permitted page that denies the purpose, and count it."""
        if self.purpose is None or page.of_all == 1:
            return False
        is_denied = self._is_denied(self._usage.of(url, page))
        self.denied_versions += is_denied
        return is_denied

    def _is_denied(self, preferences: Mapping[str, Preference]) -> bool:
        # A site that says nothing forbids nothing: only a stated refusal leaves a page out.
        preference = None if self.purpose is None else preferences.get(self.purpose)
        return preference is not None and not preference.allowed


class UsageOfPages:
    """Permitted uses of pages, as their sites state them in robots.txt, headers and markup."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._rules = lru_cache(_RULES_REMEMBERED)(self._read_rules)

    def of(self, url: str, page: PageVersion | None) -> dict[str, Preference]:
        """Return the stated preferences by purpose; a purpose without a statement is missing."""
        number = page_of(self._snapshot, url)
        preferences = list(self._rules(int(self._snapshot.host_of[number])).preferences(url))
        if page is not None:
            preferences += of_headers(page.answer.headers)
            if page.document is DocumentType.HTML:
                markup = page.markup
                preferences += (*of_meta(metas(markup)), *of_markup(markup, page.answer.url))
        return joined(preferences)

    def files_for_crawlers(self, url: str) -> Iterator[str]:
        """Yield the robots.txt of the page's host, and the sitemaps that it names."""
        base = f"{origin(url)}/"
        yield f"{base}robots.txt"
        rules = self._rules(int(self._snapshot.host_of[page_of(self._snapshot, url)]))
        yield from filter(None, (canonical(sitemap, base) for sitemap in rules.sitemaps))

    def _read_rules(self, host: int) -> Rules:
        row = tables.host(self._snapshot.connection, host)
        return Rules.from_text((row and row.robots) or "")


def stated(preference: Preference | None) -> dict[str, str]:
    if preference is None:
        return {"answer": UNSET, "where": ""}
    return {"answer": ALLOW if preference.allowed else DENY, "where": preference.where}
