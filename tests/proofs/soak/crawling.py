"""The crawl under test: a `minicrawl crawl` process on a web of a fixed size.

The endless calendar of the demo web is left out, so no new URL is found after the warm-up, and
memory that still grows is a leak. The crawl reads the web again and again, as fast as the delay
allows.
"""

import math
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from minicrawl import MinicrawlError
from minicrawl.demo.server import DemoServer
from minicrawl.demo.web import DemoWeb
from tests.proofs.soak.hostile import DOMAIN, faults, hostile
from tests.proofs.soak.samples import Sample, sample

_PARTING_S = 60
_NOWHERE = f"dead.{DOMAIN}"
_DEAD_PORT = 1


@contextmanager
def served(pages: int, share: float) -> Iterator[tuple[list[str], list[str]]]:
    """Serve a web with this share of hostile hosts; yield its seeds and `--resolve` options."""
    web = DemoWeb(pages)
    count = max(round(len(web.hosts) * share / (1 - share)), 1)
    with DemoServer(web) as friendly, hostile(count, faults()) as unfriendly:
        seeds = [*web.seeds, *(f"http://{host}/" for host in (*unfriendly, _NOWHERE))]
        rules = [
            f"{_NOWHERE}=127.0.0.1:{_DEAD_PORT}",
            *(f"{name}=127.0.0.1:{host.port}" for name, host in unfriendly.items()),
            f"*={friendly.address}",
        ]
        yield seeds, [part for rule in rules for part in ("--resolve", rule)]


@contextmanager
def crawling(
    seeds: Sequence[str], store: Path, options: Sequence[str]
) -> Iterator[subprocess.Popen[bytes]]:
    """Crawl until the block ends, and then wait for the process or kill it."""
    command = [
        *(sys.executable, "-m", "minicrawl", "crawl", "--quiet", "--continuous", *seeds),
        *("--store", str(store), "--allow-private", "--deny", r"^http://calendar\."),
        *("--timeout", "3", "--max-body", "4000000", "--per-address", "64"),
        *("--address-delay", "0", *options),  # all hosts share one address
    ]
    with subprocess.Popen(command, cwd=store.parent, start_new_session=True) as process:
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(_PARTING_S)
            finally:
                process.kill()


def watched(
    process: subprocess.Popen[bytes], store: Path, seconds: float, every_s: float
) -> Iterator[Sample]:
    """Yield samples of the running crawl, for this time from its first page on."""
    began = math.inf
    while time.monotonic() - began < seconds and process.poll() is None:
        now = time.monotonic()
        with suppress(MinicrawlError):  # the store does not exist yet
            one = sample(max(now - began, 0.0), process.pid, store)
            if one.pages:
                began = min(began, now)
                yield one
        time.sleep(every_s)
