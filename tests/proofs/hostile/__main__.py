"""Crawl all faults and print the outcomes.

python -m tests.proofs.hostile --into docs/hostile.md
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from tests.bench.notes import circumstances, head, into_document, kept, row, tell
from tests.proofs.hostile.fault import DEADLINE_S
from tests.proofs.hostile.faults import CATALOGUE, FAMILIES, ON_THE_WIRE
from tests.proofs.hostile.sites import HEALTHY_HOSTS, serving
from tests.proofs.hostile.trial import Figures, planned, run
from tests.proofs.hostile.verdict import GROWTH_BYTES, LAG_S, Line, complaints, judge

_MB = 1 << 20


@click.command()
@click.option("--workers", default="0", show_default=True, help="A number, or auto.")
@into_document
def main(workers: str, into: Path | None) -> None:
    """Exit 1 if a fault had a wrong outcome, ended too late, or harmed a healthy host."""
    catalogue = CATALOGUE if workers == "0" else ON_THE_WIRE
    with TemporaryDirectory() as folder, serving(catalogue, Path(folder)) as sites:
        store = Path(folder, "crawl.db")
        count = workers if workers == "auto" else int(workers)
        figures = run(planned(sites, store, robots=False, workers=count))
        lines = judge(catalogue, sites, store)
        harm = list(complaints(sites, store))
    click.echo("\n".join([*map(_described, lines), *harm, ""]))
    tell([*_families(lines, workers), "", *_limits(figures, lines, harm)], "wire", into)
    sys.exit(bool(harm) or any(line.complaint for line in lines))


def _described(line: Line) -> str:
    return (
        f"{line.fault:50} {line.outcome:22} {line.longest_s:5.2f} s  "
        f"{line.requests}  {line.complaint}"
    )


def _families(lines: Sequence[Line], workers: str) -> Iterator[str]:
    yield f"{circumstances()} {len(lines)} faults, `--workers {workers}`."
    yield ""
    yield from head("faults", "number", "right and in time", "longest request s")
    for family, faults in FAMILIES.items():
        if of_family := [line for line in lines if line.fault in faults]:
            right = sum(not line.complaint for line in of_family)
            longest_s = max(line.longest_s for line in of_family)
            yield row(family, str(len(of_family)), str(right), f"{longest_s:.2f}")


def _limits(figures: Figures, lines: Sequence[Line], harm: Sequence[str]) -> Iterator[str]:
    longest_s = max(line.longest_s for line in lines)
    wrong = sum(bool(line.complaint) for line in lines)
    most_s, lag_s = DEADLINE_S + 1, figures.lag_p99_s
    yield from head("", "found", "limit", "")
    yield row("faults with a wrong outcome, or too late", str(wrong), "0", kept(not wrong))
    yield row("longest request, s", f"{longest_s:.2f}", f"{most_s:g}", kept(longest_s <= most_s))
    yield row("lag of the loop, 99th percentile, ms", _ms(lag_s), _ms(LAG_S), kept(lag_s <= LAG_S))
    yield row("the longest lag, ms", _ms(figures.lag_most_s), "", "")
    growth = figures.growth_bytes
    yield row(
        "memory grows by, MiB", _mib(growth), _mib(GROWTH_BYTES), kept(growth <= GROWTH_BYTES)
    )
    yield row("the largest other process, MiB", _mib(figures.most_of_others_bytes), "", "")
    yield row(f"{HEALTHY_HOSTS} healthy hosts, complaints", str(len(harm)), "0", kept(not harm))
    yield row("the whole crawl, s", f"{figures.seconds:.1f}", "", "")


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.0f}"


def _mib(size: int) -> str:
    return f"{size / _MB:.0f}"


if __name__ == "__main__":
    main()
