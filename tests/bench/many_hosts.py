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
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple
from urllib.request import ProxyHandler, build_opener

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.bench.manuals import cpu_s_of, worker_of
from tests.real.daemons import program
from tests.real.nginx import running_nginx

PAGES_OF_A_SITE = 12
_OWN_LINKS, _FAR_LINKS = 8, 6
_PARAGRAPHS, _OF_A_PAGE, _WORDS = 4000, 24, 80
_NETWORK = 250  # addresses of one
_LASTS = timedelta(days=30)
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
    def seeds(self) -> list[str]:
        """URL of the first page of each site."""
        return [f"https://{site.name}:{self.port}/0.html" for site in self.sites]

    @property
    def hosts_file(self) -> Path:
        """File with the addresses of the names, as in /etc/hosts."""
        return self.folder / "hosts"

    @property
    def authority(self) -> Path:
        """Certificate of the authority."""
        return self.folder / "authority.pem"

    @property
    def log(self) -> Path:
        """Log of requests."""
        return self.folder / "requests"

    def knowing_names(self, command: Sequence[str]) -> list[str]:
        """Return the command in a mount namespace of its own, where the names resolve."""
        as_root = () if os.getuid() == 0 else ("--map-root-user",)
        mounts = 'mount --bind "$0" /etc/hosts && exec "$@"'
        return ["unshare", *as_root, "--mount", "sh", "-c", mounts, str(self.hosts_file), *command]

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
    _write_pages(found, folder, port)
    lines = [f"{site.address} {site.name}\n" for site in found]
    (folder / "hosts").write_text("".join(["127.0.0.1 localhost\n", *lines]))
    http = _HTTP.format(folder=folder, port=port, plain=plain)
    with running_nginx(http, _LOG_FORMAT, folder, [plain, port]):
        core, worker = max(os.sched_getaffinity(0)), worker_of(folder)
        os.sched_setaffinity(worker, {core})
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


# ---------------------------------------------------------------- certificates and pages


def _write_certificates(found: Sequence[Site], folder: Path) -> None:
    """Write a P-256 key and a certificate for each site, as most new sites have."""
    (folder / "certificates").mkdir()
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name("The authority of the benchmark")
    authority = _certificate(name, name, key, key).add_extension(
        x509.BasicConstraints(ca=True, path_length=0), critical=True
    )
    (folder / "authority.pem").write_bytes(_pem(authority.sign(key, hashes.SHA256())))
    for site in found:
        own = ec.generate_private_key(ec.SECP256R1())
        made = _certificate(_name(site.name), name, own, key).add_extension(
            x509.SubjectAlternativeName([x509.DNSName(site.name)]), critical=False
        )
        secret = own.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        written = secret + _pem(made.sign(key, hashes.SHA256()))
        (folder / "certificates" / f"{site.name}.pem").write_bytes(written)


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _certificate(
    name: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    issuer_key: ec.EllipticCurvePrivateKey,
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder(issuer, name, key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _LASTS)
        .not_valid_after(now + _LASTS)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()),
            critical=False,
        )
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _write_pages(found: Sequence[Site], folder: Path, port: int) -> None:
    """Write distinct pages, each with links to its site and to others."""
    draw = random.Random(0)
    words = ["".join(draw.choices("aeioulmnrst", k=draw.randint(2, 9))) for _ in range(3000)]
    paragraphs = [" ".join(draw.choices(words, k=_WORDS)) for _ in range(_PARAGRAPHS)]
    for number, site in enumerate(found):
        root = folder / "sites" / site.name
        root.mkdir(parents=True)
        (root / "robots.txt").write_text(_ROBOTS)
        for page in range(PAGES_OF_A_SITE):
            own = [f"{(page + step) % PAGES_OF_A_SITE}.html" for step in range(1, 1 + _OWN_LINKS)]
            far = [
                f"https://{draw.choice(found).name}:{port}/{draw.randrange(PAGES_OF_A_SITE)}.html"
                for _ in range(_FAR_LINKS)
            ]
            texts = draw.choices(paragraphs, k=_OF_A_PAGE)
            title = f"Page {page} of site {number}: {texts[0][:40]}"
            (root / f"{page}.html").write_text(_html(title, [*own, *far], texts))


def _html(title: str, links: Sequence[str], texts: Sequence[str]) -> str:
    anchors = "\n".join(f'<li><a href="{link}">{link[-20:]}</a></li>' for link in links)
    body = "\n".join(f"<p>{text}</p>" for text in texts)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"</head><body><h1>{title}</h1>\n<ul>\n{anchors}\n</ul>\n{body}\n</body></html>\n"
    )
