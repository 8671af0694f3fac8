"""WARC records for tests, valid and malformed."""

import gzip
from collections.abc import Callable, Iterable
from random import Random

import zstandard

DATE = "2023-11-14T22:13:20Z"
HTML = (("Content-Type", "text/html; charset=utf-8"),)


def record(kind: str, block: bytes, *, length: int | str | None = None, **fields: str) -> bytes:
    """Return a record. `length` replaces the true Content-Length, and "" omits the field."""
    named = {"WARC-Type": kind, "WARC-Date": DATE}
    named |= {name.replace("_", "-"): value for name, value in fields.items()}
    if length != "":
        named["Content-Length"] = str(len(block) if length is None else length)
    lines = "".join(f"{name}: {value}\r\n" for name, value in named.items())
    return f"WARC/1.0\r\n{lines}\r\n".encode() + block + b"\r\n\r\n"


def http(body: bytes, status: str = "200 OK", headers: Iterable[tuple[str, str]] = HTML) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    return f"HTTP/1.1 {status}\r\n{lines}\r\n".encode() + body


def response(
    url: str,
    body: bytes,
    status: str = "200 OK",
    headers: Iterable[tuple[str, str]] = HTML,
    **fields: str,
) -> bytes:
    named = {"WARC_Target_URI": url, "Content_Type": "application/http;msgtype=response"}
    return record("response", http(body, status, headers), **named | fields)


def url(number: int) -> str:
    return f"http://a.example/{number}"


def body(number: int) -> bytes:
    """Return a body that compresses badly."""
    return b"<title>%d</title><p>" % number + Random(number).randbytes(300).hex().encode()


def pages(count: int) -> list[bytes]:
    return [response(url(number), body(number)) for number in range(count)]


PACKED: dict[str, Callable[[Iterable[bytes]], bytes]] = {
    "plain": b"".join,
    "gzip by record": lambda records: b"".join(map(gzip.compress, records)),
    "one gzip member": lambda records: gzip.compress(b"".join(records)),
    "zstd by record": lambda records: b"".join(map(zstandard.compress, records)),
}
"""Formats of a WARC file: functions that join records."""
