"""The catalogue of faults: the behaviour of a server, and the outcomes that are right.

Law: every fault has a host of its own and at least one right outcome, as in a row of the table
`fetches`. "page, cut: reset" is a page that was read up to a reset.
"""

import gzip

from tests.fetch.wire import FAULTS, ODDITIES, Answer, Then, answer
from tests.proofs.hostile.codings import CODINGS
from tests.proofs.hostile.fault import (
    BAD_CODING,
    BAD_REDIRECT,
    BEGIN,
    BOMB,
    BROKEN,
    CHUNK,
    CHUNKED,
    CONNECT,
    DNS,
    ENCODING,
    HEAD,
    JUNK,
    LATE,
    MOVED,
    PAGE,
    PART,
    PROTOCOL,
    RESET,
    TAMPERED,
    TIMEOUT,
    TLS,
    TOO_LARGE,
    TYPE,
    Fault,
    floods,
    leads,
    says,
    shows,
)
from tests.proofs.hostile.sheets import SHEETS

_SLOW = {
    "slow status line": says(TIMEOUT, b"HTTP/1.1 2", b"0", then=Then.DRIP),
    "slow header": says(TIMEOUT, HEAD + b"X: ", b"x", then=Then.DRIP),
    "slow headers": says(TIMEOUT, HEAD, b"X: y\r\n", then=Then.DRIP),
    "slow body": says(LATE, HEAD + b"Content-Length: 100000\r\n\r\n" + BEGIN, b"x", then=Then.DRIP),
    "slow body without length": says(LATE, HEAD + b"\r\n" + BEGIN, b"x", then=Then.DRIP),
    "slow chunks": says(LATE, CHUNKED, CHUNK, then=Then.DRIP),
    "slow gzip": says(
        LATE,
        HEAD + b"Content-Encoding: gzip\r\n\r\n",
        gzip.compress(BEGIN * 1000, compresslevel=0)[:5000],
        b"x",
        then=Then.DRIP,
    ),
    "slow chunk size": says(TIMEOUT, CHUNKED, b"0", then=Then.DRIP),
    "slow interim answers": says(TIMEOUT, b"HTTP/1.1 103 Hints\r\n", b"X: y\r\n", then=Then.DRIP),
    "slow blank lines": says(TIMEOUT, b"\r\n", then=Then.DRIP),
    "body that stops": says(LATE, HEAD + b"Content-Length: 999\r\n\r\n" + BEGIN, then=Then.HOLD),
    "head and then silence": says(TIMEOUT, HEAD + b"Content-Length: 999\r\n\r\n", then=Then.HOLD),
    "gzip head and then silence": says(
        TIMEOUT,
        HEAD + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(BEGIN)[:10],
        then=Then.HOLD,
    ),
    "endless body": floods(HEAD + b"\r\n", b"x" * 65536),
    "endless chunks": floods(CHUNKED, b"10000\r\n" + b"x" * 65536 + b"\r\n"),
    "endless tiny chunks": Fault(
        outcomes=(JUNK, LATE),  # a busy machine may reach either limit first
        answers=lambda: (Answer((CHUNKED, b"1\r\nx\r\n" * 2000), Then.REPEAT),),
    ),
    "endless links": floods(HEAD + b"\r\n", b"<a href=/x>x</a>" * 4096),
    "endless tags": floods(HEAD + b"\r\n", b"<div>" * 8192),
    "endless 102": says(TOO_LARGE, b"HTTP/1.1 102 Processing\r\n\r\n" * 9, then=Then.REPEAT),
    "endless trailers": Fault(
        outcomes=(JUNK,),
        answers=lambda: (Answer((CHUNKED + CHUNK + b"0\r\n", b"X: y\r\n" * 20), Then.REPEAT),),
    ),
}


_SQUEEZED = gzip.compress(BEGIN)
_GZIPPED = b"%x\r\n%b\r\n" % (len(_SQUEEZED), _SQUEEZED)
_LENGTHS = {
    "length too small": says(PAGE, HEAD + b"Content-Length: 9\r\n\r\n" + BEGIN),
    "length too great": says(BROKEN, HEAD + b"Content-Length: 99999\r\n\r\n" + BEGIN),
    "length larger than any disk": says(
        BROKEN, HEAD + b"Content-Length: 9" + b"9" * 17 + b"\r\n\r\nabc"
    ),
    "length of a hundred digits": says(
        PAGE, HEAD + b"Content-Length: " + b"9" * 100 + b"\r\n\r\n" + BEGIN
    ),
    "length below zero": says(PAGE, HEAD + b"Content-Length: -1\r\n\r\n" + BEGIN),
    "length with a sign": says(PAGE, HEAD + b"Content-Length: +5\r\n\r\n" + BEGIN),
    "length in hexadecimal": says(PAGE, HEAD + b"Content-Length: 0x10\r\n\r\n" + BEGIN),
    "length of nothing": says(PAGE, HEAD + b"Content-Length: 0\r\n\r\n"),
    "empty length": says(PAGE, HEAD + b"Content-Length:\r\n\r\n" + BEGIN),
    "no body at all": says(PAGE, HEAD + b"\r\n"),
    "chunk size below zero": says(PROTOCOL, CHUNKED + b"-5\r\nhello\r\n"),
    "chunk size of 40 digits": says(PROTOCOL, CHUNKED + b"f" * 40 + b"\r\nhello"),
    "chunk larger than all memory": says(BROKEN, CHUNKED + b"ffffffffffffffff\r\n" + BEGIN),
    "chunk without its end": says(JUNK, CHUNKED + b"%x\r\n%b" % (len(BEGIN), BEGIN) + b"5\r\nx"),
    "chunks without the last": says(BROKEN, CHUNKED + CHUNK),
    "chunks and then junk": says(JUNK, CHUNKED + CHUNK + b"what is this\r\n"),
    "chunks that are a plain body": says(PROTOCOL, CHUNKED + BEGIN + b"\n"),
    "chunk extension without end": says(PROTOCOL, CHUNKED + b"5;", b"x" * 4096, then=Then.REPEAT),
    "chunks coded twice": Fault(
        outcomes=(PAGE, PROTOCOL),
        answers=lambda: (
            Answer(
                (HEAD + b"Transfer-Encoding: chunked, chunked\r\n\r\n" + CHUNK + b"0\r\n\r\n",),
                Then.CLOSE,
            ),
        ),
    ),
    "unknown transfer encoding": says(ENCODING, HEAD + b"Transfer-Encoding: cloud\r\n\r\n" + BEGIN),
    "gzip as a transfer coding": says(
        PAGE, HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n", _GZIPPED, b"0\r\n\r\n"
    ),
    "gzip as a transfer coding without chunks": says(
        PAGE, HEAD + b"Transfer-Encoding: gzip\r\n\r\n" + _SQUEEZED
    ),
}


_LONG = b"a" * 30_000
_HEADS = {
    "HTTP/0.9": says(PROTOCOL, BEGIN),
    "another protocol": says(PROTOCOL, b"220 mail.example ESMTP ready\r\n"),
    "SSH": says(PROTOCOL, b"SSH-2.0-OpenSSH_9.9\r\n", then=Then.HOLD),
    "a status of four digits": says(PROTOCOL, b"HTTP/1.1 2000 OK\r\n\r\n"),
    "a status of letters": says(PROTOCOL, b"HTTP/1.1 abc OK\r\n\r\n"),
    "a status of zero": says("failed:bad-status", b"HTTP/1.1 000 Odd\r\n\r\n"),
    "a status of 999": says("failed:bad-status", b"HTTP/1.1 999 Denied\r\n\r\n"),
    "switching protocols": says("failed:bad-status", b"HTTP/1.1 101 Switching\r\n\r\n"),
    "partial content": says(
        PART, b"HTTP/1.1 206 Partial\r\nContent-Type: text/html\r\n\r\n" + BEGIN
    ),
    "partial content from the middle": says(
        PROTOCOL,
        b"HTTP/1.1 206 Partial\r\nContent-Type: text/html\r\n"
        b"Content-Range: bytes 9-99/100\r\n\r\n" + BEGIN,
    ),
    "validators of 30,000 characters": says(
        PAGE, HEAD + b"ETag: %b\r\nLast-Modified: %b\r\n\r\n" % (_LONG, _LONG) + BEGIN
    ),
    "a media type of 30,000 characters": says(
        TYPE, b"HTTP/1.1 200 OK\r\nContent-Type: x/%b\r\n\r\n" % _LONG
    ),
    "304 to an unconditional request": says("failed:bad-status", b"HTTP/1.1 304 Same\r\n\r\n"),
    "nulls in headers": says(PAGE, HEAD + b"X\0Y: \0\0\r\n\r\n" + BEGIN),
    "escapes in headers": says(PAGE, HEAD + b"X: \x1b[2J\x07\x9b\r\n\r\n" + BEGIN),
    "headers that are not UTF-8": says(PAGE, HEAD + b"X-\xff\xfe: \xc3\x28\r\n\r\n" + BEGIN),
    "a header of only a colon": says(PAGE, HEAD + b":\r\n: x\r\n\r\n" + BEGIN),
    "a hundred cookies": says(PAGE, HEAD + b"Set-Cookie: a=b\r\n" * 100 + b"\r\n" + BEGIN),
    "a flood of cookies": says(TOO_LARGE, HEAD + b"Set-Cookie: a=b\r\n" * 5000 + b"\r\n" + BEGIN),
    "an endless cookie": says(TOO_LARGE, HEAD + b"Set-Cookie: ", b"a" * 8192, then=Then.REPEAT),
    "a hundred answers at once": says(PAGE, (HEAD + b"Content-Length: 5\r\n\r\nhello") * 100),
    "an unwanted media type": says(
        TYPE, b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n\r\n", b"x" * 65536, then=Then.REPEAT
    ),
    "invalid Retry-After": says(
        "failed:server-error", b"HTTP/1.1 503 No\r\nRetry-After: -1e99, whenever\r\n\r\n"
    ),
    "Retry-After a second": says(
        "failed:throttled", b"HTTP/1.1 429 Slow\r\nRetry-After: 1\r\n\r\n"
    ),
    "Retry-After in the past": says(
        "failed:server-error",
        b"HTTP/1.1 503 No\r\nRetry-After: Thu, 01 Jan 1970 00:00:00 GMT\r\n\r\n",
    ),
}


_CONNECTIONS = {
    "port closed": Fault(outcomes=(CONNECT,), scene="closed"),
    "connection never accepted": Fault(outcomes=(TIMEOUT,), scene="deaf"),
    "reset on accept": Fault(outcomes=(RESET, CONNECT), scene="slammed"),
    "reset in the status line": says(RESET, b"HTTP/1.1 2", then=Then.RESET),
    "reset in the headers": says(RESET, HEAD, then=Then.RESET),
    "reset after the head": says(RESET, HEAD + b"Content-Length: 9\r\n\r\n", then=Then.RESET),
    "reset in a chunk": Fault(
        outcomes=(BROKEN, RESET),
        answers=lambda: (Answer((CHUNKED, b"ff\r\n" + BEGIN), Then.RESET),),
    ),
    "reset in a body without length": Fault(
        outcomes=(BROKEN, RESET),
        answers=lambda: (Answer((HEAD + b"\r\n", BEGIN), Then.RESET),),
    ),
    "closed in the status line": says(RESET, b"HTTP/1.1 2"),
}


_CIRCLE = [f"/{number % 3}".encode() for number in range(9)]
_CHAIN = [f"/{number}".encode() for number in range(40)]
_REDIRECTS = {
    "redirect to itself": leads(b"/"),
    "redirect to itself with a fragment": leads(b"/#there"),
    "redirect in a circle": leads(*_CIRCLE, outcome=MOVED),
    "redirect chain without end": leads(*_CHAIN, outcome=MOVED),
    "redirect that is empty": says(BAD_REDIRECT, b"HTTP/1.1 302 F\r\nLocation:\r\n\r\n"),
    "redirect without a target": says(BAD_REDIRECT, b"HTTP/1.1 301 Moved\r\n\r\n"),
    "redirect to a file": leads(b"file:///etc/passwd"),
    "redirect to a script": leads(b"javascript:alert(1)"),
    "redirect to data": leads(b"data:text/html,<a href=/x>"),
    "redirect to FTP": leads(b"ftp://ftp.example/"),
    "redirect to gopher": leads(b"gopher://127.0.0.1:25/_HELO"),
    "redirect to no URL": leads(b"http://[::bad"),
    "redirect to port 99999": leads(b"http://a.example:99999/"),
    "redirect to metadata of a cloud": leads(b"http://169.254.169.254/", outcome=MOVED),
    "redirect to loopback": leads(b"http://127.0.0.1:1/", outcome=MOVED),
    "redirect to loopback in disguise": leads(b"http://0x7f.1/", outcome=MOVED),
    "redirect to loopback by IPv6": leads(b"http://[::ffff:127.0.0.1]/", outcome=MOVED),
    "redirect with credentials": leads(b"http://me:secret@10.0.0.1/", outcome=MOVED),
    "redirect to a URL of 20,000 characters": leads(b"/" + b"x" * 20_000),
    "redirect to two targets": says(
        BAD_REDIRECT, b"HTTP/1.1 302 F\r\nLocation: /a\r\nLocation: /b\r\n\r\n"
    ),
    "redirect to one target in two headers": Fault(
        outcomes=(MOVED,),
        answers=lambda: (
            Answer((b"HTTP/1.1 302 F\r\nLocation: /a\r\nLocation: /a\r\n\r\n",), Then.CLOSE),
            answer(BEGIN),
        ),
    ),
    "redirect to the SMTP port": leads(b"http://mail.example:25/", outcome=MOVED),
    "redirect with escapes": leads(b"/\x1b[2J\x07", outcome=MOVED),
    "redirect that is not UTF-8": leads(b"/\xff\xfe", outcome=MOVED),
    "redirect in UTF-8": leads("/käse".encode(), outcome=MOVED),
    "redirect with broken percents": leads(b"/%zz%", outcome=MOVED),
    "redirect above the root": leads(b"/../../../../etc/passwd", outcome=MOVED),
    "redirect of 300": says("failed:bad-status", b"HTTP/1.1 300 Choose\r\nLocation: /x\r\n\r\n"),
}


_TLS = {
    "valid TLS": Fault(outcomes=(PAGE,), tls="good"),
    "TLS expired": Fault(outcomes=(TLS,), tls="expired"),
    "TLS not valid yet": Fault(outcomes=(TLS,), tls="early"),
    "TLS of another host": Fault(outcomes=(TLS,), tls="other host"),
    "TLS self-signed": Fault(outcomes=(TLS,), tls="self-signed"),
    "TLS of an unknown authority": Fault(outcomes=(TLS,), tls="unknown"),
    "TLS of an old protocol": Fault(outcomes=(TLS, CONNECT), tls="old"),
    "TLS with client certificates": Fault(outcomes=(TLS, RESET), tls="client certificate"),
    "plain HTTP on a TLS port": says(TLS, b"HTTP/1.1 400 Bad\r\n\r\n", tls="none"),
    "TLS and silence": says(TIMEOUT, then=Then.HOLD, tls="none"),
    "TLS and an end": says(CONNECT, tls="none"),
    "TLS and a reset": says(CONNECT, then=Then.RESET, tls="none"),
    "TLS whose body stops": says(
        LATE, HEAD + b"Content-Length: 99\r\n\r\n" + BEGIN, then=Then.HOLD, tls="good"
    ),
    "TLS whose body is reset": Fault(
        outcomes=(BROKEN, RESET),
        answers=lambda: (Answer((HEAD + b"Content-Length: 99\r\n\r\n", BEGIN), Then.RESET),),
        tls="good",
    ),
    "TLS whose body turns to garbage": Fault(
        outcomes=(TAMPERED, TLS),
        answers=lambda: (Answer((HEAD + b"Content-Length: 99\r\n\r\n", BEGIN), Then.GARBAGE),),
        tls="good",
    ),
    "TLS whose head is reset": says(RESET, HEAD, then=Then.RESET, tls="good"),
    "TLS whose body never ends": floods(HEAD + b"\r\n", b"x" * 65536, tls="good"),
}


_NAMES = {
    "DNS knows no such name": Fault(outcomes=(DNS,), names="none"),
    "DNS knows no address": Fault(outcomes=(DNS,), names="empty"),
    "DNS hangs": Fault(outcomes=(TIMEOUT, DNS), names="hangs"),
    "DNS gives many addresses and the last one works": Fault(outcomes=(PAGE,), names="many"),
    "DNS gives too many dead addresses": Fault(outcomes=(CONNECT,), names="too many"),
    "DNS gives a deaf address first": Fault(outcomes=(PAGE,), names="deaf first"),
    "DNS gives another address every time": Fault(outcomes=(PAGE,), names="changing"),
    "redirect to a name with a private address": leads(b"http://inside.example/", outcome=MOVED),
}
INSIDE = (
    "http://169.254.169.254/",
    "http://127.0.0.1:1/",
    "http://127.0.0.1/",
    "http://[::ffff:7f00:1]/",
    "http://10.0.0.1/",
    "http://inside.example/",
    "http://mail.example:25/",
)
"""Targets of redirects that no crawl may request."""


_FORGIVEN = {name: shows(PAGE, one) for name, one in ODDITIES.items()}
_KNOWN = {
    "closed at once": RESET,
    "reset at once": RESET,
    "no HTTP, and no end": PROTOCOL,
    "HTTP/2": PROTOCOL,
    "a status of two digits": PROTOCOL,
    "two lengths": PROTOCOL,
    "a header too long": TOO_LARGE,
    "a header without end": TOO_LARGE,
    "too many headers": TOO_LARGE,
    "headers without end": TOO_LARGE,
    "headers too long in all": TOO_LARGE,
    "a reason too long": TOO_LARGE,
    "silence": TIMEOUT,
    "silence in the headers": TIMEOUT,
    "blank lines without end": TOO_LARGE,
    "nothing but 100 Continue": TOO_LARGE,
    "a length and no body": RESET,
    "a body too short": BROKEN,
    "chunks and no body": RESET,
    "chunks that are none": PROTOCOL,
}
_REFUSED = {name: shows(right, FAULTS[name]) for name, right in _KNOWN.items()}

FAMILIES = {
    "slow and endless": _SLOW,
    "lengths and chunks": _LENGTHS,
    "heads": _HEADS,
    "connections": _CONNECTIONS,
    "codings": CODINGS,
    "sheets": SHEETS,
    "redirects": _REDIRECTS,
    "TLS": _TLS,
    "names": _NAMES,
    "catalogue of the fetcher's own tests": _REFUSED,
    "odd, and forgiven by browsers": _FORGIVEN,
}
CATALOGUE: dict[str, Fault] = {
    name: fault for family in FAMILIES.values() for name, fault in family.items()
}
ON_THE_WIRE = {name: fault for name, fault in CATALOGUE.items() if name not in _NAMES}
"""Faults that need no fake resolver. Worker processes would not see the fake one."""

UNREADABLE = {
    *(DNS, CONNECT, TLS, TIMEOUT, RESET, PROTOCOL, ENCODING, TOO_LARGE),
    *("failed:server-error", "failed:throttled", "failed:bad-status"),
    *(LATE, BROKEN, JUNK, BAD_CODING, BOMB, PART, TAMPERED),
}
"""Outcomes of a robots.txt after which no page of the host may be requested."""
