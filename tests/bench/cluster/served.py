"""A web of many hosts behind one nginx on loopback, for crawls without delays.

Pages are counted in nginx's log.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import click

from tests.bench.laps import complete_lines
from tests.bench.many_hosts import write_pages
from tests.real.daemons import free_port, program
from tests.real.nginx import running_nginx

HOSTS, PAGES_OF_A_HOST = 600, 60
_LINKS = (12, 4)
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
        names = list(map(_name, range(HOSTS)))
        write_pages(folder / "sites", names, PAGES_OF_A_HOST, _LINKS, "http://{}", 10)
    port = free_port()
    http = _HTTP.format(folder=folder, port=port)
    (folder / "requests").write_bytes(b"")
    with running_nginx(http, "$status $host $uri", folder, [port]) as path, path.open("rb") as log:
        yield HostsServed(port, log)


def _name(host: int) -> str:
    return f"www.site{host}.example"
