"""Debian's servers and proxies on loopback, each with a configuration of its own.

Law: whoever asks for a server gets one that answers, and it is gone when they are done.
"""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import cycle
from pathlib import Path

import pytest

_POLL_S = 0.01
_PATIENCE = 6000  # polls
_SYSTEM = "/usr/sbin:/usr/bin"
_PORTS = range(20_000, 32_000)
"""Below those that Linux gives to outgoing connections, which could take a port meanwhile."""
_first = os.getpid() * 97 % len(_PORTS)
_ports = cycle([*_PORTS[_first:], *_PORTS[:_first]])


def program(name: str) -> str | None:
    """A user's path need not lead to where servers are."""
    return shutil.which(name) or shutil.which(name, path=_SYSTEM)


def needs(*names: str) -> pytest.MarkDecorator:
    """Skips where one of these programs is absent."""
    absent = [name for name in names if program(name) is None]
    reason = f"no {', '.join(absent)}: tests/real/install.sh installs it"
    return pytest.mark.skipif(bool(absent), reason=reason)


def free_port(address: str = "127.0.0.1") -> int:
    """Return a port at which nobody listens; tests beside this one get others."""
    while True:
        port: int = next(_ports)
        with suppress(OSError), socket.socket() as held:
            held.bind((address, port))
            return port


@contextmanager
def running(command: Sequence[str | Path], ports: Sequence[int], log: Path) -> Iterator[None]:
    """Run a server that stays in the foreground, until this is left."""
    with (
        log.open("wb") as written,
        subprocess.Popen(command, stdout=written, stderr=written, cwd=log.parent) as process,
    ):
        try:
            for port in ports:
                _await(process, port, log)
            yield
        finally:
            process.terminate()


def _await(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    for _ in range(_PATIENCE):
        with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        with suppress(subprocess.TimeoutExpired):
            process.wait(_POLL_S)
            break
    raise AssertionError(f"{process.args!r} does not serve: {log.read_text(errors='replace')}")
