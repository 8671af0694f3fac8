"""Requests that each trap takes, and the limit that ends it: `python -m tests.proofs.traps`."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from tests.bench.notes import circumstances, head, into_document, kept, row, tell
from tests.proofs.traps.crawl import LEAST_HEALTHY, MOST_TRAPPED, OFF, Outcome, crawl
from tests.proofs.traps.web import KINDS


@click.command()
@into_document
def main(into: Path | None) -> None:
    """Crawl the web of traps without limits, and with the default limits."""
    with TemporaryDirectory(prefix="traps-") as folder:
        off = crawl(Path(folder, "off.db"), **OFF)
        usual = crawl(Path(folder, "on.db"))
    lines = [circumstances(), "", *_by_kind(off, usual), "", *_limits(off, usual)]
    tell(lines, "traps", into)


def _by_kind(off: Outcome, usual: Outcome) -> Iterator[str]:
    yield from head("requests", "without limits", "all defaults", "pages skipped, by limit")
    for kind in ("healthy", *KINDS):
        ends = _told(usual.aside.get(kind, Counter()))
        yield row(kind, _requests(off, kind), _requests(usual, kind), ends)
    yield row("all", *(f"{one.requests.total():,}" for one in (off, usual)), "")


def _requests(outcome: Outcome, kind: str) -> str:
    asked = outcome.requests[kind]
    return f"{asked:,} ({asked / outcome.requests.total():.1%})"


def _told(aside: Counter[str]) -> str:
    return ", ".join(f"`{limit}` {count:,}" for limit, count in aside.most_common())


def _limits(off: Outcome, usual: Outcome) -> Iterator[str]:
    healthy, trapped = usual.healthy_share, usual.trapped_share
    yield from head("", "without limits", "all defaults", "limit", "")
    for what, before, found, limit, holds in (
        ("healthy pages read", off.healthy_share, healthy, ">= 90%", healthy >= LEAST_HEALTHY),
        ("requests for traps", off.trapped_share, trapped, "<= 10%", trapped <= MOST_TRAPPED),
    ):
        yield row(what, f"{before:.1%}", f"{found:.1%}", limit, kept(holds))


if __name__ == "__main__":
    main()
