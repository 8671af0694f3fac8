"""A crawl that is killed amid its checks resumes them: none is lost, few are repeated.

Laws, after each kill: a check whose result was written is not requested again. Of the checks that
were requested before the last one with a result, only those that were in flight lack theirs. A
style is requested again, because its content, which names further files, is not kept.
"""

import subprocess
import sys
from collections.abc import Mapping
from itertools import dropwhile
from operator import not_
from pathlib import Path
from random import Random

import pytest

from minicrawl import Store
from minicrawl.config.parts.servers import Politeness
from minicrawl.demo.pages import DemoResponse
from minicrawl.demo.server import DemoServer
from minicrawl.report.snapshot import snapshot
from minicrawl.store.derived.checks import all_checks
from tests.processes import killed_on_failure

SEED = "http://a.example/"
LINKS = {f"http://{host}.example/{number}" for host in "bcde" for number in range(100)}
IMAGES = {f"{SEED}{number}.png" for number in range(50)}
FONTS = {f"{SEED}{number}.woff" for number in range(20)}
STYLE = f"{SEED}s.css"
CHECKED = {*LINKS, *IMAGES, *FONTS}
BROKEN = {url for url in CHECKED if url.rpartition("/")[2][0] == "7"}
KILLS = 3
IN_FLIGHT = 3 * Politeness().concurrency  # styles, other URLs and missing pages are asked at once
RUN = """
import sys
from minicrawl.checking import links
from minicrawl.cli import main
links._KEPT_EVERY_S = 0.01
sys.exit(main(sys.argv[1:]))
"""
"""Script of a crawl that writes results more often, as kills come early."""


class KillingWeb:
    """Web that logs the checks of a run, and kills it at the request for one of them."""

    def __init__(self) -> None:
        self.asked: dict[str, None] = {}
        self.run: subprocess.Popen[bytes] | None = None
        self.dies_at: int | None = None

    def answer(
        self, host: str, target: str, headers: Mapping[str, str], visits: int, /
    ) -> DemoResponse:
        url = f"http://{host}{target}"
        if url in CHECKED:
            self.asked.setdefault(url)
            if len(self.asked) == self.dies_at and self.run is not None:
                self.run.kill()
        if url in BROKEN or url.endswith("robots.txt"):
            return DemoResponse(404, {}, b"gone")
        if url == SEED:
            links = "".join(f"<a href={link}>to</a>" for link in sorted(LINKS))
            images = "".join(f"<img src={image} alt=''>" for image in sorted(IMAGES))
            body = f"<link rel=stylesheet href={STYLE}>{images}{links}"
            return DemoResponse(200, {"Content-Type": "text/html"}, body.encode())
        if url == STYLE:
            body = "".join(f"a{{src:url({font})}}" for font in sorted(FONTS))
            return DemoResponse(200, {"Content-Type": "text/css"}, body.encode())
        return DemoResponse(200, {"Content-Type": "image/png"}, b"")


def _crawl(web: KillingWeb, store: Path, address: str, dies_at: int | None) -> int:
    """Run a crawl until it ends or is killed, and return its exit code."""
    web.asked.clear()
    pace = ("--delay", "0", "--address-delay", "0", "--per-address", "64")
    command = ("crawl", SEED, "--scope", "host", "--check", "all", "-q", "--store", str(store))
    web.dies_at = dies_at
    web.run = subprocess.Popen(
        [sys.executable, "-c", RUN, *command, *pace, "--resolve", f"*={address}"]
    )
    with killed_on_failure(web.run) as run:
        return run.wait()


def _results(store: Path) -> set[str]:
    with snapshot(store) as seen:
        return {row.url for row in all_checks(store, seen.connection)} & CHECKED


@pytest.mark.slow
def test_checks_continue_after_kills_and_none_is_lost(path: Path) -> None:
    web, random, known = KillingWeb(), Random(50), set[str]()
    with DemoServer(web) as server:
        for _ in range(KILLS):
            dies_at = random.randrange(1, (len(CHECKED) - len(known)) // 2)
            assert _crawl(web, path, server.address, dies_at) == -9
            assert known.isdisjoint(web.asked)
            known = _results(path)
            written = [url in known for url in web.asked]
            before_last = list(dropwhile(not_, reversed(written)))
            assert before_last.count(False) <= IN_FLIGHT
        assert known
        assert _crawl(web, path, server.address, None) == 0
    assert known.isdisjoint(web.asked)
    assert _results(path) == CHECKED
    with Store.open(path) as found:
        assert {link.target for link in found.broken_links()} == BROKEN
