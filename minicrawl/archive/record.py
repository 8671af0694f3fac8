"""Records: one answer of a server as bytes.

    magic and checksum    8 bytes
    header                44 bytes: kind, dictionary, lengths, key of the URL, time, body digest
    payload               head (JSON: URL, status, headers) and body, compressed together; behind
                          it, if the head says so, the body as it was sent

Workers pack records without time and checksum; the archive adds both (`seal`). A body that the
archive already has becomes a revisit: a record with the digest of the body, and only a head.

Compressing head and body together saves a second zstd frame and lets both use one dictionary. The
header stays uncompressed, so that an index can be rebuilt without decompressing anything.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import IntEnum
from functools import lru_cache, partial
from hashlib import blake2b, sha256
from http import HTTPStatus
from io import BytesIO
from pathlib import Path
from struct import Struct
from tempfile import NamedTemporaryFile
from threading import local
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Protocol
from zlib import crc32

from minicrawl.errors import Damaged
from minicrawl.model import (
    Failed,
    FailureKind,
    FetchResult,
    Moved,
    Refused,
    Request,
    Response,
    SentBody,
    Unchanged,
    Wire,
)
from minicrawl.web.markup import decode
from minicrawl.web.responses import DocumentType, parse_content_type, type_of

if TYPE_CHECKING:
    import zstandard

# ================================================================ digest
#
# Body digests: they identify equal bodies, so that each body is stored once.
#
# Laws: bodies with the same digest are the same body. Two bodies may share hash and length, by
# chance or by an attacker's design; they then get different numbers, and only comparing the bodies
# themselves decides which number applies.
#
# hash      the content hash that the crawl computes anyway; a second hash just for the archive
#           would make the packing of a body a fifth slower
# digest    the hash, the length and a number

HASH_BYTES = 8
_LENGTH_BYTES, _NUMBER_BYTES = 6, 2
_NUMBER_OFFSET = HASH_BYTES + _LENGTH_BYTES
DIGEST_BYTES = _NUMBER_OFFSET + _NUMBER_BYTES


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
"""Digest of the empty body."""


def next_digest(digest: bytes) -> bytes:
    """Return the digest with the next number, for another body with the same hash and length."""
    number = int.from_bytes(digest[_NUMBER_OFFSET:], "little") + 1
    return digest[:_NUMBER_OFFSET] + number.to_bytes(_NUMBER_BYTES, "little")


class BodyHasher:
    """Incremental hash of a body, for comparison with a digest of the given kind."""

    def __init__(self, kind: int) -> None:
        self._is_content = kind != DigestKind.SHA256
        self._hash = blake2b(digest_size=HASH_BYTES) if self._is_content else sha256()
        self._length = 0

    def add(self, piece: bytes) -> None:
        """Feed the next bytes of the body."""
        self._hash.update(piece)
        self._length += len(piece)

    @property
    def made(self) -> bytes:
        """Digest with number 0 of the bytes fed so far."""
        return self._hash.digest() + self._length.to_bytes(_LENGTH_BYTES + _NUMBER_BYTES, "little")

    def has_made(self, digest: bytes) -> bool:
        """Return True if `digest`, apart from its number, fits the bytes fed so far."""
        code = self._hash.digest()
        if not self._is_content:
            return digest == code[:DIGEST_BYTES]
        return digest[:_NUMBER_OFFSET] == code + self._length.to_bytes(_LENGTH_BYTES, "little")


# ================================================================ record


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
_FAST = {"window_log": 19, "hash_log": 14, "chain_log": 14, "search_log": 1, "min_match": 7}
"""zstd level 1, tuned for pages: long matches, and a larger hash table that finds more of them.

Level 3 makes records of manuals 10 % smaller and their crawls 10 % slower.
"""
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
        return int.from_bytes(self.digest[HASH_BYTES:_NUMBER_OFFSET], "little")

    @property
    def record_bytes(self) -> int:
        """Length of the whole record in bytes."""
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
    asked: WantedFiles = WantedFiles()  # by a rendered page


def key_of(url: str) -> int:
    """Return the key of a URL, signed, because SQLite's integers are."""
    code = blake2b(url.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(code, "little", signed=True)


# ---------------------------------------------------------------- packing


class Codec(local):
    """Compressor and decompressor with numbered dictionaries; number 0 means none.

    Each thread has its own, made on first use. zstandard releases the GIL, and two threads in one
    compressor would write a damaged record or crash the process: the event loop packs redirects
    while the thread that commits packs revisits.
    """

    def __init__(self, dictionary: Callable[[int], bytes]) -> None:
        """`dictionary` returns a dictionary by its number, or raises `Damaged`."""
        self._dictionary = dictionary
        self.compressor = lru_cache(2)(self._compressor)
        self.decompressor = lru_cache(8)(self._decompressor)

    def _compressor(self, number: int) -> zstandard.ZstdCompressor:
        import zstandard

        fast = zstandard.ZstdCompressionParameters(strategy=zstandard.STRATEGY_FAST, **_FAST)
        found = self._compression_dictionary(number)
        if found is not None:
            found.precompute_compress(compression_params=fast)
        return zstandard.ZstdCompressor(dict_data=found, compression_params=fast)

    def _decompressor(self, number: int) -> zstandard.ZstdDecompressor:
        import zstandard

        return zstandard.ZstdDecompressor(dict_data=self._compression_dictionary(number))

    def _compression_dictionary(self, number: int) -> zstandard.ZstdCompressionDict | None:
        import zstandard

        return zstandard.ZstdCompressionDict(self._dictionary(number)) if number else None


def _no_dictionary(number: int) -> bytes:
    raise Damaged(f"dictionary {number} is missing")


def plain_codec() -> Codec:
    """Return a new codec for records that use no dictionary."""
    return Codec(_no_dictionary)


PLAIN = plain_codec()
"""Codec of records that use no dictionary."""


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
    return _with_header(header, payload)


def pack_again(answer: Answer, codec: Codec, number: int) -> bytes:
    """Return the record of an archived answer with its body, such as one of a revisit."""
    cut = FailureKind.RESET if answer.cut else None
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
    return _with_header(header, b"")


def pieces(file: PieceSource) -> Iterator[bytes]:
    """Yield the rest of a file in pieces."""
    while piece := file.read(_CHECKED_AT_ONCE):
        yield piece


def pack_dictionary(number: int, content: bytes) -> bytes:
    """Return the sealed record of a dictionary."""
    kinds, digest = (RecordKind.DICTIONARY, DigestKind.CONTENT), digest_of(content)
    header = Header(*kinds, number, len(content), 0, 0, 0.0, digest)
    return seal(_with_header(header, content), 0.0)


def as_revisit(record: bytes, codec: Codec) -> bytes:
    """Return the record without its body."""
    header = header_of(record)
    head = _content(record, header, codec, first=header.head_bytes)
    payload = codec.compressor(header.dictionary).compress(head)
    revisit = header._replace(kind=RecordKind.REVISIT, payload_bytes=len(payload))
    return _with_header(revisit, payload)


def pack_unchanged(url: str, wire: Wire | None = None) -> bytes:
    """Return the record of a response that confirms a page; `with_digest_of` completes it."""
    response = Response(status=HTTPStatus.NOT_MODIFIED, headers={}, body=b"", wire=wire)
    return pack(RecordKind.REVISIT, url, response, PLAIN, number=0)


def with_next_number(record: bytes) -> bytes:
    """Return the record with the next number, for a body whose hash collides with another's."""
    header = header_of(record)
    numbered = header._replace(digest=next_digest(header.digest))
    return _with_header(numbered, _payload(record, header))


def with_digest_of(record: bytes, other: Header) -> bytes:
    """Return the record with the digest that its body has in another record."""
    header = header_of(record)._replace(digest_kind=other.digest_kind, digest=other.digest)
    return _with_header(header, _payload(record, header))


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
    payload = codec.compressor(number).compress(_content(record, header, codec))
    changed = header._replace(dictionary=number, payload_bytes=len(payload))
    return seal(_with_header(changed, payload), header.at)


def numbered(record: bytes, number: int) -> bytes:
    """Return the sealed record, with this dictionary number."""
    header = header_of(record)
    changed = _with_header(header._replace(dictionary=number), _payload(record, header))
    return seal(changed, header.at)


def _with_header(header: Header, payload: bytes) -> bytes:
    return _LAYOUT.pack(MAGIC, 0, *header) + payload


def _head(
    url: str, response: Response, request_url: str, more: Mapping[str, object] = NOTHING_MORE
) -> bytes:
    fields: dict[str, object] = {"url": url, "status": response.status, **more}
    fields["headers"] = dict(response.headers)
    if response.cut is not None:
        fields["cut"] = response.cut_detail or str(response.cut)
    if request_url and request_url != url:
        fields["spelled"] = request_url
    if (wire := response.wire) is not None:
        heads = (head[: MOST_HEAD_BYTES + 1].decode("latin-1") for head in wire[:2])
        fields["wire"] = [*heads, wire.address, wire.protocols, wire.cipher]
    return _HEADS.encode(fields).encode()


# ---------------------------------------------------------------- reading


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


def read(record: bytes, codec: Codec) -> Answer:
    """Return the answer of a record. The body of a revisit is empty here."""
    if not is_whole(record):
        raise Damaged("its checksum is wrong")
    header = header_of(record)
    answer = _answer(_content(record, header, codec), header)
    if header.kind != RecordKind.REVISIT:
        hasher = BodyHasher(header.digest_kind)
        hasher.add(answer.body)
        _check_digest(header, hasher)
    return answer


class _Beginning:
    """Source of the first `size` bytes of another source."""

    def __init__(self, source: PieceSource, size: int) -> None:
        self._source, self._left = source, size

    def read(self, size: int, /) -> bytes:
        """Return the next bytes, at most `size`."""
        piece = self._source.read(min(size, self._left))
        self._left -= len(piece)
        return piece


def check(header: Header, payload: PieceSource, codec: Codec) -> None:
    """Raise `Damaged` where `read` would, but decompress the body in pieces, in bounded memory.

    The caller has verified the checksum.
    """
    hasher = BodyHasher(header.digest_kind)
    content = unpacked(header, payload, codec)
    head = next(content)
    for piece in content:
        hasher.add(piece)
    if header.kind != RecordKind.REVISIT:
        _check_digest(header, hasher)
    _answer(head, header)


def unpacked(
    header: Header, payload: PieceSource, codec: Codec, *, coded: bool = False
) -> Iterator[bytes]:
    """Yield the head of a record, then its body in pieces of equal size.

    With `coded`, yield the body in its encoded form, if the record has that.
    """
    import zstandard

    try:
        source: Any = payload  # its type says IO, and it only calls `read`
        stream = codec.decompressor(header.dictionary).stream_reader(source)
        head = stream.read(header.head_bytes)
        yield head
        if not _fields_of(head).get("coded"):
            yield from pieces(stream)
            return
        body = _Beginning(stream, header.body_bytes)
        if not coded:
            yield from pieces(body)
            return
        for _ in pieces(body):
            pass
        yield from pieces(stream)
    except (zstandard.ZstdError, MemoryError) as error:
        raise Damaged(f"it cannot be decompressed ({error})") from error


def _check_digest(header: Header, hasher: BodyHasher) -> None:
    if not hasher.has_made(header.digest):
        raise Damaged("its body has another digest")


def read_packed(record: bytes, codec: Codec) -> Answer:
    """Return the answer of a record made by `pack`, which has no time and checksum yet."""
    header = header_of(record)
    return _answer(_content(record, header, codec), header)


def read_head(record: bytes, codec: Codec) -> Answer:
    """Return the answer without its body; much faster than `read`."""
    header = header_of(record)
    return _answer(_content(record, header, codec, first=header.head_bytes), header)


def beginning(record: bytes, codec: Codec, count: int) -> bytes:
    """Return the first `count` bytes of head and body."""
    return _content(record, header_of(record), codec, first=count)


def dictionary_in(record: bytes) -> bytes:
    """Return the dictionary of a record."""
    if not is_whole(record) or header_of(record).kind != RecordKind.DICTIONARY:
        raise Damaged("not a dictionary")
    return record[HEADER_BYTES:]


def _content(record: bytes, header: Header, codec: Codec, *, first: int | None = None) -> bytes:
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


def _fields_of(head: bytes) -> dict[str, Any]:
    try:
        return dict(json.loads(head))
    except (ValueError, TypeError) as error:
        raise Damaged(f"its head cannot be read ({error})") from error


def _answer(content: bytes, header: Header) -> Answer:
    """Return the answer that `content` holds: a head, and the bodies behind it, if any."""
    fields, begin = _fields_of(content[: header.head_bytes]), header.head_bytes
    try:
        is_coded = bool(fields.get("coded")) and header.kind != RecordKind.REVISIT
        coded_at = begin + header.body_bytes if is_coded else len(content)
        return Answer(
            url=str(fields["url"]),
            status=int(fields["status"]),
            headers={str(name): str(value) for name, value in fields["headers"].items()},
            body=content[begin:coded_at],
            coded=content[coded_at:] if is_coded else None,
            at=header.at,
            kind=RecordKind(header.kind),
            cut=str(fields.get("cut", "")),
            request_url=str(fields.get("spelled", "")),
            digest=header.digest,
            wire=_wire(fields["wire"]) if "wire" in fields else None,
            by=AskedBy(*map(str, fields["by"])) if "by" in fields else None,
            asked=WantedFiles(*(tuple(map(str, some)) for some in fields.get("asked", ()))),
        )
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise Damaged(f"its head cannot be read ({error})") from error


def _wire(fields: Any) -> Wire:
    """Return the heads of a record. Errors mean that the record is damaged."""
    request, response, address, protocols, cipher = fields
    heads = request.encode("latin-1"), response.encode("latin-1")
    return Wire(*heads, str(address), tuple(map(str, protocols)), str(cipher))


# ================================================================ packing
#
# Packing, in the workers.
#
# Laws: a worker turns each answer into a record where it was fetched, so that only compressed bytes
# travel between processes. If a dictionary cannot be read, the record is larger, but never lost.

_SPARE = "dictionary-{:04}"
PAYLOAD = "payload-"
"""Beginning of the names of files with payloads on their way to the archive."""
_MOST_READ = 1 << 20
_WITHOUT_MARKUP = (DocumentType.TEXT, DocumentType.MARKDOWN)
_CUT = f"text of the first {_MOST_READ:,} bytes"


def spare_path(folder: Path, number: int) -> Path:
    """Return the path of a dictionary's copy for workers, which do not read segments."""
    return folder / _SPARE.format(number)


def spare_dictionary(folder: Path, number: int) -> bytes:
    """Return a dictionary from its copy. Raise `Damaged` if that cannot be read."""
    try:
        return dictionary_in(spare_path(folder, number).read_bytes())
    except OSError as error:
        raise Damaged(f"dictionary {number} cannot be read: {error.strerror}") from error


class AnswerPacker:
    """Makes records of answers, with dictionaries from the archive's folder."""

    def __init__(self, folder: Path, *, only_text: bool = False) -> None:
        self.only_text, self._folder = only_text, folder
        self._codec = Codec(lambda number: spare_dictionary(folder, number))

    def pack(self, request: Request, response: Response, content: int | None = None) -> bytes:
        """Return the record of an answer, without its time.

        `content` is the hash of the body, if already known.
        """
        if self.only_text:
            found = _text_only(request, response)
            return self._pack_with_dictionary(RecordKind.TEXT, request, found)
        return self._pack_with_dictionary(RecordKind.PAGE, request, response, content)

    def pack_other(self, request: Request, refused: Refused) -> Refused:
        """Return the refusal of a file with a record of that file, unless only text is kept.

        The payload of a large file is left as a file in the archive's folder, which `taken` opens.
        On a full disk there is no record.
        """
        answer = refused.answer
        if answer is None or self.only_text:
            return refused._replace(answer=None)
        path, bare = "", answer._replace(headers={}, body=b"", spooled=None, wire=None)
        if answer.spooled is None:
            return refused._replace(answer=bare._replace(record=self.pack(request, answer)))
        try:
            with (
                answer.spooled as body,
                NamedTemporaryFile(dir=self._folder, prefix=PAYLOAD, delete=False) as payload,
            ):
                path = payload.name
                record = pack_spooled(request.url, answer, body, payload)
        except OSError:
            if path:
                Path(path).unlink(missing_ok=True)
            return refused._replace(answer=None)
        return refused._replace(answer=bare._replace(record=record), payload=path)

    def pack_failure(self, request: Request, answer: Response) -> bytes:
        """Return the record of a failure's body, such as an error page."""
        return self._pack_with_dictionary(RecordKind.FAILURE, request, answer)

    def pack_rendered(self, request: Request, response: Response, asked: WantedFiles) -> bytes:
        """Return the record of a page after its scripts, or of its text."""
        if self.only_text:
            return self.pack(request, response)
        more = {"asked": asked} if any(asked) else NOTHING_MORE
        return self._pack_with_dictionary(RecordKind.RENDERED, request, response, more=more)

    def pack_text(self, request: Request, response: Response, text: str) -> bytes:
        """Return the record of an answer whose body is `text`, which a parser extracted."""
        found = response._replace(body=text.encode("utf-8", "replace"))
        return self._pack_with_dictionary(RecordKind.TEXT, request, found)

    def _pack_with_dictionary(
        self,
        kind: RecordKind,
        request: Request,
        response: Response,
        content: int | None = None,
        more: Mapping[str, object] = NOTHING_MORE,
    ) -> bytes:
        of_page = kind, request.url, response, self._codec
        packed = partial(
            pack, *of_page, request_url=request.request_url or "", content=content, more=more
        )
        try:
            return packed(number=request.dictionary)
        except Damaged:
            return packed(number=0)


def pack_redirect(url: str, moved: Moved, more: Mapping[str, object] = NOTHING_MORE) -> bytes:
    """Return the record of a redirect. Bodies of redirects are not read."""
    headers = {"location": moved.target}
    answer = Response(status=moved.status, headers=headers, body=b"", wire=moved.wire)
    return pack(RecordKind.PAGE, url, answer, PLAIN, number=0, more=more)


def pack_any(url: str, fetched: object, by: AskedBy | None = None) -> bytes | None:
    """Return the record of a response that no worker has packed, or None without a response.

    `by` describes the browser's request for the file, if a browser asked for it.
    """
    more = NOTHING_MORE if by is None else {"by": by}
    match fetched:
        case Response():
            return pack(RecordKind.PAGE, url, fetched, PLAIN, number=0, more=more)
        case Moved():
            return pack_redirect(url, fetched, more)
        case Failed(answer=Response() as answer):
            return pack(RecordKind.FAILURE, url, answer, PLAIN, number=0, more=more)
    return None


def record_of(url: str, fetched: FetchResult) -> bytes | None:
    """Return the record of a worker's fetch result, or None if it has none."""
    match fetched:
        case Response():
            return fetched.record or None
        case Moved():
            return pack_redirect(url, fetched)
        case Unchanged():
            return pack_unchanged(url, fetched.wire)
        case Failed(answer=Response() as answer) | Refused(answer=Response() as answer):
            return answer.record or None
    return None


def taken(path: str) -> IO[bytes]:
    """Open the payload file that a worker left, and unlink it."""
    file = Path(path).open("rb")  # noqa: SIM115  # the archive closes it
    Path(path).unlink()
    return file


def text_of(body: bytes, content_type: str | None) -> str:
    """Return the text of a page."""
    from minicrawl.web.references import plain_text  # deferred: most crawls archive whole pages

    _, charset = parse_content_type(content_type)
    markup, _ = decode(body, charset)
    return plain_text(markup)


def _text_only(request: Request, response: Response) -> Response:
    """Return the response with its text for a body; only the first `_MOST_READ` bytes are parsed.

    With this limit, hostile markup takes at most about a second.
    """
    read, content_type = response.body[:_MOST_READ], response.headers.get("content-type")
    if type_of(content_type, request.url, read, request.types) in _WITHOUT_MARKUP:
        text = decode(read, parse_content_type(content_type)[1])[0]
    else:
        text = text_of(read, content_type)
    found = response._replace(body=text.encode("utf-8", "replace"))
    if len(read) == len(response.body):
        return found
    return found._replace(cut=FailureKind.TOO_LARGE, cut_detail=_CUT)
