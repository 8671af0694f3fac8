"""Metrics of a crawl for Prometheus, in its text format.

Laws: labels have a few fixed values, never URLs or hosts. An unknown number has no series. Totals
are over all runs of a crawl, so they never fall as long as the store exists.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from minicrawl import __version__
from minicrawl.dashboard.views import Json

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_PREFIX = "minicrawl_"


class Metric(NamedTuple):
    """Metric with its samples: label values, as written, and numbers."""

    name: str
    kind: str
    means: str
    samples: Mapping[str, float | None]

    def lines(self) -> Iterator[str]:
        """Yield the lines of the metric; none if no number is known."""
        known = {label: number for label, number in self.samples.items() if number is not None}
        if known:
            yield f"# HELP {_PREFIX}{self.name} {self.means}"
            yield f"# TYPE {_PREFIX}{self.name} {self.kind}"
        for label, number in known.items():
            yield f"{_PREFIX}{self.name}{label} {float(number):.17g}"


def metrics_text(crawl: Json) -> str:
    """Return the metrics of `Views.crawl`."""
    return "".join(f"{line}\n" for metric in _metrics(crawl) for line in metric.lines())


def _metrics(crawl: Json) -> Iterator[Metric]:
    live, status = crawl["live"] or {}, crawl["status"]
    yield _gauge("info", "Version of minicrawl.", {f'{{version="{__version__}"}}': 1})
    state = live.get("state")
    yield _gauge("crawl_running", "1 if a crawl of the store runs.", {"": state is not None})
    yield _gauge("crawl_paused", "1 if the crawl is paused.", {"": state == "paused"})
    yield from _of_process(live)
    if "missing" not in status:
        yield from _of_store(status)


def _of_process(live: Json) -> Iterator[Metric]:
    if "crawlers" not in live:
        return
    limit = live["settings"]["pages"]
    yield _gauge("turns_in_flight", "Pages in progress.", {"": live["in_flight"]})
    yield _gauge("workers", "Worker processes.", {"": live["workers"]})
    yield _gauge("pages_limit", "Page budget of the crawl.", {"": limit})
    use = {
        name: [crawler.get(name) for crawler in live["crawlers"]] for name in ("memory", "cpu_s")
    }
    sums = {name: sum(n for n in numbers if n is not None) for name, numbers in use.items()}
    yield _gauge("memory_bytes", "Resident memory of all processes.", {"": sums["memory"]})
    yield _gauge("cpu_seconds", "Processor time of the current processes.", {"": sums["cpu_s"]})


def _of_store(status: Json) -> Iterator[Metric]:
    pages = {
        "known": status["pages_known"],
        "fetched": status["pages_fetched"],
        "unread": status["pages_unread"],
        **{
            name: None if (counts := status[key]) is None else sum(counts.values())
            for name, key in _GROUPS.items()
        },
    }
    labelled = {f'{{state="{name}"}}': number for name, number in pages.items()}
    yield _gauge("pages", "Pages of the store.", labelled)
    kinds = {f'{{kind="{kind}"}}': count for kind, count in (status["failures"] or {}).items()}
    yield _gauge("failed_pages", "Pages that failed, by kind.", kinds)
    yield _gauge("hosts", "Known hosts.", {"": status["hosts"]})
    yield _total("requests", "Requests, those for robots.txt included.", status["requests"])
    yield _total("received_bytes", "Bytes received.", status["bytes"])
    yield _total("running_seconds", "Running time of all runs.", status["running_s"])
    gathered = {"": status["importance_gathered"]}
    yield _gauge("importance_gathered_ratio", "Share of importance on fetched pages.", gathered)
    yield _gauge("found_per_fetch", "New pages per fetched page.", {"": status["found_per_fetch"]})
    yield _gauge(
        "cash_error_factor",
        "Error factor M / G of the estimated importance.",
        {"": status["error_factor"]},
    )
    ranks = status["convergence"] or {}
    bound = {"": ranks.get("error_bound")}
    yield _gauge("importance_error_bound", "Error bound of the converged importance.", bound)
    yield _gauge(
        "importance_age_seconds", "Age of the converged importance.", {"": ranks.get("age_s")}
    )
    beside = sum(status["beside_bytes"].values())
    sizes = {'{part="store"}': status["store_bytes"], '{part="beside"}': beside}
    yield _gauge("disk_bytes", "Size of the store, and of the files beside it.", sizes)


_GROUPS = {"other": "standing_for_others", "failed": "failures", "refused": "refusals"}
"""States of pages, each with the key of its counts. `other` pages stand for another page."""


def _gauge(name: str, means: str, samples: Mapping[str, float | None]) -> Metric:
    return Metric(name, "gauge", means, samples)


def _total(name: str, means: str, number: float | None) -> Metric:
    return Metric(f"{name}_total", "counter", means, {"": number})
