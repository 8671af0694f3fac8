"""Results of a crawl, for Python programs. Read-only, without any requests.

Law: a `Store` shows the last commit before it was opened, even while a crawl continues.

The node of a page in a graph is its page ID, the number of the page in order of discovery. Links
lead to the page that their target stands for.
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from functools import cached_property
from inspect import isawaitable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from minicrawl.archive.record import RecordKind
from minicrawl.config.parts.selection import Scope
from minicrawl.config.parts.storage import Storing
from minicrawl.errors import Damaged, UsageError, needs
from minicrawl.report import selected_pages
from minicrawl.report.archived.made_texts import MadeTexts
from minicrawl.report.archived.page_versions import PageVersion, kept_pages, last_version, version
from minicrawl.report.graph.source import Source, opened
from minicrawl.report.links import problems, written_links
from minicrawl.report.links.backlinks import LinkedPage, backlinks, links
from minicrawl.report.progress.crawl_status import Status, status
from minicrawl.report.saved_ranks import saved_ranks, scores
from minicrawl.report.selected_pages import (
    COLUMNS,
    TIME_COLUMNS,
    ExportRow,
    PageSelection,
    score_column,
)
from minicrawl.report.snapshot import Snapshot
from minicrawl.report.states import explanation
from minicrawl.report.states.errors import ErrorReport, errors
from minicrawl.states import READ_STATES, State
from minicrawl.store import questions, tables
from minicrawl.store.derived.ranks import OPIC
from minicrawl.web.responses.types import FROM_SEEDS, DocumentType, types_of
from minicrawl.wording import counted

if TYPE_CHECKING:
    import networkx
    import pandas
    import polars
    import pyarrow
    from scipy.sparse import csr_array

    from minicrawl.archive.reader import ArchiveReader
    from minicrawl.crawl.hooks import OnPage
    from minicrawl.crawl.workers.scoring import PageRead

_USUAL = Storing().store


class StoreGraph:
    """Pages of a store by ID, and the links between them."""

    def __init__(self, source: Source, snapshot: Snapshot) -> None:
        self._source, self._snapshot = source, snapshot

    def __repr__(self) -> str:
        return f"<StoreGraph of {counted(len(self._snapshot), 'page')}>"

    def urls(self) -> list[str]:
        """Return the URL of each page ID."""
        return self._source.names.of(range(len(self._snapshot)))

    def arrays(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the page IDs of the sources and the targets of all links."""
        graph = self._source.graph.graph
        return graph.sources(), graph.targets

    def matrix(self) -> csr_array:
        """Return the adjacency matrix for scipy; row i has the links of page i."""
        with needs("ranks", "a matrix"):
            from scipy.sparse import csr_array

        return csr_array((self._weights(), self.arrays()), shape=(len(self._snapshot),) * 2)

    def to_networkx(self) -> networkx.DiGraph:
        """Return the graph of all pages, by URL, with importance and state."""
        import networkx

        graph, urls = networkx.DiGraph(), self.urls()
        labels = [State(state).label for state in self._snapshot.states.tolist()]
        nodes = zip(urls, self._snapshot.importance.tolist(), labels, strict=True)
        graph.add_nodes_from(
            (url, {"importance": importance, "state": state}) for url, importance, state in nodes
        )
        columns = (*self.arrays(), self._weights())
        ends = zip(*(column.tolist() for column in columns), strict=True)
        graph.add_weighted_edges_from((urls[a], urls[b], weight) for a, b, weight in ends)
        return graph

    def _weights(self) -> NDArray[np.floating[Any]]:
        named = self._source.graph
        return np.ones(named.graph.edges) if named.weights is None else named.weights


class PageTable(Iterable[ExportRow]):
    """Pages of a store, best first, read when used: as rows if iterated, as columns if converted.

    Each conversion takes the names of ranks for further columns.
    """

    def __init__(self, snapshot: Snapshot, selection: PageSelection) -> None:
        self._snapshot, self._selection = snapshot, selection

    def __iter__(self) -> Iterator[ExportRow]:
        return selected_pages.rows(self._snapshot, self._selection)

    def __len__(self) -> int:
        """Return the number of pages."""
        return len(selected_pages.selected_pages(self._snapshot, self._selection))

    def __repr__(self) -> str:
        return f"<PageTable of {counted(len(self), 'page')} by {self._selection.by}>"

    def columns(self, *ranks: str) -> dict[str, list[Any]]:
        """Return the columns by name."""
        names = (*COLUMNS, *map(score_column, ranks))
        table: dict[str, list[Any]] = {name: [] for name in names}
        for block in selected_pages.blocks(self._snapshot, self._selection, ranks):
            for name in names:
                table[name] += block[name]
        return table

    def to_pandas(self, *ranks: str) -> pandas.DataFrame:
        """Return the table as a pandas DataFrame; needs pandas."""
        import pandas

        table = pandas.DataFrame(self.columns(*ranks))
        for name in TIME_COLUMNS:
            table[name] = pandas.to_datetime(table[name])
        return table.astype({"status": "Int16"})

    def to_polars(self, *ranks: str) -> polars.DataFrame:
        """Return the table as a polars DataFrame; needs polars."""
        import polars

        table = polars.DataFrame(self.columns(*ranks), infer_schema_length=None)
        times = polars.col(TIME_COLUMNS)
        return table.with_columns(times.cast(polars.String).str.to_datetime(time_zone="UTC"))

    def to_arrow(self, *ranks: str) -> pyarrow.Table:
        """Return the table as an Arrow table; needs pyarrow."""
        import pyarrow

        return pyarrow.table(self.columns(*ranks))


class StoredPage:
    """Last kept version of a page."""

    def __init__(
        self, version: PageVersion, made: Callable[[PageVersion, str], str | None]
    ) -> None:
        self._version, self._made = version, made
        self.url = version.answer.url
        self.status = version.answer.status
        self.headers = version.answer.headers

    def __repr__(self) -> str:
        return f"<StoredPage {self.url}, status {self.status}>"

    @property
    def html(self) -> str:
        """Markup of the page, decoded."""
        return self._version.markup

    @property
    def text(self) -> str:
        """Text of the whole page, without markup."""
        return self._version.text

    @cached_property
    def main(self) -> str | None:
        """Main text, or None if the crawl kept only the text of pages.

        It is found with the help of other pages of the host, so read it before the store is closed.
        """
        return self._made(self._version, "main")

    @cached_property
    def markdown(self) -> str | None:
        """Main text as Markdown, or None if the crawl kept only the text of pages."""
        return self._made(self._version, "markdown")


class Store(AbstractContextManager["Store"]):
    """Store opened for reading; use it in a `with` block, or call `close`."""

    def __init__(self, path: str | PathLike[str] = _USUAL) -> None:
        self.path = Path(path)
        self._open = ExitStack()
        self._source = self._open.enter_context(opened(self.path, None))
        snapshot = self._source.snapshot
        assert snapshot is not None  # not a graph file
        self._snapshot = snapshot
        self._texts: MadeTexts = self._open.enter_context(MadeTexts(snapshot))
        self._is_closed = False

    @classmethod
    def open(cls, path: str | PathLike[str] = _USUAL) -> Self:
        """Open the store at this path."""
        return cls(path)

    def close(self) -> None:
        """Close the file."""
        self._is_closed = True
        self._open.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._is_closed else counted(len(self), "page")
        return f"<Store {self.path}, {state}>"

    def __len__(self) -> int:
        """Return the number of known pages."""
        return len(self._snapshot)

    def pages(
        self,
        count: int = 0,
        *,
        by: str = OPIC,
        host: str | None = None,
        states: Sequence[State] = (),
    ) -> PageTable:
        """Return the best `count` pages by a rank; all pages if `count` is 0."""
        selection = PageSelection(count=count, by=by, host=host, states=frozenset(states))
        return PageTable(self._snapshot, selection)

    def page(self, url: str) -> StoredPage:
        """Return the page at a URL as it was fetched last, from a crawl that keeps pages."""
        return StoredPage(version(self._snapshot, url), self._made_text)

    def body(self, url: str) -> bytes:
        """Return the body of a page as it was fetched last, decoded but not parsed."""
        return version(self._snapshot, url).answer.body

    def replay(self, on_page: OnPage, *, host: str | None = None) -> int:
        """Call `on_page` with each kept page, as a crawl does, without requests.

        The most important pages come first. Return the number of pages. An exception of `on_page`
        ends it and is raised; `page.enqueue` does nothing. While an event loop runs, as in a
        notebook, `on_page` must be a plain function.
        """
        number = 0
        with closing(asyncio.Runner()) as loop:  # which makes no loop before it is used
            for number, page in enumerate(_pages_again(self._snapshot, host), 1):  # noqa: B007
                waits = on_page(page)
                if isawaitable(waits):
                    loop.run(_awaited(waits))
        return number

    def _made_text(self, page: PageVersion, name: str) -> str | None:
        if self._is_closed:
            raise UsageError(f"{self.path} is closed: read page.{name} before that")
        return self._texts.of(page, name)

    def explain(self, url: str) -> explanation.Explanation:
        """Explain the rank of a page, and why it was read or not."""
        return explanation.explain(self._snapshot, url)

    def errors(self, host: str | None = None) -> ErrorReport:
        """Return failures by kind, by host and by page."""
        return errors(self._snapshot, host=host)

    def status(self) -> Status:
        """Return counts, budget and progress of the crawl, as `minicrawl status` shows them."""
        return status(self.path)

    def links(self, url: str, count: int = 0) -> list[LinkedPage]:
        """Return the pages that a page links to, most important first."""
        return links(self._snapshot, url, count).pages

    def backlinks(self, url: str, count: int = 0) -> list[LinkedPage]:
        """Return the pages that link to a page, most important first."""
        return backlinks(self._snapshot, url, count).pages

    def broken_links(self, host: str | None = None) -> list[problems.BrokenLink]:
        """Return the broken links. Their texts and kinds are those of kept pages, or kept links."""
        return written_links.with_link_texts(
            self._snapshot, problems.broken_links(self._snapshot, host)
        )

    def ranks(self) -> list[str]:
        """Return the names of saved ranks; `opic` is the importance."""
        return [
            OPIC,
            *(rank.name for rank in saved_ranks(self.path, self._snapshot.connection)),
        ]

    def rank(self, name: str = OPIC) -> NDArray[np.float64]:
        """Return the score of each page ID; NaN for pages without a score."""
        return scores(self._snapshot, name).copy()

    @property
    def graph(self) -> StoreGraph:
        """Graph of all pages and their links."""
        return StoreGraph(self._source, self._snapshot)


_PAGES_AT_ONCE = 1_000


def _pages_again(snapshot: Snapshot, host: str | None) -> Iterator[PageRead]:
    """Yield the kept pages as `on_page` got them; the links of PDF files are left out."""
    from minicrawl.crawl.workers.scoring import PageRead
    from minicrawl.web.documents.document import parse_document
    from minicrawl.web.html.scanner import ParseOptions

    strip_marks = snapshot.frontier.terms.strip_marks
    names: Any = tables.settings(snapshot.connection).get("types", Scope().types)
    types = (types_of(names) | FROM_SEEDS) & ~DocumentType.PDF
    options = ParseOptions(strip_marks=strip_marks)
    with kept_pages(snapshot) as archive:
        for version, reading in _kept_versions(snapshot, archive, host):
            answer = version.answer
            if answer.kind is RecordKind.TEXT:
                raise UsageError(
                    f"{snapshot.path} keeps only text: replay needs `crawl --keep pages`"
                )
            page = parse_document(answer.body, answer.url, answer.headers, options, types=types)
            yield PageRead(
                url=answer.url,
                status=answer.status,
                headers=answer.headers,
                body=answer.body,
                title=page.title,
                links=page.links,
                encoding=page.encoding,
                cut=answer.cut,
                reading=reading,
                strip_marks=strip_marks,
            )


def _kept_versions(
    snapshot: Snapshot, archive: ArchiveReader, host: str | None
) -> Iterator[tuple[PageVersion, int]]:
    """Yield the last version of each page, with the number of earlier readings."""
    selection = PageSelection(host=host, states=frozenset(READ_STATES))
    pages = selected_pages.selected_pages(snapshot, selection)
    for first in range(0, len(pages), _PAGES_AT_ONCE):
        ids = pages[first : first + _PAGES_AT_ONCE].tolist()
        urls = questions.locations(snapshot.connection, ids).urls
        documents = {row.page: row.checks for row in questions.documents(snapshot.connection, ids)}
        for page, url in zip(ids, urls, strict=True):
            try:
                version = last_version(archive, url)
            except Damaged as error:
                warnings.warn(f"{url} is left out: {error}", stacklevel=4)
                continue
            if version is not None:
                yield version, documents.get(page, 0)


async def _awaited(waits: Awaitable[None]) -> None:
    await waits
