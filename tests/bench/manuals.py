"""Real pages for benchmarks: five manuals of Debian packages behind nginx on loopback, on one core.

Law: pages of all crawlers are counted alike, as distinct URLs of HTML files in nginx's log.
"""

import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.request import urlopen

import click

from tests.bench.crawlers import Task
from tests.bench.laps import PageVisits
from tests.bench.processes import cpu_s_of
from tests.real.nginx import serving

ROOTS = {
    "java": Path("/usr/share/doc/openjdk-17-doc/api"),
    "boost": Path("/usr/share/doc/libboost1.74-doc/doc/html"),
    "postgresql": Path("/usr/share/doc/postgresql-doc-15/html"),
    "python": Path("/usr/share/doc/python3.11/html"),
}
TWIN = "postgresql"
"""Manual that is served a second time with a comment added to each page, so that the content of all
pages differs."""
INSTALL = (
    "apt-get install -o DPkg::Options::='--path-include=/usr/share/doc/*' "
    "nginx-light openjdk-17-doc libboost1.74-doc postgresql-doc-15 python3.11-doc"
)

_HOME = "index.html"
_POLL_S = 0.01
_PATIENCE = 500  # polls


@dataclass(frozen=True, slots=True, kw_only=True)
class Manuals:
    """Running server."""

    seeds: tuple[str, ...]
    core: int
    worker: int
    log: Path
    roots: Mapping[str, Path]

    def task(self, pages: int, per_host: int = 16) -> Task:
        """Return the task to crawl them."""
        return Task(self.seeds, pages, per_host * len(self.seeds), per_host)

    def visits(self) -> "ManualVisits":
        """Return a counter of the visits from now on."""
        return ManualVisits(self.log, self.roots)

    def version(self) -> str:
        """Return the name and version of the server."""
        with urlopen(self.seeds[0]) as answer:
            return str(answer.headers["Server"])

    def cpu_s(self) -> float:
        """Return the processor time of the server."""
        return cpu_s_of(self.worker)


class ManualVisits(PageVisits):
    """Requests of a crawler for pages of manuals."""

    def __init__(self, log: Path, roots: Mapping[str, Path]) -> None:
        super().__init__(log)
        self._roots = roots

    def _note(self, line: bytes) -> None:
        url = line.split()[1].decode()
        parts = urlsplit(url)
        root = self._roots.get(parts.netloc)
        if root is None:  # a connection without a request
            return
        self.requests += 1
        path = unquote(parts.path).lstrip("/")
        file = root / (path + _HOME if path.endswith("/") else path or _HOME)
        if file.suffix == ".html" and file.is_file():
            self.pages[url] = file.stat().st_size


def installed() -> dict[str, Path]:
    """Return the installed manuals, or all if the one with a twin is missing."""
    found = {name: root for name, root in ROOTS.items() if (root / _HOME).exists()}
    return found if TWIN in found else ROOTS


@contextmanager
def manuals(folder: Path, wanted: Mapping[str, Path] = ROOTS) -> Iterator[Manuals]:
    """Serve manuals and the twin; `folder` is for files of nginx and the twin."""
    if missing := [str(root) for root in wanted.values() if not (root / _HOME).exists()]:
        raise click.UsageError(f"no {', '.join(missing)}: {INSTALL}")
    roots = {**wanted, "twin": _twin(wanted[TWIN], folder / "twin")}
    for root in roots.values():
        _warm(root)
    with serving(roots, folder) as nginx:
        core, worker = own_core(folder)
        yield Manuals(
            seeds=tuple(f"{origin}/{_HOME}" for origin in nginx.origins.values()),
            core=core,
            worker=worker,
            log=nginx.log,
            roots={urlsplit(at).netloc: roots[site] for site, at in nginx.origins.items()},
        )


def _twin(root: Path, copy: Path) -> Path:
    copy.parent.chmod(0o755)  # nginx may run as another user
    shutil.copytree(root, copy)
    for page in copy.rglob("*.html"):
        page.write_bytes(page.read_bytes() + b"<!-- twin -->")
    return copy


def _warm(root: Path) -> None:
    """Read all pages, so that the first crawler does not have to wait for the disk."""
    for page in root.rglob("*.html"):
        page.read_bytes()


def own_core(folder: Path) -> tuple[int, int]:
    """Give the worker of nginx a core to itself; return the core and the worker's process id."""
    core, worker = max(os.sched_getaffinity(0)), _worker_of(folder)
    os.sched_setaffinity(worker, {core})
    return core, worker


def _worker_of(folder: Path) -> int:
    """Wait until nginx has started its worker."""
    for _ in range(_PATIENCE):
        for master in _words_of(folder / "pid"):
            for worker in _words_of(Path(f"/proc/{master}/task/{master}/children")):
                return int(worker)
        time.sleep(_POLL_S)
    raise click.ClickException("nginx started no worker")


def _words_of(file: Path) -> list[str]:
    return file.read_text().split() if file.exists() else []
