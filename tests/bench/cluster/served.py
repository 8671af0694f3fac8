"""A web of many hosts behind one nginx on loopback, for crawls without delays.

Pages are counted in nginx's log.
"""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import click

from tests.bench.manuals import complete_lines
from tests.real.daemons import free_port, program
from tests.real.nginx import running_nginx

HOSTS, PAGES_OF_A_HOST = 600, 60
_OWN_LINKS, _FAR_LINKS = 12, 4
_PARAGRAPHS, _OF_A_PAGE, _WORDS = 3000, 10, 80
_HTTP = """
    types {{ text/html html; text/plain txt; }}
    open_file_cache max=40000;
    keepalive_requests 100000;
    server {{
        listen 127.0.0.1:{port} backlog=4000;
        root {folder}/sites/$host;
    }}
"""


class HostsServed:
    """Running server, with the number of its pages read so far."""

    def __init__(self, port: int, log: BinaryIO) -> None:
        self.address = f"127.0.0.1:{port}"
        self.seeds = [f"http://{_name(host)}/0.html" for host in range(HOSTS)]
        self._log, self._pages = log, 0

    def pages(self) -> int:
        """Return the number of pages requested so far."""
        for line in complete_lines(self._log):
            self._pages += line.startswith(b"200 ") and line.endswith(b".html\n")
        return self._pages


@contextmanager
def served_hosts(folder: Path) -> Iterator[HostsServed]:
    """Serve the web, after writing its pages into `folder` if they are missing."""
    if program("nginx") is None:
        raise click.UsageError("there is no nginx: apt-get install nginx-light")
    folder.chmod(0o755)
    if not (folder / "sites").exists():
        _write_pages(folder / "sites")
    port = free_port()
    http = _HTTP.format(folder=folder, port=port)
    (folder / "requests").write_bytes(b"")
    with running_nginx(http, "$status $host $uri", folder, [port]) as path, path.open("rb") as log:
        yield HostsServed(port, log)


def _name(host: int) -> str:
    return f"www.site{host}.example"


def _write_pages(folder: Path) -> None:
    """Write distinct pages, each with links to its host and to others."""
    draw = random.Random(0)
    words = ["".join(draw.choices("aeioulmnrst", k=draw.randint(2, 9))) for _ in range(3000)]
    paragraphs = [f"<p>{' '.join(draw.choices(words, k=_WORDS))}</p>" for _ in range(_PARAGRAPHS)]
    for host in range(HOSTS):
        (folder / _name(host)).mkdir(parents=True)
        for page in range(PAGES_OF_A_HOST):
            own = [f"{(page + step) % PAGES_OF_A_HOST}.html" for step in range(1, 1 + _OWN_LINKS)]
            far = [
                f"http://{_name(draw.randrange(HOSTS))}/{draw.randrange(PAGES_OF_A_HOST)}.html"
                for _ in range(_FAR_LINKS)
            ]
            links = "\n".join(f'<li><a href="{link}">{link}</a></li>' for link in (*own, *far))
            texts = "\n".join(draw.choices(paragraphs, k=_OF_A_PAGE))
            (folder / _name(host) / f"{page}.html").write_text(
                f"<!doctype html>\n<title>Page {page} of host {host}</title>\n"
                f"<ul>\n{links}\n</ul>\n{texts}\n"
            )
