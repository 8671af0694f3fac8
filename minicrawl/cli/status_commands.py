"""The state of a crawl and of its graph: `minicrawl status`, `errors`, `frontier` and `check`;
`graph`, `refine` and `plot`.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from minicrawl.cli.graph_facts import outline_facts, sample_facts
from minicrawl.cli.options import CONFIG_VARIABLE, graph_of_option, loaded_from
from minicrawl.cli.output import share, short_time, show_facts, show_json, show_list, units
from minicrawl.cli.progress_bar import progress
from minicrawl.cli.store_options import count_option, json_option, source_options, store_option
from minicrawl.config import Settings
from minicrawl.control import ControlRequest, Verb, ask
from minicrawl.errors import Interrupted, MinicrawlError, UsageError
from minicrawl.frontier.importance import UNTIL
from minicrawl.model import CRAWLED, KNOWN, State
from minicrawl.report.progress import crawl_status, sampling_process
from minicrawl.report.progress.mirrors import mirrors
from minicrawl.report.progress.sampling_process import shown_sample
from minicrawl.report.progress.stored_parts import stored_parts
from minicrawl.report.saved_ranks import told
from minicrawl.report.snapshot import snapshot
from minicrawl.report.states.cuts import cuts
from minicrawl.report.states.errors import (
    KINDS,
    ErrorKind,
    ErrorQuery,
    ErrorReport,
    FailedPage,
    FailingHost,
    errors as find_errors,
)
from minicrawl.report.waiting_pages import WaitingPage, waiting
from minicrawl.wording import as_duration, at_least, counted, iso, percentage, rate, visible

if TYPE_CHECKING:
    from minicrawl.checking import Cloaking, PageAnswer
    from minicrawl.crawl.refinement.converged_ranks import Refined
    from minicrawl.report.graph.source import Source
    from minicrawl.report.site.crawl_picture import HostLinks
    from minicrawl.report.states.content_counts import ContentRow


KIND_HEADINGS = ("pages", "requests", "share", "kind", "meaning", "remedy")
HOST_HEADINGS = ("pages", "mostly", "host", "last detail")
PAGE_HEADINGS = ("requested at", "status", "kind", "url", "detail")
WAITING_HEADINGS = ("rank", "key", "given", "cash", "depth", "in-links", "url")
STORED_HEADINGS = ("number", "of", "size", "part")
NO_FAILURES = "no failures"

_PATIENCE_S = 2.0
_UNKNOWN = "-"
_KIB = 1024
_MOST_ROWS, _MOST_COUNTS = 100, 5
"""Maximum rows in JSON, and counts in a line, of the URLs that were kept and left out."""
_MOST_RESPONSES = 20_000
"""Maximum number of responses that are counted without --stored, in 0.6 s."""


@click.command()
@click.option("--mirrors", "wants_mirrors", is_flag=True, help="Also list mirrored hosts.")
@click.option(
    "--stored",
    "wants_stored",
    is_flag=True,
    help="Also list the number and size of all stored parts, and count in a large store what was "
    "kept and left out. This is slow for a large store.",
)
@click.option(
    "--graph",
    "wants_graph",
    is_flag=True,
    help="Also measure the graph of a large store, and count its linked pages by verdict.",
)
@graph_of_option(CRAWLED)
@json_option
@store_option
def status(
    store: Path,
    wants_mirrors: bool,
    wants_stored: bool,
    wants_graph: bool,
    graph_of: str,
    as_json: bool,
) -> None:
    """Show the progress of the crawl, its graph, and the command that resumes it.

    The counts are fast for any store. `linked` counts linked pages by what became of them, as
    `broken` does; `kept` and `left out` count URLs by type, reason and host; `cut off` names the
    limits that left pages unread, and the options that lift them. The graph is taken from the
    latest sample if it covers all pages, or if a running crawl takes samples (`crawl
    --graph-stats`). Otherwise a small graph is measured now; a large one only with `--graph`, else
    its last sample is shown. `minicrawl check` verifies the store itself.
    """
    from minicrawl.report.states.content_counts import counts_of

    found = crawl_status.status(store)
    repeating = mirrors(store) if wants_mirrors else []
    parts = stored_parts(store) if wants_stored else []
    live = dict(_live(store))
    linked = _linked(store, found, of_many=wants_graph)
    content = _content(store, found, of_many=wants_stored)
    cut = cuts(store, found, even_of_many=wants_stored)
    sample = shown_sample(store, graph_of, is_running=bool(live), even_of_many=wants_graph)
    if as_json:
        listed = {"mirrors": [mirror._asdict() for mirror in repeating]} if wants_mirrors else {}
        listed |= {"stored": [part._asdict() for part in parts]} if wants_stored else {}
        rows = None if content is None else [row._asdict() for row in content[:_MOST_ROWS]]
        more = {"linked": linked, "content": rows, "graph": sample and sample.as_json()}
        more |= {"cut": [one._asdict() for one in cut[:_MOST_ROWS]]}
        show_json(found.as_json() | live | listed | more)
        return
    mirrors_found = [("mirror", str(one)) for one in repeating]
    if wants_mirrors and not repeating:
        mirrors_found = [("mirror", "none")]
    links = [("linked", _counts(linked))] if linked else []
    kept = counts_of(content, _MOST_COUNTS) if content else ()
    kept_lines = ((name, _counts(counts)) for name, counts in kept)
    cut_lines = [("cut off", str(one)) for one in cut[:_MOST_COUNTS]]
    if more_pages := sum(one.pages for one in cut[_MOST_COUNTS:]):
        cut_lines.append(("", f"and {counted(more_pages, 'page')}, which --json lists"))
    facts = [*_facts(found, store), *cut_lines, *links, *kept_lines, *mirrors_found]
    show_facts([*live.items(), *facts])
    if parts:
        click.echo()
        lines = [(f"{one.number:,}", one.of, _size(one.bytes), one.part) for one in parts]
        show_list(STORED_HEADINGS, lines, texts=1)
    if sample is not None:
        click.echo()
        show_facts(sample_facts(sample, time.time()))


def _linked(store: Path, found: crawl_status.Status, *, of_many: bool) -> dict[str, int] | None:
    """Count linked pages and files by verdict.

    Return None for a store without links, and for a large one unless asked for.
    """
    if found.pages_known > sampling_process.MOST_AT_ONCE and not of_many:
        return None
    from minicrawl.report.links.problems import linked_verdicts

    with snapshot(store) as seen:
        return linked_verdicts(seen) if seen.frontier.terms.links else None


def _content(store: Path, found: crawl_status.Status, *, of_many: bool) -> list[ContentRow] | None:
    """Count kept and left-out URLs. Return None for a large store, unless asked for."""
    if found.pages_known > sampling_process.MOST_AT_ONCE and not of_many:
        return None
    from minicrawl.report.states.content_counts import content_rows

    with snapshot(store) as seen:
        return content_rows(seen, most=None if of_many else _MOST_RESPONSES)


def _live(store: Path) -> Iterator[tuple[str, str]]:
    """Yield the state of a running crawl, if there is one."""
    with suppress(MinicrawlError):
        found = ask(store, ControlRequest(verb=Verb.SHOW), _PATIENCE_S)
        yield "crawl", f"{found['state']}, process {found['pid']}"


def _facts(found: crawl_status.Status, store: Path) -> Iterator[tuple[str, str]]:
    yield "pages known", f"{found.pages_known:,} on {counted(found.hosts, 'host')}"
    yield "fetched", _count(found.pages_fetched)
    yield "waiting", _count(found.pages_unread)
    yield "duplicates", _counts(found.standing_for_others)
    yield "failed", _counts(found.failures)
    yield "refused", _counts(found.refusals)
    yield "importance gathered", percentage(found.importance_gathered)
    if found.importance_guaranteed is not None:
        yield "guaranteed", f"{at_least(found.importance_guaranteed)} of PageRank from the seeds"
    yield "importance", told(found.convergence)
    yield "found per fetch", _number(found.found_per_fetch, " pages")
    yield "G", f"{_number(found.g, ' units')}, error factor M/G {_number(found.error_factor)}"
    yield "running time", _UNKNOWN if found.running_s is None else as_duration(found.running_s)
    yield "fetches per second", _pace(found.fetches_per_second)
    yield "downloaded", _size(found.bytes) + _throughput(found)
    yield "store", f"{store}, {_size(found.store_bytes)}"
    for end, size in found.beside_bytes.items():
        yield "", f"{store}{end}, {_size(size)}"
    if found.pruning_waits:
        yield "old versions", "removed as soon as nobody reads the archive"
    for one in found.taken_down[-_MOST_COUNTS:]:
        left = "" if one.complete else ", incomplete: repeat minicrawl forget"
        yield "taken down", f"{one.what} at {iso(one.at)}, {counted(one.answers, 'answer')}{left}"
    if (more := len(found.taken_down) - _MOST_COUNTS) > 0:
        yield "", f"and {more:,} earlier, which --json lists"
    if found.command:
        yield "resume with", found.command


def _throughput(found: crawl_status.Status) -> str:
    return (
        f", {_size(round(found.bytes / found.running_s))} a second"
        if found.running_s and found.bytes
        else ""
    )


def _count(number: int | None) -> str:
    return _UNKNOWN if number is None else f"{number:,}"


def _counts(counts: Mapping[str, int] | None) -> str:
    if counts is None:
        return _UNKNOWN
    listed = ", ".join(f"{name} {number:,}" for name, number in counts.items())
    return f"{sum(counts.values()):,} ({listed})" if counts else "0"


def _number(number: float | None, unit: str = "") -> str:
    return _UNKNOWN if number is None else f"{number:,.2f}{unit}"


def _pace(per_second: float | None) -> str:
    return _UNKNOWN if per_second is None else rate(per_second).removesuffix("/s")


def _size(count: float | None) -> str:
    if count is None:
        return _UNKNOWN
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if count < _KIB:
            return f"{count:,.0f} {unit}" if unit == "bytes" else f"{count:,.1f} {unit}"
        count /= _KIB
    return f"{count:,.1f} TiB"


@click.command()
@click.option(
    "--kind",
    "kinds",
    type=click.Choice([state.label for state in KINDS]),
    metavar="NAME",
    multiple=True,
    help="Only this kind of error, such as timeout or robots. Repeatable.",
)
@click.option("--host", metavar="NAME", help="Only pages of this host.")
@count_option(20)
@json_option
@store_option
def errors(store: Path, kinds: tuple[str, ...], host: str | None, n: int, as_json: bool) -> None:
    """Show failed pages: by kind, by host, and the latest with their reasons.

    Refused pages, such as those forbidden by robots.txt, are only counted; --kind shows their hosts
    and pages. The share is of all page requests. --n applies to hosts and to pages.
    """
    wanted = frozenset(State.labelled(kind) for kind in kinds)
    with snapshot(store) as seen:
        found = find_errors(seen, ErrorQuery(kinds=wanted, host=host, count=n))
    if as_json:
        show_json(found.as_json())
    elif found.kinds:
        _show_errors(found)
    else:
        click.echo(NO_FAILURES)


def _show_errors(found: ErrorReport) -> None:
    show_list(KIND_HEADINGS, map(_kind_line, found.kinds), texts=2)
    if found.pages:
        click.echo()
        show_list(HOST_HEADINGS, map(_host_line, found.hosts), texts=2)
        click.echo()
        show_list(PAGE_HEADINGS, map(_page_line, found.pages), texts=2)


def _kind_line(kind: ErrorKind) -> tuple[str, ...]:
    return (
        f"{kind.pages:,}",
        f"{kind.requests:,}",
        f"{kind.share:.1%}",
        kind.kind,
        kind.means,
        kind.helps,
    )


def _host_line(host: FailingHost) -> tuple[str, ...]:
    return f"{host.pages:,}", host.kind, host.host, host.detail


def _page_line(page: FailedPage) -> tuple[str, ...]:
    return short_time(page.at or "never"), str(page.status or "-"), page.kind, page.url, page.detail


@click.command()
@count_option(20)
@json_option
@store_option
def frontier(store: Path, n: int, as_json: bool) -> None:
    """List the next pages to fetch, ignoring the delays of hosts.

    Pages are ordered by `key`, in units of cash. With --strategy greedy, `key` is the initial unit
    of a page plus `given`, the cash from links and endowments. With siblings, `key` also depends
    on how many new pages its siblings led to, the pages found together with it; until 4,096 pages
    are read, PageRank of the links read so far stands in for the cash. Other strategies have no
    `key`. `cash` includes a share of the virtual page's cash.
    """
    with snapshot(store, ordered=True) as seen:
        if as_json:
            show_json([page._asdict() for page in waiting(seen, n)])
        else:
            show_list(WAITING_HEADINGS, map(_waiting_line, waiting(seen, n)), texts=1)


def _waiting_line(page: WaitingPage) -> tuple[str, ...]:
    return (
        f"{page.rank:,}",
        _UNKNOWN if page.key is None else units(page.key),
        units(page.given),
        units(page.cash),
        str(page.depth),
        f"{page.inlinks:,}",
        page.url,
    )


@click.command()
@click.option(
    "--cloaking",
    "url",
    metavar="URL",
    help="Check whether the server sends browsers another version of this page, instead of the "
    "store. Sends four requests, as politely as a crawl.",
)
@json_option
@store_option
@click.pass_context
def check(context: click.Context, store: Path, url: str | None, as_json: bool) -> None:
    """Verify a store: the file, the links, every atom of cash.

    Prints a line per problem, and exits 1 if there is any.
    """
    if url is not None:
        context.exit(1 if is_cloaked(url, as_json=as_json) else 0)
    from minicrawl.report.integrity.audit import audit

    with progress("check") as tell:
        found = audit(store, tell)
    if as_json:
        show_json(found.as_json())
    else:
        for line in found.lines():
            click.echo(visible(line))
    context.exit(0 if found.is_intact else 1)


# ================================================================ cloaking
#
# `minicrawl check --cloaking`: does the server send browsers another version of a page?


def is_cloaked(url: str, *, as_json: bool) -> bool:
    """Check a page, show the findings, and return whether it is served differently."""
    import asyncio

    from minicrawl.app import SystemClock
    from minicrawl.checking import check_cloaking
    from minicrawl.web.urls import canonical_seed

    wanted = canonical_seed(url)
    if wanted is None:
        raise UsageError(f"--cloaking: {url!a} is not a URL")
    with progress("four requests"):
        found = asyncio.run(check_cloaking(wanted, _settings(), SystemClock()))
    if as_json:
        show_json(found.as_json())
    else:
        show_facts(_cloaking_facts(found))
    return found.is_cloaked


def _settings() -> Settings:
    """Return the settings of a crawl, from the environment and the settings file."""
    chosen = os.environ.get(CONFIG_VARIABLE)
    return loaded_from({}, Path(chosen) if chosen else None).settings


def _cloaking_facts(found: Cloaking) -> Iterator[tuple[str, str]]:
    yield "crawler", _told(found.crawler[0])
    yield "browser", _told(found.browser[0])
    same_name = f"{share(found.steadiness)} for the same User-Agent"
    yield "text", f"{share(found.likeness)} alike; between two responses, {same_name}"
    yield "links", f"{share(found.links)} alike"
    for one in found.differences:
        yield one.what, f"crawler: {one.crawler or 'none'}; browser: {one.browser or 'none'}"
    for name, is_crawler in (("crawler", True), ("browser", False)):
        for line in found.only_for(crawler=is_crawler) if found.is_cloaked else ():
            yield f"only for {name}", line[:_LONGEST]
    yield "verdict", _verdict(found)


_LONGEST = 200


def _told(answer: PageAnswer) -> str:
    if answer.why:
        return f"{answer.url}: {answer.why}"
    links, vary = counted(len(answer.page.links), "link"), ", Vary: User-Agent"
    return f"{answer.url}: {answer.page.title!r}, {links}{vary if answer.varies else ''}"


def _verdict(found: Cloaking) -> str:
    if found.is_cloaked:
        return "served differently"
    if found.is_unsteady:
        return "not known: the page changes too much by itself"
    return "the same for both"


# ================================================================ graph

_SEED = 1
"""Fixed, so that a graph is always measured from the same pages."""


@click.command()
@graph_of_option(KNOWN)
@json_option
@source_options
def graph(source: Source, graph_of: str, as_json: bool) -> None:
    """Show size, components and distances of a graph.

    Distances are between pages joined by a path. Large graphs are measured from some pages only;
    the diameter is then a lower bound.
    """
    import numpy as np

    from minicrawl.graph.outline import outline
    from minicrawl.report.graph.source import as_linked

    linked = as_linked(source, graph_of)
    with source.progress("distances") as tell:
        found = outline(linked, np.random.default_rng(_SEED), tell)
    if as_json:
        show_json(found.as_json())
    else:
        show_facts(outline_facts(found))


# ================================================================ refine
#
# `minicrawl refine`: converged ranks of a crawl, and their change.

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@click.command()
@click.option(
    "--until",
    metavar="ERROR",
    type=float,
    default=UNTIL,
    show_default=True,
    help="Stop when the error, summed over all shares of importance, is at most this.",
)
@click.option(
    "--to",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Copy the store to this new file, and write the ranks beside the copy.",
)
@json_option
@store_option
def refine(store: Path, until: float, to: Path | None, as_json: bool) -> None:
    """Compute converged ranks of all known pages, without fetching.

    A crawl does the same when it ends and while it is idle. refine spends all cash again along the
    stored links, round after round, until the ranks converge. The result is saved beside the store
    and does not affect the order of a resumed crawl. Repeat the command to continue an interrupted
    run.
    """
    from minicrawl.crawl.refinement.converged_ranks import refine as refine_store

    with _while_undisturbed() as goes_on, progress("refine") as tell:
        refined = refine_store(store, until=until, to=to, tell=tell, goes_on=goes_on)
    if refined is None or not refined.converged:
        raise Interrupted(_interrupted(refined))
    if as_json:
        show_json(asdict(refined) | {"store": str(refined.store)})
    else:
        show_facts(_refined_facts(refined))


def _refined_facts(refined: Refined) -> list[tuple[str, str]]:
    from minicrawl.crawl.refinement.converged_ranks import TOP

    return [
        ("store", str(refined.store)),
        ("pages", f"{refined.pages:,}"),
        ("links", f"{refined.links:,}"),
        ("rounds", f"{refined.rounds:,}"),
        ("error", f"at most {refined.error_bound:.1e}, summed over all shares"),
        ("moved", f"{refined.moved:.3g} of at most 2, summed over all shares"),
        ("unchanged", f"{refined.top_kept} of the top {min(TOP, refined.pages)} pages"),
    ]


def _interrupted(refined: Refined | None) -> str:
    if refined is None or not refined.is_kept:
        return "interrupted before the ranks were worth keeping: run the same command again"
    return (
        f"interrupted; ranks with an error of at most {refined.error_bound:.1e} are kept: "
        "run the same command to resume"
    )


@contextmanager
def _while_undisturbed() -> Iterator[Callable[[], bool]]:
    """Yield a function that returns True until a signal arrives. The second signal kills."""
    came: list[int] = []

    def remember(number: int, _frame: FrameType | None) -> None:
        came.append(number)
        signal.signal(number, signal.SIG_DFL)

    former = [signal.signal(number, remember) for number in _SIGNALS]
    try:
        yield lambda: not came
    finally:
        for number, handler in zip(_SIGNALS, former, strict=True):
            signal.signal(number, handler)


# ================================================================ plot
#
# `minicrawl plot`: a crawl in one picture.

ENDINGS = (".png", ".svg")


class PictureFile(click.Path):
    """Name of an image file."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(str(super().convert(value, param, ctx)))
        if path.suffix.lower() not in ENDINGS:
            self.fail(f"{str(path)!r} must end in {' or '.join(ENDINGS)}", param, ctx)
        return path


@click.command()
@click.argument("file", type=PictureFile(dir_okay=False))
@graph_of_option(CRAWLED)
@store_option
def plot(store: Path, file: Path, graph_of: str) -> None:
    """Plot a crawl to FILE, a .png or .svg.

    Shows pages, pace, importance gathered, errors, components and distances over time, the current
    degrees of the pages, and the 40 largest hosts with the links between them. The points in time
    are the samples of `crawl --graph-stats`; without samples, they come from the log of the store.

    Needs matplotlib: install minicrawl with the extra `lab`.
    """
    from minicrawl.report.files.figures import pyplot
    from minicrawl.report.progress.history import history
    from minicrawl.report.site.crawl_picture import draw_crawl

    pyplot()
    hosts = _hosts(store, graph_of)  # refuses a store without links, whose log has no history
    with progress("samples") as tell:
        found = history(store, graph_of, tell)
    last = found[-1]
    title = f"{store.name}: {last.crawled:,} of {counted(last.known, 'page')} crawled"
    draw_crawl(file, title, found, hosts)
    click.echo(file)


def _hosts(store: Path, graph_of: str) -> HostLinks:
    """Return the hosts with the most pages, and the links between them."""
    from minicrawl.report.selected_graph import HostGraph
    from minicrawl.report.selected_pages import PageSelection
    from minicrawl.report.site.crawl_picture import MOST_HOSTS, HostLinks
    from minicrawl.report.snapshot import snapshot

    with snapshot(store) as seen:
        graph = HostGraph(seen, PageSelection(fetched=graph_of != KNOWN)).drawing()
        pages = {
            node: (name, count)
            for block in graph.nodes
            for node, name, count in zip(block["id"], block["label"], block["pages"], strict=True)
        }
        largest = dict(sorted(pages.items(), key=lambda node: -node[1][1])[:MOST_HOSTS])
        links = {
            (largest[source][0], largest[target][0]): weight
            for block in graph.links
            for source, target, weight in zip(*(block[name] for name in block), strict=True)
            if source != target and source in largest and target in largest
        }
    return HostLinks(pages=dict(largest.values()), links=links)
