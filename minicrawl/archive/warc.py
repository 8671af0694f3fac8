"""Pages as web archives in WARC 1.1, which all replay software reads, and in WACZ.

Laws: each record is a gzip member, so that a reader can start at any record. A response whose body
is in the file already becomes a revisit, and so does each confirmation of a page (304). Bodies are
written decoded, unless the archive has them in their encoded form; headers that describe another
encoding keep their values under other names. All other bytes of a head are as received, if the
archive has them; heads in older archives are reconstructed from their headers.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
from base64 import b32encode, b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha1, sha256
from http import HTTPStatus
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, Self
from urllib.parse import quote_from_bytes, unquote_plus, unquote_to_bytes, urlencode, urlsplit
from uuid import NAMESPACE_URL, UUID, uuid5
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo
from zlib import DEFLATED, MAX_WBITS, compressobj

from minicrawl import __version__
from minicrawl.archive.record import (
    MOST_HEAD_BYTES,
    Answer,
    AskedBy,
    RecordKind,
)
from minicrawl.errors import UsageError
from minicrawl.model import Wire
from minicrawl.own_files import scratch
from minicrawl.web.urls import posted_to
from minicrawl.wording import iso

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

_PROFILE = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
_UNCHANGED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
_HTTP = "application/http;msgtype="
_FIELDS = "application/warc-fields"
_FRAMING_HEADERS = frozenset(("transfer-encoding", "content-length"))
_BODY_HEADERS = _FRAMING_HEADERS | {"content-encoding"}
_BODY_HEADER_LINE = re.compile(
    rb"(?mi)^(content-encoding|transfer-encoding|content-length)[\t ]*:([^\n]*)"
)
_FRAMING_HEADER_LINE = re.compile(rb"(?mi)^(transfer-encoding|content-length)[\t ]*:([^\n]*)")
_BLANK_LINE = re.compile(rb"\n\r?\n\Z")
SMALL, QUICK = 6, 3
"""Levels of gzip: they compress manuals to 18 % and 21 %, and QUICK takes half the time."""
_WWW = re.compile(r"^www\d*\.")
_FORM = "application/x-www-form-urlencoded"
_USUAL_PORTS = {"http": 80, "https": 443}
_MOST_ESCAPES = 32
"""Maximum nesting of escapes. A hostile URL has thousands, and would take quadratic time."""
_PLAIN = "!\"$&'()*+,/:;<=>?@[\\]^`{|}"
_SESSION_IDS = tuple(
    re.compile(f"(?i){one}(?:&|$)")
    for one in (
        "jsessionid=[0-9a-z]{32}",
        "phpsessid=[0-9a-z]{32}",
        "sid=[0-9a-z]{32}",
        "aspsessionid[a-z]{8}=[a-z]{24}",
        "cfid=[^&=]+&cftoken=[^&]+",
    )
)
_TYPE_LINE = re.compile(rb"(?mi)^content-type[\t ]*:([^;\r\n]*)")


NOTHING_KNOWN: Mapping[str, str] = {}
MOST_SEEDS = 100
"""Maximum number of seeds that a warcinfo record lists."""


class Original(NamedTuple):
    """Response whose record has the body of a revisit."""

    url: str
    date: str


class Capture(NamedTuple):
    """One response, with facts about its page."""

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    at: float
    is_confirmed: bool  # the server confirmed that the page has not changed
    cut: str
    title: str
    rank: int  # 0 while it is unknown, and for resources that are not pages
    importance: float
    hops: int
    wire: Wire | None = None
    length: int | None = None
    """Length of a body that is not in memory."""
    is_rendered: bool = False
    """True for the DOM after the scripts of the response before it."""
    original: Original | None = None
    """Response in another archive that has the body, so that this one becomes a revisit."""
    by: AskedBy | None = None
    """Request of a browser that this response answers, if a browser asked for it."""
    is_as_sent: bool = False
    """True if the body is in the encoded form that the head describes."""

    @property
    def has_page(self) -> bool:
        """True unless a replay would show no body in place of the page.

        This is so for a confirmation (304), and for a response that was cut in its head.
        """
        has_whole_head = self.wire is None or _is_whole(self.wire.response)
        return not self.is_confirmed and (has_whole_head or bool(self.body or self.length))


def capture_of(
    answer: Answer,
    *,
    at: float | None = None,
    title: str = "",
    rank: int = 0,
    importance: float = 0.0,
    hops: int = 0,
) -> Capture:
    """Return the capture of an archived answer. `at` replaces the time of the answer."""
    url = answer.request_url or answer.url
    is_posted = answer.wire is not None and _is_posted(answer.wire.request)
    return Capture(
        url=posted_to(url) if is_posted else url,
        status=answer.status,
        headers=answer.headers,
        body=answer.body if answer.coded is None else answer.coded,
        at=answer.at if at is None else at,
        is_confirmed=answer.status == HTTPStatus.NOT_MODIFIED,
        cut=answer.cut,
        title=title,
        rank=rank,
        importance=importance,
        hops=hops,
        wire=answer.wire,
        is_rendered=answer.kind is RecordKind.RENDERED,
        by=answer.by,
        is_as_sent=answer.coded is not None,
    )


class CdxLine(NamedTuple):
    """Entry of the CDX index: a response or revisit, and its position in the file."""

    capture: Capture
    digest: str
    offset: int
    length: int
    is_revisit: bool


def record_id(name: str, offset: int) -> UUID:
    """Return the id of the record at this offset of a file, the same each time it is written."""
    return uuid5(NAMESPACE_URL, f"{name} {offset}")


class WarcWriter:
    """Writer of captures to a file called `name`."""

    def __init__(self, file: BinaryIO, name: str, *, offset: int = 0, level: int = SMALL) -> None:
        """`offset` is the number of bytes that the file has already."""
        self._file, self._name, self._level = file, name, level
        self.offset = offset
        """Offset of the next record."""
        self._last = ("", "")  # URL and record of the last response

    def write(
        self, captures: Iterable[Capture], made_at: float, about: Mapping[str, str] = NOTHING_KNOWN
    ) -> Iterator[CdxLine]:
        """Write a complete file, and yield the index line of each capture."""
        self.begin(made_at, about)
        originals: dict[str, Original] = {}
        for one in captures:
            if one.is_rendered:
                self.add_rendered(one)
                continue
            digest = payload_digest(one.body)
            original = (originals.get(digest) if one.body else None) or one.original
            is_alone = one.is_confirmed and one.body and original is None
            capture = _as_response(one) if is_alone else one
            yield self.add(capture, digest, original)
            if original is None:
                originals[digest] = Original(capture.url, moment(capture.at))

    def begin(self, made_at: float, about: Mapping[str, str] = NOTHING_KNOWN) -> None:
        """Write the warcinfo record; `about` has the facts of `crawl_facts`."""
        fields = {"software": f"minicrawl/{__version__}", "format": "WARC File Format 1.1"}
        named = {"WARC-Filename": self._name, "Content-Type": _FIELDS}
        self._record("warcinfo", iso(made_at), named, _fields({**fields, **about}))

    def add(self, capture: Capture, digest: str, original: Original | None) -> CdxLine:
        """Write one capture. `original` is the earlier one with the same body, if any.

        `digest` is empty if the capture confirms a page whose body is unknown.
        """
        begin = self.offset
        answer = self._answer(capture, digest, original)
        is_revisit = capture.is_confirmed or original is not None
        line = CdxLine(capture, digest, begin, self.offset - begin, is_revisit)
        self._beside(capture, answer)
        return line

    def add_file(
        self, capture: Capture, digest: str, body: Callable[[], Iterable[bytes]]
    ) -> Iterator[int]:
        """Write a response whose body comes in pieces; yield the length so far after each piece."""
        start = self.offset
        head = http_head(capture)
        named = {
            "WARC-Target-URI": capture.url,
            "WARC-Payload-Digest": digest,
            "Content-Type": f"{_HTTP}response",
        }
        named |= _connection_fields(capture.wire)
        if capture.cut:
            named["WARC-Truncated"] = truncated(capture.cut)
        block = sha1(head, usedforsecurity=False)
        for piece in body():
            block.update(piece)
        length = len(head) + (capture.length or 0)
        of_record = "response", moment(capture.at), named
        identity, begin = self._begun(*of_record, shown_digest(block.digest()), length)
        packer = compressobj(self._level, DEFLATED, 16 + MAX_WBITS)
        for piece in chain((begin, head), body(), (b"\r\n\r\n",)):
            self._put(packer.compress(piece))
            yield self.offset - start
        self._put(packer.flush())
        yield self.offset - start
        self._beside(capture, identity)

    def add_rendered(self, capture: Capture) -> None:
        """Write a DOM as a conversion record beside its response, which it never replaces."""
        named = {"WARC-Target-URI": capture.url, "Content-Type": "text/html; charset=utf-8"}
        url, response = self._last
        if url == capture.url:
            named["WARC-Refers-To"] = response
        self._record("conversion", moment(capture.at), named, capture.body)

    def add_text(self, url: str, date: str, text: str) -> None:
        """Write the text of a page as a conversion record, as in WET files."""
        named = {"WARC-Target-URI": url, "Content-Type": "text/plain; charset=utf-8"}
        self._record("conversion", date, named, text.encode("utf-8", "replace"))

    def _answer(self, capture: Capture, digest: str, original: Original | None) -> str:
        """Write the response or revisit. Return the record's id."""
        named = {"WARC-Target-URI": capture.url}
        if digest:
            named["WARC-Payload-Digest"] = digest
        named |= {"Content-Type": f"{_HTTP}response"} | _connection_fields(capture.wire)
        if capture.by is not None:
            named["WARC-Resource-Type"] = capture.by.kind  # as browsertrix names it
        if capture.cut:
            named["WARC-Truncated"] = truncated(capture.cut)
        elif capture.wire is not None and len(capture.wire.response) > MOST_HEAD_BYTES:
            named["WARC-Truncated"] = "length"
        if original is not None:
            named["WARC-Refers-To-Target-URI"] = original.url
            named["WARC-Refers-To-Date"] = original.date
        elif not capture.is_confirmed:
            block = http_head(capture) + capture.body
            return self._record("response", moment(capture.at), named, block)
        named["WARC-Profile"] = _UNCHANGED if capture.is_confirmed else _PROFILE
        return self._record("revisit", moment(capture.at), named, http_head(capture))

    def _beside(self, capture: Capture, answer: str) -> None:
        """Write the records that go with a response: its request, and metadata of the crawl."""
        self._last = capture.url, answer
        date = moment(capture.at)
        named = {"WARC-Target-URI": capture.url, "WARC-Concurrent-To": answer}
        said = named | {"Content-Type": f"{_HTTP}request"} | _connection_fields(capture.wire)
        request = capture.wire.request if capture.wire is not None else b""
        if len(request) > MOST_HEAD_BYTES:
            said["WARC-Truncated"] = "length"
        request = request[:MOST_HEAD_BYTES] or _reconstructed(capture.url)
        self._record("request", date, said, request)
        known = {"importance": f"{capture.importance:.12g}"}
        if capture.rank:
            known["rank"] = str(capture.rank)
        known["hops"] = str(capture.hops)
        if capture.by is not None:
            known["via"] = capture.by.page
        self._record("metadata", date, named | {"Content-Type": _FIELDS}, _fields(known))

    def _record(self, kind: str, date: str, named: Mapping[str, str], block: bytes) -> str:
        identity, begin = self._begun(kind, date, named, payload_digest(block), len(block))
        self._put(gzip.compress(begin + block + b"\r\n\r\n", self._level, mtime=0))
        return identity

    def _put(self, packed: bytes) -> None:
        self._file.write(packed)
        self.offset += len(packed)

    def _begun(
        self, kind: str, date: str, named: Mapping[str, str], digest: str, length: int
    ) -> tuple[str, bytes]:
        """Return the ID and the head of a record whose block has this digest and length."""
        identity = f"<urn:uuid:{record_id(self._name, self.offset)}>"
        head = {"WARC-Type": kind, "WARC-Record-ID": identity, "WARC-Date": date, **named}
        head["WARC-Block-Digest"] = digest
        head["Content-Length"] = str(length)
        return identity, b"WARC/1.1\r\n" + _fields(head) + b"\r\n"


def write_warc(
    captures: Iterable[Capture],
    file: BinaryIO,
    name: str,
    made_at: float,
    about: Mapping[str, str] = NOTHING_KNOWN,
) -> None:
    """Write the captures to a file called `name`."""
    for _ in WarcWriter(file, name).write(captures, made_at, about):
        pass


def crawl_facts(settings: Mapping[str, object], seeds: Sequence[str], count: int) -> dict[str, str]:
    """Return the fields of a crawl's warcinfo record, from its stored settings and first seeds.

    `count` is the number of all seeds. WARC 1.1 calls the rules of robots.txt "classic".
    """
    contact, agent = settings.get("contact"), settings.get("agent", "minicrawl")
    facts = {"operator": str(contact)} if contact else {}
    facts["robots"] = "classic" if settings.get("robots", True) else "ignore"
    facts["robots-agent"] = str(agent)
    if count:
        facts |= {"seeds": str(count), "seed": "\n".join(seeds)}
    return facts


def payload_digest(content: bytes) -> str:
    """Return the SHA-1 of `content` in the notation of web archives."""
    return shown_digest(sha1(content, usedforsecurity=False).digest())


def shown_digest(digest: bytes) -> str:
    """Return a SHA-1 digest in the notation of web archives."""
    return f"sha1:{b32encode(digest).decode()}"


def moment(at: float) -> str:
    """Format the time of a record, to the microsecond."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%S.%f}Z"


def _connection_fields(wire: Wire | None) -> dict[str, str]:
    """Return the WARC fields of the connection: address, cipher suite, protocols."""
    if wire is None:
        return {}
    named = {"WARC-IP-Address": wire.address, "WARC-Cipher-Suite": wire.cipher}
    # The field is repeated; `_fields` writes a line for each line of its value.
    named["WARC-Protocol"] = "\n".join(wire.protocols)
    return {name: value for name, value in named.items() if value}


def _reconstructed(url: str) -> bytes:
    """Return a request for this URL, in place of one whose bytes were not kept."""
    parts = urlsplit(url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return f"GET {target} HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n".encode()


def http_head(capture: Capture) -> bytes:
    """Return the head of the response, adapted to the body as it is kept."""
    if capture.wire is not None and capture.wire.response:
        if capture.is_confirmed:  # its headers describe no body
            return capture.wire.response[:MOST_HEAD_BYTES]
        return _adapted(capture.wire.response, _length_of(capture), capture.is_as_sent)
    try:
        phrase = HTTPStatus(capture.status).phrase
    except ValueError:
        phrase = ""
    lines = [f"HTTP/1.1 {capture.status} {phrase}".rstrip()]
    false = _FRAMING_HEADERS if capture.is_as_sent else _BODY_HEADERS
    for name, value in capture.headers.items():
        shown = f"x-archive-orig-{name}" if name in false else name
        lines.append(f"{shown}: {value}")
    lines.append(f"content-length: {_length_of(capture)}")
    harmless = (" ".join(line.split()) for line in lines)
    return "\r\n".join(harmless).encode("latin-1", "replace") + b"\r\n\r\n"


def _as_response(capture: Capture) -> Capture:
    """Return a confirmed page as a response with a reconstructed head.

    The response that it confirms was pruned, and nothing else has the body.
    """
    wire = capture.wire and capture.wire._replace(response=b"")
    return capture._replace(status=HTTPStatus.OK, is_confirmed=False, wire=wire)


def _length_of(capture: Capture) -> int:
    return len(capture.body) if capture.length is None else capture.length


def _adapted(head: bytes, body_bytes: int, is_as_sent: bool) -> bytes:
    """Return a head with Content-Length set to `body_bytes`, and false body headers renamed.

    If the only header to rename is a Content-Length of `body_bytes`, the head is right already and
    remains unchanged.
    """
    is_whole = _is_whole(head)
    if not is_whole:
        head = head[: head.rfind(b"\n", 0, MOST_HEAD_BYTES) + 1]
    pattern = _FRAMING_HEADER_LINE if is_as_sent else _BODY_HEADER_LINE
    found = [*pattern.finditer(head)]
    length = b"%d" % body_bytes
    names = [match[1].lower() for match in found]
    if is_whole and names == [b"content-length"] and found[0][2].strip() == length:
        return head
    if not is_whole:
        head += b"\r\n"
    fields, end = pattern.sub(rb"X-Archive-Orig-\1:\2", head), _BLANK_LINE.search(head)
    blank = b"\r\n" if end is None else head[end.start() + 1 : end.end()]
    return fields.removesuffix(blank) + b"Content-Length: " + length + b"\r\n" + blank


def _is_whole(head: bytes) -> bool:
    """Return True unless a head was cut; an empty one is unknown."""
    return not head or (len(head) <= MOST_HEAD_BYTES and _BLANK_LINE.search(head) is not None)


def _fields(named: Mapping[str, str]) -> bytes:
    lines = ((name, line) for name, value in named.items() for line in value.split("\n"))
    return "".join(f"{name}: {line}\r\n" for name, line in lines).encode()


def truncated(cut: str) -> str:
    """Return why a body is incomplete, as a WARC-Truncated value."""
    if "bytes" in cut or "large" in cut:
        return "length"
    if "crowded" in cut:  # not by the server: the crawl needed the memory
        return "unspecified"
    return "time" if "timeout" in cut else "disconnect"


# ---------------------------------------------------------------- index


def cdxj(lines: Iterable[CdxLine], filename: str) -> Iterator[str]:
    """Yield the CDXJ lines of the captures with a page, sorted as readers require."""
    yield from sorted(cdxj_line(line, filename) for line in lines if line.capture.has_page)


def cdxj_line(line: CdxLine, filename: str) -> str:
    """Return the CDXJ line of one response."""
    capture = line.capture
    kind = capture.headers.get("content-type", "").partition(";")[0].strip()
    fields = {
        "url": capture.url,
        "mime": "warc/revisit" if line.is_revisit else kind or "unk",
        "status": str(capture.status),
        "digest": line.digest,
        "length": str(line.length),
        "offset": str(line.offset),
        "filename": filename,
    }
    named = capture.url
    if capture.wire is not None and _is_posted(capture.wire.request):
        query = _posted_query(capture.wire.request)
        fields |= {"method": "POST", "requestBody": query}
        if _type_in(capture.wire.request.partition(b"\r\n\r\n")[0]) == _FORM:
            query = unquote_plus(query)  # as pywb looks it up; wabac.js uses requestBody, quoted
        named += f"{'&' if '?' in named else '?'}__wb_method=POST{query and '&'}{query}"
    stamp = datetime.fromtimestamp(int(capture.at), UTC).strftime("%Y%m%d%H%M%S")
    return f"{surt(named)} {stamp} {json.dumps(fields)}"


def _is_posted(request: bytes) -> bool:
    """Return True if the request is a POST of which the archive has the body."""
    return request.startswith(b"POST ") and bool(request.partition(b"\r\n\r\n")[2])


def _posted_query(request: bytes) -> str:
    """Return the body of a POST as a query, by which indexes of web archives look it up.

    The format is that of cdxj-indexer, pywb and wabac.js.
    """
    head, _, body = request.partition(b"\r\n\r\n")
    kind, text = _type_in(head), body.decode("utf-8", "replace")
    if kind == _FORM:
        return text
    if kind in ("application/json", "text/plain"):
        try:
            return urlencode(_named_values(json.loads(text)))
        except (ValueError, RecursionError):
            if kind == "application/json":
                return ""
    return f"__wb_post_data={b64encode(body).decode()}"


def _type_in(head: bytes) -> str:
    found = _TYPE_LINE.search(head)
    return found[1].decode("latin-1").strip().lower() if found else ""


def _named_values(document: object) -> dict[str, str]:
    """Return the values of a JSON document by their nearest name; repeated names get numbers."""
    found, repeats = dict[str, str](), Counter[str]()
    waiting: list[tuple[str, object]] = [("", document)]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, dict):
            waiting.extend(reversed(value.items()))
        elif isinstance(value, list):
            waiting.extend((name, one) for one in reversed(value))
        elif name:
            if name in found:
                repeats[name] += 1
                name = f"{name}.{repeats[name] + 1}_"
            found[name] = value if isinstance(value, str) else json.dumps(value)
    return found


def surt(url: str) -> str:
    """Return the sort-friendly form of a URL, by which readers of web archives look it up.

    For `https://www.example.org/a/?y=%281%29&x=2` that is `org,example)/a?x=2&y=(1)`. All programs
    must agree on it, so it follows the canonicalizer of the Internet Archive: escapes are minimal,
    parameters are sorted and in lower case, and session IDs are removed.
    """
    parts = urlsplit(url)
    name = _WWW.sub("", (parts.hostname or "").strip("."))
    host = name if ":" in name else ",".join(reversed(name.split(".")))
    usual = parts.port is None or parts.port == _USUAL_PORTS.get(parts.scheme)
    kept = list[bytes]()
    for one in _unescaped(parts.path).split(b"/")[1:]:
        if one == b".." and kept:
            kept.pop()
        elif one != b".":
            kept.append(one)
    path = b"/" + b"/".join([one for one in kept[:-1] if one] + kept[-1:])
    query = _minimal(_unescaped(parts.query))
    for pattern in _SESSION_IDS:
        if found := [*pattern.finditer(query)]:
            query = query[: found[-1].start()] + query[found[-1].end() :]
    arguments = sorted(part.split("=", 1) for part in query.lower().split("&"))
    query = "?" + "&".join(map("=".join, arguments)) if query else ""
    path_ = _minimal(path).lower()
    return f"{host}{'' if usual else f':{parts.port}'}){path_.removesuffix('/') or '/'}{query}"


def _unescaped(text: str) -> bytes:
    """Undo percent-escapes until none is left, or `_MOST_ESCAPES` times."""
    found = text.encode("utf-8", "surrogatepass")
    for _ in range(_MOST_ESCAPES):
        if (plain := unquote_to_bytes(found)) == found:
            break
        found = plain
    return found


def _minimal(content: bytes) -> str:
    """Percent-escape only the bytes that must be escaped."""
    return quote_from_bytes(content, safe=_PLAIN)


# ================================================================ wacz
#
# WACZ 1.1.1: a ZIP of a WARC, its index and its pages, for replay in a browser.
#
# Laws: the pages are listed with their ranks, most important first. The manifest has the SHA-256 of
# each file in the ZIP, and a digest of its own.

_WARC = "data.warc.gz"
_INDEX = "indexes/index.cdx"
"""Path of the CDXJ index. Some programs find it under no other name."""
_VERSION = "1.1.1"
_FIRST_FAILURE = 400
"""First status of responses that are failures."""
_EARLIEST = (1980, 1, 1, 0, 0, 0)  # earliest time of a file in a ZIP
_PIECE_BYTES = 1 << 20


def write_wacz(
    captures: Iterable[Capture],
    file: BinaryIO,
    made_at: float,
    about: Mapping[str, str] = NOTHING_KNOWN,
    key: WaczKey | None = None,
) -> None:
    """Write the captures as a WACZ file, signed if there is a key."""
    with scratch("wacz") as folder, ZipFile(file, "w") as package:
        warc = folder / _WARC
        with warc.open("wb") as out:
            written = WarcWriter(out, _WARC).write(captures, made_at, about)
            lines = [
                line._replace(capture=line.capture._replace(body=line.capture.body[:1]))
                for line in written
            ]
        resources = [
            _add(package, f"archive/{_WARC}", warc, ZIP_STORED),
            _add(package, _INDEX, _text(folder, cdxj(lines, _WARC))),
            _add(package, "pages/pages.jsonl", _text(folder, _pages(lines))),
        ]
        manifest = _text(folder, [_manifest(resources, iso(made_at))])
        told = _add(package, "datapackage.json", manifest)
        digest = {"path": "datapackage.json", "hash": told["hash"]}
        if key is not None:
            digest["signedData"] = key.signed(str(told["hash"]), iso(made_at))
        _add(package, "datapackage-digest.json", _text(folder, [json.dumps(digest)]))


def _manifest(resources: list[dict[str, object]], created: str) -> str:
    document = {
        "profile": "data-package",
        "wacz_version": _VERSION,
        "software": f"minicrawl/{__version__}",
        "created": created,
        "resources": resources,
    }
    return json.dumps(document, indent=2)


def _pages(lines: Iterable[CdxLine]) -> Iterator[str]:
    """Yield a line for each page's last capture with a page; failures are omitted."""
    yield json.dumps({"format": "json-pages-1.0", "id": "pages", "title": "All pages"})
    captures = (line.capture for line in lines)
    ranked = (capture for capture in captures if capture.rank and capture.has_page)
    last = {capture.url: capture for capture in ranked if capture.status < _FIRST_FAILURE}
    for capture in sorted(last.values(), key=lambda one: one.rank):
        fields: dict[str, object] = {"id": str(capture.rank), "url": capture.url}
        fields |= {"ts": iso(capture.at), "title": capture.title}
        yield json.dumps(fields | {"rank": capture.rank, "importance": capture.importance})


def _text(folder: Path, lines: Iterable[str]) -> Path:
    path = folder / "next"
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)
    return path


def _add(
    package: ZipFile, name: str, content: Path, method: int = ZIP_DEFLATED
) -> dict[str, object]:
    info = ZipInfo(name, _EARLIEST)
    info.compress_type = method
    # With the size known, zipfile writes ZIP64 fields for large files only: wabac.js would take the
    # fields of a small file for its content.
    info.file_size = content.stat().st_size
    with content.open("rb") as source, package.open(info, "w") as target:
        shutil.copyfileobj(source, target, _PIECE_BYTES)
    with content.open("rb") as source:
        digest = sha256()
        while piece := source.read(_PIECE_BYTES):
            digest.update(piece)
    short, told = name.rpartition("/")[2], f"sha256:{digest.hexdigest()}"
    return {"name": short, "path": name, "hash": told, "bytes": info.file_size}


# ================================================================ signatures
#
# Key that signs WACZ files (WACZ Signing and Verification 0.1, anonymous), for browsers to verify.
#
# The algorithm is ECDSA on P-384 with SHA-256, the only one of the standard without a certificate.
# It proves that two archives were signed with the same key, and that nobody has changed them since.

_NUMBER_BYTES = 48
"""Length of each of the two numbers of a signature."""


class WaczKey:
    """Private key on the curve P-384."""

    def __init__(self, private: EllipticCurvePrivateKey) -> None:
        self._private = private

    @classmethod
    def opened(cls, file: Path) -> Self:
        """Read the key from a PEM file. If it is missing, create it, readable by its owner only."""
        if find_spec("cryptography") is None:
            raise UsageError("--sign needs the package cryptography: install minicrawl[signing]")
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ec

        try:
            if file.exists():
                found = serialization.load_pem_private_key(file.read_bytes(), password=None)
                if not isinstance(found, ec.EllipticCurvePrivateKey):
                    raise TypeError
                if not isinstance(found.curve, ec.SECP384R1):
                    raise TypeError
                return cls(found)
            made = ec.generate_private_key(ec.SECP384R1())
            pem = made.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
            descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as written:
                written.write(pem)
        except OSError as error:
            raise UsageError(f"--sign {file}: {error.strerror}") from None
        except (TypeError, ValueError, UnsupportedAlgorithm):
            raise UsageError(
                f"--sign {file}: not a private P-384 key in PEM without a password; name a file "
                "that does not exist to create a key"
            ) from None
        return cls(made)

    def signed(self, digest: str, created: str) -> dict[str, str]:
        """Return the digest of a package with its signature, as `signedData`."""
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

        numbers = decode_dss_signature(
            self._private.sign(digest.encode(), ec.ECDSA(hashes.SHA256()))
        )
        public = self._private.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        signature = b"".join(number.to_bytes(_NUMBER_BYTES, "big") for number in numbers)
        return {
            "hash": digest,
            "created": created,
            "software": f"minicrawl/{__version__}",
            "signature": b64encode(signature).decode(),
            "publicKey": b64encode(public).decode(),
        }
