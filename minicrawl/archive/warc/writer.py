"""Writer of WARC 1.1 files, which all replay software reads.

Laws: each record is a gzip member, so that a reader can start at any record. A response whose body
is in the file already becomes a revisit, and so does each confirmation of a page (304). Bodies are
written decoded, unless the archive has them in their encoded form.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha1
from http import HTTPStatus
from itertools import chain
from typing import BinaryIO
from urllib.parse import urlsplit
from uuid import NAMESPACE_URL, UUID, uuid5
from zlib import DEFLATED, MAX_WBITS, compressobj

from minicrawl import __version__
from minicrawl.archive.record import MOST_HEAD_BYTES
from minicrawl.archive.warc.capture import (
    BLANK_LINE,
    Capture,
    Original,
    is_whole_head,
    moment,
    payload_digest,
    shown_digest,
    truncated,
)
from minicrawl.archive.warc.cdxj import CdxLine
from minicrawl.model import Wire
from minicrawl.web.urls import PICTURES
from minicrawl.wording import iso

_PROFILE = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
_UNCHANGED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
_HTTP = "application/http;msgtype="
_FIELDS = "application/warc-fields"
_END = b"\r\n\r\n"
Body = Callable[[], Iterable[bytes]]
"""Function that returns the pieces of a body, which are read twice."""
SMALL, QUICK = 6, 3
"""Levels of gzip: they compress manuals to 18 % and 21 %, and QUICK takes half the time."""


NOTHING_KNOWN: Mapping[str, str] = {}
MOST_SEEDS = 100
"""Maximum number of seeds that a warcinfo record lists."""


def record_id(name: str, offset: int) -> UUID:
    """Return the id of the record at this offset of a file, the same each time it is written."""
    return uuid5(NAMESPACE_URL, f"{name} {offset}")


class WarcWriter:
    """Writer of captures to a file called `name`; one for files of a crawl, and for exports."""

    def __init__(
        self, put: Callable[[bytes], object], name: str, *, offset: int = 0, level: int = SMALL
    ) -> None:
        """`put` takes the bytes of the file, which has `offset` of them already."""
        self._write, self._name, self._level = put, name, level
        self.offset = offset
        self._last = ("", "")  # URL and record of the last response

    def write(
        self, captures: Iterable[Capture], made_at: float, about: Mapping[str, str] = NOTHING_KNOWN
    ) -> Iterator[CdxLine]:
        """Write a complete file, and yield the index line of each capture."""
        self.begin(made_at, about)
        originals: dict[str, Original] = {}
        for row in captures:
            if row.is_rendered:
                self.add_rendered(row)
                continue
            digest = payload_digest(row.body)
            original = (originals.get(digest) if row.body else None) or row.original
            capture = row
            if row.is_confirmed and row.body and original is None:
                # What it confirms was pruned: it is the response, with a reconstructed head.
                wire = row.wire and row.wire._replace(response=b"")
                capture = row._replace(status=HTTPStatus.OK, is_confirmed=False, wire=wire)
            yield self.add(capture, digest, original)
            if original is None:
                originals[digest] = Original(capture.url, moment(capture.at))

    def begin(self, made_at: float, about: Mapping[str, str] = NOTHING_KNOWN) -> None:
        """Write the warcinfo record; `about` has the facts of `crawl_facts`."""
        facts = {"software": f"minicrawl/{__version__}", "format": "WARC File Format 1.1"}
        fields = {"WARC-Filename": self._name, "Content-Type": _FIELDS}
        self._record("warcinfo", iso(made_at), fields, _fields({**facts, **about}))

    def add(
        self, capture: Capture, digest: str, original: Original | None, body: Body | None = None
    ) -> CdxLine:
        """Write one capture. `original` is the earlier one with the same body, if any.

        `digest` is empty if the capture confirms a page whose body is unknown. `body` has the
        pieces of a body that is not in memory.
        """
        begin = self.offset
        if capture.url.startswith(PICTURES):
            self._picture(capture, digest)
            return CdxLine(capture, digest, begin, self.offset - begin, is_revisit=False)
        answer = self._answer(capture, digest, original, body)
        is_revisit = capture.is_confirmed or original is not None
        line = CdxLine(capture, digest, begin, self.offset - begin, is_revisit)
        self._beside(capture, answer)
        return line

    def _picture(self, capture: Capture, digest: str) -> None:
        """Write a picture of a page as a resource record, as browsertrix does."""
        fields = {"WARC-Target-URI": capture.url, "WARC-Payload-Digest": digest}
        fields["Content-Type"] = capture.headers.get("content-type", "image/png")
        self._record("resource", moment(capture.at), fields, capture.body)

    def add_rendered(self, capture: Capture) -> None:
        """Write a DOM as a conversion record beside its response, which it never replaces."""
        fields = {"WARC-Target-URI": capture.url, "Content-Type": "text/html; charset=utf-8"}
        url, response = self._last
        if url == capture.url:
            fields["WARC-Refers-To"] = response
        self._record("conversion", moment(capture.at), fields, capture.body)

    def add_text(self, url: str, date: str, text: str) -> None:
        """Write the text of a page as a conversion record, as in WET files."""
        fields = {"WARC-Target-URI": url, "Content-Type": "text/plain; charset=utf-8"}
        self._record("conversion", date, fields, text.encode("utf-8", "replace"))

    def _answer(
        self, capture: Capture, digest: str, original: Original | None, body: Body | None
    ) -> str:
        """Write the response or revisit. Return the record's id."""
        fields = {"WARC-Target-URI": capture.url}
        if digest:
            fields["WARC-Payload-Digest"] = digest
        fields |= {"Content-Type": f"{_HTTP}response"} | _connection_fields(capture.wire)
        if capture.by is not None:
            fields["WARC-Resource-Type"] = capture.by.kind  # as browsertrix names it
        if capture.wire is not None and capture.wire.left_out:
            fields["X-Left-Out"] = capture.wire.left_out
        if capture.cut:
            fields["WARC-Truncated"] = truncated(capture.cut)
        elif capture.wire is not None and len(capture.wire.response) > MOST_HEAD_BYTES:
            fields["WARC-Truncated"] = "length"
        if original is not None:
            fields["WARC-Refers-To-Target-URI"] = original.url
            fields["WARC-Refers-To-Date"] = original.date
        elif not capture.is_confirmed:
            block = http_head(capture) + capture.body
            return self._record("response", moment(capture.at), fields, block, body)
        fields["WARC-Profile"] = _UNCHANGED if capture.is_confirmed else _PROFILE
        return self._record("revisit", moment(capture.at), fields, http_head(capture))

    def _beside(self, capture: Capture, answer: str) -> None:
        """Write the records that go with a response: its request, and metadata of the crawl."""
        self._last = capture.url, answer
        date = moment(capture.at)
        fields = {"WARC-Target-URI": capture.url, "WARC-Concurrent-To": answer}
        of_request = fields | {"Content-Type": f"{_HTTP}request"} | _connection_fields(capture.wire)
        request = capture.wire.request if capture.wire is not None else b""
        if len(request) > MOST_HEAD_BYTES:
            of_request["WARC-Truncated"] = "length"
        if not request:  # its bytes were not kept
            parts = urlsplit(capture.url)
            target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            request = f"GET {target} HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n".encode()
        self._record("request", date, of_request, request[:MOST_HEAD_BYTES])
        if capture.wire is not None and capture.wire.interim:
            # Not as a response: a replay would take it for the page.
            of_interim = fields | {"Content-Type": f"{_HTTP}response"}
            self._record("metadata", date, of_interim, capture.wire.interim)
        facts = {"importance": f"{capture.importance:.12g}"}
        if capture.rank:
            facts["rank"] = str(capture.rank)
        facts["hops"] = str(capture.hops)
        if capture.by is not None:
            facts["via"] = capture.by.page
        self._record("metadata", date, fields | {"Content-Type": _FIELDS}, _fields(facts))

    def _record(
        self,
        kind: str,
        date: str,
        fields: Mapping[str, str],
        block: bytes,
        body: Body | None = None,
    ) -> str:
        """Write a record of this block, and of the body behind it, if that is not in memory."""
        digest, length = sha1(block, usedforsecurity=False), len(block)
        for piece in body() if body else ():
            digest.update(piece)
            length += len(piece)
        identity = f"<urn:uuid:{record_id(self._name, self.offset)}>"
        head = {"WARC-Type": kind, "WARC-Record-ID": identity, "WARC-Date": date, **fields}
        head["WARC-Block-Digest"] = shown_digest(digest.digest())
        head["Content-Length"] = str(length)
        begin = b"WARC/1.1\r\n" + _fields(head) + b"\r\n" + block
        packer = compressobj(self._level, DEFLATED, 16 + MAX_WBITS)
        # Few calls: after each one this thread waits for the crawl to release the GIL.
        pieces = chain((begin,), body(), (_END,)) if body else (begin + _END,)
        for piece in pieces:
            self._put(packer.compress(piece))
        self._put(packer.flush())
        return identity

    def _put(self, packed: bytes) -> None:
        self._write(packed)
        self.offset += len(packed)


def write_warc(
    captures: Iterable[Capture],
    file: BinaryIO,
    name: str,
    made_at: float,
    about: Mapping[str, str] = NOTHING_KNOWN,
) -> None:
    for _ in WarcWriter(file.write, name).write(captures, made_at, about):
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


def _connection_fields(wire: Wire | None) -> dict[str, str]:
    """Return the WARC fields of the connection: address, cipher suite, protocols."""
    if wire is None:
        return {}
    fields = {"WARC-IP-Address": wire.address, "WARC-Cipher-Suite": wire.cipher}
    # The field is repeated; `_fields` writes a line for each line of its value.
    fields["WARC-Protocol"] = "\n".join(wire.protocols)
    return {name: value for name, value in fields.items() if value}


def _fields(fields: Mapping[str, str]) -> bytes:
    lines = ((name, line) for name, value in fields.items() for line in value.split("\n"))
    return "".join(f"{name}: {line}\r\n" for name, line in lines).encode()


_FRAMING_HEADERS = frozenset(("transfer-encoding", "content-length"))
_BODY_HEADERS = _FRAMING_HEADERS | {"content-encoding"}
_BODY_HEADER_LINE = re.compile(
    rb"(?mi)^(content-encoding|transfer-encoding|content-length)[\t ]*:([^\n]*)"
)
_FRAMING_HEADER_LINE = re.compile(rb"(?mi)^(transfer-encoding|content-length)[\t ]*:([^\n]*)")


def http_head(capture: Capture) -> bytes:
    """Return the head of the response, adapted to the body as it is kept.

    Headers that describe another encoding of the body keep their values under other names. All
    other bytes are as received, if the archive has them; heads in older archives are reconstructed.
    """
    length = len(capture.body) if capture.length is None else capture.length
    if capture.wire is not None and capture.wire.response:
        if capture.is_confirmed:  # its headers describe no body
            return capture.wire.response[:MOST_HEAD_BYTES]
        if capture.wire.interim is not None and is_whole_head(capture.wire.response):
            return capture.wire.response  # the body is as sent, too
        return _adapted(capture.wire.response, length, capture.is_as_sent)
    try:
        phrase = HTTPStatus(capture.status).phrase
    except ValueError:
        phrase = ""
    lines = [f"HTTP/1.1 {capture.status} {phrase}".rstrip()]
    false = _FRAMING_HEADERS if capture.is_as_sent else _BODY_HEADERS
    for name, value in capture.headers.items():
        shown = f"x-archive-orig-{name}" if name in false else name
        lines.append(f"{shown}: {value}")
    lines.append(f"content-length: {length}")
    harmless = (" ".join(line.split()) for line in lines)
    return "\r\n".join(harmless).encode("latin-1", "replace") + b"\r\n\r\n"


def _adapted(head: bytes, body_bytes: int, is_as_sent: bool) -> bytes:
    """Return a head with Content-Length set to `body_bytes`, and false body headers renamed.

    If the only header to rename is a Content-Length of `body_bytes`, the head is right already and
    remains unchanged.
    """
    is_whole = is_whole_head(head)
    if not is_whole:
        head = head[: head.rfind(b"\n", 0, MOST_HEAD_BYTES) + 1]
    pattern = _FRAMING_HEADER_LINE if is_as_sent else _BODY_HEADER_LINE
    matches = [*pattern.finditer(head)]
    length = b"%d" % body_bytes
    names = [match[1].lower() for match in matches]
    if is_whole and names == [b"content-length"] and matches[0][2].strip() == length:
        return head
    if not is_whole:
        head += b"\r\n"
    fields, end = pattern.sub(rb"X-Archive-Orig-\1:\2", head), BLANK_LINE.search(head)
    blank = b"\r\n" if end is None else head[end.start() + 1 : end.end()]
    return fields.removesuffix(blank) + b"Content-Length: " + length + b"\r\n" + blank
