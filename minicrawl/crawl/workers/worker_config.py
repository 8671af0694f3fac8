"""Settings for fetching and parsing, in the crawl process or in a worker."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from minicrawl.config import Access, Network, Politeness
from minicrawl.config.host_settings import is_of_proxy
from minicrawl.config.values.kinds import AUTO
from minicrawl.crawl.workers.parser import ENOUGH_S, PageParser
from minicrawl.fetch.reach import network_with_proxies
from minicrawl.fetch.resolver.resolver import HostAndPort
from minicrawl.web.html.scanner import ParseOptions
from minicrawl.web.responses.types import DocumentType, media_types, types_of

if TYPE_CHECKING:
    from minicrawl.archive.packing import AnswerPacker
    from minicrawl.config import Settings
    from minicrawl.crawl.workers.scoring import PageScorer
    from minicrawl.fetch.access.logins import AccessByOrigin

MOST_RENDERED = 1_000_000
"""Size limit in bytes of pages to render, which are held in memory until a browser is free."""


MOST_READING_S = 30.0
"""Longest time for parsing a page, after which the page fails; most take milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerConfig:
    """Settings for fetching and parsing, the same in the crawl process and in workers."""

    network: Network
    politeness: Politeness
    trusted_hosts: frozenset[HostAndPort]
    parse_options: ParseOptions
    max_reading_s: float = MOST_READING_S
    archive: Path | None = None  # the folder, if responses are kept
    only_text: bool = False
    with_bodies: bool = False  # whether the crawl gets the bodies of pages
    rendered_bytes: int = 0  # size limit of bodies that the crawl gets for a browser
    access: Access = field(default_factory=Access)
    logins: AccessByOrigin | None = None
    scorers: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        settings: Settings,
        trusted_hosts: Iterable[HostAndPort] = (),
        archive: Path | None = None,
        *,
        with_bodies: bool = False,
        logins: AccessByOrigin | None = None,
    ) -> WorkerConfig:
        """Return the worker settings of a crawl.

        Proxies that files and the environment name are looked up here.
        """
        return cls(
            network=replace(
                network_with_proxies(settings.network),
                host_settings=tuple(filter(is_of_proxy, settings.politeness.host_settings)),
            ),
            politeness=settings.politeness,
            trusted_hosts=frozenset(trusted_hosts),
            parse_options=_parse_options(settings),
            archive=archive,
            only_text=settings.storing.keep == "text",
            with_bodies=with_bodies,
            rendered_bytes=MOST_RENDERED if settings.is_rendering else 0,
            access=settings.access,
            logins=logins,
            scorers=settings.order.score,
        )

    def parser(self, enough_s: float = ENOUGH_S) -> PageParser:
        """Return a parser with these settings, which parses here what takes at most `enough_s`."""
        return PageParser(self.parse_options, self.max_reading_s, enough_s, self.politeness)

    def scorer(self) -> PageScorer | None:
        """Return the scorer of pages, if they get values."""
        if not self.scorers:
            return None
        from minicrawl.crawl.workers.scoring import PageScorer  # most crawls give no values

        return PageScorer(self.scorers)

    def packer(self) -> AnswerPacker | None:
        """Return the packer of responses for the archive, if they are kept."""
        if self.archive is None:
            return None
        from minicrawl.archive.packing import AnswerPacker  # most crawls keep no responses

        return AnswerPacker(self.archive, only_text=self.only_text)


def _parse_options(settings: Settings) -> ParseOptions:
    types = types_of(settings.scope.types)
    return ParseOptions(
        agent=settings.politeness.agent,
        with_written=settings.storing.keep == "links",
        strip_marks=settings.storing.strip_marks,
        types=media_types(types),
        with_sitemaps=bool(types & DocumentType.SITEMAP),
        with_text=settings.storing.keep == "text",
        with_scripting=AUTO in settings.render_values,
    )
