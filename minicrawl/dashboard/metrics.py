"""Metrics of a crawl for Prometheus, in its text format.

Laws: labels have a few fixed values, never URLs or hosts. An unknown number has no series. Totals
are over all runs of a crawl, so they never fall as long as the store exists.
"""

from collections.abc import Iterator, Mapping

from minicrawl import __version__
from minicrawl.dashboard.views import Json

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_PREFIX = "minicrawl_"
_TOTALS = ("requests_total", "received_bytes_total", "running_seconds_total")
Metric = tuple[str, str, Mapping[str, float | None]]
"""Name, meaning and samples: label values, as written, and numbers."""


def metrics_text(crawl: Json) -> str:
    lines = list[str]()
    for name, means, samples in _metrics(crawl):
        known = {label: number for label, number in samples.items() if number is not None}
        if known:
            kind = "counter" if name in _TOTALS else "gauge"
            lines += (f"# HELP {_PREFIX}{name} {means}", f"# TYPE {_PREFIX}{name} {kind}")
        lines += (f"{_PREFIX}{name}{label} {float(number):.17g}" for label, number in known.items())
    return "".join(f"{line}\n" for line in lines)


def _metrics(crawl: Json) -> Iterator[Metric]:
    live, status = crawl["live"] or {}, crawl["status"]
    yield "info", "Version of minicrawl.", {f'{{version="{__version__}"}}': 1}
    state = live.get("state")
    yield "crawl_running", "1 if a crawl of the store runs.", {"": state is not None}
    yield "crawl_paused", "1 if the crawl is paused.", {"": state == "paused"}
    if "crawlers" in live:
        yield "turns_in_flight", "Pages in progress.", {"": live["in_flight"]}
        yield "workers", "Worker processes.", {"": live["workers"]}
        yield "pages_limit", "Page budget of the crawl.", {"": live["settings"]["pages"]}
        memory, cpu_s = (
            sum(crawler.get(name) or 0 for crawler in live["crawlers"])
            for name in ("memory", "cpu_s")
        )
        yield "memory_bytes", "Resident memory of all processes.", {"": memory}
        yield "cpu_seconds", "Processor time of the current processes.", {"": cpu_s}
    if "missing" not in status:
        yield from _of_store(status)


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
    yield "pages", "Pages of the store.", labelled
    kinds = {f'{{kind="{kind}"}}': count for kind, count in (status["failures"] or {}).items()}
    yield "failed_pages", "Pages that failed, by kind.", kinds
    yield "hosts", "Known hosts.", {"": status["hosts"]}
    yield "requests_total", "Requests, those for robots.txt included.", {"": status["requests"]}
    yield "received_bytes_total", "Bytes received.", {"": status["bytes"]}
    yield "running_seconds_total", "Running time of all runs.", {"": status["running_s"]}
    gathered = {"": status["importance_gathered"]}
    yield "importance_gathered_ratio", "Share of importance on fetched pages.", gathered
    yield "found_per_fetch", "New pages per fetched page.", {"": status["found_per_fetch"]}
    factor = {"": status["error_factor"]}
    yield "cash_error_factor", "Error factor M / G of the estimated importance.", factor
    ranks = status["convergence"] or {}
    bound = {"": ranks.get("error_bound")}
    yield "importance_error_bound", "Error bound of the converged importance.", bound
    age = {"": ranks.get("age_s")}
    yield "importance_age_seconds", "Age of the converged importance.", age
    beside = sum(status["beside_bytes"].values())
    sizes = {'{part="store"}': status["store_bytes"], '{part="beside"}': beside}
    yield "disk_bytes", "Size of the store, and of the files beside it.", sizes


_GROUPS = {"other": "standing_for_others", "failed": "failures", "refused": "refusals"}
"""States of pages, each with the key of its counts. `other` pages stand for another page."""
