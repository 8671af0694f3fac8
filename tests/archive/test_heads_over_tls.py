"""WARC records of responses over TLS, by HTTP/1.1 and HTTP/2."""

import asyncio
import io
import re
import ssl

import h2.config
import h2.connection
import h2.events
import pytest
import trustme

from minicrawl.archive.record import PLAIN, RecordKind, pack, read, seal
from minicrawl.archive.warc import capture_of, write_warc
from minicrawl.config import Network, Politeness
from minicrawl.fetch.fetcher import HttpFetcher
from minicrawl.model import Request, Response

HOST, NOON = "a.example", 1_700_000_000.0
BODY = b"<p>page"
FIELDS = [("content-type", "text/html"), ("x-twice", "1"), ("x-twice", "2")]
H2 = h2.config.H2Configuration(client_side=False)


async def _turn(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer one request in the negotiated protocol."""
    if writer.get_extra_info("ssl_object").selected_alpn_protocol() != "h2":
        await reader.readuntil(b"\r\n\r\n")
        lines = "".join(f"{name}: {value}\r\n" for name, value in FIELDS)
        head = f"HTTP/1.1 200 OK\r\n{lines}Content-Length: {len(BODY)}\r\n\r\n"
        writer.write(head.encode() + BODY)
    else:
        spoken = h2.connection.H2Connection(config=H2)
        spoken.initiate_connection()
        while piece := await reader.read(65536):
            for event in spoken.receive_data(piece):
                if isinstance(event, h2.events.RequestReceived):
                    spoken.send_headers(event.stream_id, [(":status", "200"), *FIELDS])
                    spoken.send_data(event.stream_id, BODY, end_stream=True)
            writer.write(spoken.data_to_send())
    await reader.read()
    writer.close()


async def _fetched(http2: str) -> Response:
    authority = trustme.CA()
    tls, ours = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
    authority.issue_cert(HOST).configure_cert(tls)
    authority.configure_trust(ours)
    tls.set_alpn_protocols(["h2", "http/1.1"])
    server = await asyncio.start_server(_turn, "127.0.0.1", ssl=tls)
    port = server.sockets[0].getsockname()[1]
    network = Network(http2=http2, resolve=(f"{HOST}=127.0.0.1:{port}",))
    try:
        async with HttpFetcher(network, Politeness(delay_s=0), tls=ours) as asker:
            found = await asker.fetch(Request(f"https://{HOST}/a?b=1"))
    finally:
        server.close()
    assert isinstance(found, Response)
    return found


@pytest.mark.parametrize(("http2", "protocol"), [("off", "http/1.1"), ("auto", "h2")])
def test_a_record_names_protocols_and_cipher_and_has_a_head_of_http_1(
    http2: str, protocol: str
) -> None:
    archiveiterator = pytest.importorskip("warcio.archiveiterator")
    response = asyncio.run(_fetched(http2))
    record = seal(pack(RecordKind.PAGE, f"https://{HOST}/a?b=1", response, PLAIN, number=0), NOON)
    file = io.BytesIO()
    write_warc([capture_of(read(record, PLAIN))], file, "one.warc.gz", NOON)
    file.seek(0)
    found = {}
    for one in archiveiterator.ArchiveIterator(file, check_digests="raise"):
        found[one.rec_type] = (one.rec_headers, one.http_headers, one.content_stream().read())
    for kind in ("response", "request"):
        named = found[kind][0]
        protocols = [value for name, value in named.headers if name == "WARC-Protocol"]
        assert protocols[0] == protocol
        assert re.fullmatch(r"tls/1\.[23]", protocols[1])
        assert re.fullmatch(r"TLS_\w+|ECDHE-[\w-]+", named.get_header("WARC-Cipher-Suite"))
    _, head, body = found["response"]
    assert (head.protocol, head.get_statuscode(), body) == ("HTTP/1.1", "200", BODY)
    assert [value for name, value in head.headers if name == "x-twice"] == ["1", "2"]
    request = found["request"][1]
    assert (request.protocol, request.statusline.split()[0]) == ("GET", "/a?b=1")
    assert request.get_header("host") == HOST
    assert not [name for name, _ in head.headers + request.headers if name.startswith(":")]
