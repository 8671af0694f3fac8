"""A snapshot and an audit that a server keeps open between questions."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from minicrawl.report.archived import made_texts
from minicrawl.report.links.backlinks import backlinks
from minicrawl.report.selected_pages import hosts_named
from minicrawl.report.snapshot import Snapshot, snapshot
from minicrawl.report.states.changes import ChangedPages
from minicrawl.store.reader import LOG, file_beside

if TYPE_CHECKING:
    from minicrawl.audit.findings import Issue, IssueFinding, IssuePage

Host = Annotated[str | None, Field(description="Only pages of this host.", max_length=300)]

IDLE_S = 30.0
"""Idle time after which the store is closed: while it is open, SQLite's write-ahead log only grows.
"""
_SHARE_OF_LOADING = 0.1


class Renewal:
    """Decides when to recompute a result: after a commit, but for at most a tenth of the time."""

    def __init__(self, store: Path, now: Callable[[], float] = time.monotonic) -> None:
        self._store, self._now = store, now
        self._marks: list[tuple[int, ...]] = []
        self._due = 0.0

    @property
    def is_due(self) -> bool:
        """True if the result is outdated, and the pause after the last computation is over.

        For another store at the same place, there is no pause.
        """
        marks = self._commit_marks()
        is_other = [mark[0] for mark in marks[:1]] != [mark[0] for mark in self._marks[:1]]
        return marks != self._marks and (is_other or self._now() >= self._due)

    @contextmanager
    def making(self) -> Iterator[None]:
        """Note the time and the duration of a computation."""
        marks, began = self._commit_marks(), self._now()
        yield
        self._marks, made = marks, self._now()
        self._due = made + (made - began) / _SHARE_OF_LOADING

    def _commit_marks(self) -> list[tuple[int, ...]]:
        """Return marks of store and log that differ after each commit, and for another store.

        An empty log is none: whoever reads the store makes one, and removes it.
        """
        marks = list[tuple[int, ...]]()
        for file in (self._store, file_beside(self._store, LOG)):
            with suppress(OSError):
                stat = file.stat()
                if stat.st_size:
                    marks.append((stat.st_ino, stat.st_size, stat.st_mtime_ns))
        return marks


class HeldSnapshot:
    """Snapshot shared by several questions, with the changed pages that they ask for."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._open = ExitStack()
        self._seen: Snapshot | None = None
        self._renewal = Renewal(store)
        self._changes: dict[float | None, ChangedPages] = {}
        self._texts: made_texts.MadeTexts | None = None
        self._is_indexed = False

    def get(self) -> Snapshot:
        """Return the snapshot, which may be outdated until its renewal is due."""
        if self._seen is not None and not self._renewal.is_due:
            return self._seen
        self.close()
        with self._renewal.making():
            self._seen = self._open.enter_context(snapshot(self._store, ordered=True))
        return self._seen

    def with_index_of_links(self, url: str) -> Snapshot:
        """Return the snapshot when the index of links, which `explain` reads, was made for it."""
        view = self.get()
        if not self._is_indexed and view.frontier.terms.links:
            backlinks(view, url, 1)
            self._is_indexed = True
        return view

    def changes(self, since: float | None) -> ChangedPages:
        """Return the pages that changed since a time; those of the last time asked for are held."""
        view = self.get()
        if since not in self._changes:
            self._changes = {since: ChangedPages(view, since)}
        return self._changes[since]

    def texts(self) -> made_texts.MadeTexts:
        """Return the maker of main texts, whose process knows the hosts that it has seen."""
        view = self.get()
        if self._texts is None:
            self._texts = self._open.enter_context(made_texts.MadeTexts(view))
        return self._texts

    def close(self) -> None:
        self._seen = self._texts = None
        self._is_indexed = False
        self._changes.clear()
        self._open.close()


@dataclass(frozen=True, slots=True)
class HeldAudit:
    """Issues of a whole store, from which those of a host are taken without another audit.

    The rank of a page is its place in the list by importance.
    """

    renewal: Renewal
    read: int
    issues: "Sequence[Issue]"
    findings: "Sequence[IssueFinding]"
    values: Mapping[str, NDArray[Any]]
    """Numbers that checks show, by name of the check, for its pages by rank."""
    host_of: NDArray[np.uint32]
    """Host of each page, by rank."""
    skipped: Sequence[tuple[str, str]]

    @classmethod
    def of(cls, store: Path) -> "HeldAudit":
        from minicrawl.audit.findings import audited

        renewal = Renewal(store)
        with renewal.making(), audited(store) as audit:
            values = {
                finding.check.name: finding.check.by.shows(audit.site)[finding.pages]
                for finding in audit.findings
                if finding.check.by.shows is not None
            }
            host_of = audit.site.seen.host_of[audit.site.seen.best]
            issues, skipped = audit.issues(), [*audit.skipped, *audit.partial]
            return cls(renewal, audit.read, issues, audit.findings, values, host_of, skipped)

    def rows(
        self, snapshot: Snapshot, issue: str | None, host: str | None, count: int
    ) -> "Sequence[Issue | IssuePage]":
        """Return the issues, or the most important pages of one, of a host or of all."""
        from minicrawl.audit.findings import issue_table

        if issue is None and host is None:
            return self.issues
        ranks = np.arange(len(self.host_of))
        if host is not None:
            ranks = np.flatnonzero(np.isin(self.host_of, hosts_named(snapshot, host)))
        if issue is None:
            present = (
                (finding, finding.among(ranks)) for finding in self.findings if finding.count
            )
            table = [
                (finding.check, len(own), int(finding.by_importance[own[0]]))
                for finding, own in present
                if len(own)
            ]
            return issue_table(snapshot, table)
        return [
            row
            for finding in self.findings
            if finding.check.name == issue
            for row in self._pages(snapshot, finding, finding.among(ranks)[:count])
        ]

    def _pages(
        self, snapshot: Snapshot, finding: "IssueFinding", ranks: NDArray[np.int64]
    ) -> "Iterator[IssuePage]":
        from minicrawl.audit.findings import issue_pages

        values = self.values.get(finding.check.name)
        if values is not None:
            values = values[np.searchsorted(finding.ranks, ranks)]
        return issue_pages(snapshot, finding.check, finding.by_importance[ranks], values)
