"""Does a crawl that reads pages again leave rich pages waiting?

The demo web is crawled on a fake clock. With a delay of 0 s the figures vary from run to run,
because real time passes while the store is written.

    python -m tests.bench.rereading --into docs/explanation/fresh-ranks.md
"""

import tempfile
from collections import Counter
from collections.abc import Iterator
from http import HTTPStatus
from itertools import product
from pathlib import Path
from unittest.mock import patch
from urllib.parse import urlsplit

import click
import numpy as np

from minicrawl.demo.web import DemoWeb
from minicrawl.model import READ_STATES, FailureKind, FetchResult, Request, State
from tests.bench.notes import circumstances, head, into_document, row, tell
from tests.crawl import fakes
from tests.crawl.fakes import FakeWeb, failed, html, moved
from tests.crawl.schedule.rereading import longest_wait, shares, turns_of

PARTS = 6
PART = "reading again"
_STRATEGIES, _SHARES, _DELAYS = ("greedy", "siblings"), (0.2, 0.5, 0.8), (0, 1)
_FEWEST = 20
"""Least number of turns of a host whose share is shown."""


class _Demo:
    """Demo web without a server."""

    def __init__(self, pages: int) -> None:
        self.web = DemoWeb(pages)
        self._visits = Counter[str]()

    def __call__(self, request: Request) -> FetchResult:
        parts = urlsplit(request.url)
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        answer = self.web.answer(parts.hostname or "", target, {}, self._visits[request.url])
        self._visits[request.url] += 1
        if "Location" in answer.headers:
            return moved(answer.headers["Location"])
        if answer.status != HTTPStatus.OK:
            return failed(FailureKind.NOT_FOUND)
        return html()._replace(body=answer.body)


def _row(strategy: str, share: float, delay: int, pages: int, path: Path) -> str:
    demo = _Demo(2 * pages)
    chosen = {"strategy": strategy, "refresh": share, "delay": delay, "endowment": 100}
    web = FakeWeb({}, demo, takes_s=0.1)
    run, turns = turns_of(path, web, demo.web.seeds, pages=pages, robots=False, **chosen)
    parts = [turns[n * len(turns) // PARTS : (n + 1) * len(turns) // PARTS] for n in range(PARTS)]
    cash = (f"{max(turn.cash for turn in part):,.0f}" for part in parts)
    again = sum(turn.again for turn in turns) / len(turns)
    frontier = run.recorder.frontier
    hosts = np.frombuffer(frontier.urls.host_of, dtype=np.uint32)
    unread, read = (
        set(hosts[np.isin(frontier.states(), states)].tolist())
        for states in ((State.UNREAD,), READ_STATES)
    )
    have_both = {frontier.urls.origins[host] for host in unread & read}
    of_hosts = [
        found
        for host, number, found in shares(turns[len(turns) // 2 :])
        if host in have_both and number >= _FEWEST
    ]
    least, most = min(of_hosts), max(of_hosts)
    label = f"`{strategy}`, `--refresh {share}`, {delay} s"
    wait = str(longest_wait(turns[: 5 * len(turns) // PARTS]))
    return row(label, *cash, f"{again:.3f}", f"{least:.2f} to {most:.2f}", wait)


def _lines(pages: int) -> Iterator[str]:
    yield f"{circumstances()} The demo of {2 * pages:,} pages, {pages:,} fetches:"
    yield ""
    sixths = (f"{n + 1}/{PARTS}" for n in range(PARTS))
    yield from head("", *sixths, "read again", "of a host with both", "longest wait")
    a_day = patch.object(fakes, "_BLOCKED_S", 86_400.0)  # lifts a time limit of tests
    with tempfile.TemporaryDirectory() as folder, a_day:
        for n, one in enumerate(product(_STRATEGIES, _SHARES, _DELAYS)):
            yield _row(*one, pages, Path(folder) / f"{n}.db")


@click.command()
@click.option(
    "--pages", type=click.IntRange(min=2000), default=6000, show_default=True, help="Fetches."
)
@into_document
def main(pages: int, into: Path | None) -> None:
    """Crawl with each share, and print the cash of the richest page over time."""
    tell(list(_lines(pages)), PART, into)


if __name__ == "__main__":
    main()
