"""Mutation: a few random changes to a valid input, so that most of it stays meaningful."""

from collections.abc import Callable, Sequence
from random import Random

MOST_BYTES = 16 * 1024
_MOST_CHANGES, _MOST_REPEATS, _LONGEST = 4, 200, 64

TOKENS = [
    *(b"<", b">", b"<!--", b"-->", b"<![CDATA[", b"]]>", b"</", b"/>", b"=", b'"', b"'", b"&"),
    b"&#",
    *(b"&#xD800;", b"&#99999999999;", b"&amp;", b"<a href=", b"<script>", b"</script"),
    b"<base href=",
    *(b"<meta charset=", b"<loc>", b"</loc>", b"<url>", b"<title>", b"<plaintext>", b"<svg>"),
    b"<link ",
    *(b"\0", b"\xff", b"\xfe\xff", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80"),
    b"\xf0\x9f\x98\x80",
    *(b"\r\n", b"\n\n", b"\r", b"\t", b" ", b"\x1b$B", b"\x80", b"%", b"%2F", b"%61", b"%%", b"*"),
    b"$",
    *(b"../", b"//", b"?", b"#", b":", b"@", b"[", b"]", b"xn--", b"\xc3\xbc.", b"http://", b"\\"),
    *(b"utm_id=1&", b";jsessionid=1", b"User-agent: *\n", b"Disallow: /", b"Allow: *"),
    b"Sitemap: ",
    *(b"HTTP/1.1 ", b"HTTP/1.1 100 \r\n\r\n", b"Content-Length: "),
    b"Transfer-Encoding: chunked\r\n",
    *(b"0\r\n\r\n", b"ffffffffffffffff", b"99999999999999999999", b"-1", b"nan", b"1e999"),
    b"\x1f\x8b\x08",
    *(b"\x28\xb5\x2f\xfd", b"\x78\x9c", b"Mon, 31 Dec 9999 23:59:59 -9999", b"Jan", b"noindex"),
    b"none",
]

Change = Callable[[bytearray, Random, Sequence[bytes]], None]


def _place(body: bytearray, random: Random) -> int:
    return random.randrange(len(body) + 1)


def _flip(body: bytearray, random: Random, _: Sequence[bytes]) -> None:
    if body:
        body[random.randrange(len(body))] ^= 1 << random.randrange(8)


def _insert(body: bytearray, random: Random, _: Sequence[bytes]) -> None:
    at = _place(body, random)
    body[at:at] = random.choice(TOKENS)


def _overwrite(body: bytearray, random: Random, _: Sequence[bytes]) -> None:
    at = _place(body, random)
    body[at : at + random.randrange(_LONGEST)] = random.choice(TOKENS)


def _noise(body: bytearray, random: Random, _: Sequence[bytes]) -> None:
    at = _place(body, random)
    body[at : at + random.randrange(_LONGEST)] = random.randbytes(random.randrange(8))


def _repeat(body: bytearray, random: Random, _: Sequence[bytes]) -> None:
    at = _place(body, random)
    piece = body[at : at + random.randrange(_LONGEST)]
    body[at:at] = piece * random.randrange(_MOST_REPEATS)


def _cut(body: bytearray, random: Random, _: Sequence[bytes]) -> None:
    del body[_place(body, random) :]


def _splice(body: bytearray, random: Random, seeds: Sequence[bytes]) -> None:
    other = random.choice(seeds)
    body[_place(body, random) :] = other[random.randrange(len(other) + 1) :]


_CHANGES: list[Change] = [_flip, _insert, _overwrite, _noise, _repeat, _cut, _splice]


def mutated(seeds: Sequence[bytes], random: Random) -> bytes:
    """Return one of the seeds with a few random changes."""
    body = bytearray(random.choice(seeds))
    for _ in range(random.randint(1, _MOST_CHANGES)):
        random.choice(_CHANGES)(body, random, seeds)
    return bytes(body[:MOST_BYTES])
