"""Seeds of mutations: small inputs of every format, and real files if there are any."""

import gzip
import json
import os
import tarfile
import zlib
from collections.abc import Iterator

import brotli  # type: ignore[import-untyped]  # it comes without types
import zstandard

from tests.shared import Absent, find
from tests.web.pdfs import pdf, stream, words

_MOST_BYTES = 8 * 1024  # of a file: small inputs are quick, so more of them can be tried
_REAL_ROBOTS = 200

PAGE = b"""<!DOCTYPE html><html><head><meta charset=utf-8><title>A &amp; B</title><base href=/d/>
<link rel=canonical href="/c?utm_id=1"><meta name=robots content="noindex, minicrawl: nofollow">
<meta http-equiv=refresh content="0; url='x'"><script><!-- <script> --></script></head>
<body class="a"><a href="../a/b?c=d&amp;e=f#g" rel=ugc>some words</a><iframe src=x></iframe>
<a href=http://user@EXAMPLE.com:80/%7e/;jsessionid=1>\xc3\xa9</a><svg><title>no</title></svg>"""
ROBOTS = b"""# all\nUser-agent: *\nUser-agent: minicrawl\nDisallow: /*%2Fa?b=/c$\nAllow: /%61b*
Crawl-delay: 1.5\nSitemap: http://a.example/s.xml\n\nUser-Agent: other/1.0
Disallow: /index.html\n"""
MAP = b"""<?xml version="1.0" encoding="utf-8"?><urlset xmlns="http://www.sitemaps.org/schemas/
sitemap/0.9"><url><loc>http://a.example/?a&amp;b</loc><lastmod>2020</lastmod></url><url><loc>
<![CDATA[/c]]><!-- d -->&#x65;</loc></url></urlset>"""
FEED = b"""<rss><channel><item><link>/a</link></item></channel></rss><feed><entry>
<link rel="alternate" href="/b"/></entry></feed><sitemapindex><sitemap><loc>/s</loc></sitemap>"""
ANSWER = b"""HTTP/1.1 200 OK\r\nContent-Type: text/html; charset="utf-8"\r\nX-Robots-Tag: none
Link: </c>; rel="canonical"\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n
5;a=b\r\nhello\r\n0\r\nTrailer: x\r\n\r\n"""
MARKDOWN = b"""---\ntitle: "A"\n---\n# B *c* #\n\n[d](/e "f") ![g](h) [i](<j k>)\n[l]: /m 'n'
<https://a.example/> https://b.example/c_(d). `` [o](p) ` `` <a href="/q?r&amp;s">t</a>
U\n===\n```\n[v](w)\n```\n    [x](y)\n- z\n"""
OTHERS = [
    b"HTTP/1.0 301 Moved\nLocation: /x\nContent-Length: 3\nRetry-After: 120\n\nabc",
    b"HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 206 P\r\nContent-Range: bytes 0-1/2\r\n\r\nab",
    b"5\r\nhello\r\n1;x\r\n!\r\n0\r\n\r\n",
    b"Mon, 21 Oct 2030 07:28:00 GMT",
    b'</a>; rel=next, </b>; rel="canonical x"; title="a,b"',
    b"otherbot: noindex, unavailable_after: 25 Jun 2030 15:00:00 PST, nofollow",
    b"text/html; charset='shift_jis'; x=\"y\"",
    b"http://a.example/b\nhttps://\xc3\xbc.example/?utm_source=x&sid=1\n",
    b"//[::1]:8080/..;/%2e%2e/a;jsessionid=1?phpsessid=2#x",
    "a.example/ü?q=1".encode("utf-16"),
    "<meta charset=gb18030>日本語".encode("gb18030"),
    b"<html>\x1b$B%F%9%H\x1b(B</html>",
    b"",
]


def _zstd(body: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(body)


def _raw_deflate(body: bytes) -> bytes:
    return zlib.compress(body)[2:-4]


PACKERS = (gzip.compress, zlib.compress, _raw_deflate, brotli.compress, _zstd)


def seeds() -> list[bytes]:
    plain = [PAGE, ROBOTS, MAP, FEED, ANSWER, MARKDOWN, *_pdfs(), *OTHERS]
    packed = [pack(body) for pack in PACKERS for body in (PAGE, MAP, bytes(5000))]
    twice = [gzip.compress(gzip.compress(PAGE)), gzip.compress(PAGE) + gzip.compress(MAP)]
    return [*plain, *packed, *twice, *_real()]


def _pdfs() -> list[bytes]:
    drawn = words("Some words", "see http://a.example/text")
    packed = stream(zlib.compress(drawn), b"/Filter/FlateDecode")
    return [pdf(drawn, title="A", links=["/b", "http://a.example/"]), pdf(packed, drawn)]


def _real() -> Iterator[bytes]:
    """Yield the beginnings of real files, or nothing if the vectors are missing."""
    try:
        vectors = find("vectors", "README.md", os.environ).parent
    except Absent:
        return
    for folder in ("html5lib_tree", "cc_robots", "cc_sitemaps", "scrapy_compressed"):
        for file in sorted((vectors / folder).iterdir()):
            yield file.read_bytes()[:_MOST_BYTES]
    for case in json.loads((vectors / "x_robots_tag.json").read_text()):
        yield json.dumps(case).encode()
    with tarfile.open(vectors / "protego_robots.tar.gz") as archive:
        for member in archive.getmembers()[:_REAL_ROBOTS]:
            if stream := archive.extractfile(member):
                yield stream.read()[:_MOST_BYTES]
