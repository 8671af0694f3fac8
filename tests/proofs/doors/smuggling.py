"""Requests of ambiguous length, sent to a server through nginx that keeps its connections open.

Law: a client behind the proxy gets the answer to its own request, whatever others have sent.
"""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path

from tests.processes import PATIENCE_S
from tests.proofs.doors.servers import Server
from tests.real.daemons import free_port
from tests.real.nginx import running_nginx

_SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


def _framed(*headers: bytes, body: bytes = b"0\r\n\r\n" + _SMUGGLED) -> bytes:
    return b"\r\n".join((b"POST / HTTP/1.1", b"Host: 127.0.0.1", *headers, b"", body))


_LENGTH = b"Content-Length: %d" % len(b"0\r\n\r\n" + _SMUGGLED)
VECTORS = {
    "CL.TE": _framed(_LENGTH, b"Transfer-Encoding: chunked"),
    "TE.CL": _framed(b"Transfer-Encoding: chunked", b"Content-Length: 4"),
    "CL.CL": _framed(b"Content-Length: 5", _LENGTH),
    "CL.0": _framed(_LENGTH, body=_SMUGGLED + b"     "),
    "space before the colon": _framed(_LENGTH, b"Transfer-Encoding : chunked"),
    "line folded": _framed(_LENGTH, b"Transfer-Encoding:\r\n chunked"),
    "vertical tab": _framed(_LENGTH, b"Transfer-Encoding:\x0bchunked"),
    "two codings": _framed(b"Transfer-Encoding: chunked", b"Transfer-Encoding: identity"),
    "header in a value": _framed(_LENGTH, b"X: y\rTransfer-Encoding: chunked"),
    "bare line feeds": _framed(_LENGTH, b"X: y\nTransfer-Encoding: chunked"),
    "chunk extension": _framed(b"Transfer-Encoding: chunked", body=b"0;\nx\r\n\r\n" + _SMUGGLED),
    "chunk size": _framed(b"Transfer-Encoding: chunked", body=b"0x0\r\n\r\n" + _SMUGGLED),
    "trailer": _framed(
        b"Transfer-Encoding: chunked", body=b"0\r\nContent-Length: 9\r\n\r\n" + _SMUGGLED
    ),
    "pipelined": _framed(b"Content-Length: 0", body=_SMUGGLED * 3),
    "expects": _framed(_LENGTH, b"Expect: 100-continue"),
    "upgrades": _framed(_LENGTH, b"Connection: Upgrade", b"Upgrade: h2c"),
}


@contextmanager
def proxied(folder: Path, port: int) -> Iterator[int]:
    """Run nginx before a server inside the block, with connections to it that it uses again."""
    own = free_port()
    directives = f"""
    upstream door {{ server 127.0.0.1:{port}; keepalive 1; }}
    server {{
        listen 127.0.0.1:{own};
        location / {{
            proxy_pass http://door;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host 127.0.0.1:{port};
            proxy_request_buffering off;
        }}
    }}
    """
    with running_nginx(directives, "$request", folder, [own]):
        yield own


def send(port: int, request: bytes) -> None:
    """Send bytes, and wait for the first of the response."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(1 << 16):
            pass


def misled(folder: Path, server: Server) -> list[str]:
    """Return the vectors after which our client got no answer, or not its own."""
    wrong = list[str]()
    with proxied(folder, server.port) as port:
        for name, vector in VECTORS.items():
            send(port, vector)
            send(server.port, vector)
            # Through nginx, all are one client of the search, which may have asked too often.
            statuses = {server.ask(port) for _ in range(2)}
            if not statuses <= {HTTPStatus.OK, HTTPStatus.TOO_MANY_REQUESTS}:
                wrong.append(name)
    return wrong
