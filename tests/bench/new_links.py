"""New pages that a continuous crawl finds on a real server, and how late.

A server on loopback has 300 pages: 15 hubs, of which the n-th gains a link to a new page every
2 n seconds; 30 pages whose text changes each second; others never change. With `--sitemap`, a
sitemap lists all pages, with the time of their last change. Pages and sitemap have an ETag. A first
run reads the 300 pages; changes begin with the second run, which is continuous.

    python -m tests.bench.new_links --seconds 60 --against FOLDER

prints a row for this checkout and one for another: new pages found, their mean delay in seconds
(those not found are late until the end), requests, and requests for the sitemap.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

PAGES, HUBS, LIVELY = 300, 15, 30
_EVERY_S = 2.0


@dataclass
class Site:
    """Pages by number; those of the hubs and lively pages depend on the time."""

    began: float = field(default_factory=time.monotonic)
    first_at: dict[str, float] = field(default_factory=dict)
    """Moment of the first request for each path."""
    requests: int = 0
    sitemaps: int = 0
    is_still: bool = True

    def born(self, hub: int) -> list[float]:
        """Return the moments at which the links of a hub appeared."""
        every = _EVERY_S * (hub + 1)
        count = 0 if self.is_still else int(self.age / every)
        return [every * number for number in range(1, count + 1)]

    @property
    def age(self) -> float:
        return time.monotonic() - self.began

    def body(self, path: str) -> bytes:
        name = path.strip("/")
        page = int(name) if name.isdigit() else -1
        if not name:
            links = [f"/{number}" for number in range(1, PAGES)]
        elif 0 < page <= HUBS:
            links = [f"/new-{page}-{number}" for number in range(len(self.born(page - 1)))]
        else:
            links = ["/"]
        second = int(self.age) if HUBS < page <= HUBS + LIVELY else 0
        anchors = "".join(f'<a href="{link}">{link}</a> ' for link in links)
        text = f"This is page {name}, as of {second}. " + " ".join(f"w{name}{n}" for n in range(40))
        return f"<title>{name}</title><p>{text}</p>{anchors}".encode()

    def sitemap(self) -> bytes:
        wall = time.time() - self.age
        rows = [(f"/{page}", 0.0) for page in range(1, PAGES)]
        for hub in range(HUBS):
            moments = self.born(hub)
            rows[hub] = (f"/{hub + 1}", max(moments, default=0.0))
            rows += [(f"/new-{hub + 1}-{n}", at) for n, at in enumerate(moments)]
        return "".join(
            f"<url><loc>{{origin}}{path}</loc><lastmod>"
            f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(wall + at))}</lastmod></url>"
            for path, at in rows
        ).encode()


@contextmanager
def serving(site: Site, *, has_sitemap: bool) -> Iterator[str]:
    """Serve the site on a free port, and yield its origin."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            origin = f"http://{self.headers['Host']}"
            site.requests += 1
            status, body = 200, b""
            if self.path == "/robots.txt":
                body = f"Sitemap: {origin}/sitemap.xml".encode() if has_sitemap else b""
            elif self.path == "/sitemap.xml":
                site.sitemaps += 1
                body = b"<urlset>%s</urlset>" % site.sitemap().replace(b"{origin}", origin.encode())
            else:
                site.first_at.setdefault(self.path, site.age)
                body = site.body(self.path)
            etag = f'"{hash(body):x}"'
            if self.headers.get("If-None-Match") == etag:
                status, body = 304, b""
            self.send_response(status)
            kind = "application/xml" if self.path.endswith(".xml") else "text/html"
            self.send_header("Content-Type", "text/plain" if "robots" in self.path else kind)
            self.send_header("ETag", etag)
            self.send_header("Date", formatdate(usegmt=True))
            if status == 200:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def measured(python: str, seconds: int, *, has_sitemap: bool) -> str:
    """Crawl the site for this time, and return the figures as a line."""
    site = Site()
    with tempfile.TemporaryDirectory() as folder, serving(site, has_sitemap=has_sitemap) as origin:
        options = ["--delay", "0.02", "--address-delay", "0", "--quiet"]
        options += ["--store", str(Path(folder, "crawl.db")), *["--sitemaps"] * has_sitemap]
        command = [python, "-m", "minicrawl", "crawl", f"{origin}/", *options]
        runs = ["--pages", str(PAGES)], ["--continuous", "--pages", "none", "--for", f"{seconds}s"]
        for more in runs:
            site.began, site.requests, site.sitemaps = time.monotonic(), 0, 0
            site.first_at.clear()
            site.is_still = more is runs[0]
            subprocess.run([*command, *more], check=True, cwd=folder, stdout=subprocess.DEVNULL)
        end = site.age
        delays, found = [], 0
        for hub in range(HUBS):
            for number, at in enumerate(site.born(hub)):
                first = site.first_at.get(f"/new-{hub + 1}-{number}")
                found += first is not None
                delays.append((end if first is None else first) - at)
    late = sum(delays) / len(delays)
    return (
        f"found {found} of {len(delays)} new pages, delay {late:.1f} s, "
        f"{site.requests} requests, {site.sitemaps} for the sitemap"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure how soon new pages are found.")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--against", type=Path, help="another checkout with a .venv")
    parser.add_argument("--sitemap", action="store_true")
    given = parser.parse_args()
    pythons = {"here": sys.executable}
    if given.against is not None:
        pythons["there"] = str(given.against / ".venv" / "bin" / "python")
    for name, python in pythons.items():
        sys.stdout.write(f"{name}: {measured(python, given.seconds, has_sitemap=given.sitemap)}\n")


if __name__ == "__main__":
    main()
