"""Records: one answer of a server as bytes.

    magic and checksum    8 bytes
    header                44 bytes: kind, dictionary, lengths, key of the URL, time, body digest
    payload               head (JSON: URL, status, headers) and body, compressed together; behind
                          it, if the head says so, the body as it was sent

Workers pack records without time and checksum; the archive adds both (`seal`). A body that the
archive already has becomes a revisit: a record with the digest of the body, and only a head.

Compressing head and body together saves a second zstd frame and lets both use one dictionary. The
header stays uncompressed, so that an index can be rebuilt without decompressing anything.

digest    hash, length and number of a body, so that each body is stored once. Bodies with the same
          digest are the same. Two bodies may share hash and length, by chance or by an attacker's
          design; they get different numbers, and only comparing them decides which one applies
hash      that of the crawl: a second one for the archive would make packing a fifth slower
"""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from hashlib import blake2b, sha256
from http import HTTPStatus
from io import BytesIO
from struct import Struct
from typing import IO, NamedTuple, Protocol
from zlib import crc32

from minicrawl.archive.codec import PLAIN, Codec
from minicrawl.errors import Damaged
from minicrawl.model import Response, SentBody, Wire
from minicrawl.states import State

HASH_BYTES = 8
_LENGTH_BYTES, _NUMBER_BYTES = 6, 2
NUMBER_OFFSET = HASH_BYTES + _LENGTH_BYTES
DIGEST_BYTES = NUMBER_OFFSET + _NUMBER_BYTES


class DigestKind(IntEnum):
    """Algorithm of a digest. The values are stored in archives and must not change."""

    SHA256 = 0  # the first half of a SHA-256; only the oldest archives have it
    CONTENT = 1


def digest_of(body: bytes, content: int | None = None) -> bytes:
    """Return the digest with number 0 of a body. `content` is its hash, if already known."""
    if content is None:
        code = blake2b(body, digest_size=HASH_BYTES).digest()
    else:
        code = content.to_bytes(HASH_BYTES, "little", signed=True)
    return code + len(body).to_bytes(_LENGTH_BYTES + _NUMBER_BYTES, "little")


EMPTY = digest_of(b"")


def next_digest(digest: bytes, step: int = 1) -> bytes:
    """Return the digest with a later number, for another body with the same hash and length."""
    number = int.from_bytes(digest[NUMBER_OFFSET:], "little") + step
    return digest[:NUMBER_OFFSET] + number.to_bytes(_NUMBER_BYTES, "little")


class BodyHasher:
    """Incremental hash of a body, for comparison with a digest of the given kind."""

    def __init__(self, kind: int) -> None:
        self._is_content = kind != DigestKind.SHA256
        self._hash = blake2b(digest_size=HASH_BYTES) if self._is_content else sha256()
        self._length = 0

    def add(self, piece: bytes) -> None:
        self._hash.update(piece)
        self._length += len(piece)

    @property
    def made(self) -> bytes:
        """Digest with number 0 of the bytes fed so far."""
        return self._hash.digest() + self._length.to_bytes(_LENGTH_BYTES + _NUMBER_BYTES, "little")

    def has_made(self, digest: bytes) -> bool:
        """Return True if `digest`, apart from its number, fits the bytes fed so far."""
        if self._is_content:
            return digest[:NUMBER_OFFSET] == self.made[:NUMBER_OFFSET]
        return digest == self._hash.digest()[:DIGEST_BYTES]


class PieceSource(Protocol):
    """Bytes that are read piece by piece."""

    def read(self, size: int, /) -> bytes:
        """Return the next bytes, at most `size`; none at the end."""
        ...


MAGIC = b"\x8fmp1"
_LAYOUT = Struct("<4sIBBHIIqd16s")
HEADER_BYTES = _LAYOUT.size
_AT = Struct("<d")
_AT_OFFSET = HEADER_BYTES - 24  # the time is the field before the digest
CHECKED_FROM = 8
"""Offset of the first checksummed byte, after magic and checksum."""
_CHECKED_AT_ONCE = 1 << 18
MOST_OF_A_HEAD = 1 << 20
"""Maximum bytes at the start of a payload that hold the head, however badly it compresses."""
_HEADS = json.JSONEncoder(separators=(",", ":"))
MOST_HEAD_BYTES = 1 << 16
"""Maximum bytes of a head as received. Of a longer head, one byte more is stored."""


class RecordKind(IntEnum):
    """Kind of a record. The values are stored in archives and must not change."""

    PAGE = 1  # the whole body
    TEXT = 2  # only the text of the body, in UTF-8
    REVISIT = 3  # no body: another record has the same one
    DICTIONARY = 4  # a zstd dictionary that other records need
    FAILURE = 5  # the body of a failure, such as a 404
    RENDERED = 6  # the DOM after the scripts of the response before it


WITH_BODY = (RecordKind.PAGE, RecordKind.TEXT)
"""Kinds of records with archived page content."""
ALONE = (RecordKind.FAILURE, RecordKind.RENDERED)
"""Kinds of records whose bodies are never shared: error pages, and DOMs made by a browser."""
_RECEIVED = (RecordKind.PAGE, RecordKind.FAILURE)
"""Kinds of records whose bodies came from a server, and may be kept in their encoded form."""


class Header(NamedTuple):
    """Header of a record, without magic and checksum."""

    kind: int
    digest_kind: int
    dictionary: int
    payload_bytes: int
    head_bytes: int
    key: int
    at: float
    digest: bytes

    @property
    def body_bytes(self) -> int:
        """Length of the body, as its digest says."""
        return int.from_bytes(self.digest[HASH_BYTES:NUMBER_OFFSET], "little")

    @property
    def record_bytes(self) -> int:
        return HEADER_BYTES + self.payload_bytes


class AskedBy(NamedTuple):
    """Kind of a request that a browser made, such as `fetch`, and the page that it rendered."""

    kind: str
    page: str


class WantedFiles(NamedTuple):
    """URLs of files that a page asked for while it was rendered."""

    fetched: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    """Pictures, style sheets and the like, which rendering does without."""


class Answer(NamedTuple):
    """Archived answer. Header names are in lower case."""

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    at: float
    kind: RecordKind
    cut: str = ""  # why the body is incomplete
    request_url: str = ""  # the URL as requested, if different
    digest: bytes = EMPTY
    wire: Wire | None = None  # not in older records
    coded: bytes | None = None  # the body as it was sent, if it was encoded and is kept so
    by: AskedBy | None = None  # of a file that a browser asked for
    requested: WantedFiles = WantedFiles()  # by a rendered page
    is_undecoded: bool = False  # the body is cut where it cannot be decoded, but not as it was sent


def key_of(url: str) -> int:
    """Return the key of a URL, signed, because SQLite's integers are."""
    code = blake2b(url.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(code, "little", signed=True)


NOTHING_MORE: Mapping[str, object] = {}


def pack(  # the optional arguments are keyword-only
    kind: RecordKind,
    url: str,
    response: Response,
    codec: Codec,
    *,
    number: int,
    request_url: str = "",
    content: int | None = None,
    more: Mapping[str, object] = NOTHING_MORE,
) -> bytes:
    """Return the record of an answer, without time and checksum; `seal` adds them.

    `content` is the hash of the body, if already known; `more` has further fields of the head.
    """
    coded = b""
    if response.wire is not None and kind in _RECEIVED:
        coded = response.wire.body.content
    head = _head(url, response, request_url, {**more, "coded": True} if coded else more)
    payload = codec.compressor(number).compress(head + response.body + coded)
    digest = digest_of(response.body, content)
    header = Header(
        kind, DigestKind.CONTENT, number, len(payload), len(head), key_of(url), 0.0, digest
    )
    return with_header(header, payload)


def pack_again(answer: Answer, codec: Codec, number: int) -> bytes:
    """Return the record of an archived answer with its body, such as one of a revisit."""
    why = State.ENCODING if answer.is_undecoded else State.RESET
    cut = why if answer.cut else None
    wire = answer.wire and answer.wire._replace(body=SentBody(answer.coded or b""))
    response = Response(
        answer.status, answer.headers, answer.body, cut=cut, cut_detail=answer.cut, wire=wire
    )
    more = NOTHING_MORE if answer.by is None else {"by": answer.by}
    of_answer = answer.kind, answer.url, response, codec
    return pack(*of_answer, number=number, request_url=answer.request_url, more=more)


def pack_spooled(url: str, response: Response, body: IO[bytes], payload: IO[bytes]) -> bytes:
    """Return the header of a response whose body is in a file, and write its payload."""
    sent = None if response.wire is None else response.wire.body.spooled
    with sent or BytesIO() as coded:
        head = _head(url, response, "", NOTHING_MORE if sent is None else {"coded": True})
        hasher, size = BodyHasher(DigestKind.CONTENT), body.seek(0, 2) + coded.seek(0, 2)
        packer = PLAIN.compressor(0).compressobj(size=len(head) + size)
        body.seek(0)
        coded.seek(0)
        payload.write(packer.compress(head))
        for piece in pieces(body):
            hasher.add(piece)
            payload.write(packer.compress(piece))
        for piece in pieces(coded):
            payload.write(packer.compress(piece))
        payload.write(packer.flush())
    kinds = RecordKind.PAGE, DigestKind.CONTENT
    header = Header(*kinds, 0, payload.tell(), len(head), key_of(url), 0.0, hasher.made)
    return with_header(header, b"")


def pieces(file: PieceSource, left: int = sys.maxsize) -> Iterator[bytes]:
    """Yield the rest of a file in pieces, or its next `left` bytes."""
    while piece := file.read(min(_CHECKED_AT_ONCE, left)):
        left -= len(piece)
        yield piece


def pack_dictionary(number: int, content: bytes) -> bytes:
    kinds, digest = (RecordKind.DICTIONARY, DigestKind.CONTENT), digest_of(content)
    header = Header(*kinds, number, len(content), 0, 0, 0.0, digest)
    return seal(with_header(header, content), 0.0)


def as_revisit(record: bytes, codec: Codec) -> bytes:
    header = header_of(record)
    head = unpacked_content(record, header, codec, first=header.head_bytes)
    payload = codec.compressor(header.dictionary).compress(head)
    revisit = header._replace(kind=RecordKind.REVISIT, payload_bytes=len(payload))
    return with_header(revisit, payload)


def pack_unchanged(url: str, wire: Wire | None = None) -> bytes:
    """Return the record of a response that confirms a page; `with_digest_of` completes it."""
    response = Response(status=HTTPStatus.NOT_MODIFIED, headers={}, body=b"", wire=wire)
    return pack(RecordKind.REVISIT, url, response, PLAIN, number=0)


def with_digest_of(record: bytes, other: Header) -> bytes:
    header = header_of(record)._replace(digest_kind=other.digest_kind, digest=other.digest)
    return with_header(header, _payload(record, header))


def seal(record: bytes, at: float) -> bytes:
    """Return the record completed with its time and checksum."""
    payload = memoryview(record)[HEADER_BYTES:]
    return b"".join((sealed_header(record, at, [payload]), payload))


def sealed_header(record: bytes, at: float, payload: Iterable[bytes | memoryview]) -> bytes:
    """Return the header of a record with this payload, completed with time and checksum."""
    begin = record[CHECKED_FROM:_AT_OFFSET] + _AT.pack(at)
    begin += record[_AT_OFFSET + _AT.size : HEADER_BYTES]
    checksum = crc32(begin)
    for piece in payload:
        checksum = crc32(piece, checksum)
    return b"".join((record[:4], checksum.to_bytes(4, "little"), begin))


def repacked(record: bytes, number: int, codec: Codec) -> bytes:
    """Return the sealed record, compressed with another dictionary."""
    header = header_of(record)
    payload = codec.compressor(number).compress(unpacked_content(record, header, codec))
    changed = header._replace(dictionary=number, payload_bytes=len(payload))
    return seal(with_header(changed, payload), header.at)


def numbered(record: bytes, number: int) -> bytes:
    header = header_of(record)
    changed = with_header(header._replace(dictionary=number), _payload(record, header))
    return seal(changed, header.at)


def with_header(header: Header, payload: bytes) -> bytes:
    """Return a record of this header and payload, without checksum."""
    return _LAYOUT.pack(MAGIC, 0, *header) + payload


def _head(
    url: str, response: Response, request_url: str, more: Mapping[str, object] = NOTHING_MORE
) -> bytes:
    fields: dict[str, object] = {"url": url, "status": response.status, **more}
    fields["headers"] = dict(response.headers)
    if response.cut is not None:
        fields["cut"] = response.cut_detail or response.cut.label
        if response.cut is State.ENCODING:
            fields["undecoded"] = True
    if request_url and request_url != url:
        fields["spelled"] = request_url
    if (wire := response.wire) is not None:
        heads = (head[: MOST_HEAD_BYTES + 1].decode("latin-1") for head in wire[:2])
        fields["wire"] = [*heads, wire.address, wire.protocols, wire.cipher]
        if wire.interim is not None:
            fields["interim"] = wire.interim.decode("latin-1")
        if wire.left_out:
            fields["left_out"] = wire.left_out
    return _HEADS.encode(fields).encode()


def header_of(record: bytes) -> Header:
    """Return the header of a record. Raise `Damaged` if the bytes do not begin with one."""
    if len(record) < HEADER_BYTES or record[:4] != MAGIC:
        raise Damaged("no record begins here")
    return Header._make(_LAYOUT.unpack_from(record)[2:])


def is_whole(record: bytes) -> bool:
    """Return True if the checksum of a sealed record is valid."""
    if len(record) < HEADER_BYTES or record[:4] != MAGIC:
        return False
    checksum = int.from_bytes(record[4:CHECKED_FROM], "little")
    return checksum == crc32(memoryview(record)[CHECKED_FROM:])


def dictionary_in(record: bytes) -> bytes:
    if not is_whole(record) or header_of(record).kind != RecordKind.DICTIONARY:
        raise Damaged("not a dictionary")
    return record[HEADER_BYTES:]


def unpacked_content(
    record: bytes, header: Header, codec: Codec, *, first: int | None = None
) -> bytes:
    import zstandard

    decompressor = codec.decompressor(header.dictionary)
    payload = _payload(record, header)
    try:
        if first is None:
            return decompressor.decompress(payload)
        return decompressor.stream_reader(payload).read(first)
    except (zstandard.ZstdError, MemoryError) as error:
        raise Damaged(f"it cannot be decompressed ({error})") from error


def _payload(record: bytes, header: Header) -> bytes:
    return record[HEADER_BYTES : header.record_bytes]
