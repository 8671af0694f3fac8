"""Accuracy of the importance that reports show during a crawl, and after it.

Law: importance is compared with the PageRank of the graph that the store has at the same moment.

    python -m tests.bench.fresh_ranks --into docs/explanation/fresh-ranks.md
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np

from minicrawl.errors import MinicrawlError
from minicrawl.ports import unreported
from minicrawl.ranks.commands.named_ranks import RANKS
from minicrawl.ranks.scores import compare
from minicrawl.report.crawl_status import status
from minicrawl.report.snapshot import Snapshot, convergence
from minicrawl.report.store_graph import opened
from tests.bench.notes import circumstances, head, into_document, row, tell
from tests.real.nginx import SITES, serving

MOMENTS = 20
TOP = 10
PART = "fresh ranks"
_POLL_S = 0.2
_DELAYS = {"demo": "0.5", "manuals": "0.1"}

Moment = dict[str, float]


class Crawls(NamedTuple):
    """Arguments of a crawl, and the number of its pages."""

    arguments: Sequence[str]
    pages: int


@contextmanager
def _crawl_of(web: str, pages: int, folder: Path) -> Iterator[Crawls]:
    usual = ("--quiet", "--pages", str(pages), "--delay", _DELAYS[web])
    if web == "demo":
        yield Crawls(("--demo", "--demo-pages", str(pages), *usual), pages)
        return
    with serving(SITES, folder) as nginx:
        yield Crawls((*nginx.origins.values(), "--scope", "host", *usual), pages)


def _judged(store: Path) -> Moment:
    """Compare the shown importance, and the estimate of the crawl alone, with PageRank."""
    with opened(store, None) as source:
        seen = source.snapshot
        assert seen is not None
        truth = RANKS["pagerank"](source.graph, unreported).values.astype(np.float64)
        shown = compare(seen.importance, truth, (TOP,))
        alone = compare(seen.frontier.importance(), truth, (TOP,))
        return {
            "known": len(seen),
            "read": int(seen.was_read.sum()),
            "top": (shown.overlap[TOP] or 0) * TOP,
            "spearman": shown.spearman or 0,
            "alone top": (alone.overlap[TOP] or 0) * TOP,
            "alone spearman": alone.spearman or 0,
        } | _age(seen)


def _age(seen: Snapshot) -> Moment:
    found = convergence(seen.converged, len(seen), seen.frontier.last_seq)
    return {"new": len(seen) if found is None else found.pages_since}


def _fetched(store: Path) -> int:
    try:
        return status(store).pages_fetched or 0
    except MinicrawlError:
        return 0  # the store does not exist yet


def _moments(store: Path, crawl: Crawls) -> list[Moment]:
    """Return figures at equal intervals of pages during the crawl, and after it."""
    command = (sys.executable, "-m", "minicrawl", "crawl", *crawl.arguments, "--store", str(store))
    found: list[Moment] = []
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            time.sleep(_POLL_S)
            due = (len(found) + 1) * crawl.pages / (MOMENTS + 1)
            if len(found) < MOMENTS and _fetched(store) >= due:
                found.append(_judged(store))
    return [*found, _judged(store)]


def _lines(web: str, moments: Sequence[Moment]) -> Iterator[str]:
    yield f"The {web}, {_DELAYS[web]} s between two requests to a host:"
    yield ""
    titles = ("pages read", "known", "known later than the ranks", "top 10", "Spearman")
    yield from head(*titles, "estimate alone: top 10", "Spearman")
    for moment in moments:
        counts = (f"{moment[name]:,.0f}" for name in ("read", "known", "new", "top"))
        alone = (f"{moment['alone top']:.0f}", f"{moment['alone spearman']:.3f}")
        yield row(*counts, f"{moment['spearman']:.4f}", *alone)
    while_running = moments[:-1]
    tops = [moment["top"] for moment in while_running]
    spearmans = [moment["spearman"] for moment in while_running]
    yield ""
    yield (
        f"Least of {len(while_running)} moments: {min(tops):.0f} of the top 10, "
        f"Spearman {min(spearmans):.3f}. The last row is after the end."
    )


@click.command()
@click.option("--web", "webs", multiple=True, type=click.Choice(list(_DELAYS)))
@click.option("--pages", default=1500, show_default=True, help="Number of pages of a crawl.")
@into_document
def main(webs: tuple[str, ...], pages: int, into: Path | None) -> None:
    """Crawl politely, and judge the importance several times."""
    lines = [circumstances()]
    for web in webs or _DELAYS:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            with _crawl_of(web, pages, folder) as crawl:
                moments = _moments(folder / "crawl.db", crawl)
        lines += ["", *_lines(web, moments)]
    tell(lines, PART, into)


if __name__ == "__main__":
    main()
