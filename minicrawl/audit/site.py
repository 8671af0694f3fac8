"""Columns of a whole store for the checks of an audit, with an entry for each known page.

Each column is computed when a check first asks for it, in blocks. Facts lie in a file, and links
are counted and not kept. A page without facts has 0 in all number columns, so each check of markup
starts from `html`.
"""

from __future__ import annotations

import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property, lru_cache, partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from minicrawl.audit import url_columns
from minicrawl.audit.facts.noted_facts import NO_TARGET, FactColumns, UrlKeys
from minicrawl.audit.facts.page_facts import BIT, SESSION_ID
from minicrawl.audit.ignores import Ignore, patterns
from minicrawl.audit.link_columns import DEAD_OUTSIDE, Column, LinkColumns, link_columns
from minicrawl.errors import UsageError
from minicrawl.ports import Progress
from minicrawl.report.archived.page_versions import kept_pages, markup_of
from minicrawl.report.graph.flows import final_pages
from minicrawl.report.links.verdicts import NOT_CHECKED, checked_files, verdict_of_check, verdicts
from minicrawl.report.selected_pages import hosts_named
from minicrawl.report.snapshot import Snapshot, urls
from minicrawl.states import READ_STATES, LinkVerdict, State
from minicrawl.store import page_columns, questions, request_log, step_log
from minicrawl.store.derived.checks import FindingRow, all_checks, all_findings
from minicrawl.store.derived.facts import listed_in_blocks
from minicrawl.web.sitemaps.sitemap import moment_of
from minicrawl.web.urls import host_of, origin

Mask: TypeAlias = Any
"""Column of truth values. Operators of arrays return Any for the type checker, and so do these."""

_BLOCKED = "-blocked"
_HTML_URL = re.compile(r"^[^?]*(?:/|\.(?:x?html?|php|aspx?))(?:\?|$)")
REDIRECTS = (State.MOVED, State.BAD_REDIRECT)
_ROUNDS_OF_HOPS, _MOST_DATES, _DAY_S, _PAGES_IN_MEMORY = 10, 1 << 16, 86_400, 64


class PlaceColumn(NamedTuple):
    """Place of each page by number, how many places there are, and a function for their names."""

    of: Column
    number: int
    names: Callable[[Column], list[str]]


class AuditedSite:
    """Facts of all pages of a store, as arrays and masks with one entry per page."""

    def __init__(
        self,
        snapshot: Snapshot,
        keys: UrlKeys,
        progress: Progress,
        host: str | None = None,
        ignores: Sequence[Ignore] = (),
    ) -> None:
        self.seen, self._keys, self._tell = snapshot, keys, progress
        self.chosen: Mask = np.ones(len(snapshot), np.bool_)
        if host is not None:
            self.chosen = np.isin(snapshot.host_of, hosts_named(snapshot, host))
        self.now = time.time()
        self._accepted = patterns(ignores, datetime.fromtimestamp(self.now, UTC).date())
        self.states = snapshot.states

    def __len__(self) -> int:
        return len(self.seen)

    def ignored(self, issue: str) -> Mask:
        """Return the pages on which, or as whose targets, an issue is ignored."""
        if (pattern := self._accepted.get(issue)) is None:
            return self.none()
        return url_columns.url_numbers(
            self.seen, lambda url: pattern.match(url) is not None, np.bool_
        )

    def none(self) -> Mask:
        """Return a mask that selects no page."""
        return np.zeros(len(self), np.bool_)

    def of(self, pages: Any) -> Mask:
        """Return a mask that selects these pages."""
        column = self.none()
        column[np.asarray(pages, np.int64)] = True
        return column

    def is_in(self, *states: State) -> Mask:
        """Return the pages in any of these states."""
        return np.isin(self.states, states)

    @cached_property
    def _facts(self) -> FactColumns:
        return FactColumns(self.seen, self._keys)

    def number(self, name: str) -> Column:
        """Return the number of this name of each page."""
        return self._facts.number(name)

    def flag(self, name: str) -> Mask:
        """Return the pages with this flag."""
        return (self.number("flags") & np.uint32(BIT[name])) != 0

    @cached_property
    def own(self) -> Mask:
        """Pages of the hosts from which anything was read."""
        is_own = np.zeros(len(self.seen.origins), np.bool_)
        is_own[self.seen.host_of[np.isin(self.states, READ_STATES)]] = True
        return is_own[self.seen.host_of]

    @cached_property
    def html(self) -> Mask:
        """Pages that were read and have facts, without copies."""
        return self._facts.has & self.is_in(State.FETCHED, State.CANONICAL)

    @cached_property
    def noindex(self) -> Mask:
        """Pages that ask all robots or search engines not to index them."""
        is_hidden = self.flag("noindex_meta") | self.flag("noindex_header")
        is_hidden[questions.noindex_pages(self.seen.connection)] = True
        return is_hidden

    @cached_property
    def indexable(self) -> Mask:
        """Pages with facts that stand for themselves and may be indexed."""
        return self.html & (self.states == State.FETCHED) & ~self.noindex

    def repeated(self, name: str, among: Mask, most: int | None = None) -> Mask:
        """Return the pages that share a hash within their host, in groups of at most `most`."""
        hashes = self.number(name)
        pages = np.flatnonzero(among & (hashes != 0)).astype(np.int32)
        groups, _ = url_columns.numbered(self.of_host(hashes[pages], pages))
        sizes = np.bincount(groups)
        is_shared = (sizes > 1) & (sizes <= (most or len(self)))
        return self.of(pages[is_shared[groups]])

    def of_host(self, hashes: Column, pages: Column) -> Column:
        """Return hashes of pages that differ between hosts: their pages may share a title.

        Sorting by two columns takes several times as long.
        """
        hosts = self.seen.host_of[pages].astype(np.uint64)
        hosts *= np.uint64(0x9E3779B97F4A7C15)
        return hashes ^ hosts

    @cached_property
    def _answers(self) -> tuple[Column, Column, Column]:
        statuses = np.zeros(len(self), np.int16)
        seconds, first_byte_s = np.zeros((2, len(self)), np.float16)
        for rows in request_log.last_answers(self.seen.connection):
            pages, status, *times = map(list, zip(*rows, strict=True))
            statuses[pages], (seconds[pages], first_byte_s[pages]) = status, times
        return statuses, seconds, first_byte_s

    @property
    def status(self) -> Column:
        """Status of the last response; 0 without one."""
        return self._answers[0]

    @property
    def seconds(self) -> Column:
        """Duration of the last request in seconds."""
        return self._answers[1]

    @property
    def first_byte_s(self) -> Column:
        """Seconds from the last request to the head of its response; 0 if unknown."""
        return self._answers[2]

    @cached_property
    def depth(self) -> Column:
        """Number of links from a seed, on the path by which the crawl found the page."""
        return page_columns.whole(self.seen.connection, "urls", "depth")

    @cached_property
    def _url_faults(self) -> Column:
        return url_columns.url_numbers(self.seen, url_columns.url_faults, np.uint8)

    @cached_property
    def places(self) -> tuple[PlaceColumn, ...]:
        """Hosts, the folders right below their roots, and all folders, by their pages."""
        origins = self.seen.origins
        hosts = PlaceColumn(
            self.seen.host_of, len(origins), lambda rows: [origins[at] for at in rows]
        )
        return hosts, *map(self._places, (url_columns.section_of, url_columns.folder_of))

    def _places(self, name: Callable[[str], str]) -> PlaceColumn:
        numbers, firsts = url_columns.numbered(
            url_columns.url_numbers(self.seen, lambda url: hash(name(url)))
        )
        return PlaceColumn(
            numbers, len(firsts), lambda rows: list(map(name, self.urls(firsts[rows])))
        )

    @cached_property
    def twins(self) -> Column:
        """A number that own pages share whose URLs differ only in form; 0 for pages alone."""
        column, pages = np.zeros(len(self), np.int32), np.flatnonzero(self.own & self.was_read)
        forms = url_columns.url_numbers(self.seen, lambda url: hash(url_columns.plain_form(url)))
        groups, _ = url_columns.numbered(forms[pages])
        column[pages] = np.where(np.bincount(groups)[groups] > 1, groups + 1, 0)
        return column

    @cached_property
    def has_session(self) -> Mask:
        """Own pages that were linked with a session id, which the crawl removed or kept."""
        originals = questions.originals(self.seen.connection)
        pages = [page for page, url in originals if SESSION_ID.search(url)]
        pages += [page for page in self._facts.named("session")[1].tolist() if page >= 0]
        return self.own & (self.of(pages) | self.url_fault("session"))

    @cached_property
    def has_https(self) -> Mask:
        """Pages of hosts that are also served by https."""
        origins = self.seen.origins
        safe = {host_of(origin) for origin in origins if origin.startswith("https:")}
        is_safe = np.array([host_of(origin) in safe for origin in origins], np.bool_)
        return is_safe[self.seen.host_of]

    @cached_property
    def seeds(self) -> list[int]:
        """Pages that the user started from."""
        return step_log.seeds(self.seen.connection)

    @cached_property
    def is_end(self) -> Mask:
        """Pages that another page stands for."""
        return self.of(list(self.seen.frontier.books.forwards.values()))

    def url_fault(self, name: str) -> Mask:
        """Return the pages that were read and whose URL has a fault."""
        return ((self._url_faults & url_columns.URL_FAULTS[name]) != 0) & self.was_read

    @cached_property
    def was_read(self) -> Mask:
        """Pages that were read and stand for themselves."""
        return self.states == State.FETCHED

    @cached_property
    def dead(self) -> Mask:
        """Pages that failed, or whose check failed."""
        return self.verdicts == LinkVerdict.DEAD

    @cached_property
    def verdicts(self) -> Column:
        """Verdict on each page."""
        return verdicts(self.seen)

    @cached_property
    def ends(self) -> Column:
        """Final page of each page."""
        return final_pages(self.seen).astype(np.int32)

    @cached_property
    def link_kinds(self) -> dict[str, Mask]:
        """Pages that links are counted for, by the issue of the links."""
        dead_end = self.dead[self.ends] & ~(self.states == State.CANONICAL)
        kinds = {
            "link-to-redirect": self.is_in(*REDIRECTS) & ~dead_end,
            "link-to-noindex": self.noindex,
            "link-to-blocked": self.is_in(State.ROBOTS) & self.own,
            "link-to-copy": self.is_in(State.CANONICAL),
            "link-dead": dead_end & self.own,
            DEAD_OUTSIDE: dead_end & ~self.own,
        }
        return {issue: mask & ~self.ignored(issue) for issue, mask in kinds.items()}

    @cached_property
    def links(self) -> LinkColumns:
        """Counts of links, in one pass over all of them."""
        return self.links_from(self.chosen)

    def links_from(self, chosen: Mask) -> LinkColumns:
        """Count all links; only those from chosen pages count for their targets."""
        return link_columns(self.seen, self.was_read, chosen, self.link_kinds, self._tell)

    @cached_property
    def hops(self) -> Column:
        """Number of redirects from each page to its final page."""
        forwards = self.seen.frontier.books.forwards
        pages = np.flatnonzero(self.states == State.MOVED)
        target = np.arange(len(self), dtype=np.int32)
        target[pages] = [forwards.get(page, page) for page in pages.tolist()]
        column: Column = (target != np.arange(len(self))).astype(np.int16)
        for _ in range(_ROUNDS_OF_HOPS):  # each doubles the counted part of a chain
            column, target = column + column[target], target[target]
        return column

    def target(self, head: str) -> Column:
        """Return what the canonical, next or prev of each page names: -1 is none, -2 unknown."""
        column, (pages, targets) = np.full(len(self), NO_TARGET, np.int32), self._facts.named(head)
        column[pages] = targets
        return column

    def whose_target(self, head: str, is_wanted: Mask) -> Mask:
        """Return the pages whose canonical, next or prev is one of these."""
        target = self.target(head)
        return self.html & (target >= 0) & is_wanted[np.maximum(target, 0)]

    @property
    def alternates(self) -> Column:
        """Language versions."""
        return self._facts.named("alternate")

    def with_alternate(self, is_wanted: Mask) -> Mask:
        """Return the pages with another language version among these."""
        pages, targets = self.alternates
        is_other = (targets >= 0) & (targets != pages)
        return self.html & self.of(pages[is_other & is_wanted[np.maximum(targets, 0)]])

    @cached_property
    def _listed(self) -> tuple[Mask, Mask]:
        listed, future = self.none(), self.none()
        moment = lru_cache(_MOST_DATES)(moment_of)
        limit = self.now + _DAY_S  # a date that cannot be parsed is none
        for rows in listed_in_blocks(self.seen.path, self.seen.connection):
            pages = self._keys.pages(np.array([row.page for row in rows], np.int64))
            listed[pages[pages >= 0]] = True
            ahead = pages[[(moment(row.lastmod) or 0) > limit for row in rows]]
            future[ahead[ahead >= 0]] = True
        return listed, future

    @property
    def listed(self) -> Mask:
        """Pages in a sitemap."""
        return self._listed[0]

    @property
    def listed_ahead(self) -> Mask:
        """Pages whose lastmod in a sitemap is in the future."""
        return self._listed[1]

    @cached_property
    def _findings(self) -> dict[str, Column]:
        columns = defaultdict[str, Column](self.none)
        for row in self.findings_of(None):
            columns[row.kind][row.source] = True
        return columns

    def findings_of(self, kind: str | None) -> Iterator[FindingRow]:
        """Yield the references of this kind, or all, whose target was requested.

        Those to files of the site that robots.txt forbids have a kind such as "style-blocked".
        """
        stored = None if kind is None else kind.removesuffix(_BLOCKED)
        unknown, blocked = self._files_not_asked
        for row in all_findings(self.seen.path, self.seen.connection, stored):
            if row.target in blocked:
                row = row._replace(kind=row.kind + _BLOCKED)  # noqa: PLW2901
            elif row.target in unknown:
                continue
            pattern = self._accepted.get(_issue_of(row.kind))
            if kind in (None, row.kind) and not (pattern and pattern.match(row.target)):
                yield row

    def finding(self, kind: str) -> Mask:
        """Return the pages with a missing asset or anchor of this kind, if assets were checked."""
        return self._findings.get(kind, self.none())

    def finding_number(self, kind: str) -> Column:
        """Return the largest number of the findings of this kind on each page, such as of bytes."""
        numbers = np.zeros(len(self), np.int64)
        for row in all_findings(self.seen.path, self.seen.connection, kind):
            numbers[row.source] = max(numbers[row.source], int(row.text))
        return numbers

    @cached_property
    def unknown_files(self) -> Counter[str]:
        """Number of files of each kind that robots.txt forbids, or that could not be checked."""
        unknown, _ = self._files_not_asked
        rows = all_findings(self.seen.path, self.seen.connection)
        files = {(row.kind, row.target) for row in rows if row.target in unknown}
        return Counter(kind for kind, _ in files)

    @cached_property
    def _files_not_asked(self) -> tuple[frozenset[str], frozenset[str]]:
        """Files that nobody could check, and those of them on the site that robots.txt forbids."""
        origins = self.seen.origins
        own = {origins[host] for host in np.unique(self.seen.host_of[self.own]).tolist()}
        rows = [row for row in checked_files(self.seen) if verdict_of_check(row) in NOT_CHECKED]
        blocked = (row.url for row in rows if row.state == State.ROBOTS and origin(row.url) in own)
        return frozenset(row.url for row in rows), frozenset(blocked)

    @cached_property
    def sent_as_text(self) -> Mask:
        """Pages whose URL is that of HTML, and that were sent as plain text."""
        pages = np.flatnonzero(self.own & self.is_in(State.TYPE))
        types = request_log.last_values(self.seen.connection, "detail", pages.tolist())
        is_html = [
            kind == "text/plain" and _HTML_URL.search(url) is not None
            for kind, url in zip(types, self.urls(pages), strict=True)
        ]
        return self.of(pages[np.array(is_html, np.bool_)])

    @cached_property
    def was_checked(self) -> bool:
        """True if links outside of the crawl, or assets, were checked."""
        return bool(all_checks(self.seen.path, self.seen.connection))

    def urls(self, pages: Column) -> list[str]:
        """Return the URLs of some pages."""
        return urls(self.seen, np.asarray(pages, np.int64))

    def markups(self, pages: Column) -> Iterator[str]:
        """Yield the markup of some pages, empty for one that is not HTML or was not kept."""
        left = iter(self.urls(pages))
        with suppress(UsageError), kept_pages(self.seen) as archive:
            read = lru_cache(_PAGES_IN_MEMORY)(partial(markup_of, archive))
            yield from (read(url) or "" for url in left)
        yield from ("" for _ in left)  # nothing was kept, or the folder is gone

    def pages_of(self, keys: Column) -> Column:
        """Return the page of each key of a URL, or -1."""
        return self._keys.pages(keys)


def _issue_of(kind: str) -> str:
    """Return the issue of broken references of a kind; others have the name of their kind."""
    if kind == "nofollow":
        return "link-dead-unfollowed"
    return kind if "-" in kind else f"{kind}-missing"
