"""Prints what becomes of every fault: `python -m tests.hostile [WORKERS]`."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.hostile.faults import CATALOGUE, ON_THE_WIRE
from tests.hostile.sites import serving
from tests.hostile.trial import Figures, planned, run
from tests.hostile.verdict import complaints, judge

_MB = 1 << 20


def main(workers: int | str) -> None:
    """The table, and below it the figures."""
    catalogue = ON_THE_WIRE if workers else CATALOGUE
    with TemporaryDirectory() as folder, serving(catalogue, Path(folder)) as sites:
        store = Path(folder, "crawl.db")
        figures = run(planned(sites, store, robots=False, workers=workers))
        for line in judge(catalogue, sites, store):
            _print(
                f"{line.fault:50} {line.outcome:22} {line.longest_s:5.2f} s  "
                f"{line.requests}  {line.complaint}"
            )
        for complaint in complaints(sites, store):
            _print(complaint)
    _print(f"{len(catalogue)} faults in {figures.seconds:.1f} s, {figures.reason}")
    _print_figures(figures)


def _print_figures(figures: Figures) -> None:
    _print(f"lag of the loop: p99 {figures.lag_p99_s:.3f} s, most {figures.lag_most_s:.3f} s")
    _print(f"memory grew by {figures.growth_bytes / _MB:.0f} MiB")
    _print(f"the largest other process had {figures.most_of_others_bytes / _MB:.0f} MiB")


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    chosen = sys.argv[1] if len(sys.argv) > 1 else "0"
    main(chosen if chosen == "auto" else int(chosen))
