"""Archives and WARC files have exactly the heads that a server received and sent.

With `--raw-bodies`, they have the bodies as sent, too.
"""

import gzip
import json
import re
import socketserver
import threading
from collections.abc import Iterator
from contextlib import chdir, closing, contextmanager
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from random import Random

import pytest

from minicrawl.archive.reader import ArchiveReader
from minicrawl.archive.record import RecordKind
from minicrawl.cli import main
from minicrawl.fetch.signing import SigningKey

ArchiveIterator = pytest.importorskip("warcio.archiveiterator").ArchiveIterator
PAGES = 1000
LONGEST_HEAD = 65_536
SECRETS = (b"hunter2", b"Basic ", b"s3cr3t")
_INSERTED = re.compile(rb"Content-Length: \d+\r\n\r\n\Z")


def _reply(number: int) -> bytes:
    """Return one of eight kinds of responses, each with an unusual head."""
    body = f"<title>{number}</title><p>page {number}".encode()
    coded, chunks = gzip.compress(body), b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    own = b"X-NumBer:  %d \r\nx-number: again\r\nX-Odd: \xe9\xff\rbare\r\n" % number
    html, length = b"Content-Type: text/html\r\n", b"Content-Length: %d\r\n\r\n"
    moved = b"LOCATION: /%d\r\nX-Why: moved\r\n" % (number + 1)
    long = b"X-Long: " + b"a" * 5000 + b"\r\nX-Nul: a\x00b\r\n"
    folded = b"X-Folded: one\r\n  two\r\nSet-Cookie: session=s3cr3t\r\n"
    kinds = (
        b"200 Fine\r\n" + html + own + b"CONTENT-encoding: gzip\r\n" + length % len(coded) + coded,
        b"200 OK\r\n" + html + b"Transfer-Encoding: chunked\r\n\r\n" + chunks,
        b"302 Over There\r\n" + moved + own + length % 0,
        b"404 Gone Fishing\r\n" + html + long + length.lower() % len(body) + body,
        b"200\r\n" + html + folded + length % len(body) + body,
        b"200 OK\nContent-Type: text/html\nContent-Length: 0\n\n",
        b"200 OK\r\n" + html + length % len(body) + body,
        b"200 OK\r\n" + html + own + length % len(body) + body,
    )
    return b"HTTP/1.1 " + kinds[number % len(kinds)]


def _with_head_of(size: int) -> bytes:
    """Return a response whose head has this many bytes, with the oddities that a head may have."""
    begin = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Type: text/html\r\nX-Odd: \0 \rX: "
    end = b"\r\n\r\n"
    return begin + b"y" * (size - len(begin) - len(end)) + end + b"page"


WITH_LONG_HEADS = {
    "/longest": _with_head_of(LONGEST_HEAD),
    "/too-long": _with_head_of(LONGEST_HEAD + 1),
}


def _links() -> bytes:
    names = ("large.csv", "longest", "too-long", *range(PAGES))
    body = "".join(f"<a href=/{name}>x</a>" for name in names).encode()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(body)
    return head + body


WITH_ETAG = (
    b'HTTP/1.1 200 OK\r\nETag: "1"\r\nContent-Type: text/html\r\nContent-Length: 4\r\n\r\npage'
)
CONFIRMATION = b'HTTP/1.1 304 Still So\r\nX-oDD: 1\r\nETag:  "1"\r\n\r\n'


def _for_crawlers() -> dict[str, bytes]:
    """Return responses for robots.txt and for sitemaps, of which one is a redirect."""
    rules = b"User-agent: *\nDisallow:\nSitemap: /map.xml\nSitemap: /gone.xml\n"
    listed = b"<urlset></urlset>"
    head = b"HTTP/1.1 200 OK\r\nX-oDD: 1\r\nx-Odd: 2\r\nContent-Length: %d\r\n\r\n"
    return {
        "/robots.txt": head % len(rules) + rules,
        "/map.xml": b"HTTP/1.1 301 Elsewhere\r\nLOCATION: /site.xml\r\nContent-Length: 0\r\n\r\n",
        "/site.xml": head % len(listed) + listed,
    }


FOR_CRAWLERS = _for_crawlers()


def _large() -> bytes:
    """Return a response so large that the crawler spools it to disk."""
    body = gzip.compress(Random(7).randbytes(2_000_000) + b"," * 1_000_000)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/csv\r\nContent-Encoding: gzip\r\n"
    return head + b"Content-Length: %d\r\n\r\n" % len(body) + body


LARGE = _large()


@dataclass
class Witness:
    """Requests and responses of a server, by path."""

    port: int = 0
    received: dict[str, bytes] = field(default_factory=dict)
    sent: dict[str, bytes] = field(default_factory=dict)
    bodies: dict[str, bytes] = field(default_factory=dict)


@contextmanager
def witnessing() -> Iterator[Witness]:
    seen = Witness()

    class Turn(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            lines = iter(self.rfile.readline, b"")  # a closed connection returns b"" forever
            while request := b"".join(takewhile(b"\r\n".__ne__, lines)):
                path = request.split()[1].decode()
                reply = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
                if path in FOR_CRAWLERS:
                    reply = FOR_CRAWLERS[path]
                elif path == "/":
                    reply = _links()
                elif path == "/large.csv":
                    reply = LARGE
                elif path in WITH_LONG_HEADS:
                    reply = WITH_LONG_HEADS[path]
                elif path[1:].isdigit():
                    reply = _reply(int(path[1:]))
                elif path == "/confirmed":
                    reply = CONFIRMATION if b"If-None-Match" in request else WITH_ETAG
                seen.received[path] = request + b"\r\n"
                seen.sent[path], seen.bodies[path] = re.split(
                    rb"(?<=\n)(?=\r?\n)", reply, maxsplit=1
                )
                seen.sent[path] += b"\n" if b"\r\n\r\n" not in reply else b"\r\n"
                self.wfile.write(reply)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = allow_reuse_address = True

    with Server(("127.0.0.1", 0), Turn) as server:
        seen.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield seen
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def witness() -> Iterator[Witness]:
    with witnessing() as seen:
        yield seen


def with_secrets(witness: Witness) -> list[str]:
    """Return a command that crawls the server with a secret header and cookies."""
    header = f"127.0.0.1:{witness.port}=X-Key: hunter2"
    site = f"http://127.0.0.1:{witness.port}/"
    return [
        "crawl", site, "--header", header, "--cookies", "on", "--delay", "0", "--workers", "0",
        "--keep", "pages", "--store", "crawl.db", "--quiet",
    ]  # fmt: skip


@pytest.fixture(scope="module")
def crawled(witness: Witness, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a signed crawl with cookies and a secret header."""
    folder = tmp_path_factory.mktemp("true")
    with chdir(folder):
        SigningKey.create(Path("bot.pem"))
        options = ["--warc", "warcs", "--sitemaps", "--contact", "https://a.example/bot"]
        assert main([*with_secrets(witness), *options, "--sign-requests", "bot.pem"]) == 0
        assert main(["export", "site.warc.gz", "--store", "crawl.db"]) == 0
    assert len(witness.received) > PAGES
    assert any(b"hunter2" in request for request in witness.received.values())
    assert all(b"\nSignature: " in request for request in witness.received.values())
    assert any(b"s3cr3t" in head for head in witness.sent.values())
    return folder


def without(head: bytes, *names: bytes) -> bytes:
    lines = head.split(b"\n")
    return b"\n".join(line for line in lines if line.partition(b":")[0].lower() not in names)


def expected(witness: Witness, path: str) -> tuple[bytes, bytes]:
    request = without(witness.received[path], b"x-key", b"cookie")
    return request, without(witness.sent[path], b"set-cookie")


def test_the_archive_has_each_head_as_sent(crawled: Path, witness: Witness) -> None:
    compared = set()
    with closing(ArchiveReader(crawled / "crawl.db-pages")) as archive:
        for row in archive.index.rows(archive.end):
            if row.kind == RecordKind.DICTIONARY:
                continue
            answer = archive.answer(row.place)
            assert answer.wire is not None, answer.url
            path = "/" + answer.url.split("/", 3)[3]
            request, response = expected(witness, path)
            assert answer.wire.request == request
            assert answer.wire.response[:LONGEST_HEAD] == response[:LONGEST_HEAD]
            assert (len(answer.wire.response) > LONGEST_HEAD) == (path == "/too-long")
            assert (answer.wire.address, answer.wire.protocols) == ("127.0.0.1", ("http/1.1",))
            compared.add(path)
    assert len(compared) > PAGES
    assert compared == witness.sent.keys()
    assert {*FOR_CRAWLERS, "/gone.xml", "/longest"} <= compared


def test_a_head_over_the_limit_fails_its_page_alone(
    crawled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = ["--kind", "too-large", "--json", "--store", str(crawled / "crawl.db")]
    assert main(["errors", *chosen]) == 0
    (page,) = json.loads(capsys.readouterr().out)["pages"]
    assert page["url"].endswith("/too-long")
    assert page["detail"] == "a head of more than 65,536 bytes"
    (index,) = (crawled / "warcs").glob("*.cdxj")
    assert ")/longest" in index.read_text()
    assert ")/too-long" not in index.read_text()


def test_keep_credentials_archives_complete_heads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with witnessing() as witness:
        assert main([*with_secrets(witness), "--pages", "100", "--keep-credentials"]) == 0
    found = b""
    with closing(ArchiveReader(tmp_path / "crawl.db-pages")) as archive:
        for row in archive.index.rows(archive.end):
            if row.kind != RecordKind.DICTIONARY:
                answer = archive.answer(row.place)
                assert answer.wire is not None
                path = "/" + answer.url.split("/", 3)[3]
                assert answer.wire.request == witness.received[path]
                assert answer.wire.response[:LONGEST_HEAD] == witness.sent[path][:LONGEST_HEAD]
                found += answer.wire.request + answer.wire.response
    assert b"hunter2" in found
    assert b"s3cr3t" in found


@pytest.mark.parametrize("name", ["warcs/*.warc.gz", "site.warc.gz"])
def test_warc_files_have_the_same_heads(crawled: Path, witness: Witness, name: str) -> None:
    (place,) = crawled.glob(name)
    content = gzip.decompress(place.read_bytes())
    assert not [secret for secret in SECRETS if secret in content]
    compared = set()
    with place.open("rb") as file:
        for record in ArchiveIterator(file, no_record_parse=True):
            headers, block = record.rec_headers, record.content_stream().read()
            if record.rec_type == "warcinfo":
                info = block.decode().splitlines()
            if record.rec_type not in ("request", "response", "revisit"):
                continue
            path = "/" + headers.get_header("WARC-Target-URI").split("/", 3)[3]
            request, response = expected(witness, path)
            assert headers.get_header("WARC-IP-Address") == "127.0.0.1"
            assert headers.get_header("WARC-Protocol") == "http/1.1"
            assert re.search(r"\.\d{6}Z$", headers.get_header("WARC-Date"))
            if record.rec_type == "request":
                assert block == request
                continue
            compared.add(path)
            is_cut = headers.get_header("WARC-Truncated") == "length"
            assert is_cut == (path == "/too-long")
            if is_cut:
                own = response.removesuffix(b"\r\n").replace(
                    b"Content-L", b"X-Archive-Orig-Content-L"
                )
                assert block == own + b"Content-Length: 0\r\n\r\n"
                continue
            end = re.search(rb"\n\r?\n", block)
            assert end
            head = block[: end.end()]
            if b"X-Archive-Orig-" in head:
                head = _INSERTED.sub(b"\r\n", head).replace(b"X-Archive-Orig-", b"")
            assert head == response
    assert compared == witness.sent.keys()
    site = f"seed: http://127.0.0.1:{witness.port}/"
    assert {"operator: https://a.example/bot", "robots: classic", "seeds: 1", site} <= set(info)


def test_a_confirmation_of_a_page_has_its_own_heads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with witnessing() as witness:
        site = ["crawl", f"http://127.0.0.1:{witness.port}/confirmed", "--warc", "warcs"]
        chosen = ["--delay", "0", "--workers", "0", "--store", "crawl.db", "--quiet"]
        assert main([*site, *chosen]) == 0
        assert main([*site, *chosen, "--refresh", "1", "--new-pages", "1"]) == 0
    sent, received = (of["/confirmed"] for of in (witness.sent, witness.received))
    assert sent == CONFIRMATION
    assert main(["export", "site.warc.gz", "--store", "crawl.db"]) == 0
    assert main(["import", "site.warc.gz", "--store", "copy.db"]) == 0
    assert main(["export", "copy.warc.gz", "--store", "copy.db"]) == 0
    files = [max(Path("warcs").glob("*.warc.gz")), Path("site.warc.gz"), Path("copy.warc.gz")]
    for path in files:
        blocks = dict[str, bytes]()
        with path.open("rb") as file:
            for record in ArchiveIterator(file, no_record_parse=True):
                url = record.rec_headers.get_header("WARC-Target-URI") or ""
                if url.endswith("/confirmed"):
                    blocks[record.rec_type] = record.content_stream().read()
                    profile = record.rec_headers.get_header("WARC-Profile")
                    assert (record.rec_type != "revisit") or "server-not-modified" in profile
        assert blocks["revisit"] == sent, path
        assert blocks["request"] == received, path
    indexes = [index.read_text() for index in sorted(Path("warcs").glob("*.cdxj"))]
    assert [index.count(")/confirmed") for index in indexes] == [1, 0]


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Witness]:
    """Return a folder with a crawl that keeps raw bodies, and the exchanges of its server."""
    folder = tmp_path_factory.mktemp("raw")
    with witnessing() as seen, chdir(folder):
        kept = ["--raw-bodies", "--warc", "warcs", "--types", "all,files", "--store", "crawl.db"]
        site = ["crawl", f"http://127.0.0.1:{seen.port}/", "--delay", "0", "--quiet"]
        assert main([*site, *kept, "--workers", "0"]) == 0
        assert main(["export", "site.warc.gz", "--store", "crawl.db"]) == 0
    return folder, seen


@pytest.mark.parametrize("name", ["warcs/*.warc.gz", "site.warc.gz"])
def test_warc_files_have_raw_bodies_as_sent(raw: tuple[Path, Witness], name: str) -> None:
    folder, witness = raw
    (place,) = folder.glob(name)
    compared = dict[str, bytes]()
    with place.open("rb") as file:
        for record in ArchiveIterator(file, check_digests="raise"):
            body = record.raw_stream.read()
            if record.rec_type == "response" and record.http_headers is not None:
                path = "/" + record.rec_headers.get_header("WARC-Target-URI").split("/", 3)[3]
                if record.http_headers.get_header("Content-Encoding"):
                    compared[path] = body
    assert compared.keys() == {path for path, head in witness.sent.items() if b"gzip" in head}
    for path, body in compared.items():
        assert body == witness.bodies[path].split(b"\n", 1)[1]


def test_an_archive_with_raw_bodies_also_returns_decoded_ones(raw: tuple[Path, Witness]) -> None:
    folder, witness = raw
    assert main(["archive", "--verify", "--store", str(folder / "crawl.db")]) == 0
    read = 0
    with closing(ArchiveReader(folder / "crawl.db-pages")) as archive:
        for row in archive.index.rows(archive.end):
            if row.kind in (RecordKind.DICTIONARY, RecordKind.REVISIT):
                continue
            answer = archive.answer(row.place)
            if answer.headers.get("content-encoding") == "gzip":
                path = "/" + answer.url.split("/", 3)[3]
                assert answer.coded == witness.bodies[path].split(b"\n", 1)[1]
                assert answer.body == gzip.decompress(answer.coded)
                read += 1
            else:
                assert answer.coded is None
    assert read > PAGES // 10
