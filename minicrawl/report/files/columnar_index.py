"""Common Crawl's columnar index of a web archive.

Columns, types and meanings are those of the table that Common Crawl publishes for its WARC files,
so that queries written for it run on ours. The languages stay empty: detecting them would take
longer than everything else.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from urllib.parse import urlsplit

from minicrawl.archive.warc.capture import truncated
from minicrawl.archive.warc.cdxj import CdxLine, surt
from minicrawl.archive.warc.writer import record_id
from minicrawl.report.selected_pages import Block
from minicrawl.web.encoding.detection import decode
from minicrawl.web.responses.headers import parse_content_type
from minicrawl.web.responses.types import ALL, DocumentType, type_of
from minicrawl.web.sites import domains
from minicrawl.web.urls import canonical

_NAMES = """
url_surtkey url url_host_name url_host_tld url_host_2nd_last_part url_host_3rd_last_part
url_host_4th_last_part url_host_5th_last_part url_host_registry_suffix url_host_registered_domain
url_host_private_suffix url_host_private_domain url_host_name_reversed url_protocol url_port
url_path url_query fetch_time fetch_status fetch_redirect content_digest content_mime_type
content_mime_detected content_charset content_languages content_truncated warc_record_id
warc_filename warc_record_offset warc_record_length warc_segment crawl subset
"""
INDEX: Mapping[str, str] = dict.fromkeys(_NAMES.split(), "VARCHAR") | {
    "url_port": "INTEGER",
    "fetch_time": "TIMESTAMP",
    "fetch_status": "SMALLINT",
    "warc_record_id": "BLOB",
    # A file may be larger than 2 GB, the limit of an INTEGER.
    **dict.fromkeys(("warc_record_offset", "warc_record_length"), "BIGINT"),
}
"""SQL types by column."""
IndexRow = tuple[str | int | bytes | None, ...]

_PARTS, _ROWS_AT_ONCE = 5, 10_000
_OK, _REDIRECT = range(200, 300), range(300, 400)
_TYPES = {
    DocumentType.HTML: "text/html",
    DocumentType.PDF: "application/pdf",
    DocumentType.OFFICE: "application/zip",
    DocumentType.TEXT: "text/plain",
    DocumentType.MARKDOWN: "text/markdown",
    DocumentType.FEED: "application/rss+xml",
    DocumentType.SITEMAP: "application/xml",
}


def index_row(line: CdxLine, filename: str, crawl: str) -> IndexRow:
    """Return the values of a response in the columns of `INDEX`."""
    capture = line.capture
    parts, status = urlsplit(capture.url), capture.status
    kind, charset = parse_content_type(capture.headers.get("content-type"))
    document = type_of(capture.headers.get("content-type"), capture.url, capture.body, ALL)
    location = capture.headers.get("location") if status in _REDIRECT else None
    if parts.path == "/robots.txt":
        subset = "robotstxt"
    else:
        subset = "warc" if status in _OK and not line.is_revisit else "crawldiagnostics"
    host = parts.hostname or ""
    of_domain = None if ":" in host else domains(host)
    labels = list(reversed(host.split("."))) if of_domain is not None else []
    return (
        *(surt(capture.url), capture.url, host),
        *(labels[place] if place < len(labels) else None for place in range(_PARTS)),
        *(of_domain or (None,) * 4),
        ".".join(labels) or None,
        *(parts.scheme, parts.port, parts.path, parts.query or None),
        *(datetime.fromtimestamp(int(capture.at), UTC).strftime("%Y-%m-%d %H:%M:%S"), status),
        *(
            None if location is None else canonical(location, capture.url),
            line.digest[len("sha1:") :],
        ),
        *(kind or None, None if document is None else _TYPES.get(document)),
        decode(capture.body, charset)[1].upper() if document and capture.body else None,
        *(None, truncated(capture.cut) if capture.cut else None),
        record_id(filename, line.offset).bytes,
        *(filename, line.offset, line.length, "", crawl, subset),
    )


def index_blocks(rows: list[IndexRow]) -> Iterator[Block]:
    # Sorted like the published table, so that the rows of a site are adjacent.
    rows.sort(key=lambda row: tuple(map(str, (row[0], row[list(INDEX).index("fetch_time")]))))
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        columns = zip(*rows[start : start + _ROWS_AT_ONCE], strict=True)
        yield dict(zip(INDEX, columns, strict=True))
