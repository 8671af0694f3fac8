"""The command: serve, crawl, watch, judge."""

import json
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from minicrawl.report.audit import audit
from tests.bench.notes import circumstances, into_document, write_into
from tests.soak.crawling import crawling, served, watched
from tests.soak.samples import Sample
from tests.soak.verdict import Finding, after, findings, limits, table

_INTERRUPTED = 130
_PAGES = 2000  # of the demo web
_EVERY_S = 2.0
_TOLD_EVERY = 30  # samples


@dataclass(frozen=True, slots=True, kw_only=True)
class Soaked:
    """A soak that is over."""

    samples: list[Sample]
    exit_code: int
    wrong: list[str]  # in the store


@click.command()
@click.option("--minutes", default=60.0, show_default=True)
@click.option("--warm-up", type=float, help="Minutes that do not count.  [default: a third]")
@click.option("--hostile", default=0.1, show_default=True, help="Share of hostile hosts.")
@click.option("--delay", default="0.25", show_default=True, help="The crawl's, for each host.")
@click.option("--json", "as_json", is_flag=True, help="All samples to stdout, all else to stderr.")
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
        soaked = soak(seeds, [*options, "--delay", delay], 60 * minutes)
    samples = after(soaked.samples, warm_up_s)
    found = [*findings(samples), _unharmed(soaked)]
    told = [_circumstances(minutes, warm_up_s, soaked), "", *table(samples), "", *limits(found)]
    click.echo("\n".join([*told, *soaked.wrong]), err=as_json)
    if as_json:
        click.echo(json.dumps(_as_json(soaked.samples, found)))
    if into:
        write_into(into, "soak", told)
    raise SystemExit(not all(one.holds for one in found))


def soak(seeds: list[str], options: list[str], seconds: float) -> Soaked:
    """Crawl for so long."""
    samples: list[Sample] = []
    with TemporaryDirectory(prefix="minicrawl-soak-") as folder:
        store = Path(folder, "crawl.db")
        with crawling(seeds, store, options) as process:
            for number, one in enumerate(watched(process, store, seconds, _EVERY_S)):
                samples.append(one)
                if number % _TOLD_EVERY == 0:
                    click.echo(_line(one), err=True)
        return Soaked(samples=samples, exit_code=process.returncode, wrong=list(audit(store).wrong))


def _circumstances(minutes: float, warm_up_s: float, soaked: Soaked) -> str:
    pages = soaked.samples[-1].pages if soaked.samples else 0
    return (
        f"{circumstances()} {minutes:g} minutes, the first {warm_up_s / 60:g} of them warm-up; "
        f"{pages:,} pages."
    )


def _unharmed(soaked: Soaked) -> Finding:
    """It went on until it was told to stop, and what it kept is whole."""
    holds = soaked.exit_code == _INTERRUPTED and not soaked.wrong
    return Finding("the crawl ended with", soaked.exit_code, "", f"= {_INTERRUPTED}", holds)


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
