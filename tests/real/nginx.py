"""Debian's nginx on loopback, with any configuration or over the manuals of Debian packages.

site     name of a manual
origin   where a site is served, such as "http://127.0.0.2:20123"
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import repeat
from pathlib import Path
from typing import NamedTuple

import pytest
import trustme

from tests.real.daemons import free_port, program, running

SITES = {
    "postgresql": Path("/usr/share/doc/postgresql-doc-15/html"),
    "sqlite": Path("/usr/share/doc/sqlite3"),
    "python": Path("/usr/share/doc/python3.11/html"),
    "git": Path("/usr/share/doc/git-doc"),
}
MIME_TYPES = Path("/etc/nginx/mime.types")
TYPES = f"include {MIME_TYPES}; default_type application/octet-stream;"
"""Directives for the media types of files."""
_FIRST_ADDRESS = 2
_CONFIG = """
daemon off;
{user}
worker_processes 1;
worker_rlimit_nofile 20000;
pid {folder}/pid;
error_log {folder}/errors;
events {{ worker_connections 16000; }}
http {{
    log_format request '{log_format}';
    access_log {folder}/requests request;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
{http}
}}
"""
_SERVER = "    server {{ listen {address}:{port}; root {root}; index index.html; }}"


@contextmanager
def running_nginx(
    http: str,
    log_format: str,
    folder: Path,
    ports: Iterable[int],
    addresses: Iterable[str] = repeat("127.0.0.1"),
) -> Iterator[Path]:
    """Run nginx with these directives of its `http` block; yield its log of requests."""
    config = folder / "nginx.conf"
    # Other users may not read the folders of tests.
    user = "user root;" if os.getuid() == 0 else ""
    config.write_text(_CONFIG.format(folder=folder, user=user, log_format=log_format, http=http))
    options: list[str | Path] = ["-p", folder, "-c", config, "-e", folder / "errors"]
    with running([str(program("nginx")), *options], ports, folder / "nginx.log", addresses):
        yield folder / "requests"


def write_certificates(folder: Path, *hosts: str) -> None:
    """Write certificates for nginx, one of which has expired, the client's, and their authority."""
    authority, past = trustme.CA(), datetime.now(UTC) - timedelta(days=1)
    authority.cert_pem.write_to_path(str(folder / "our-authority.pem"))
    ours = authority.issue_cert("us.example")
    ours.private_key_and_cert_chain_pem.write_to_path(str(folder / "us.pem"))
    for name, leaf in (
        ("server", authority.issue_cert(*hosts)),
        ("expired", authority.issue_cert(*hosts, not_after=past)),
    ):
        leaf.cert_chain_pems[0].write_to_path(str(folder / f"{name}.pem"))
        leaf.private_key_pem.write_to_path(str(folder / f"{name}.key"))


class Asked(NamedTuple):
    """Request that nginx has answered."""

    at: float
    url: str


class Nginx(NamedTuple):
    """Running server, with the origin of each site."""

    origins: Mapping[str, str]
    log: Path

    def asked(self) -> list[Asked]:
        """Return all requests so far, without a line that is still being written."""
        lines = self.log.read_text().splitlines(keepends=True)
        asked = (line.split() for line in lines if line.endswith("\n"))
        return [Asked(float(at), url) for at, url in asked]


def _absences() -> list[str]:
    """Return the programs and files that are missing on this machine."""
    needed = (MIME_TYPES, *(root / "index.html" for root in SITES.values()))
    absent = [str(path) for path in needed if not path.exists()]
    return absent if program("nginx") else ["nginx", *absent]


needs_real_parts = pytest.mark.skipif(
    bool(_absences()), reason=f"no {', '.join(_absences())}: tests/real/install.sh installs it"
)


@contextmanager
def serving(roots: Mapping[str, Path], folder: Path) -> Iterator[Nginx]:
    """Serve each site at a loopback address of its own."""
    addresses = [f"127.0.0.{number}" for number, _ in enumerate(roots, _FIRST_ADDRESS)]
    ports = list(map(free_port, addresses))
    places = list(zip(addresses, ports, strict=True))
    servers = (
        _SERVER.format(address=address, port=port, root=root)
        for (address, port), root in zip(places, roots.values(), strict=True)
    )
    http = "\n".join([TYPES, *servers])
    log_format = "$msec http://$server_addr:$server_port$request_uri"
    with running_nginx(http, log_format, folder, ports, addresses) as log:
        origins = (f"http://{address}:{port}" for address, port in places)
        yield Nginx(dict(zip(roots, origins, strict=True)), log)
