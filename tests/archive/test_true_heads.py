"""Archives and WARC files have exactly the heads that a server received and sent."""

import gzip
import json
import re
from collections.abc import Iterator
from contextlib import chdir, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from minicrawl.archive.reader import ArchiveReader
from minicrawl.archive.record import Answer, RecordKind
from minicrawl.cli import main
from tests.archive.raw_server import raw_server

ArchiveIterator = pytest.importorskip("warcio.archiveiterator").ArchiveIterator
PAGES = 500
"""Number of pages: more than an archive has before it trains a dictionary."""
LONGEST_HEAD = 65_536
SECRETS = (b"hunter2", b"Basic ", b"s3cr3t")
HTML, OK = b"Content-Type: text/html\r\n", b"HTTP/1.1 200 OK\r\n"
LENGTH = b"Content-Length: %d\r\n\r\n"
_INSERTED = re.compile(rb"Content-Length: \d+\r\n\r\n\Z")


def _reply(number: int) -> bytes:
    """Return one of eight kinds of responses, each with an unusual head."""
    body = f"<title>{number}</title><p>page {number}".encode()
    coded, chunks = gzip.compress(body), b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    own = b"X-NumBer:  %d \r\nx-number: again\r\nX-Odd: \xe9\xff\rbare\r\n" % number
    moved = b"LOCATION: /%d\r\nX-Why: moved\r\n" % (number + 1)
    long = b"X-Long: " + b"a" * 5000 + b"\r\nX-Nul: a\x00b\r\n"
    folded = b"X-Folded: one\r\n  two\r\nSet-Cookie: session=s3cr3t\r\n"
    length = LENGTH % len(body) + body
    kinds = (
        b"200 Fine\r\n" + HTML + own + b"CONTENT-encoding: gzip\r\n" + LENGTH % len(coded) + coded,
        b"200 OK\r\n" + HTML + b"Transfer-Encoding: chunked\r\n\r\n" + chunks,
        b"302 Over There\r\n" + moved + own + LENGTH % 0,
        b"404 Gone Fishing\r\n" + HTML + long + length.replace(b"C", b"c"),
        b"200\r\n" + HTML + folded + length,
        b"200 OK\nContent-Type: text/html\nContent-Length: 0\n\n",
        b"200 OK\r\n" + HTML + length,
        b"200 OK\r\n" + HTML + own + length,
    )
    return b"HTTP/1.1 " + kinds[number % len(kinds)]


def _with_head_of(size: int) -> bytes:
    """Return a response whose head has this many bytes, with the oddities that a head may have."""
    begin = OK + b"Content-Length: 4\r\nContent-Type: text/html\r\nX-Odd: \0 \rX: "
    end = b"\r\n\r\n"
    return begin + b"y" * (size - len(begin) - len(end)) + end + b"page"


def _ok(body: bytes, head: bytes = HTML) -> bytes:
    return OK + head + LENGTH % len(body) + body


RULES = b"User-agent: *\nDisallow:\nSitemap: /map.xml\nSitemap: /gone.xml\n"
ODD = b"X-oDD: 1\r\nx-Odd: 2\r\n"
FOR_CRAWLERS = {
    "/robots.txt": _ok(RULES, ODD),
    "/map.xml": b"HTTP/1.1 301 Elsewhere\r\nLOCATION: /site.xml\r\nContent-Length: 0\r\n\r\n",
    "/site.xml": _ok(b"<urlset></urlset>", ODD),
}
LINKED = {
    "/longest": _with_head_of(LONGEST_HEAD),
    "/too-long": _with_head_of(LONGEST_HEAD + 1),
    **{f"/{number}": _reply(number) for number in range(PAGES)},
}
REPLIES = {
    "/": _ok("".join(f"<a href={path}>x</a>" for path in LINKED).encode()),
    "/confirmed": _ok(b"page", b'ETag: "1"\r\n' + HTML),
    **FOR_CRAWLERS,
    **LINKED,
}
CONFIRMATION = b'HTTP/1.1 304 Still So\r\nX-oDD: 1\r\nETag:  "1"\r\n\r\n'
NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


@dataclass
class Witness:
    """Requests and responses of a server, by path."""

    port: int = 0
    received: dict[str, bytes] = field(default_factory=dict)
    sent: dict[str, bytes] = field(default_factory=dict)


@contextmanager
def witnessing() -> Iterator[Witness]:
    seen = Witness()

    def answer(path: str, head: bytes) -> tuple[bytes, bool]:
        reply = CONFIRMATION if b"If-None-Match" in head else REPLIES.get(path, NOT_FOUND)
        seen.received[path] = head
        sent, end, _ = re.split(rb"(?<=\n)(\r?\n)", reply, maxsplit=1)
        seen.sent[path] = sent + end
        return reply, False

    with raw_server(answer) as seen.port:
        yield seen


@pytest.fixture(scope="module")
def witness() -> Iterator[Witness]:
    with witnessing() as seen:
        yield seen


def crawl(witness: Witness, *options: str, path: str = "/") -> None:
    """Crawl the server into a store in this folder."""
    site = f"http://127.0.0.1:{witness.port}{path}"
    usual = ("--delay", "0", "--workers", "0", "--store", "crawl.db", "--quiet")
    assert main(["crawl", site, *usual, *options]) == 0


def crawl_with_secrets(witness: Witness, *options: str) -> None:
    """Crawl the server with a secret header and cookies."""
    header = f"127.0.0.1:{witness.port}=X-Key: hunter2"
    crawl(witness, "--header", header, "--cookies", "on", "--keep", "pages", *options)


def path_of(url: str) -> str:
    return "/" + url.split("/", 3)[3]


def archived(folder: Path) -> Iterator[tuple[str, Answer]]:
    """Yield all responses in the archive with their paths."""
    with closing(ArchiveReader(folder / "crawl.db-pages")) as archive:
        for row in archive.index.rows(archive.end):
            if row.kind != RecordKind.DICTIONARY:
                answer = archive.answer(row.place)
                yield path_of(answer.url), answer


def records(place: Path, **options: object) -> Iterator[Any]:
    """Yield all records of a WARC file."""
    with place.open("rb") as file:
        yield from ArchiveIterator(file, **options)


@pytest.fixture(scope="module")
def crawled(witness: Witness, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a signed crawl with cookies and a secret header."""
    folder = tmp_path_factory.mktemp("true")
    with chdir(folder):
        contact = ("--contact", "https://a.example/bot")
        assert main(["about", "--new-key", "bot.pem", *contact]) == 0
        signed = (*contact, "--sign-requests", "bot.pem")
        crawl_with_secrets(witness, "--warc", "warcs", "--sitemaps", *signed)
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


@pytest.mark.slow
def test_the_archive_has_each_head_as_sent(crawled: Path, witness: Witness) -> None:
    compared = set()
    for path, answer in archived(crawled):
        assert answer.wire is not None, path
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


def test_keep_credentials_archives_complete_heads(tmp_path: Path) -> None:
    with witnessing() as witness, chdir(tmp_path):
        crawl_with_secrets(witness, "--pages", "100", "--keep-credentials")
    found = b""
    for path, answer in archived(tmp_path):
        assert answer.wire is not None
        assert answer.wire.request == witness.received[path]
        assert answer.wire.response[:LONGEST_HEAD] == witness.sent[path][:LONGEST_HEAD]
        found += answer.wire.request + answer.wire.response
    assert b"hunter2" in found
    assert b"s3cr3t" in found


@pytest.mark.slow
@pytest.mark.parametrize("name", ["warcs/*.warc.gz", "site.warc.gz"])
def test_warc_files_have_the_same_heads(crawled: Path, witness: Witness, name: str) -> None:
    (place,) = crawled.glob(name)
    content = gzip.decompress(place.read_bytes())
    assert not [secret for secret in SECRETS if secret in content]
    compared = set()
    for record in records(place, no_record_parse=True):
        headers, block = record.rec_headers, record.content_stream().read()
        if record.rec_type == "warcinfo":
            info = block.decode().splitlines()
        if record.rec_type not in ("request", "response", "revisit"):
            continue
        path = path_of(headers.get_header("WARC-Target-URI"))
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
            own = response.removesuffix(b"\r\n").replace(b"Content-L", b"X-Archive-Orig-Content-L")
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
        for options in ((), ("--refresh", "1", "--new-pages", "1")):
            crawl(witness, "--warc", "warcs", *options, path="/confirmed")
    sent, received = (of["/confirmed"] for of in (witness.sent, witness.received))
    assert sent == CONFIRMATION
    assert main(["export", "site.warc.gz", "--store", "crawl.db"]) == 0
    assert main(["import", "site.warc.gz", "--store", "copy.db"]) == 0
    assert main(["export", "copy.warc.gz", "--store", "copy.db"]) == 0
    last = max(Path("warcs").glob("*.warc.gz"))
    for place in (last, Path("site.warc.gz"), Path("copy.warc.gz")):
        blocks = dict[str, bytes]()
        for record in records(place, no_record_parse=True):
            if (record.rec_headers.get_header("WARC-Target-URI") or "").endswith("/confirmed"):
                blocks[record.rec_type] = record.content_stream().read()
                if record.rec_type == "revisit":
                    assert "server-not-modified" in record.rec_headers.get_header("WARC-Profile")
        assert (blocks["revisit"], blocks["request"]) == (sent, received), place
    indexes = [index.read_text() for index in sorted(Path("warcs").glob("*.cdxj"))]
    assert [index.count(")/confirmed") for index in indexes] == [1, 0]
