"""A server whose every byte the test gives."""

import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import takewhile


@contextmanager
def raw_server(answer: Callable[[str, bytes], tuple[bytes, bool]]) -> Iterator[int]:
    """Serve what `answer` returns for a path and a head, and give the port.

    The answer says whether its bytes end with the connection.
    """

    class Turn(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            lines = iter(self.rfile.readline, b"")  # a closed connection returns b"" forever
            while request := b"".join(takewhile(b"\r\n".__ne__, lines)):
                content, ends = answer(request.split()[1].decode(), request + b"\r\n")
                self.wfile.write(content)
                if ends:
                    return

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = allow_reuse_address = True

    with Server(("127.0.0.1", 0), Turn) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()
