"""Debian's servers and proxies on loopback, each with a configuration of its own.

Law: a server answers when the caller gets it, and has ended when the caller's block ends.
"""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import cycle, repeat
from pathlib import Path

import pytest

_POLL_S = 0.01
_PATIENCE = 6000  # polls
_SYSTEM = "/usr/sbin:/usr/bin"
_PORTS = range(20_000, 32_000)
"""Below the ports that Linux gives to outgoing connections, which could take a free port."""
_first = os.getpid() * 97 % len(_PORTS)
_ports = cycle([*_PORTS[_first:], *_PORTS[:_first]])


def program(name: str) -> str | None:
    """Find a program, also in the folders of servers, which are not in every user's path."""
    return shutil.which(name) or shutil.which(name, path=_SYSTEM)


def needs(*names: str) -> pytest.MarkDecorator:
    """Return a mark that skips a test if one of these programs is absent."""
    absent = [name for name in names if program(name) is None]
    reason = f"no {', '.join(absent)}: tests/real/install.sh installs it"
    return pytest.mark.skipif(bool(absent), reason=reason)


def free_port(address: str = "127.0.0.1") -> int:
    """Return a free port, and a different one to each call and each process of tests."""
    while True:
        port: int = next(_ports)
        with suppress(OSError), socket.socket() as held:
            held.bind((address, port))
            return port


@contextmanager
def running(
    command: Sequence[str | Path],
    ports: Iterable[int],
    log: Path,
    addresses: Iterable[str] = repeat("127.0.0.1"),
) -> Iterator[None]:
    """Run a server that stays in the foreground until the block ends."""
    with (
        log.open("wb") as written,
        subprocess.Popen(command, stdout=written, stderr=written, cwd=log.parent) as process,
    ):
        try:
            for place in zip(addresses, ports, strict=False):
                _await(process, place, log)
            yield
        finally:
            process.terminate()


def tinyproxy(config: Path, port: int, login: str) -> list[str | Path]:
    """Configure an HTTP proxy with this login, if any, and return its command."""
    directive = f"BasicAuth {login.replace(':', ' ')}\n" if login else ""
    config.write_text(f"Port {port}\nListen 127.0.0.1\nTimeout 60\nLogLevel Info\n{directive}")
    return [str(program("tinyproxy")), "-d", "-c", config]


def _await(process: subprocess.Popen[bytes], place: tuple[str, int], log: Path) -> None:
    for _ in range(_PATIENCE):
        with suppress(OSError), socket.create_connection(place):
            return
        with suppress(subprocess.TimeoutExpired):
            process.wait(_POLL_S)
            break
    raise AssertionError(f"{process.args!r} does not serve: {log.read_text(errors='replace')}")
