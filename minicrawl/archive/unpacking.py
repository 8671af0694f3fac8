"""Unpacking: the answer that a record holds.

    read_head    without the body, at once
    read         whole, if the checksum and the digest of the body are right
    unpacked     head and body in pieces, for bodies that are too large for memory
    check        raises where `read` would, in pieces

Law: whatever the bytes of a record are, its answer is right, or `Damaged` is raised.
"""

import json
from collections.abc import Iterator
from typing import Any

from minicrawl.archive.codec import Codec
from minicrawl.archive.record import (
    Answer,
    AskedBy,
    BodyHasher,
    Header,
    PieceSource,
    RecordKind,
    WantedFiles,
    header_of,
    is_whole,
    pieces,
    unpacked_content,
)
from minicrawl.errors import Damaged
from minicrawl.model import Wire


def read(record: bytes, codec: Codec) -> Answer:
    """Return the answer of a record. The body of a revisit is empty here."""
    if not is_whole(record):
        raise Damaged("its checksum is wrong")
    header = header_of(record)
    answer = _answer(unpacked_content(record, header, codec), header)
    if header.kind != RecordKind.REVISIT:
        hasher = BodyHasher(header.digest_kind)
        hasher.add(answer.body)
        _check_digest(header, hasher)
    return answer


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
        if not coded:
            yield from pieces(stream, header.body_bytes)
            return
        for _ in pieces(stream, header.body_bytes):
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
    return _answer(unpacked_content(record, header, codec), header)


def read_head(record: bytes, codec: Codec) -> Answer:
    """Return the answer without its body; much faster than `read`."""
    header = header_of(record)
    return _answer(unpacked_content(record, header, codec, first=header.head_bytes), header)


def _fields_of(head: bytes) -> dict[str, Any]:
    try:
        return dict(json.loads(head))
    except (ValueError, TypeError) as error:
        raise Damaged(f"its head cannot be read ({error})") from error


def _answer(content: bytes, header: Header) -> Answer:
    """Return the answer that `content` holds: a head, and the bodies behind it, if any."""
    fields, begin = _fields_of(content[: header.head_bytes]), header.head_bytes
    try:
        wire = None
        if "wire" in fields:
            request, response, address, protocols, cipher = fields["wire"]
            heads = request.encode("latin-1"), response.encode("latin-1")
            interim = fields["interim"].encode("latin-1") if "interim" in fields else None
            protocols = tuple(map(str, protocols))
            left_out = str(fields.get("left_out", ""))
            wire = Wire(*heads, str(address), protocols, str(cipher))
            wire = wire._replace(interim=interim, left_out=left_out)
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
            wire=wire,
            by=AskedBy(*map(str, fields["by"])) if "by" in fields else None,
            is_undecoded=bool(fields.get("undecoded")),
            requested=WantedFiles(*(tuple(map(str, urls)) for urls in fields.get("asked", ()))),
        )
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise Damaged(f"its head cannot be read ({error})") from error
