"""WARC and WACZ files can be read by other programs, with correct digests and indexes."""

import gzip
import io
import json
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote_plus
from zipfile import ZipFile

import pytest

from minicrawl.archive.record import MOST_HEAD_BYTES, Answer, RecordKind
from minicrawl.archive.warc.capture import Capture, capture_of, payload_digest
from minicrawl.archive.warc.cdxj import cdxj, surt
from minicrawl.archive.warc.wacz import write_wacz
from minicrawl.archive.warc.writer import WarcWriter, write_warc
from minicrawl.fetch.http.messages import without_secrets
from minicrawl.model import Wire
from minicrawl.web.urls import posted
from tests.linear_time import TIMES, expect_linear

ArchiveIterator = pytest.importorskip("warcio.archiveiterator").ArchiveIterator
NOON = 1_700_000_000.0
NAME = "site.warc.gz"


def capture(path: str = "", body: bytes = b"<p>page", **rest: object) -> Capture:
    known: dict[str, object] = {
        "url": f"https://www.a.example:8443/{path}",
        "status": 200,
        "headers": {"content-type": "text/html", "content-encoding": "br", "x-odd": "a\r\nb: c"},
        "body": body,
        "at": NOON,
        "is_confirmed": False,
        "cut": "",
        "title": "A",
        "rank": 1,
        "importance": 0.25,
        "hops": 2,
    }
    return Capture(**known | rest)  # type: ignore[arg-type]


CAPTURES = (
    capture(),
    capture("two?b=1", b"<p>two", rank=2),
    capture("copy", rank=3),
    capture("two?b=1", b"<p>two", status=304, is_confirmed=True, at=NOON + 60, rank=2),
    capture("old", b"", status=301, headers={"location": "/two?b=1"}, rank=4),
    capture("gone", b"", status=299, headers={}, cut="timeout", rank=5),
)


class Record(NamedTuple):
    """A record as warcio reads it."""

    kind: str
    named: Any
    """Headers of the record."""
    http: Any
    """Headers of the response or request in it."""
    content: bytes


def records(warc: bytes, *, are_parsed: bool = True) -> list[Record]:
    how = {"check_digests": "raise"} if are_parsed else {"no_record_parse": True}
    found = ArchiveIterator(io.BytesIO(warc), **how)
    return [
        Record(one.rec_type, one.rec_headers, one.http_headers, one.content_stream().read())
        for one in found
    ]


def written(*captures: Capture) -> tuple[bytes, list[str]]:
    """Return a WARC file of captures, and the lines of its index."""
    file = io.BytesIO()
    index = list(cdxj(WarcWriter(file.write, NAME).write(captures, NOON), NAME))
    return file.getvalue(), index


def of_kind(kind: str) -> list[Record]:
    return [one for one in records(written(*CAPTURES)[0]) if one.kind == kind]


def test_warcio_reads_every_record_with_a_correct_digest() -> None:
    answers = ["response", "response", "revisit", "revisit", "response", "response"]
    each = [kind for answer in answers for kind in (answer, "request", "metadata")]
    file = io.BytesIO()
    write_warc(CAPTURES, file, NAME, NOON)
    assert [one.kind for one in records(file.getvalue())] == ["warcinfo", *each]
    responses = of_kind("response")
    assert [one.content for one in responses] == [b"<p>page", b"<p>two", b"", b""]
    assert {one.http.get_header("content-encoding") for one in responses} == {None}


def test_a_revisit_names_the_response_with_its_body() -> None:
    first, second = (one.named for one in of_kind("revisit"))
    assert first.get_header("WARC-Refers-To-Target-URI") == CAPTURES[0].url
    assert first.get_header("WARC-Profile").endswith("identical-payload-digest")
    assert second.get_header("WARC-Refers-To-Date") == "2023-11-14T22:13:20.000000Z"
    assert second.get_header("WARC-Profile").endswith("server-not-modified")


@pytest.mark.parametrize("is_as_sent", [False, True])
def test_a_confirmed_page_whose_response_was_pruned_is_a_response(is_as_sent: bool) -> None:
    page = gzip.compress(b"<p>page") if is_as_sent else b"<p>page"
    of_page = {"content-type": "text/html", "content-encoding": "gzip", "content-length": "99"}
    wire = Wire(b"GET / HTTP/1.1\r\n\r\n", b"HTTP/1.1 304 Still So\r\n\r\n")
    first = capture(
        body=page, status=304, is_confirmed=True, headers=of_page, wire=wire, is_as_sent=is_as_sent
    )
    warc, index = written(first, first._replace(at=NOON + 60))
    assert len(index) == 1
    response, revisit = (one for one in records(warc) if one.kind in ("response", "revisit"))
    assert (response.kind, revisit.kind) == ("response", "revisit")
    assert (response.http.get_statuscode(), revisit.http.get_statuscode()) == ("200", "304")
    assert response.content == b"<p>page"
    assert response.http.get_header("content-length") == str(len(page))


def test_a_confirmation_of_an_unknown_page_is_a_revisit_without_a_digest() -> None:
    file = io.BytesIO()
    writer = WarcWriter(file.write, NAME)
    assert writer.add(capture(body=b"", status=304, is_confirmed=True), "", None).is_revisit
    revisit = records(file.getvalue())[0]
    assert revisit.kind == "revisit"
    assert revisit.named.get_header("WARC-Profile").endswith("server-not-modified")
    assert revisit.named.get_header("WARC-Payload-Digest") is None


def test_a_header_value_cannot_inject_another_header() -> None:
    headers = of_kind("response")[0].http
    assert headers.get_header("x-odd") == "a b: c"
    assert headers.get_header("b") is None


@pytest.mark.parametrize(("spare", "is_cut"), [(0, False), (1, True), (5000, True)])
def test_a_head_over_64_kib_is_truncated_and_marked(spare: int, is_cut: bool) -> None:
    begin, end = b"HTTP/1.1 200 OK\r\nX-Own: 1\r\nX-Long: ", b"\r\n\r\n"
    head = begin + b"a" * (MOST_HEAD_BYTES + spare - len(begin) - len(end)) + end
    wire = Wire(head, head, "192.0.2.1", ("h2", "tls/1.3"), "S")
    warc, _ = written(capture(wire=wire))
    for kind, named, _, block in records(warc, are_parsed=False):
        if kind in ("request", "response"):
            assert named.get_header("WARC-Truncated") == ("length" if is_cut else None)
            assert [v for k, v in named.headers if k == "WARC-Protocol"] == ["h2", "tls/1.3"]
            assert named.get_header("WARC-Cipher-Suite") == "S"
            assert b"X-Own: 1\r\n" in block
            assert len(block) < MOST_HEAD_BYTES + 100


@pytest.mark.parametrize("name", ["X-Long", "Set-Cookie"])
def test_a_response_without_the_end_of_its_head_has_no_line_in_an_index(name: str) -> None:
    long = name.encode() + b": " + b"a" * MOST_HEAD_BYTES
    sent = b"HTTP/1.1 200 OK\r\nX-Own: 1\r\n" + long
    wire = Wire(b"GET / HTTP/1.1\r\n\r\n", sent[: MOST_HEAD_BYTES + 1])
    wire = without_secrets(wire, hides_cookies=True)
    cut = "a head of more than 65,536 bytes"
    warc, index = written(capture(body=b"", cut=cut, wire=wire))
    assert not index
    (response,) = [one for one in records(warc, are_parsed=False) if one.kind == "response"]
    assert response.named.get_header("WARC-Truncated") == "length"
    assert response.content == b"HTTP/1.1 200 OK\r\nX-Own: 1\r\nContent-Length: 0\r\n\r\n"


def test_a_record_names_the_header_that_its_head_lacks() -> None:
    sent = b"HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nContent-Length: 7\r\n\r\n"
    wire = Wire(b"GET / HTTP/1.1\r\n\r\n", sent)
    for hides, left_out in ((True, "Set-Cookie"), (False, None)):
        warc, _ = written(capture(wire=without_secrets(wire, hides_cookies=hides)))
        (response,) = [one for one in records(warc) if one.kind == "response"]
        assert response.named.get_header("X-Left-Out") == left_out
        assert (response.http.get_header("Set-Cookie") is None) == hides


def test_a_body_in_pieces_makes_the_same_file_as_one_in_memory() -> None:
    digest, pieces = payload_digest(b"<p>page"), (b"<p>", b"page")
    in_memory, in_pieces = io.BytesIO(), io.BytesIO()
    line = WarcWriter(in_memory.write, NAME).add(capture(), digest, None)
    spooled = capture(body=b"", length=7)
    again = WarcWriter(in_pieces.write, NAME).add(spooled, digest, None, lambda: pieces)
    assert in_pieces.getvalue() == in_memory.getvalue()
    assert again._replace(capture=line.capture) == line


def test_metadata_have_importance_rank_and_hops() -> None:
    assert of_kind("metadata")[0].content == b"importance: 0.25\r\nrank: 1\r\nhops: 2\r\n"


def test_the_index_has_the_offset_of_each_response() -> None:
    warc, index = written(*CAPTURES)
    for line in index:
        fields = json.loads(line.split(" ", 2)[2])
        begin = int(fields["offset"])
        (one,) = records(warc[begin : begin + int(fields["length"])])
        assert one.named.get_header("WARC-Target-URI") == fields["url"]
        assert (one.kind == "revisit") == (fields["mime"] == "warc/revisit")


@pytest.mark.parametrize(
    ("url", "sorted_as"),
    [
        ("https://www.Example.org/A?q=B", "org,example)/a?q=b"),
        ("http://a.example:8080", "example,a:8080)/"),
        ("http://www2.a.example/B/", "example,a)/b"),
        ("http://a.example/?y=1&x=2&x&X=", "example,a)/?x&x=&x=2&y=1"),
        ("http://127.0.0.1:81/x", "1,0,0,127:81)/x"),
        ("http://[2001:db8::1]/x", "2001:db8::1)/x"),
        ("http://a.example:80//b/./c/../%7Ed/", "example,a)/b/~d"),
        (
            "https://a.example:443/%2541%20%E4%B8%AD?q=%28x%29+%7B&r=%23",
            "example,a)/a%20%e4%b8%ad?q=(x)+{&r=%23",
        ),
        ("http://a.example/?b=1%26a=2", "example,a)/?a=2&b=1"),
        ("http://a.example/?", "example,a)/"),
        (f"http://a.example/?b=1&PHPSESSID={'0a' * 16}&a=2", "example,a)/?a=2&b=1"),
        ("http://a.example/?cfid=1&cftoken=2", "example,a)/"),
    ],
)
def test_index_keys_equal_those_of_the_internet_archive(url: str, sorted_as: str) -> None:
    assert surt(url) == sorted_as


def test_the_key_of_a_hostile_url_takes_linear_time() -> None:
    for one in ("cfid=", "%25", "25", "/.."):
        little, much = (f"http://a.example/?%{one * n}" for n in (10_000, 10_000 * TIMES))
        expect_linear(partial(surt, little), partial(surt, much), one)


def test_a_wacz_has_the_pages_by_rank_and_the_digest_of_each_file(tmp_path: Path) -> None:
    place = tmp_path / "site.wacz"
    with place.open("wb") as file:
        write_wacz(CAPTURES, file, NOON)
    with ZipFile(place) as package:
        manifest = json.loads(package.read("datapackage.json"))
        for one in manifest["resources"]:
            content = package.read(one["path"])
            assert one["hash"] == f"sha256:{sha256(content).hexdigest()}"
            assert one["bytes"] == len(content)
        shown = json.loads(package.read("datapackage-digest.json"))
        digest = sha256(package.read("datapackage.json")).hexdigest()
        assert shown["hash"] == f"sha256:{digest}"
        head, *pages = map(json.loads, package.read("pages/pages.jsonl").splitlines())
        lines = package.read("indexes/index.cdx").decode().splitlines()
    assert head["format"] == "json-pages-1.0"
    assert [page["rank"] for page in pages] == [1, 2, 3, 4, 5]
    assert lines == sorted(lines)
    assert len(lines) == len(CAPTURES) - 1  # a replay would show the 304 in place of the page


DEEP = b'[0,{"b":[true,null],"b.2_":"x y"},{"b":1.5}]'


@pytest.mark.parametrize(
    ("kind", "body", "query"),
    [
        ("application/json", b'{"a":{"b":"x&y"},"c":[1,2]}', "b=x%26y&c=1&c.2_=2"),
        ("application/json", DEEP, "b=true&b.2_=null&b.2_.2_=x+y&b.3_=1.5"),
        ("application/json", b"bad", ""),
        ("application/json", b"[" * 60_000, ""),
        ("application/x-www-form-urlencoded", b"q=salt+%26+water&n=1", "q=salt+%26+water&n=1"),
        ("text/plain; charset=utf-8", b'{"n":1}', "n=1"),
        ("text/plain", b"tides", "__wb_post_data=dGlkZXM="),
        ("application/octet-stream", b"\0\xff", "__wb_post_data=AP8="),
    ],
)
def test_the_index_names_a_post_by_its_body(kind: str, body: bytes, query: str) -> None:
    """The key is that of cdxj-indexer, pywb and wabac.js."""
    request = b"POST /p HTTP/1.1\r\nContent-Type: " + kind.encode() + b"\r\n\r\n" + body
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    name = posted("http://a.example/p", body)
    answer = Answer(name, 200, {}, b"x", 0.0, RecordKind.PAGE, wire=Wire(request, head))
    _, (line,) = written(capture_of(answer))
    key, _, fields = line.split(" ", 2)
    shown = json.loads(fields)
    assert (shown["url"], shown["method"]) == ("http://a.example/p", "POST")
    assert shown["requestBody"] == query
    if "form" in kind:
        query = unquote_plus(query)
    assert key == surt(f"http://a.example/p?__wb_method=POST{query and '&'}{query}")


def test_a_post_without_its_body_keeps_its_name() -> None:
    name = posted("http://a.example/p", b"secret")
    wire = Wire(b"POST /p HTTP/1.1\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n")
    assert capture_of(Answer(name, 200, {}, b"x", 0.0, RecordKind.PAGE, wire=wire)).url == name
