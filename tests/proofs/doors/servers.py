"""The four servers, each as a process of its own, and a client of each."""

import json
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from minicrawl.dashboard.access import TOKEN_HEADER
from tests.memory import memory_bytes
from tests.processes import PATIENCE_S, killed_on_failure

OWN_ADDRESS = "127.0.0.200"
"""Address of the client that is to be answered; hostile ones have others."""
TOKEN = "the-token-of-the-test"
_MINICRAWL = (sys.executable, "-m", "minicrawl")


@dataclass(frozen=True, kw_only=True)
class Question:
    """Request that a client of a server repeats."""

    method: str = "GET"
    path: str = "/"
    headers: Mapping[str, str]
    body: bytes = b""


class Server:
    """Running server."""

    def __init__(
        self, process: subprocess.Popen[str], port: int, question: Question, said: IO[bytes]
    ) -> None:
        self.process, self.port, self.question, self._said = process, port, question, said

    def ask(self, port: int | None = None) -> int:
        """Return the status of a response to our client; raises OSError without one."""
        question = self.question
        connection = HTTPConnection(
            "127.0.0.1", port or self.port, timeout=PATIENCE_S, source_address=(OWN_ADDRESS, 0)
        )
        try:
            connection.request(
                question.method, question.path, question.body or None, dict(question.headers)
            )
            response = connection.getresponse()
            response.read()
            return response.status
        finally:
            connection.close()

    @property
    def memory(self) -> int:
        return memory_bytes("VmRSS", self.serving_pid)

    @property
    def serving_pid(self) -> int:
        """Process that serves: metrics are served by a child of the crawl."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        pids = [int(pid) for pid in children.read_text().split()]
        named = (pid for pid in pids if b"dashboard" in Path(f"/proc/{pid}/cmdline").read_bytes())
        return next(named, self.process.pid)

    @property
    def messages(self) -> bytes:
        """What the server has said since it announced its address."""
        self._said.seek(0)
        return b"".join(self._said.readlines()[2:])


@contextmanager
def _running(
    arguments: list[str], announcement: str, descriptors: int
) -> Iterator[tuple[subprocess.Popen[str], re.Match[str], IO[bytes]]]:
    """Run the command until the block ends, from its announcement on."""
    with TemporaryFile() as said:
        process = subprocess.Popen(
            [*_MINICRAWL, *arguments],
            stdout=said,
            stderr=said,
            text=True,
            env=os.environ | {"MCP_TOKEN": TOKEN},
        )
        with killed_on_failure(process):
            resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (descriptors, descriptors))
            ends = time.monotonic() + PATIENCE_S
            while (found := re.search(announcement, _text(said))) is None:
                assert process.poll() is None, _text(said)
                assert time.monotonic() < ends, _text(said)
                time.sleep(0.05)
            yield process, found, said
            process.terminate()
            process.wait(PATIENCE_S)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


def _search(_match: re.Match[str]) -> Question:
    return Question(path="/search.json?q=page", headers={})


def _dashboard(match: re.Match[str]) -> Question:
    return Question(path="/api/errors?kind=timeout", headers={TOKEN_HEADER: match["token"]})


def _metrics(match: re.Match[str]) -> Question:
    return Question(path="/metrics", headers={"Authorization": f"Bearer {match['token']}"})


def _mcp(match: re.Match[str]) -> Question:
    headers = {
        "Authorization": f"Bearer {TOKEN}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    about = {"protocolVersion": "2025-03-26", "capabilities": {}}
    about |= {"clientInfo": {"name": "test", "version": "1"}}
    session = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about}
    connection = HTTPConnection("127.0.0.1", int(match["port"]), timeout=PATIENCE_S)
    connection.request("POST", "/mcp", json.dumps(session), headers)
    response = connection.getresponse()
    response.read()
    found = response.getheader("mcp-session-id")
    connection.close()
    headers |= {"Mcp-Session-Id": found} if found else {}
    ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
    return Question(method="POST", path="/mcp", headers=headers, body=json.dumps(ping).encode())


_ADDRESS = r"http://127\.0\.0\.1:(?P<port>\d+)"
DOORS: Mapping[str, tuple[list[str], str, Callable[[re.Match[str]], Question]]] = {
    "search": (["search", "--serve", "--host", "127.0.0.1", "--port", "0"], _ADDRESS, _search),
    "dashboard": (["dashboard", "--port", "0"], rf"{_ADDRESS}/#(?P<token>\S+)", _dashboard),
    "metrics": (
        ["crawl", "--demo", "--delay", "60", "-q", "--metrics", "127.0.0.1:0"],
        rf"{_ADDRESS}/metrics, .* Bearer (?P<token>\S+)",
        _metrics,
    ),
    "MCP": (["mcp", "--port", "0"], rf"{_ADDRESS}/mcp\s+Authorization: Bearer \S+", _mcp),
}


@contextmanager
def serving(door: str, store: Path, descriptors: int = 1024) -> Iterator[Server]:
    """Run one of the servers inside the block."""
    arguments, announcement, question = DOORS[door]
    own = store.with_name("metrics.db") if door == "metrics" else store
    command = [*arguments, "--store", str(own)]
    with _running(command, announcement, descriptors) as (process, match, said):
        yield Server(process, int(match["port"]), question(match), said)
