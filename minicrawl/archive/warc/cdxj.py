"""Index of a WARC file in CDXJ: a line for each response, by which replay software finds it."""

import json
import re
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import NamedTuple
from urllib.parse import quote_from_bytes, unquote_plus, unquote_to_bytes, urlencode, urlsplit

from minicrawl.archive.warc.capture import Capture, is_posted
from minicrawl.web.urls import PICTURES

_WWW = re.compile(r"^www\d*\.")
_FORM = "application/x-www-form-urlencoded"
_USUAL_PORTS = {"http": 80, "https": 443}
_MOST_ESCAPES = 32
"""Maximum nesting of escapes. A hostile URL has thousands, and would take quadratic time."""
_PLAIN = "!\"$&'()*+,/:;<=>?@[\\]^`{|}"
_SESSION_IDS = tuple(
    re.compile(f"(?i){parameter}(?:&|$)")
    for parameter in (
        "jsessionid=[0-9a-z]{32}",
        "phpsessid=[0-9a-z]{32}",
        "sid=[0-9a-z]{32}",
        "aspsessionid[a-z]{8}=[a-z]{24}",
        "cfid=[^&=]+&cftoken=[^&]+",
    )
)
_TYPE_LINE = re.compile(rb"(?mi)^content-type[\t ]*:([^;\r\n]*)")


class CdxLine(NamedTuple):
    """Entry of the CDX index: a response or revisit, and its position in the file."""

    capture: Capture
    digest: str
    offset: int
    length: int
    is_revisit: bool


def cdxj(lines: Iterable[CdxLine], filename: str) -> Iterator[str]:
    """Yield the CDXJ lines of the captures with a page, sorted as readers require."""
    yield from sorted(cdxj_line(line, filename) for line in lines if line.capture.has_page)


def cdxj_line(line: CdxLine, filename: str) -> str:
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
    if capture.wire is not None and is_posted(capture.wire.request):
        query = _posted_query(capture.wire.request)
        fields |= {"method": "POST", "requestBody": query}
        if _type_in(capture.wire.request.partition(b"\r\n\r\n")[0]) == _FORM:
            query = unquote_plus(query)  # as pywb looks it up; wabac.js uses requestBody, quoted
        named += f"{'&' if '?' in named else '?'}__wb_method=POST{query and '&'}{query}"
    stamp = datetime.fromtimestamp(int(capture.at), UTC).strftime("%Y%m%d%H%M%S")
    return f"{surt(named)} {stamp} {json.dumps(fields)}"


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
    match = _TYPE_LINE.search(head)
    return match[1].decode("latin-1").strip().lower() if match else ""


def _named_values(document: object) -> dict[str, str]:
    """Return the values of a JSON document by their nearest name; repeated names get numbers."""
    values, repeats = dict[str, str](), Counter[str]()
    waiting: list[tuple[str, object]] = [("", document)]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, dict):
            waiting.extend(reversed(value.items()))
        elif isinstance(value, list):
            waiting.extend((name, element) for element in reversed(value))
        elif name:
            if name in values:
                repeats[name] += 1
                name = f"{name}.{repeats[name] + 1}_"
            values[name] = value if isinstance(value, str) else json.dumps(value)
    return values


def surt(url: str) -> str:
    """Return the sort-friendly form of a URL, by which readers of web archives look it up.

    For `https://www.example.org/a/?y=%281%29&x=2` that is `org,example)/a?x=2&y=(1)`. All programs
    must agree on it, so it follows the canonicalizer of the Internet Archive: escapes are minimal,
    parameters are sorted and in lower case, and session IDs are removed. URNs stay as they are.
    """
    if url.startswith(PICTURES):
        return url
    parts = urlsplit(url)
    name = _WWW.sub("", (parts.hostname or "").strip("."))
    host = name if ":" in name else ",".join(reversed(name.split(".")))
    usual = parts.port is None or parts.port == _USUAL_PORTS.get(parts.scheme)
    segments = list[bytes]()
    for segment in _unescaped(parts.path).split(b"/")[1:]:
        if segment == b".." and segments:
            segments.pop()
        elif segment != b".":
            segments.append(segment)
    path = b"/" + b"/".join([segment for segment in segments[:-1] if segment] + segments[-1:])
    query = _minimal(_unescaped(parts.query))
    for pattern in _SESSION_IDS:
        if session_ids := [*pattern.finditer(query)]:
            query = query[: session_ids[-1].start()] + query[session_ids[-1].end() :]
    arguments = sorted(part.split("=", 1) for part in query.lower().split("&"))
    query = "?" + "&".join(map("=".join, arguments)) if query else ""
    path_ = _minimal(path).lower()
    return f"{host}{'' if usual else f':{parts.port}'}){path_.removesuffix('/') or '/'}{query}"


def _unescaped(text: str) -> bytes:
    """Undo percent-escapes until none is left, or `_MOST_ESCAPES` times."""
    content = text.encode("utf-8", "surrogatepass")
    for _ in range(_MOST_ESCAPES):
        if (plain := unquote_to_bytes(content)) == content:
            break
        content = plain
    return content


def _minimal(content: bytes) -> str:
    """Percent-escape only the bytes that must be escaped."""
    return quote_from_bytes(content, safe=_PLAIN)
