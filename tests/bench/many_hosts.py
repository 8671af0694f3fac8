"""Thousands of small sites on loopback for the benchmark of broad crawls.

Each site has a name, an address and a certificate of its own. One nginx with its own core serves
all sites and logs requests. Crawlers resolve the names by a file that replaces /etc/hosts for them
alone.
"""

import os
import random
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.request import ProxyHandler, build_opener

import trustme

from tests.bench.manuals import own_core
from tests.bench.processes import cpu_s_of
from tests.real.daemons import program
from tests.real.nginx import running_nginx

PAGES_OF_A_SITE = 12
_LINKS = (8, 6)
_PARAGRAPHS, _WORDS = 4000, 80
_NETWORK = 250  # addresses of one
_ROBOTS = "User-agent: *\nDisallow: /private/\n"

_LOG_FORMAT = (
    "$msec $request_time $connection $connection_requests $ssl_session_reused "
    "$host $uri $status $body_bytes_sent"
)
_HTTP = """
    types {{ text/html html; text/plain txt; }}
    open_file_cache max=40000;
    server {{ listen 127.0.0.1:{plain}; return 204; }}
    server {{
        listen 0.0.0.0:{port} ssl backlog=4000;
        allow 127.0.0.0/8;
        deny all;
        ssl_certificate {folder}/certificates/$ssl_server_name.pem;
        ssl_certificate_key {folder}/certificates/$ssl_server_name.pem;
        root {folder}/sites/$host;
    }}
"""


class Site(NamedTuple):
    """Name and address of a site."""

    name: str
    address: str


def sites(count: int) -> list[Site]:
    """Return `count` sites, each with a domain of its own."""
    return [
        Site(f"site{n}.test", f"127.1.{n // _NETWORK}.{1 + n % _NETWORK}") for n in range(count)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ManyHosts:
    """Running server."""

    sites: Sequence[Site]
    folder: Path
    port: int
    plain: int
    core: int
    worker: int

    @property
    def seeds(self) -> tuple[str, ...]:
        """URL of the first page of each site."""
        return tuple(f"https://{site.name}:{self.port}/0.html" for site in self.sites)

    @property
    def authority(self) -> Path:
        """Certificate of the authority."""
        return self.folder / "authority.pem"

    @property
    def log(self) -> Path:
        return self.folder / "requests"

    def knowing_names(self, command: Sequence[str]) -> list[str]:
        """Return the command in a mount namespace of its own, where the names resolve."""
        as_root = () if os.getuid() == 0 else ("--map-root-user",)
        mounts = 'mount --bind "$0" /etc/hosts && exec "$@"'
        hosts = str(self.folder / "hosts")
        return ["unshare", *as_root, "--mount", "sh", "-c", mounts, hosts, *command]

    def version(self) -> str:
        """Return the name and version of the server."""
        with build_opener(ProxyHandler({})).open(f"http://127.0.0.1:{self.plain}/") as answer:
            return str(answer.headers["Server"])

    def cpu_s(self) -> float:
        """Return the processor time of the server."""
        return cpu_s_of(self.worker)


@contextmanager
def many_hosts(count: int, folder: Path) -> Iterator[ManyHosts]:
    """Serve `count` sites, with their files in `folder`."""
    assert program("nginx"), "nginx is not installed"
    folder.chmod(0o755)
    found = sites(count)
    port, plain = _free_ports(2)
    _write_certificates(found, folder)
    names = [site.name for site in found]
    write_pages(folder / "sites", names, PAGES_OF_A_SITE, _LINKS, f"https://{{}}:{port}")
    for name in names:
        (folder / "sites" / name / "robots.txt").write_text(_ROBOTS)
    lines = [f"{site.address} {site.name}\n" for site in found]
    (folder / "hosts").write_text("".join(["127.0.0.1 localhost\n", *lines]))
    http = _HTTP.format(folder=folder, port=port, plain=plain)
    with running_nginx(http, _LOG_FORMAT, folder, [plain, port]):
        core, worker = own_core(folder)
        yield ManyHosts(
            sites=found, folder=folder, port=port, plain=plain, core=core, worker=worker
        )


def _free_ports(count: int) -> list[int]:
    """Return ports that are free at all addresses."""
    held = [socket.socket() for _ in range(count)]
    for listener in held:
        listener.bind(("0.0.0.0", 0))
    ports = [listener.getsockname()[1] for listener in held]
    for listener in held:
        listener.close()
    return ports


def _write_certificates(found: Sequence[Site], folder: Path) -> None:
    """Write a P-256 key and a certificate for each site, as most new sites have."""
    (folder / "certificates").mkdir()
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(folder / "authority.pem"))
    for site in found:
        made = authority.issue_cert(site.name).private_key_and_cert_chain_pem
        made.write_to_path(str(folder / "certificates" / f"{site.name}.pem"))


def write_pages(
    folder: Path,
    names: Sequence[str],
    pages: int,
    links: tuple[int, int],
    base: str,
    paragraphs_a_page: int = 24,
) -> None:
    """Write distinct pages of some sites; `links` are those to the same site, and to others.

    `base` is the origin of a site, as a format of its name.
    """
    own_links, far_links = links
    draw = random.Random(0)
    words = ["".join(draw.choices("aeioulmnrst", k=draw.randint(2, 9))) for _ in range(3000)]
    paragraphs = [" ".join(draw.choices(words, k=_WORDS)) for _ in range(_PARAGRAPHS)]
    for name in names:
        (folder / name).mkdir(parents=True)
        for page in range(pages):
            own = [f"{(page + step) % pages}.html" for step in range(1, 1 + own_links)]
            far = [
                f"{base.format(draw.choice(names))}/{draw.randrange(pages)}.html"
                for _ in range(far_links)
            ]
            texts = draw.choices(paragraphs, k=paragraphs_a_page)
            html = _html(f"Page {page} of {name}: {texts[0][:40]}", [*own, *far], texts)
            (folder / name / f"{page}.html").write_text(html)


def _html(title: str, links: Sequence[str], texts: Sequence[str]) -> str:
    anchors = "\n".join(f'<li><a href="{link}">{link[-20:]}</a></li>' for link in links)
    body = "\n".join(f"<p>{text}</p>" for text in texts)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"</head><body><h1>{title}</h1>\n<ul>\n{anchors}\n</ul>\n{body}\n</body></html>\n"
    )
