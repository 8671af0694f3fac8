"""Engines that a user might take instead, on the same pages: SQLite's FTS5, and tantivy alone."""

import re
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import tantivy

from minicrawl.search.entries import Entry

_WORD = re.compile(r"\w+")
_TOP = 10
_HEAP_BYTES = 64_000_000

Answer = Callable[[str], Sequence[str]]


def fts5(entries: Iterable[Entry]) -> Answer:
    """FTS5's bm25 over title and text, the title twice as much; all words, else any."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE pages USING fts5(url UNINDEXED, title, body)")
    rows = ((one.url, one.title, f"{one.body}\n{one.repeated}") for one in entries)
    connection.executemany("INSERT INTO pages VALUES (?, ?, ?)", rows)
    query = "SELECT url FROM pages WHERE pages MATCH ? ORDER BY bm25(pages, 0, 2, 1) LIMIT ?"

    def answer(words: str) -> Sequence[str]:
        quoted = [f'"{word}"' for word in _WORD.findall(words)]
        for joined in (" ".join(quoted), " OR ".join(quoted)):
            found = [url for (url,) in connection.execute(query, (joined, _TOP))]
            if found:
                return found
        return []

    return answer


def tantivy_alone(entries: Iterable[Entry], folder: Path) -> Answer:
    """Tantivy with its own analyzer and its own parser of queries."""
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("url", stored=True, tokenizer_name="raw")
    builder.add_text_field("title")
    builder.add_text_field("body")
    folder.mkdir()
    index = tantivy.Index(builder.build(), path=str(folder))
    writer = index.writer(_HEAP_BYTES, 1)
    for one in entries:
        document = tantivy.Document()
        document.add_text("url", one.url)
        document.add_text("title", one.title)
        document.add_text("body", f"{one.body}\n{one.repeated}")
        writer.add_document(document)
    writer.commit()
    index.reload()
    searcher = index.searcher()

    def answer(words: str) -> Sequence[str]:
        plain = " ".join(_WORD.findall(words)).lower()
        query = index.parse_query(plain, ["title", "body"], {"title": 2.0})
        return [searcher.doc(at)["url"][0] for _, at in searcher.search(query, _TOP).hits]

    return answer
