"""Full-text index: maps words to pages, as a Tantivy folder.

Laws: the searched and the displayed data of a page are stored together, so that an index answers
without store and archive. A page is in the index once: it is deleted by id, then added. Only
committed changes are seen. Queries are built from words, so user input is never parsed by Tantivy.

entry   a page as the index stores it
hit     a page that was found, with its BM25 score
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from errno import ENOSPC
from functools import cached_property
from importlib.util import find_spec
from itertools import chain
from math import log
from pathlib import Path
from struct import error as StructError
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from minicrawl.errors import NoRoom, StoreError, UsageError
from minicrawl.search.entries import (
    PageEntry,
    StoredEntry,
    host_of,
    packed,
    sites_in,
    unpacked,
    words_of_url,
)
from minicrawl.search.words.query import Query
from minicrawl.search.words.word_forms import STEMMERS, stems
from minicrawl.web.words import indexed

if TYPE_CHECKING:
    import tantivy
from minicrawl.search.index_queries import (
    FILTERS,
    STEMS,
    TEXTS,
    WHERE_WORDS_ARE,
    FieldWeights,
    IndexQueries,
)

FOLDER = "index"
CANDIDATES = 40
"""Pages re-ranked after BM25; 60 did not answer any benchmark query better."""
ENOUGH = 10
"""Number of pages with all words below which pages with some of them are added."""
LACKING = 10
"""Candidates with half of the words or more, even if enough pages have all."""
WITH_ALL = CANDIDATES - LACKING
"""Candidates with all words, if there are as many."""
_HEAP_BYTES = 64_000_000
_ANALYZER = "spaces"
_BETWEEN = "\x1f"
"""Separator between anchors, so that no phrase spans two of them."""
_LOCK = ".tantivy-meta.lock"
_FULL = ("(os error 28)", "(os error 122)")
"""Tantivy's messages for a full disk or an exceeded quota."""
_REMOVALS = 5
"""Attempts to remove a folder: Tantivy checks for changes on opening it, then twice a second."""
_INSTALL = "searching needs more packages: install minicrawl[search]"
FACETS = ("host", "type", "language", "year")
_MOST_VALUES = 20
_MOST_COUNTED = 100
_MOST_LANGUAGES = 5
"""Languages by which a word of a query is stemmed: those of most pages."""


class Hit(NamedTuple):
    """Page that was found."""

    page: int
    score: float
    address: tantivy.DocAddress


class Counts(NamedTuple):
    """Number of pages that match a query."""

    pages: int
    facets: dict[str, list[tuple[str, int]]]
    """Values of each facet that most of these pages have, with their number."""


@contextmanager
def _lockable(folder: Path) -> Iterator[Path]:
    """Yield a folder with the same files where Tantivy can put its lock while it opens them.

    That is the folder itself, unless it is read-only or its disk is full.
    """
    if _has_lock(folder):
        yield folder
        return
    links = TemporaryDirectory(prefix="minicrawl-index-", ignore_cleanup_errors=True)
    try:
        for file in folder.iterdir():
            if file.suffix != ".lock":
                Path(links.name, file.name).symlink_to(file.absolute())
        yield Path(links.name)
    finally:
        for _ in range(_REMOVALS):  # a Tantivy thread may create its lock there meanwhile
            links.cleanup()
            if not Path(links.name).exists():
                break


def _has_lock(folder: Path) -> bool:
    """Return True if Tantivy's lock file exists or could be created."""
    if not os.access(folder, os.W_OK):
        return False
    try:
        (folder / _LOCK).touch()
    except OSError:
        return False
    return True


class SearchIndex:
    """Full-text index for reading, and after `write` for changes."""

    def __init__(self, folder: Path) -> None:
        """Open the index in this folder, or create one."""
        check_installed()
        import tantivy

        folder.mkdir(parents=True, exist_ok=True)
        self._schema = _schema()
        with index_errors(folder), _lockable(folder) as path:
            self._index = tantivy.Index(self._schema, path=str(path))
            spaces = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
            self._index.register_tokenizer(_ANALYZER, spaces)
            self.searcher = self._index.searcher()
        self._folder = folder
        self._writer: tantivy.IndexWriter | None = None

    def __len__(self) -> int:
        return int(self.searcher.num_docs)

    def write(self) -> None:
        """Start writing; only one process may write."""
        with index_errors(self._folder):
            self._writer = self._index.writer(_HEAP_BYTES, 1)

    def replace(self, entry: PageEntry, words: str | None = None) -> None:
        """Add or replace a page. `words` are those of its body, if already known."""
        self.remove(entry.page)
        words = indexed(entry.body) if words is None else words
        document = _document(entry, words)
        with index_errors(self._folder):
            self._writing.add_document(document)

    def remove(self, page: int) -> None:
        with index_errors(self._folder):
            self._writing.delete_documents_by_term("page", page)

    def commit(self) -> None:
        """Commit the changes, and make them visible."""
        with index_errors(self._folder):
            self._writing.commit()
            self._index.reload()
            self.searcher = self._index.searcher()
        for name in ("languages", "counts_of_all"):  # cached for the earlier commit
            self.__dict__.pop(name, None)

    def close(self) -> None:
        """Stop writing, and discard uncommitted changes."""
        writer, self._writer = self._writer, None
        if writer is not None:
            with index_errors(self._folder):
                writer.rollback()
                writer.wait_merging_threads()

    @property
    def _writing(self) -> tantivy.IndexWriter:
        assert self._writer is not None, "write() comes first"
        return self._writer

    def entry(self, page: int) -> PageEntry | None:
        import tantivy

        query = tantivy.Query.term_query(self._schema, "page", page)
        hits = self.searcher.search(query, 1, count=False).hits
        return self.stored(hits[0][1]).entry if hits else None

    def stored(self, address: tantivy.DocAddress) -> StoredEntry:
        with index_errors(self._folder):
            (content,) = self.searcher.doc(address)["shown"]
            return unpacked(bytes(content))

    def rarity(self, words: Iterable[str]) -> dict[str, float]:
        """Return the rarity of each word: the log of the inverse share of pages with it."""
        pages = self.searcher.num_docs
        with index_errors(self._folder):
            return {word: log(1 + pages / (self.pages_with(word) + 0.5)) for word in words}

    def pages_with(self, word: str) -> int:
        """Return how many pages have a word, in the field in which most pages have it."""
        return max(self.searcher.doc_freq(name, word) for name in WHERE_WORDS_ARE)

    def pages_with_phrase(self, phrase: Sequence[str]) -> int:
        """Return how many pages have these words side by side, up to `_MOST_COUNTED`."""
        query = IndexQueries(self._schema, FieldWeights(), ()).phrase(phrase)
        with index_errors(self._folder):
            return len(self.searcher.search(query, _MOST_COUNTED, count=False).hits)

    def words_from(
        self, beginning: str, most: int, among: Query | None = None
    ) -> list[tuple[str, int]]:
        """Return the words with this beginning that most pages have, with their number.

        Only pages that match the query `among` count.
        """
        pages = None if among is None else self._query(among, FieldWeights())
        with index_errors(self._folder):
            return list(self.searcher.terms_with_prefix("body", beginning, pages, limit=most))

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """Languages of most pages, among those with a stemmer."""
        values = self.counts_of_all.facets["language"]
        return tuple(name for name, _ in values if name in STEMMERS)[:_MOST_LANGUAGES]

    @property
    def only_host(self) -> str:
        """Host of all pages, or "" if there are several."""
        hosts = self.counts_of_all.facets["host"]
        return hosts[0][0] if len(hosts) == 1 else ""

    @cached_property
    def counts_of_all(self) -> Counts:
        import tantivy

        return self._counted(tantivy.Query.all_query())

    def counts(self, query: Query) -> Counts:
        """Count the pages that `best` finds."""
        import tantivy

        weights = FieldWeights()
        with_all, lacking = self.best(query, weights)
        least = 1 if len(with_all) < ENOUGH else None
        matching = self._query(query, weights, least=least)
        pages = (tantivy.Query.term_query(self._schema, "page", hit.page) for hit in lacking)
        clauses = [(tantivy.Occur.Should, clause) for clause in (matching, *pages)]
        return self._counted(tantivy.Query.boolean_query(clauses))

    def _counted(self, query: tantivy.Query) -> Counts:
        aggregations = {
            name: {"terms": {"field": name, "size": _MOST_VALUES}} for name in FACETS
        } | {"pages": {"value_count": {"field": "page"}}}
        with index_errors(self._folder):
            buckets = self.searcher.aggregate(query, aggregations)
        facets = {
            name: [
                (str(bucket["key"]), int(bucket["doc_count"]))
                for bucket in buckets[name]["buckets"]
            ]
            for name in FACETS
        }
        return Counts(int(buckets["pages"]["value"]), facets)

    def read_pages(self) -> Iterator[StoredEntry]:
        import tantivy

        everything = self._hits(tantivy.Query.all_query(), max(len(self), 1))
        entries = (self.stored(hit.address) for hit in sorted(everything))
        return (entry for entry in entries if entry.about.at is not None)

    def at_url(self, url: str) -> Hit | None:
        """Return the page with exactly this URL, or None."""
        import tantivy

        words = list(words_of_url(url))
        parts = [(tantivy.Occur.Must, tantivy.Query.term_query(self._schema, "host", host_of(url)))]
        if len(words) > 1:
            alike = tantivy.Query.phrase_query(
                self._schema, "url", list[str | tuple[int, str]](words)
            )
            parts.append((tantivy.Occur.Must, alike))
        hits = self._hits(tantivy.Query.boolean_query(parts), CANDIDATES)
        return next((hit for hit in hits if self.stored(hit.address).about.url == url), None)

    def best(
        self, query: Query, weights: FieldWeights, count: int = WITH_ALL
    ) -> tuple[list[Hit], list[Hit]]:
        """Return the best pages by BM25: up to `count` with all words, and other pages.

        Pages with the words as typed come before those with other forms. The other pages have half
        of the words or more. If few pages have all words, more pages with any word follow.
        """
        import tantivy

        # One query for each kind. In one query for all, a page with the rarest word ten times could
        # come before one with all words, and another form before the exact one.
        with_all = self._hits(self._query(query, weights, is_exact=True), count)
        if len(with_all) < count:
            with_all = _joined(with_all, self._hits(self._query(query, weights), count))[:count]
        lacking = list[Hit]()
        if len(query.words) > 1:  # half of the words or more, but not all as typed
            half = self._query(query, weights, least=(len(query.words) + 1) // 2)
            every = self._query(query, weights, is_exact=True)
            parts = [(tantivy.Occur.Must, half), (tantivy.Occur.MustNot, every)]
            lacking = self._hits(tantivy.Query.boolean_query(parts), LACKING)
        if len(with_all) < ENOUGH:
            any_word = self._query(query, weights, least=1)
            lacking = _joined(lacking, self._hits(any_word, 2 * count + CANDIDATES))
        pages = {hit.page for hit in with_all}
        return with_all, [hit for hit in lacking if hit.page not in pages]

    def matches(self, query: Query, count: int) -> list[Hit]:
        """Return pages that have all words in their exact form, in no particular order."""
        return self._hits(self._query(query, FieldWeights(), is_exact=True), count)

    def newest(self, query: Query, count: int) -> list[Hit]:
        """Return pages read that have all words in their exact form, the latest changed first."""
        every = self._query(query, FieldWeights(), is_exact=True)
        return self._hits(every, count, "at")

    def _query(
        self,
        query: Query,
        weights: FieldWeights,
        *,
        least: int | None = None,
        is_exact: bool = False,
    ) -> tantivy.Query:
        languages = () if is_exact else self.languages
        return IndexQueries(self._schema, weights, languages).built(query, least)

    def _hits(self, query: tantivy.Query, count: int, order_by: str | None = None) -> list[Hit]:
        with index_errors(self._folder):
            hits = self.searcher.search(query, count, count=False, order_by_field=order_by).hits
            addresses = [address for _, address in hits]
            pages = self.searcher.fast_field_values("page", addresses)
        # Ordered by a field, hits have its value as their score: None without a value.
        return [
            Hit(int(page or 0), score, address)
            for page, (score, address) in zip(pages, hits, strict=True)
            if score is not None
        ]


def _joined(*lists: Sequence[Hit]) -> list[Hit]:
    """Return all hits in order, each page once."""
    joined: dict[int, Hit] = {}
    for hit in chain(*lists):
        joined.setdefault(hit.page, hit)
    return list(joined.values())


def check_installed() -> None:
    """Raise UsageError if the packages for searching are not installed."""
    if not all(map(find_spec, ("tantivy", "selectolax"))):
        raise UsageError(_INSTALL)


def _schema() -> tantivy.Schema:
    import tantivy

    builder = tantivy.SchemaBuilder()
    # Tantivy cannot delete by a term of an unsigned field.
    builder.add_integer_field("page", indexed=True, fast=True)
    builder.add_integer_field("at", indexed=True, fast=True)
    builder.add_text_field("site", tokenizer_name=_ANALYZER, index_option="basic")
    builder.add_integer_field("year", indexed=True, fast=True)
    for name in ("host", "type", "language"):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic", fast=True)
    builder.add_text_field(STEMS, tokenizer_name=_ANALYZER, index_option="basic")
    for name in (*TEXTS, FILTERS["title"]):
        builder.add_text_field(name, tokenizer_name=_ANALYZER)
    builder.add_bytes_field("shown", stored=True)
    return builder.build()


def _document(entry: PageEntry, words: str) -> tantivy.Document:
    import tantivy

    document = tantivy.Document()
    document.add_integer("page", entry.page)
    if entry.at is not None:
        document.add_integer("at", int(entry.at))
        document.add_integer("year", datetime.fromtimestamp(entry.at, UTC).year)
    for name, text in _fields(entry, words):
        if text:
            document.add_text(name, text)
    document.add_bytes("shown", packed(entry))
    return document


def _fields(entry: PageEntry, words: str) -> Iterator[tuple[str, str]]:
    """Yield the text fields; a page that was never read has few of them."""
    yield "site", " ".join(sites_in(entry.url))
    yield "host", host_of(entry.url)
    yield "url", " ".join(words_of_url(entry.url))
    yield "anchor", f" {_BETWEEN} ".join(entry.anchors)
    if entry.at is None:
        return
    language, title = entry.language.partition("-")[0].lower(), indexed(entry.title)
    headings = indexed("\n".join(entry.headings))
    yield "language", language
    yield "type", entry.type
    yield "title", indexed(entry.own_title)
    yield FILTERS["title"], title
    yield "headings", headings
    yield "body", words
    # Each word once: how often a page has the other forms says little beside the exact ones.
    different = Counter(f"{title} {headings} {words}".split())
    yield STEMS, " ".join(stems(different, language))
    yield "repeated", indexed(entry.repeated)


@contextmanager
def index_errors(folder: Path) -> Iterator[None]:
    """Convert Tantivy's errors into one-line errors."""
    try:
        yield
    except (ValueError, OSError, StructError) as error:
        text = str(error)
        if "LockBusy" in text:
            raise StoreError(f"{folder.parent} is being written by another process") from error
        if any(word in text for word in _FULL) or getattr(error, "errno", None) == ENOSPC:
            raise NoRoom(f"{folder.parent}: the disk is full; the index can be rebuilt") from error
        if "writer was killed" in text:  # a write failed; the last commit is whole
            raise StoreError(f"{folder.parent} cannot be written ({text})") from error
        raise StoreError(
            f"{folder.parent} is damaged ({text}): `minicrawl index --fresh`"
        ) from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise StoreError(
            f"{folder.parent} is damaged ({error}): `minicrawl index --fresh`"
        ) from error
