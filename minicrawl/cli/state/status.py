"""`minicrawl status`: the progress of a crawl, and what its store holds."""

import time
from collections.abc import Iterator, Mapping
from contextlib import nullcontext, suppress
from pathlib import Path

import click

from minicrawl.cli.larger_budget import with_larger_budget
from minicrawl.cli.options import graph_of_option
from minicrawl.cli.output import show_facts, show_json, show_list
from minicrawl.cli.parameters import switch, with_options
from minicrawl.cli.state.graph import sample_facts
from minicrawl.cli.store_options import json_option, store_option
from minicrawl.control import ControlRequest, Verb, ask
from minicrawl.errors import MinicrawlError
from minicrawl.json_values import to_json
from minicrawl.model import CRAWLED
from minicrawl.report.progress import crawl_status, samples
from minicrawl.report.progress.crawl_status import stored_parts
from minicrawl.report.progress.mirrors import mirrors
from minicrawl.report.progress.samples import shown_sample
from minicrawl.report.saved_ranks import convergence_text
from minicrawl.report.snapshot import snapshot
from minicrawl.report.states.cuts import cuts
from minicrawl.wording import as_duration, at_least, counted, iso, percentage, rate

_PATIENCE_S = 2.0
UNKNOWN = "-"
_KIB = 1024
_MOST_ROWS, _MOST_COUNTS = 100, 5
"""Maximum rows in JSON, and counts in a line, of the URLs that were kept and left out."""
_MOST_RESPONSES = 20_000
"""Maximum number of responses that are counted without --stored, in 0.6 s."""


@click.command()
@with_options
@graph_of_option(CRAWLED)
@json_option
@store_option
def status(
    store: Path,
    graph_of: str,
    as_json: bool,
    wants_mirrors: bool = switch("Also list mirrored hosts.", flag="--mirrors"),
    wants_stored: bool = switch(
        "Also list the number and size of all stored parts, and count in a large store what was "
        "kept and left out. This is slow for a large store.",
        flag="--stored",
    ),
    wants_graph: bool = switch(
        "Also measure the graph of a large store, and count its linked pages by verdict.",
        flag="--graph",
    ),
) -> None:
    """Show the progress of the crawl, its graph, and the command that resumes it.

    The counts are fast for any store. `linked` counts linked pages by what became of them, as
    `broken` does; `kept` and `left out` count URLs by type, reason and host; `cut off` names the
    limits that left pages unread, and the options that lift them. The graph is taken from the
    latest sample if it covers all pages, or if a running crawl takes samples (`crawl
    --graph-stats`). Otherwise a small graph is measured now; a large one only with `--graph`, else
    its last sample is shown. `minicrawl check` verifies the store itself.
    """
    from minicrawl.report.links.problems import linked_verdicts
    from minicrawl.report.states.content_counts import content_rows, counts_of

    progress = crawl_status.status(store)
    repeating = mirrors(store) if wants_mirrors else []
    parts = stored_parts(store) if wants_stored else []
    live = {}
    with suppress(MinicrawlError):
        reply = ask(store, ControlRequest(verb=Verb.SHOW), _PATIENCE_S)
        live["crawl"] = f"{reply['state']}, process {reply['pid']}"
    is_large = progress.pages_known > samples.MOST_AT_ONCE
    linked = content = None
    with snapshot(store) if wants_graph or wants_stored or not is_large else nullcontext() as view:
        if view is not None and (wants_graph or not is_large) and view.frontier.terms.links:
            linked = linked_verdicts(view)
        if view is not None and (wants_stored or not is_large):
            content = content_rows(view, most=None if wants_stored else _MOST_RESPONSES)
    cut = cuts(store, progress, even_of_many=wants_stored)
    sample = shown_sample(store, graph_of, is_running=bool(live), even_of_many=wants_graph)
    if as_json:
        document: dict[str, object] = to_json(progress) | live
        document |= {"mirrors": repeating} if wants_mirrors else {}
        document |= {"stored": parts} if wants_stored else {}
        rows = None if content is None else content[:_MOST_ROWS]
        document |= {"linked": linked, "content": rows, "graph": sample, "cut": cut[:_MOST_ROWS]}
        show_json(document)
        return
    mirrored = list(map(str, repeating)) or ["none"] * wants_mirrors
    links = [("linked", _counts(linked))] if linked else []
    counts = counts_of(content, _MOST_COUNTS) if content else ()
    kept_lines = ((name, _counts(numbers)) for name, numbers in counts)
    cut_lines = [("cut off", str(limit)) for limit in cut[:_MOST_COUNTS]]
    if more_pages := sum(limit.pages for limit in cut[_MOST_COUNTS:]):
        cut_lines.append(("", f"and {counted(more_pages, 'page')}, which --json lists"))
    mirror_lines = [("mirror", text) for text in mirrored]
    facts = [*_facts(progress, store), *cut_lines, *links, *kept_lines, *mirror_lines]
    show_facts([*live.items(), *facts])
    if parts:
        click.echo()
        lines = [(f"{part.number:,}", part.of, _size(part.bytes), part.part) for part in parts]
        show_list(("number", "of", "size", "part"), lines, texts=1)
    if sample is not None:
        click.echo()
        show_facts(sample_facts(sample, time.time()))


def _facts(progress: crawl_status.Status, store: Path) -> Iterator[tuple[str, str]]:
    yield "pages known", f"{progress.pages_known:,} on {counted(progress.hosts, 'host')}"
    yield "fetched", _count(progress.pages_fetched)
    yield "waiting", _count(progress.pages_unread)
    yield "duplicates", _counts(progress.standing_for_others)
    yield "failed", _counts(progress.failures)
    yield "refused", _counts(progress.refusals)
    yield "importance gathered", percentage(progress.importance_gathered)
    if progress.importance_guaranteed is not None:
        yield "guaranteed", f"{at_least(progress.importance_guaranteed)} of PageRank from the seeds"
    yield "importance", convergence_text(progress.convergence)
    yield "found per fetch", _number(progress.found_per_fetch, " pages")
    yield "G", f"{_number(progress.g, ' units')}, error factor M/G {_number(progress.error_factor)}"
    yield "running time", UNKNOWN if progress.running_s is None else as_duration(progress.running_s)
    pages_per_s = progress.fetches_per_second
    yield (
        "fetches per second",
        UNKNOWN if pages_per_s is None else rate(pages_per_s).removesuffix("/s"),
    )
    pace = progress.bytes / progress.running_s if progress.running_s and progress.bytes else None
    throughput = "" if pace is None else f", {_size(round(pace))} a second"
    yield "downloaded", f"{_size(progress.bytes)}{throughput}"
    yield "store", f"{store}, {_size(progress.store_bytes)}"
    for end, size in progress.beside_bytes.items():
        yield "", f"{store}{end}, {_size(size)}"
    if progress.pruning_waits:
        yield "old versions", "removed as soon as nobody reads the archive"
    for takedown in progress.taken_down[-_MOST_COUNTS:]:
        left = "" if takedown.complete else ", incomplete: repeat minicrawl forget"
        yield (
            "taken down",
            f"{takedown.what} at {iso(takedown.at)}, {counted(takedown.answers, 'answer')}{left}",
        )
    if (more := len(progress.taken_down) - _MOST_COUNTS) > 0:
        yield "", f"and {more:,} earlier, which --json lists"
    if progress.command:
        yield "resume with", with_larger_budget(progress.command, progress)


def _count(number: int | None) -> str:
    return UNKNOWN if number is None else f"{number:,}"


def _counts(counts: Mapping[str, int] | None) -> str:
    if counts is None:
        return UNKNOWN
    listed = ", ".join(f"{name} {number:,}" for name, number in counts.items())
    return f"{sum(counts.values()):,} ({listed})" if counts else "0"


def _number(number: float | None, unit: str = "") -> str:
    return UNKNOWN if number is None else f"{number:,.2f}{unit}"


def _size(count: float | None) -> str:
    if count is None:
        return UNKNOWN
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if count < _KIB:
            return f"{count:,.0f} {unit}" if unit == "bytes" else f"{count:,.1f} {unit}"
        count /= _KIB
    return f"{count:,.1f} TiB"
