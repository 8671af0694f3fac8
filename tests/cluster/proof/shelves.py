"""Manuals of Debian packages behind nginx, as sites that link to each other.

Each manual stands on several shelves, which are sites. nginx adds to each page the name of its
site, so that no two pages are the same, and links to the same page on the next shelf and to the
next manual, so that cash flows between shards.

shelf    "http://python-1.example": the second copy of Python's manual
"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pytest

from minicrawl import Loaded
from tests.cluster.logged_web import settings
from tests.real.daemons import free_port, program, running
from tests.real.nginx import MIME_TYPES, SITES

SHELVES = 3
_ADDRESS = "127.0.0.1"
_CONFIG = """
daemon off;
worker_processes 1;
pid {folder}/pid;
error_log {folder}/errors;
events {{ worker_connections 1024; }}
http {{
    include {mime_types};
    default_type application/octet-stream;
    log_format request '$msec $request_time $remote_addr $status $host$request_uri';
    access_log {folder}/requests request;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    sub_filter_once on;
{servers}
}}
"""
_SERVER = """
    server {{
        listen {address}:{port};
        server_name {host};
        root {root};
        index index.html;
        sub_filter '</body>' '<p>{host}
            <a href="http://{next_shelf}$uri">next shelf</a>
            <a href="http://{next_manual}/">next manual</a></body>';
    }}"""


class Asked(NamedTuple):
    """A request that nginx has answered: time of arrival, client address, status and URL."""

    at: float
    by: str
    status: int
    url: str

    @property
    def host(self) -> str:
        return self.url.partition("/")[0]


class Shelves(NamedTuple):
    seeds: list[str]
    address: str
    log: Path

    def asked(self) -> list[Asked]:
        lines = self.log.read_text().splitlines(keepends=True)
        return sorted(_asked(line) for line in lines if line.endswith("\n"))

    def settings(self, pages: int, delay_s: float) -> Loaded:
        only = [r"^http://[a-z0-9-]+\.example/"]
        return settings(self.address, pages=pages, delay=delay_s, allow=only)


def _asked(line: str) -> Asked:
    ended_at, took, by, status, url = line.rstrip("\n").split(" ", 4)
    return Asked(float(ended_at) - float(took), by, int(status), url)


def _absences() -> list[str]:
    absent = [str(root) for root in SITES.values() if not (root / "index.html").exists()]
    return absent if program("nginx") else ["nginx", *absent]


needs_shelves = pytest.mark.skipif(
    bool(_absences()), reason=f"no {', '.join(_absences())}: tests/real/install.sh installs it"
)


@contextmanager
def shelves(folder: Path) -> Iterator[Shelves]:
    """Serve all manuals on all shelves inside the block."""
    folder.mkdir()
    port = free_port(_ADDRESS)
    config = folder / "nginx.conf"
    config.write_text(
        _CONFIG.format(folder=folder, mime_types=MIME_TYPES, servers="".join(_servers(port)))
    )
    nginx = program("nginx")
    assert nginx, f"no {', '.join(_absences())}: tests/real/install.sh installs it"
    command: list[str | Path] = [nginx, "-p", folder, "-c", config, "-e", folder / "errors"]
    with running(command, [port], folder / "said"):
        seeds = [f"http://{_host(*one)}/index.html" for one in _all()]
        yield Shelves(seeds, f"{_ADDRESS}:{port}", folder / "requests")


def _all() -> Iterator[tuple[str, int]]:
    return product(SITES, range(SHELVES))


def _host(manual: str, shelf: int) -> str:
    return f"{manual}-{shelf}.example"


def _servers(port: int) -> Iterator[str]:
    manuals = list(SITES)
    after = dict(zip(manuals, [*manuals[1:], manuals[0]], strict=True))
    for manual, shelf in _all():
        yield _SERVER.format(
            address=_ADDRESS,
            port=port,
            host=_host(manual, shelf),
            root=SITES[manual],
            next_shelf=_host(manual, (shelf + 1) % SHELVES),
            next_manual=_host(after[manual], shelf),
        )
