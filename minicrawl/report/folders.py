"""Exports as folders: data sets, and graphs for the tools of public web graphs.

A data set is an export as files of limited size, with a manifest and a data card.

    pages-00000.parquet   rows of pages, or records of a web archive
    index-00000.parquet   beside pages-00000.warc.gz: Common Crawl's columnar index of its records
    README.md             data card; its head tells `datasets` of Hugging Face where the rows are
    manifest.json         settings, counts, permitted uses, and the files with their hashes

Laws: one store and the same options make the same bytes, at any time and in any folder, so times
are those of the store. The manifest is written last: a folder without one is incomplete. Memory
holds a block of rows and the index of one file. Only files with the names above are replaced.
"""

import gzip
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import file_digest
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from minicrawl import __version__
from minicrawl.archive.warc.capture import Capture, truncated
from minicrawl.archive.warc.cdxj import CdxLine, surt
from minicrawl.archive.warc.writer import WarcWriter, record_id
from minicrawl.errors import UsageError
from minicrawl.graph.csr import Csr
from minicrawl.own_files import replacing
from minicrawl.report.formats import CONTENTS, Writer, write_parquet
from minicrawl.report.selected_pages import Block, Drawing
from minicrawl.web.markup import decode
from minicrawl.web.responses import ALL, DocumentType, parse_content_type, type_of
from minicrawl.web.urls import canonical, domains, is_address
from minicrawl.wording import iso, visible

MANIFEST, CARD = "manifest.json", "README.md"
_OWN = re.compile(rf"(?:pages|index)-\d{{5,}}\.[a-z.]+|{re.escape(MANIFEST)}|{re.escape(CARD)}")


class DataFile(NamedTuple):
    """File of a data set."""

    name: str
    bytes: int
    rows: int
    sha256: str


class DataSet:
    """Folder of files, each of about `most_bytes`."""

    def __init__(self, folder: Path, most_bytes: int) -> None:
        self.folder, self._most_bytes = folder, most_bytes
        self.files: list[DataFile] = []

    def prepare(self, *, force: bool) -> None:
        """Make the folder. Raise `UsageError` if it has files, unless they may be replaced."""
        if self.folder.exists() and not self.folder.is_dir():
            raise UsageError(f"{self.folder} is a file: name a folder")
        self.folder.mkdir(parents=True, exist_ok=True)
        found = [one for one in self.folder.iterdir() if _OWN.fullmatch(one.name)]
        if found and not force:
            raise UsageError(f"{self.folder} has a data set: --force replaces it")
        for one in sorted(found, key=lambda one: one.name != MANIFEST):
            one.unlink()

    def write_rows(
        self, found: Iterable[Block], suffix: str, columns: Sequence[str], write: Writer
    ) -> None:
        """Write blocks of rows into at least one file, even without rows."""
        rest = iter(found)
        first = next(rest, None)
        while not self.files or first is not None:
            blocks = chain(() if first is None else (first,), rest)
            with self._file("pages", suffix) as (_, file, count):
                write(self._until_full(blocks, file, count), file, columns)
            first = next(rest, None)

    def write_warcs(
        self,
        captures: Iterator[Capture],
        made_at: float,
        about: Mapping[str, str],
        crawl: str,
    ) -> None:
        """Write captures, each file with its index; `crawl` is the crawl's name in the index."""
        first = next(captures, None)
        while not self.files or first is not None:
            found = chain(() if first is None else (first,), captures)
            rows: list[IndexRow] = []
            with self._file("pages", "warc.gz") as (name, file, count):
                writer = WarcWriter(file, name)
                for line in writer.write(found, made_at, about):
                    count(1)
                    rows.append(_index_row(line, name, crawl))
                    if writer.offset >= self._most_bytes:
                        break
            with self._file("index", "parquet") as (_, file, count):
                count(len(rows))
                write_parquet(_index_blocks(rows), file, tuple(INDEX), types=INDEX)
            first = next(captures, None)

    def finish(self, manifest: Mapping[str, object]) -> None:
        """Write the data card and the manifest."""
        whole = {**manifest, "files": [one._asdict() for one in self.files]}
        with replacing(self.folder / CARD) as file:
            file.write(card(whole).encode())
        with replacing(self.folder / MANIFEST) as file:
            file.write(f"{json.dumps(whole, indent=1, sort_keys=True)}\n".encode())

    @contextmanager
    def _file(
        self, kind: str, suffix: str
    ) -> Iterator[tuple[str, BinaryIO, Callable[[int], None]]]:
        """Yield the name of the next file, the file, and a function that counts its rows."""
        rows = 0

        def count(more: int) -> None:
            nonlocal rows
            rows += more

        number = sum(one.name.startswith(kind) for one in self.files)
        name = f"{kind}-{number:05}.{suffix}"
        place = self.folder / name
        with replacing(place) as file:
            yield name, file, count
        with place.open("rb") as written:
            digest = file_digest(written, "sha256").hexdigest()
        self.files.append(DataFile(name, place.stat().st_size, rows, digest))

    def _until_full(
        self, blocks: Iterable[Block], file: BinaryIO, count: Callable[[int], None]
    ) -> Iterator[Block]:
        for block in blocks:
            count(len(next(iter(block.values()))))
            yield block
            if file.tell() >= self._most_bytes:
                return


def read_until(folder: Path) -> float:
    """Return the time of the last fetch in a data set, from its manifest."""
    place = folder / MANIFEST if folder.is_dir() else folder
    try:
        found = json.loads(place.read_text(encoding="utf-8"))["read_until"]
    except OSError as error:
        raise UsageError(f"{place}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        found = None
    if not isinstance(found, int | float):
        raise UsageError(f'{place} is not the manifest of a data set: it has no "read_until"')
    return float(found)


# ================================================================ Common Crawl's columnar index
#
# Columns, types and meanings of the table that Common Crawl publishes for its WARC files, so that
# queries written for it run on ours. The languages stay empty: detecting them would take longer
# than everything else.

INDEX: Mapping[str, str] = (
    dict.fromkeys(("url_surtkey", "url", "url_host_name", "url_host_tld"), "VARCHAR")
    | {f"url_host_{place}_last_part": "VARCHAR" for place in ("2nd", "3rd", "4th", "5th")}
    | dict.fromkeys(
        (
            *("url_host_registry_suffix", "url_host_registered_domain"),
            *("url_host_private_suffix", "url_host_private_domain", "url_host_name_reversed"),
            "url_protocol",
        ),
        "VARCHAR",
    )
    | {"url_port": "INTEGER", "url_path": "VARCHAR", "url_query": "VARCHAR"}
    | {"fetch_time": "TIMESTAMP", "fetch_status": "SMALLINT", "fetch_redirect": "VARCHAR"}
    | dict.fromkeys(
        (
            *("content_digest", "content_mime_type", "content_mime_detected", "content_charset"),
            *("content_languages", "content_truncated"),
        ),
        "VARCHAR",
    )
    | {"warc_record_id": "BLOB", "warc_filename": "VARCHAR"}
    # A file may be larger than 2 GB, the limit of an INTEGER.
    | {"warc_record_offset": "BIGINT", "warc_record_length": "BIGINT"}
    | dict.fromkeys(("warc_segment", "crawl", "subset"), "VARCHAR")
)
"""SQL types by column."""
IndexRow = tuple[str | int | bytes | None, ...]

_PARTS, _ROWS_AT_ONCE = 5, 10_000
_OK, _REDIRECT = range(200, 300), range(300, 400)
_TYPES = {
    DocumentType.HTML: "text/html",
    DocumentType.PDF: "application/pdf",
    DocumentType.TEXT: "text/plain",
    DocumentType.MARKDOWN: "text/markdown",
    DocumentType.FEED: "application/rss+xml",
    DocumentType.SITEMAP: "application/xml",
}


def _index_row(line: CdxLine, filename: str, crawl: str) -> IndexRow:
    one = line.capture
    parts, status = urlsplit(one.url), one.status
    kind, charset = parse_content_type(one.headers.get("content-type"))
    document = type_of(one.headers.get("content-type"), one.url, one.body, ALL)
    location = one.headers.get("location") if status in _REDIRECT else None
    if parts.path == "/robots.txt":
        subset = "robotstxt"
    else:
        subset = "warc" if status in _OK and not line.is_revisit else "crawldiagnostics"
    return (
        *(surt(one.url), one.url, *_host_columns(parts.hostname or "")),
        *(parts.scheme, parts.port, parts.path, parts.query or None),
        *(datetime.fromtimestamp(int(one.at), UTC).strftime("%Y-%m-%d %H:%M:%S"), status),
        *(None if location is None else canonical(location, one.url), line.digest[len("sha1:") :]),
        *(kind or None, None if document is None else _TYPES.get(document)),
        decode(one.body, charset)[1].upper() if document and one.body else None,
        *(None, truncated(one.cut) if one.cut else None),
        record_id(filename, line.offset).bytes,
        *(filename, line.offset, line.length, "", crawl, subset),
    )


def _host_columns(host: str) -> Iterator[str | None]:
    found = None if ":" in host else domains(host)
    labels = list(reversed(host.split("."))) if found is not None else []
    yield host
    yield from (labels[place] if place < len(labels) else None for place in range(_PARTS))
    yield from found or (None,) * 4
    yield ".".join(labels) or None


def _index_blocks(rows: list[IndexRow]) -> Iterator[Block]:
    # Sorted like the published table, so that the rows of a site are adjacent.
    rows.sort(key=lambda row: tuple(map(str, (row[0], row[list(INDEX).index("fetch_time")]))))
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        columns = zip(*rows[start : start + _ROWS_AT_ONCE], strict=True)
        yield dict(zip(INDEX, columns, strict=True))


# ================================================================ data card


def card(manifest: Mapping[str, Any]) -> str:
    """Return the data card in Markdown, for people and for the hub of Hugging Face."""
    files = [one for one in manifest["files"] if one["name"].startswith("pages")]
    rows, name = manifest["rows"], visible(manifest["store"])
    suffix = files[0]["name"].partition(".")[2]
    parts = [_head(suffix), f"# Pages of {name}", _summary(manifest, rows)]
    if manifest["columns"]:
        parts += ["## Columns", _columns(manifest["columns"])]
    if manifest["usage"] is not None:
        parts += [
            "## Permitted uses",
            f"Pages by what their sites say in {_usage_sources(manifest['settings'])} "
            "`unset` means that the site says nothing; that is no permission.",
            _table(
                ("use", "allow", "deny", "unset"),
                ((purpose, *said.values()) for purpose, said in manifest["usage"].items()),
            ),
        ]
    parts += [
        "## Files",
        _table(
            ("file", "rows", "bytes", "SHA-256"),
            (
                [one[name] for name in ("name", "rows", "bytes", "sha256")]
                for one in manifest["files"]
            ),
        ),
    ]
    if suffix == "parquet":
        parts += [
            "## Read it",
            "```python\nfrom datasets import load_dataset\n\n"
            'rows = load_dataset("parquet", data_files="pages-*.parquet", split="train")\n```',
            "```sql\nSELECT count(*) FROM 'pages-*.parquet'\n```",
        ]
    settings = json.dumps(manifest["settings"], indent=1, sort_keys=True)
    parts += ["## Settings of the crawl", f"```json\n{settings}\n```"]
    return "\n\n".join(parts) + "\n"


def has_usage_files(settings: Mapping[str, object]) -> bool:
    """Return True if a crawl with these settings requests tdmrep.json and the files of RSL."""
    return settings.get("obey-usage") is not None


def _usage_sources(settings: Mapping[str, object]) -> str:
    if has_usage_files(settings):
        return "robots.txt, headers and markup, in tdmrep.json, RSL and licences."
    return (
        "robots.txt, headers, markup and licences. tdmrep.json and RSL files were not requested, "
        "as the crawl had no `--obey-usage`: pages that they reserve count as `allow` or `unset`."
    )


def _head(suffix: str) -> str:
    files = f'  data_files: "pages-*.{suffix}"'
    return "\n".join(("---", "configs:", "- config_name: default", files, "---"))


def _summary(manifest: Mapping[str, Any], rows: int) -> str:
    since, purpose = manifest["since"], manifest["purpose"]
    said = f"{rows:,} rows, read until {iso(manifest['read_until'])}"
    if since is not None:
        said += f", new or changed since {iso(since)}"
    said += f". Made by {manifest['software']}, most important pages first."
    if purpose:
        said += f" {manifest['denied']:,} pages are left out because their sites deny {purpose}."
    if manifest["left_out"]:
        said += f" {manifest['left_out']:,} responses could not be read, or not in time."
    return said


def _columns(columns: Sequence[str]) -> str:
    said = (f": {CONTENTS[one]}" if one in CONTENTS else "" for one in columns)
    return "\n".join(f"- `{one}`{what}" for one, what in zip(columns, said, strict=True))


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def software() -> str:
    """Return the name and version of the program."""
    return f"minicrawl {__version__}"


# ================================================================ graph folders
#
# Graph as a folder of numbered vertices and edges, for the tools of public web graphs.
#
# vertices.txt.gz   number and name, as in Common Crawl: hosts are reversed (org.example)
# edges.txt.gz      two numbers, in order: Common Crawl's edges, and WebGraph's ArcListASCIIGraph
# graph.graph-txt   number of nodes, then a line of successors for each: WebGraph's ASCIIGraph
#
# Vertices are numbered from 0: hosts by their reversed names, pages by their ids. Links have no
# weights here. The links are in memory, 12 bytes each, since all three forms need them in order.

VERTICES, EDGES, ADJACENCY = "vertices.txt.gz", "edges.txt.gz", "graph.graph-txt"
_EDGES_AT_ONCE = 100_000


def refuse_folder(folder: Path, *, force: bool) -> None:
    """Raise UsageError if the folder is a file, or has a graph that must not be replaced."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file: name a folder for the graph")
    if any((folder / name).exists() for name in (VERTICES, EDGES, ADJACENCY)) and not force:
        raise UsageError(f"{folder} has a graph: --force replaces it")


def write_graph_folder(drawing: Drawing, folder: Path, *, of_hosts: bool) -> int:
    """Write the three files, and return the number of edges."""
    ids, names = _nodes(drawing, of_hosts=of_hosts)
    graph = _numbered(drawing, ids)
    folder.mkdir(parents=True, exist_ok=True)
    with _compressed(folder / VERTICES) as file:
        file.writelines(f"{node}\t{name}\n".encode() for node, name in enumerate(names))
    with _compressed(folder / EDGES) as file:
        sources = graph.sources()
        for first in range(0, graph.edges, _EDGES_AT_ONCE):
            ends = (
                sources[first : first + _EDGES_AT_ONCE],
                graph.targets[first : first + _EDGES_AT_ONCE],
            )
            pairs = zip(*(end.tolist() for end in ends), strict=True)
            file.write("".join(f"{source}\t{target}\n" for source, target in pairs).encode())
    with replacing(folder / ADJACENCY) as file:
        file.write(f"{graph.nodes}\n".encode())
        file.writelines(f"{' '.join(map(str, row))}\n".encode() for row in _rows(graph))
    return graph.edges


def _nodes(drawing: Drawing, *, of_hosts: bool) -> tuple[NDArray[np.int64], list[str]]:
    """Return the id of each vertex, and its name."""
    found = [
        (_reversed(name) if of_hosts else "", node, name)
        for block in drawing.nodes
        for node, name in zip(block["id"], block["label"], strict=True)
    ]
    found.sort()
    names = (host if of_hosts else url for host, _, url in found)
    return np.array([node for _, node, _ in found], dtype=np.int64), list(map(visible, names))


def _reversed(host: str) -> str:
    return host if is_address(host) else ".".join(reversed(host.split(".")))


def _numbered(drawing: Drawing, ids: NDArray[np.int64]) -> Csr:
    """Return the links between the vertices, by number."""
    number_of = np.full(int(ids.max(initial=-1)) + 1, -1, dtype=np.int32)
    number_of[ids] = np.arange(len(ids))
    blocks = ((block["source"], block["target"]) for block in drawing.links)
    numbered = [number_of[np.array(block, dtype=np.int64)] for block in blocks]
    none = np.zeros((2, 0), dtype=np.int32)
    sources, targets = np.concatenate([none, *numbered], axis=1)
    return Csr.from_edges(len(ids), sources, targets)


def _rows(graph: Csr) -> Iterator[list[int]]:
    ranges = pairwise(graph.starts.tolist())
    return (graph.targets[first:end].tolist() for first, end in ranges)


@contextmanager
def _compressed(path: Path) -> Iterator[gzip.GzipFile]:
    """Yield a file without a time in its head, so that equal graphs make equal files."""
    with (
        replacing(path) as file,
        gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as compressed,
    ):
        yield compressed
