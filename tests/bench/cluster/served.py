"""A web of many hosts behind one nginx, for crawls that no politeness holds back.

Laws: nobody but loopback is asked. nginx writes down what it was asked for, and a page is counted
there.
"""

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import click

from tests.real.daemons import free_port, program, running

HOSTS, PAGES_OF_A_HOST = 600, 60
_OWN_LINKS, _FAR_LINKS = 12, 4
_PARAGRAPHS, _OF_A_PAGE, _WORDS = 3000, 10, 80
_CONFIG = """
daemon off;
{user}
worker_processes 1;
pid {folder}/pid;
error_log {folder}/errors;
events {{ worker_connections 8000; }}
http {{
    types {{ text/html html; text/plain txt; }}
    log_format asked '$status $host $uri';
    access_log {folder}/asked asked;
    open_file_cache max=40000;
    keepalive_requests 100000;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port} backlog=4000;
        root {folder}/sites/$host;
    }}
}}
"""


class HostsServed:
    """The web, as it is served."""

    def __init__(self, port: int, log: BinaryIO) -> None:
        self.address = f"127.0.0.1:{port}"
        self.seeds = [f"http://{_name(host)}/0.html" for host in range(HOSTS)]
        self._log, self._pages = log, 0

    def pages(self) -> int:
        """Those that have been asked for so far."""
        for line in self._log:
            if not line.endswith(b"\n"):  # it is still being written down
                self._log.seek(-len(line), os.SEEK_CUR)
                break
            self._pages += line.startswith(b"200 ") and line.endswith(b".html\n")
        return self._pages


@contextmanager
def served_hosts(folder: Path) -> Iterator[HostsServed]:
    """Serve them; `folder` has their pages, which are made if they are not there."""
    nginx = program("nginx")
    if nginx is None:
        raise click.UsageError("there is no nginx: apt-get install nginx-light")
    folder.chmod(0o755)
    if not (folder / "sites").exists():
        _write_pages(folder / "sites")
    port, config = free_port(), folder / "nginx.conf"
    user = "user root;" if os.getuid() == 0 else ""
    config.write_text(_CONFIG.format(folder=folder, port=port, user=user))
    (folder / "asked").write_bytes(b"")
    command: list[str | Path] = [nginx, "-p", folder, "-c", config, "-e", folder / "errors"]
    with running(command, [port], folder / "said"), (folder / "asked").open("rb") as log:
        yield HostsServed(port, log)


def _name(host: int) -> str:
    return f"www.site{host}.example"


def _write_pages(folder: Path) -> None:
    """Texts that nobody takes for copies; a page links to pages of its host and of others."""
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
