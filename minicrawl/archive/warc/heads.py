"""Heads of responses in WARC files, adapted to the body that the file has.

Laws: headers that describe another encoding of the body keep their values under other names. All
other bytes of a head are as received, if the archive has them; heads in older archives are
reconstructed from their headers.
"""

from __future__ import annotations

import re
from http import HTTPStatus

from minicrawl.archive.record import MOST_HEAD_BYTES
from minicrawl.archive.warc.capture import BLANK_LINE, Capture, is_whole_head

_FRAMING_HEADERS = frozenset(("transfer-encoding", "content-length"))
_BODY_HEADERS = _FRAMING_HEADERS | {"content-encoding"}
_BODY_HEADER_LINE = re.compile(
    rb"(?mi)^(content-encoding|transfer-encoding|content-length)[\t ]*:([^\n]*)"
)
_FRAMING_HEADER_LINE = re.compile(rb"(?mi)^(transfer-encoding|content-length)[\t ]*:([^\n]*)")


def http_head(capture: Capture) -> bytes:
    """Return the head of the response, adapted to the body as it is kept."""
    if capture.wire is not None and capture.wire.response:
        if capture.is_confirmed:  # its headers describe no body
            return capture.wire.response[:MOST_HEAD_BYTES]
        if capture.wire.interim is not None and is_whole_head(capture.wire.response):
            return capture.wire.response  # the body is as sent, too
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


def as_response(capture: Capture) -> Capture:
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
