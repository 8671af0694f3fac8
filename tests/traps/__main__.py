"""What each trap takes, and by which limit it ends: `python -m tests.traps`."""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from tests.bench.notes import circumstances, head, into_document, kept, row, tell
from tests.traps.crawl import OFF, Outcome, crawl
from tests.traps.web import KINDS

LEAST_HEALTHY, MOST_TRAPPED = 0.9, 0.1
_RUNS: Mapping[str, Mapping[str, object]] = {
    "without limits": OFF,
    "all defaults": {},
}


@click.command()
@into_document
def main(into: Path | None) -> None:
    """Crawl the web of traps without limits, and with those of everybody."""
    with TemporaryDirectory(prefix="traps-") as folder:
        outcomes = {
            title: crawl(Path(folder, f"{number}.db"), **limits)
            for number, (title, limits) in enumerate(_RUNS.items())
        }
    lines = [
        circumstances(),
        "",
        *_requests(outcomes),
        "",
        *_limits(outcomes),
        "",
        *_ends(outcomes),
    ]
    tell(lines, "traps", into)


def _requests(outcomes: Mapping[str, Outcome]) -> Iterator[str]:
    yield from head("requests", *outcomes)
    for kind in ("healthy", *KINDS):
        yield row(kind, *(_share(one, kind) for one in outcomes.values()))
    yield row("all", *(f"{one.requests.total():,}" for one in outcomes.values()))


def _share(outcome: Outcome, kind: str) -> str:
    asked = outcome.requests[kind]
    return f"{asked:,} ({asked / outcome.requests.total():.1%})"


def _limits(outcomes: Mapping[str, Outcome]) -> Iterator[str]:
    yield from head(
        "", "healthy pages", f">= {LEAST_HEALTHY:.0%}", "traps", f"<= {MOST_TRAPPED:.0%}"
    )
    for title, one in outcomes.items():
        healthy, trapped = one.healthy_share, one.trapped_share
        yield row(
            title,
            f"{healthy:.1%}",
            kept(healthy >= LEAST_HEALTHY),
            f"{trapped:.1%}",
            kept(trapped <= MOST_TRAPPED),
        )


def _ends(outcomes: Mapping[str, Outcome]) -> Iterator[str]:
    """By which limits pages were put aside."""
    yield row("put aside", *outcomes)
    yield row(*["---"] * (len(outcomes) + 1))
    for kind in sorted({kind for one in outcomes.values() for kind in one.aside}):
        yield row(kind, *(_told(one.aside.get(kind, Counter())) for one in outcomes.values()))


def _told(aside: Counter[str]) -> str:
    return ", ".join(f"`{limit}` {count:,}" for limit, count in aside.most_common())


if __name__ == "__main__":
    main()
