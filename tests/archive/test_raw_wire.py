"""With `--raw-bodies`, WARC files have each byte of each response, compared with a capture.

The server is a raw socket: whatever it sends is what the files must have, from the first byte after
the request to the last one of the message. The table has 300 combinations of what servers do.
"""

import gzip
import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import chdir, closing, contextmanager
from itertools import cycle, islice, product
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest

from minicrawl.archive.reader import ArchiveReader
from minicrawl.archive.record import RecordKind
from minicrawl.cli import main
from tests.archive.raw_server import raw_server

ArchiveIterator = pytest.importorskip("warcio.archiveiterator").ArchiveIterator

STATUSES = (
    *(b"200 OK", b"200", b"200 Tr\xe8s bien", b"203 Other", b"301 Moved", b"302", b"308 Away"),
    *(b"404 Not \xd0 Here", b"410 Gone", b"403", b"304 Not Asked For", b"418 Teapot"),
)
TRAILERS = b"X-Sum: 1\r\nX-Latin: \xe9\r\n\r\n"
CHUNKED = {"chunks": b"0\r\n\r\n", "trailers": b"0\r\n" + TRAILERS, "broken off": b"5\r\nab"}
FRAMINGS = (*CHUNKED, "length", "connection")
INTERIM = (
    b"",
    b"",
    b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n",
    b"\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103\nX: \xff\n\n",
)
HEADERS = (
    b"X-NumBer:  1 \r\nx-number: again\r\n",
    b"X-Folded: one\r\n  two\r\n\tthree\r\n",
    b"X-Latin: caf\xe9 \x00 end\r\n",
    b"",
)
VERSIONS = (b"HTTP/1.1 ", b"HTTP/1.0 ", b"HTTP/1.1  ")


class Reply(NamedTuple):
    """Response of the server, and whether it ends with the connection."""

    interim: bytes
    head: bytes
    body: bytes
    text: bytes
    """The body without chunks and codings."""
    ends: bool

    @property
    def sent(self) -> bytes:
        return self.interim + self.head + self.body


def replies() -> dict[str, Reply]:
    """Return 300 responses by path, and a large file."""
    mixed = zip(
        product(STATUSES, FRAMINGS, (b"", b"gzip", b"nonsense")),
        cycle(INTERIM),
        cycle(HEADERS[:3]),
        cycle(VERSIONS),
        strict=False,
    )
    made = {}
    for number, (kind, interim, own, version) in enumerate(islice(cycle(list(mixed)), 300)):
        status, framing, coding = kind
        # Every tenth body is one that other responses have, too.
        name = "the same" if number % 10 == 0 else f"page {number}"
        text = f"<title>{name}</title><p>{name}".encode() * (1 + number % 40)
        text = b"" if status.startswith(b"304") else text
        head = b"Content-Type: text/html\r\n" + own
        head += b"Content-Encoding: %b\r\n" % coding if coding else b""
        head += b"Location: /moved/%d\r\n" % number if status[:1] == b"3" else b""
        body = gzip.compress(text, mtime=0) if text and coding == b"gzip" else text
        is_chunked = framing in CHUNKED and bool(text)
        if is_chunked:
            head += b"Transfer-Encoding: chunked\r\n"
            middle = 1 + number % (len(body) - 1)
            chunks = b"".join(
                b'%X;a="b"\r\n%b\r\n' % (len(piece), piece)
                for piece in (body[:middle], body[middle:])
                if piece
            )
            body = chunks + CHUNKED[framing]
        elif framing == "length":
            head += b"content-LENGTH: %d\r\n" % len(body)
        # HTTP/1.0 has no chunks.
        first = (b"HTTP/1.1 " if is_chunked else version) + status + b"\r\n"
        end = b"\n" if number % 7 == 0 else b"\r\n"
        ends = framing in ("connection", "broken off") or first.startswith(b"HTTP/1.0")
        made[f"/{number}"] = Reply(interim, first + head + end, body, text, ends)
    large = Random(7).randbytes(2_000_000) + b"," * 1_000_000  # the crawler spools it to disk
    body = gzip.compress(large, mtime=0)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/csv\r\nContent-Encoding: gzip\r\n"
    head += b"Content-Length: %d\r\n\r\n" % len(body)
    return made | {"/large.csv": Reply(b"", head, body, large, ends=False)}


REPLIES = replies()
ROOT = "".join(f"<a href={path}>x</a>" for path in REPLIES).encode()


@contextmanager
def serving() -> Iterator[tuple[int, dict[str, list[bytes]]]]:
    """Yield the port of the server, and what it has sent, by path."""
    sent = defaultdict[str, list[bytes]](list)
    page = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(ROOT)
    missing = b"HTTP/1.1 404 None\r\nContent-Length: 0\r\n\r\n"

    def answer(path: str, _head: bytes) -> tuple[bytes, bool]:
        reply = REPLIES.get(path)
        content = missing if reply is None else reply.sent
        content = page + ROOT if path == "/" else content
        sent[path].append(content)
        return content, reply is not None and reply.ends

    with raw_server(answer) as port:
        yield port, sent


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, list[bytes]]]:
    folder = tmp_path_factory.mktemp("wire")
    with serving() as (port, sent), chdir(folder):
        usual = ("--delay", "0", "--workers", "0", "--quiet", "--max-tries", "1")
        kept = ("--raw-bodies", "--warc", "warcs", "--types", "all,files", "--store", "crawl.db")
        assert main(["crawl", f"http://127.0.0.1:{port}/", *usual, *kept]) == 0
        assert main(["export", "site.warc.gz", "--store", "crawl.db"]) == 0
    assert sent.keys() >= REPLIES.keys()
    return folder, sent


def path_of(record: Any) -> str:
    return "/" + str(record.rec_headers.get_header("WARC-Target-URI")).split("/", 3)[3]


@pytest.mark.parametrize("name", ["warcs/*.warc.gz", "site.warc.gz"])
def test_each_byte_of_each_response_is_in_the_file(
    crawled: tuple[Path, dict[str, list[bytes]]], name: str
) -> None:
    folder, sent = crawled
    (place,) = folder.glob(name)
    heads, blocks, interim = dict[str, bytes](), dict[str, bytes](), defaultdict[str, bytes](bytes)
    of_original = dict[str, str]()
    with place.open("rb") as file:
        for record in ArchiveIterator(file, no_record_parse=True):
            content = record.raw_stream.read()
            if record.rec_type == "response":
                blocks[path_of(record)] = content
            elif record.rec_type == "revisit":
                heads[path_of(record)] = content
                original = record.rec_headers.get_header("WARC-Refers-To-Target-URI")
                of_original[path_of(record)] = "/" + original.split("/", 3)[3]
            elif record.content_type == "application/http;msgtype=response":
                assert record.rec_type == "metadata"
                interim[path_of(record)] = content
    for path, head in heads.items():
        body = re.split(rb"\n\r?\n", blocks[of_original[path]], maxsplit=1)[1]
        blocks[path] = head + body
    assert heads, "no body was sent twice in the same form"
    for path, contents in sent.items():
        assert interim[path] + blocks[path] == contents[-1], path
    assert blocks.keys() == sent.keys()


def test_a_reader_undoes_the_chunks(crawled: tuple[Path, dict[str, list[bytes]]]) -> None:
    folder, _ = crawled
    (place,) = folder.glob("warcs/*.warc.gz")
    compared, cut = 0, 0
    with place.open("rb") as file:
        for record in ArchiveIterator(file, check_digests="raise"):
            if record.rec_type != "response" or (reply := REPLIES.get(path_of(record))) is None:
                continue
            is_cut = reply.body.endswith(b"5\r\nab")
            assert (record.rec_headers.get_header("WARC-Truncated") == "disconnect") == is_cut, (
                path_of(record),
                reply,
            )
            cut += is_cut
            if not is_cut:
                content = record.content_stream().read()
                # It takes trailers, or some of them, for a part of the body.
                assert content.startswith(reply.text), path_of(record)
                compared += 1
    assert compared > 200
    assert cut > 40


def test_the_archive_has_decoded_bodies_too(
    crawled: tuple[Path, dict[str, list[bytes]]],
) -> None:
    folder, _ = crawled
    assert main(["archive", "--verify", "--store", str(folder / "crawl.db")]) == 0
    for place in ("warcs", "site.warc.gz"):
        assert main(["archive", "--verify", str(folder / place)]) == 0
    compared = 0
    with closing(ArchiveReader(folder / "crawl.db-pages")) as archive:
        for row in archive.index.rows(archive.end):
            answer = archive.answer(row.place)
            reply = REPLIES.get("/" + answer.url.split("/", 3)[3])
            if reply is not None and answer.kind is not RecordKind.REVISIT and not answer.cut:
                assert answer.body == reply.text
                assert answer.coded == (reply.body if reply.body != reply.text else None)
                compared += 1
    assert compared > 100
