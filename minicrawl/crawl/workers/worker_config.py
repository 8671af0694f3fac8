"""The settings of whoever fetches and parses, in the crawl's own process or in a worker."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from minicrawl.config import Access, Network, Politeness
from minicrawl.config.parts import AUTO
from minicrawl.crawl.workers.page_parser import PageParser
from minicrawl.fetch.reaching import known
from minicrawl.fetch.where.resolver import HostAndPort
from minicrawl.web.documents.kinds import DocumentType, media_types, types_of
from minicrawl.web.html.page import ParseOptions

if TYPE_CHECKING:
    from minicrawl.archive.packing import AnswerPacker
    from minicrawl.config import Settings
    from minicrawl.fetch.access.logins import AccessByOrigin

MOST_RENDERED = 1_000_000
"""Bytes of a page that a browser may render: it is held in memory until one is free."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerConfig:
    """The settings of a visitor."""

    network: Network
    politeness: Politeness
    trusted_hosts: frozenset[HostAndPort]
    parse_options: ParseOptions
    max_reading_s: float
    archive: Path | None = None  # the folder, if answers are kept
    only_text: bool = False
    with_bodies: bool = False  # whether the crawl gets the bodies of pages
    rendered_bytes: int = 0  # bodies of pages that a browser may render, and the crawl gets
    access: Access = field(default_factory=Access)
    logins: AccessByOrigin | None = None

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
        """What is around links is collected only if the order of reading uses it.

        Proxies that files and the environment name are known from here on.
        """
        return cls(
            network=known(settings.network),
            politeness=settings.politeness,
            trusted_hosts=frozenset(trusted_hosts),
            parse_options=_parse_options(settings),
            max_reading_s=settings.limits.max_reading_s,
            archive=archive,
            only_text=settings.storing.keep == "text",
            with_bodies=with_bodies,
            rendered_bytes=MOST_RENDERED if settings.rendering.is_on else 0,
            access=settings.access,
            logins=logins,
        )

    def parser(self) -> PageParser:
        """A parser with these settings."""
        return PageParser(self.parse_options, self.max_reading_s)

    def packer(self) -> AnswerPacker | None:
        """What makes records of answers, if they are kept."""
        if self.archive is None:
            return None
        from minicrawl.archive.packing import AnswerPacker  # most crawls keep no answers

        return AnswerPacker(self.archive, only_text=self.only_text)


def _parse_options(settings: Settings) -> ParseOptions:
    types = types_of(settings.scope.types)
    return ParseOptions(
        agent=settings.politeness.agent,
        max_links=settings.limits.max_links,
        with_words=bool(settings.order.focus_words or settings.order.focus_similar),
        with_emphasis=settings.order.weight_emphasis != 1,
        with_written=settings.storing.keep == "links",
        strip_marks=settings.storing.strip_marks,
        types=media_types(types),
        with_sitemaps=bool(types & DocumentType.SITEMAP),
        with_text=settings.storing.keep == "text",
        with_scripting=settings.rendering.render == AUTO,
    )
