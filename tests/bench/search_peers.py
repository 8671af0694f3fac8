"""Other search engines on the same pages: SQLite's FTS5, tantivy alone, Xapian Omega.

Omega (Debian's package xapian-omega) parses the pages itself, in its own programs, and is left out
if it is not installed.
"""

import os
import re
import sqlite3
import subprocess
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from shutil import which
from urllib.parse import unquote, urlsplit

import tantivy

from minicrawl.report.archived.page_versions import kept_pages
from minicrawl.report.snapshot import snapshot
from minicrawl.search.entries import PageEntry

_WORD = re.compile(r"\w+")
_TOP = 10
_HEAP_BYTES = 64_000_000
_OMEGA = Path("/usr/lib/cgi-bin/omega/omega")
# Stems, titles and file names, as in Omega's own templates.
_OMEGA_TEMPLATE = (
    "$set{stemmer,english}$setmap{prefix,,$split{ S B F},title,S}$hitlist{$field{url}\n}"
)

Answer = Callable[[str], Sequence[str]]


def fts5(entries: Iterable[PageEntry]) -> Answer:
    """Return FTS5 with bm25 over title (twice) and text; all words, else any."""
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


def tantivy_alone(entries: Iterable[PageEntry], folder: Path) -> Answer:
    """Return tantivy with its own analyzer and query parser."""
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


def omega(entries: Iterable[PageEntry], store: Path, folder: Path) -> Answer | None:
    """Return Omega, used as its manual says; all words, else any. None if it is not installed."""
    if which("omindex") is None or not _OMEGA.exists():
        return None
    urls = _as_files([entry.url for entry in entries], store, folder / "pages")
    make = ("omindex", "--db", folder / "data" / "default", "--url", "/", folder / "pages")
    (folder / "data").mkdir()
    subprocess.run(make, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    (folder / "urls").write_text(_OMEGA_TEMPLATE)
    (folder / "omega.conf").write_text(f"database_dir {folder}/data\ntemplate_dir {folder}\n")
    environment = {**os.environ, "OMEGA_CONFIG_FILE": str(folder / "omega.conf")}

    def asked(words: str, joined: str) -> list[str]:
        query = (f"P={words}", f"DEFAULTOP={joined}", f"HITSPERPAGE={_TOP}", "FMT=urls")
        found = subprocess.run([_OMEGA, *query], env=environment, check=True, capture_output=True)
        return [urls[path] for path in map(unquote, found.stdout.decode().split()) if path in urls]

    def answer(words: str) -> Sequence[str]:
        plain = " ".join(_WORD.findall(words))
        return asked(plain, "and") or asked(plain, "or")

    return answer


def _as_files(urls: Iterable[str], store: Path, folder: Path) -> dict[str, str]:
    """Write pages to files named by their paths; return the URL of each path."""
    found = {}
    with snapshot(store) as seen, kept_pages(seen) as archive:
        for url in urls:
            parts = urlsplit(url)
            path = f"/{parts.netloc}{unquote(parts.path)}"
            path += "index.html" if path.endswith("/") else ""
            if path in found or not (rows := archive.versions(url)):
                continue
            file = folder / path.lstrip("/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(archive.answer(rows[-1].place).body)
            found[path] = url
    return found
