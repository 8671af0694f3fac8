"""Command that serves the web, crawls it, takes samples and judges them."""

import json
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from minicrawl.report.integrity.audit import audit
from tests.bench.notes import circumstances, into_document, write_into
from tests.proofs.soak.companions import CompanionLog, companions
from tests.proofs.soak.crawling import crawling, served, watched
from tests.proofs.soak.samples import Sample
from tests.proofs.soak.verdict import (
    Finding,
    after,
    archive,
    findings,
    limits,
    memory,
    own_mb,
    table,
)

_STOPPED = (130, 0)  # exit codes
_PAGES = 2000  # of the demo web
_VERSIONS = "2"  # kept of each page
_EVERY_S = 2.0
_SAMPLES_PER_LINE = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Soaked:
    """Samples and results of a soak."""

    samples: list[Sample]
    exit_code: int
    wrong: list[str]  # faults in the store
    seen: CompanionLog


@click.command()
@click.option("--minutes", default=60.0, show_default=True)
@click.option("--warm-up", type=float, help="Minutes that are not judged.  [default: a third]")
@click.option("--hostile", default=0.1, show_default=True, help="Share of hostile hosts.")
@click.option("--delay", default="0.25", show_default=True, help="Seconds per host.")
@click.option("--json", "as_json", is_flag=True, help="Print all samples as JSON.")
@into_document
def main(
    minutes: float,
    warm_up: float | None,
    hostile: float,
    delay: str,
    as_json: bool,
    into: Path | None,
) -> None:
    warm_up_s = 60 * (minutes / 3 if warm_up is None else warm_up)
    with served(_PAGES, hostile) as (seeds, options):
        options += ["--delay", delay, "--keep", "pages", "--keep-versions", _VERSIONS]
        soaked = soak(seeds, options, 60 * minutes)
    samples = after(soaked.samples, warm_up_s)
    found = [*findings(samples), *_companions(soaked.seen, warm_up_s), _unharmed(soaked)]
    lines = [_circumstances(minutes, warm_up_s, soaked), "", *table(samples), "", *limits(found)]
    click.echo("\n".join([*lines, *soaked.wrong, *soaked.seen.failed]), err=as_json)
    if as_json:
        click.echo(json.dumps(_as_json(soaked.samples, found)))
    if into:
        write_into(into, "soak", lines)
    raise SystemExit(not all(one.holds for one in found))


def soak(seeds: list[str], options: list[str], seconds: float) -> Soaked:
    """Crawl for this time, counted from the first page."""
    samples: list[Sample] = []
    with TemporaryDirectory(prefix="minicrawl-soak-") as folder:
        store = Path(folder, "crawl.db")
        with crawling(seeds, store, options) as process, ExitStack() as stack:
            for one in watched(process, store, seconds, _EVERY_S):
                if not samples:
                    seen = CompanionLog(time.monotonic())
                    stack.enter_context(companions(store, seen))
                if len(samples) % _SAMPLES_PER_LINE == 0:
                    click.echo(_line(one), err=True)
                samples.append(one)
        if not samples:
            raise click.ClickException("the crawl read no page")
        return Soaked(
            samples=samples, exit_code=process.returncode, wrong=list(audit(store).wrong), seen=seen
        )


def _circumstances(minutes: float, warm_up_s: float, soaked: Soaked) -> str:
    pages = soaked.samples[-1].pages
    return (
        f"{circumstances()} {minutes:g} minutes, the first {warm_up_s / 60:g} of them warm-up; "
        f"{pages:,} pages."
    )


def _unharmed(soaked: Soaked) -> Finding:
    """Judge whether the crawl ran until it was stopped, and left a store without faults."""
    holds = soaked.exit_code in _STOPPED and not soaked.wrong
    return Finding("exit code of the crawl", soaked.exit_code, "", "130 or 0, intact", holds)


def _companions(seen: CompanionLog, warm_up_s: float) -> list[Finding]:
    """Judge whether all reads succeeded, and the archive and the dashboard stayed small."""
    failed, watched_for = len(seen.failed), after(seen.dashboard, warm_up_s)
    return [
        *archive([size for at_s, size in seen.archive_bytes if at_s >= warm_up_s]),
        Finding(f"failures of {seen.reads:,} concurrent reads", failed, "", "= 0", not failed),
        Finding("events from the dashboard", seen.events, "", ">= 1", seen.events >= 1),
        memory("private memory of the dashboard grows by", watched_for, own_mb),
    ]


def _line(one: Sample) -> str:
    facts = (
        f"{one.at_s:,.0f} s",
        f"{one.known:,} known",
        f"{one.pages:,} pages",
        f"{one.rss_mb:.1f} MB in {len(one.rss_bytes)} processes",
        f"{one.files} files",
        f"{one.wal_bytes / 1e6:.1f} MB of log",
        f"{one.cpu_s:,.0f} s of CPU",
    )
    return "  ".join(f"{fact:>14}" for fact in facts)


def _as_json(samples: list[Sample], found: list[Finding]) -> dict[str, object]:
    return {
        "findings": [one._asdict() for one in found],
        "samples": [one._asdict() for one in samples],
    }


if __name__ == "__main__":
    main()
