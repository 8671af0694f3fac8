"""Debian's nginx over the manuals of Debian packages: real pages behind a real server.

Law: whoever asks for a server gets one that answers, and it is gone when they are done.

site     a manual by its name
origin   "http://127.0.0.2:40123": where a site is served
"""

import shutil
import socket
import subprocess
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import pytest

SITES = {
    "postgresql": Path("/usr/share/doc/postgresql-doc-15/html"),
    "sqlite": Path("/usr/share/doc/sqlite3"),
    "python": Path("/usr/share/doc/python3.11/html"),
    "git": Path("/usr/share/doc/git-doc"),
}
MIME_TYPES = Path("/etc/nginx/mime.types")

_FIRST_ADDRESS = 2
_POLL_S = 0.01
_PATIENCE = 6000  # polls

_CONFIG = """
daemon off;
worker_processes 1;
pid {folder}/pid;
error_log {folder}/errors;
events {{ worker_connections 1024; }}
http {{
    include {mime_types};
    default_type application/octet-stream;
    log_format request '$msec http://$server_addr:$server_port$request_uri';
    access_log {folder}/requests request;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
{servers}
}}
"""
_SERVER = "    server {{ listen {address}:{port}; root {root}; index index.html; }}"


class Asked(NamedTuple):
    """A request that nginx has answered."""

    at: float
    url: str


class Nginx(NamedTuple):
    """A server that runs; an origin for each site."""

    origins: Mapping[str, str]
    log: Path

    def asked(self) -> list[Asked]:
        """Every request so far, but one that is still being written down."""
        lines = self.log.read_text().splitlines(keepends=True)
        asked = (line.split() for line in lines if line.endswith("\n"))
        return [Asked(float(at), url) for at, url in asked]


def _program() -> str | None:
    """A user's path need not lead to where servers are."""
    return shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")


def _absences() -> list[str]:
    """What these tests need and this machine has not."""
    needed = (MIME_TYPES, *(root / "index.html" for root in SITES.values()))
    absent = [str(path) for path in needed if not path.exists()]
    return absent if _program() else ["nginx", *absent]


needs_real_parts = pytest.mark.skipif(
    bool(_absences()), reason=f"no {', '.join(_absences())}: tests/real/install.sh installs it"
)


@contextmanager
def serving(roots: Mapping[str, Path], folder: Path) -> Iterator[Nginx]:
    """Serve each site at a loopback address of its own."""
    places = dict(zip(roots, _free_places(len(roots)), strict=True))
    config = folder / "nginx.conf"
    config.write_text(_config(roots, places, folder))
    program = _program()
    assert program
    command: list[str | Path] = [program, "-p", folder, "-c", config, "-e", folder / "errors"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            _await(process, places.values())
            origins = {site: f"http://{address}:{port}" for site, (address, port) in places.items()}
            yield Nginx(origins, folder / "requests")
        finally:
            process.terminate()


def _free_places(count: int) -> list[tuple[str, int]]:
    """All are held until all are found, so that none is found twice."""
    held = [socket.socket() for _ in range(count)]
    for number, listener in enumerate(held, _FIRST_ADDRESS):
        listener.bind((f"127.0.0.{number}", 0))
    places = [listener.getsockname() for listener in held]
    for listener in held:
        listener.close()
    return places


def _config(roots: Mapping[str, Path], places: Mapping[str, tuple[str, int]], folder: Path) -> str:
    servers = (
        _SERVER.format(address=address, port=port, root=roots[site])
        for site, (address, port) in places.items()
    )
    return _CONFIG.format(folder=folder, mime_types=MIME_TYPES, servers="\n".join(servers))


def _await(process: "subprocess.Popen[bytes]", places: Collection[tuple[str, int]]) -> None:
    """Until nginx listens everywhere; a config that it does not like ends it at once."""
    for _ in range(_PATIENCE):
        if all(map(_listens, places)):
            return
        with suppress(subprocess.TimeoutExpired):
            process.wait(_POLL_S)
            break
    raise AssertionError("nginx does not serve: see the file `errors` beside its config")


def _listens(place: tuple[str, int]) -> bool:
    with suppress(OSError), socket.create_connection(place):
        return True
    return False
