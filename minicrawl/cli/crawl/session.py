"""One run of a crawl in a terminal: its display, log, summary and exit code.

Laws: an interrupted run prints the command that resumes the crawl. All messages go to stderr.
"""

import asyncio
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from minicrawl import ext
from minicrawl.app import Crawl
from minicrawl.cli import PROGRAM
from minicrawl.cli.companions import companions
from minicrawl.cli.crawl.display import Lines, display
from minicrawl.cli.crawl.display_state import DisplayState, RunCounter, Speed, as_line
from minicrawl.cli.crawl.keyboard import GraphKey, Hear, may_hear_keys
from minicrawl.cli.crawl.logs import Log, LogFiles, progress_line
from minicrawl.cli.crawl.watching import watched
from minicrawl.cli.larger_budget import with_larger_budget
from minicrawl.cli.options import naming
from minicrawl.cli.output import show_json
from minicrawl.cli.progress_bar import progress
from minicrawl.control import NOTIFY_SOCKET, tell_systemd
from minicrawl.crawl import events
from minicrawl.crawl.progress import Progress
from minicrawl.errors import Interrupted
from minicrawl.memory.allocator import LARGER_THAN_LINKS, mmap_large_arrays
from minicrawl.model import CRAWLED
from minicrawl.report.progress.crawl_status import Status, status
from minicrawl.report.progress.mirrors import mirrors
from minicrawl.report.snapshot import snapshot
from minicrawl.report.states.cuts import Cut, cuts
from minicrawl.web.readable_hosts import readable
from minicrawl.web.sites import site
from minicrawl.web.urls import host as host_of
from minicrawl.wording import as_duration, at_most, counted, percentage, rate, visible

if TYPE_CHECKING:
    from rich.console import Console

    from minicrawl.report.links.problems import Redirect

FEWEST_ANSWERS = 20
"""With fewer responses, the share of failures is meaningless."""
_NO_CONTACT = "server owners cannot reach you: set --contact to a URL or a mail address"
_LABEL = 12
_MOST_CUTS = 5


class NotFetched(click.ClickException):
    """Error with exit code 3: nothing was fetched, or --max-failures was exceeded."""

    exit_code = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The options of this run. The settings belong to the crawl."""

    resume: str  # the command that resumes the crawl
    kind: str = "crawl"  # or update
    update: str | None = None  # the command that reads its pages again; None for the demo web
    is_demo: bool = False
    quiet: bool = False
    verbose: bool = False
    graph_stats: bool = False
    graph_of: str = CRAWLED
    log_file: Path | None = None
    log_format: str = "text"
    log_keep: int | None = None
    as_json: bool = False
    color: str = "auto"
    max_failures: float | None = None


_NO_REMEDIES = ("nothing", "see the detail")


class Session:
    """A run of a crawl, and its summary."""

    def __init__(self, crawl: Crawl, options: RunOptions) -> None:
        self._crawl = crawl
        self._options = options
        self._store = crawl.settings.storing.store
        self._state = DisplayState(RunCounter(), Speed(), crawl.settings.budget)
        self._graph = GraphKey(self._state, options, self._store)
        self._reason: events.Reason | None = None
        self._log_files: LogFiles | None = None

    @property
    def not_requested(self) -> int:
        """Number of pages that were not requested in this run, because their host is down."""
        return self._state.counter.not_requested

    def run(self) -> None:
        """Crawl, then print the summary."""
        mmap_large_arrays(LARGER_THAN_LINKS)
        shown = display(self._state, lambda: self._console, quiet=self._options.quiet)
        with ExitStack() as stack:
            stack.callback(shown.close)
            stack.callback(self._graph.close)
            self._subscribe(shown, stack)
            hear = self._watch_graph(shown)
            is_sampled = self._options.graph_stats
            running = watched(self._crawl, shown, self._log_progress, hear, is_sampled=is_sampled)
            try:
                self._reason = asyncio.run(running)
                self._graph.finish(lambda: self._print("measuring the graph; Ctrl-C skips it"))
            except asyncio.CancelledError:
                pass
            except KeyboardInterrupt:  # while seeds are read; with a store the crawl can be resumed
                if not self._store.exists():
                    raise
        if self._reason is None:
            raise Interrupted(f"aborted; resume with: {self._options.resume}")
        if self._options.as_json:
            show_json(self._result(self._reason) | {"status": self._status, "cut": self._cuts})
        if not self._options.quiet:
            self._print(f"{self._reason}", "bold")
            for name, value in self._facts():
                self._print(f"  {name:<{_LABEL}}{value}")
        if self._crawl.settings.network.notify:
            from minicrawl.cli.crawl.notices import notify  # deferred: it imports reports

            run = {"event": self._options.kind} | self._result(self._reason)
            if why := notify(self._crawl.settings, run, time.time()):
                self._print(f"--notify: {why}")
        if self._reason is events.Reason.STOPPED:
            raise Interrupted(f"resume with: {self._options.resume}")
        if self._options.is_demo:
            self._print("")  # a table follows

    def _result(self, reason: events.Reason) -> dict[str, object]:
        counter = self._state.counter
        return {
            "reason": reason.word,
            "pages": counter.read,
            "answered": counter.answered,
            "failed": counter.failed,
            "seconds": round(self._state.speed.elapsed_s, 3),
            "store": str(self._store),
        }

    def _subscribe(self, shown: Lines, stack: ExitStack) -> None:
        options = self._options
        if options.verbose:
            self._crawl.subscribe(_showing_all(options.log_format, shown))
        else:
            self._crawl.subscribe(
                lambda event: _show_note(event, shown),
                (events.Noted, events.Steered, events.Warned),
            )
        if options.log_file is not None:
            self._log_files = LogFiles(options.log_file, options.log_keep)
            stack.callback(self._log_files.close)
            self._crawl.subscribe(Log(options.log_format, files=self._log_files).hear)
        if not options.quiet:
            self._crawl.subscribe(_showing_ranks(shown, stack), (events.Converging,))
        if not options.is_demo:
            self._crawl.subscribe(
                _warning_without_contact(self._crawl, shown), (events.Asked, events.Ended)
            )
        if NOTIFY_SOCKET in os.environ:
            self._crawl.subscribe(_telling_systemd())
        self._crawl.subscribe(self._state.hear, (events.Steered, events.Checking))
        self._crawl.subscribe(
            self._state.counter.hear, (events.Asked, events.Settled, events.Delayed)
        )

    def _watch_graph(self, shown: Lines) -> Hear | None:
        """Show the graph if options ask for it, and return the handler of a panel's key."""
        has_panel, options = shown.has_keys, self._options
        if options.graph_stats or (options.verbose and has_panel):
            self._graph.show()
        if not has_panel or not may_hear_keys():
            return None
        self._graph.hint()
        return self._graph.hear

    def suggest_next_commands(self) -> None:
        """Print commands that make sense after this run."""
        store = naming(self._store)
        is_estimated = self._status.convergence is None and self._crawl.settings.storing.links
        refine = ("refine",) if is_estimated else ()
        self._print("")
        self._print("next steps", "bold")
        settings = self._crawl.settings
        is_of_owner = settings.scope.scope != "any" and settings.storing.keep == "pages"
        has_audit = "audit" in ext.entry_points(ext.COMMANDS)
        audit = ("audit",) if is_of_owner and has_audit else ()
        more = chain.from_iterable(
            companion.next_commands(self._store) for companion in companions()
        )
        commands = (*audit, "top --n 20", *more, "status", *refine)
        if not self._status.pages_fetched:
            commands = ("errors",)
        elif self._redirect_elsewhere:
            commands = ("redirects",)
        for command in commands:
            self._print(f"  {PROGRAM} {command}{store}")
        budget, resume, status = settings.budget, self._options.resume, self._status
        if budget.until is None:  # an update goes on after a crawl that --until ended
            status = replace(status, goes_on_until=None)
        if self._reason is events.Reason.BUDGET or status.goes_on_until:
            command = with_larger_budget(resume, status, budget.pages, budget.body_bytes)
            if status.goes_on_until:
                effect = "with another --until"
            else:
                effect = "goes on" if command == resume else "with a larger budget"
            self._print(f"  {command}  # {effect}")
        elif (
            self._reason is events.Reason.EMPTY
            and self._status.pages_fetched
            and self._options.update
        ):
            self._print(f"  {self._options.update}  # reads the pages again")

    def fail_without_success(self) -> None:
        """Raise `NotFetched` if nothing was fetched, or --max-failures was exceeded."""
        counter, limit = self._state.counter, self._options.max_failures
        # The last pages of a crawl may all be absent. All else that fails alone is an outage.
        failed = counter.failed - counter.absent + counter.not_requested
        is_outage = failed > 0 and not counter.read
        if is_outage or not self._status.pages_fetched:
            from minicrawl.report.states.errors import KINDS, errors

            with snapshot(self._store) as view:
                report = errors(view, KINDS, count=1)
            pages = {kind.kind: kind.pages for kind in report.kinds if kind.pages}
            reasons = [host.detail for host in report.hosts if host.detail]
            remedies = [kind.helps for kind in report.kinds if kind.pages][:1]
            reasons += [text for text in remedies if not text.startswith(_NO_REMEDIES)]
            why = f": {'; '.join(reasons)}" if reasons else ""
            raise NotFetched(f"nothing could be fetched{_listed(pages)}{why}")
        if limit is not None and counter.answered >= FEWEST_ANSWERS:
            share = counter.failed / counter.answered
            if share > limit:
                raise NotFetched(f"{share:.1%} of the requested pages failed")

    @cached_property
    def _status(self) -> Status:
        return status(self._store)

    @cached_property
    def _redirect_elsewhere(self) -> "Redirect | None":
        """Return the redirect to another site that led to the only page, as login pages do."""
        if self._status.pages_fetched == 1 and self._crawl.settings.storing.links:
            from minicrawl.report.links.problems import redirects

            with snapshot(self._store) as view:
                for row in redirects(view)[:1]:
                    if row.end and site(host_of(row.url)) != site(host_of(row.end)):
                        return row
        return None

    @cached_property
    def _cuts(self) -> list[Cut]:
        """Return what limits cut off, in all runs."""
        return cuts(self._store, self._status)

    def _facts(self) -> Iterator[tuple[str, str]]:
        status, counter, speed = self._status, self._state.counter, self._state.speed
        known = f"{status.pages_known:,} known on {counted(status.hosts, 'host')}"
        yield "fetched", f"{counted(status.pages_fetched or 0, 'page')} of {known}"
        if row := self._redirect_elsewhere:
            hint = "if that is no page of it, log in to your network"
            yield "redirected", f"{row.url} to {row.end}: {hint}"
        if status.pages_fetched:
            gathered, ranks = percentage(status.importance_gathered), "ranks are estimates"
            if (rank := status.convergence) is not None:
                end = "converged" if rank.is_complete else "broken off while converging"
                ranks = f"ranks {end}, {at_most(rank.error_bound)}"
            yield "importance", f"{gathered} gathered; {ranks}"
        for name, counts in (("failed", status.failures), ("refused", status.refusals)):
            if counts:
                yield name, f"{sum(counts.values()):,}{_listed(counts)}"
        for cut in self._cuts[:_MOST_CUTS]:
            yield "cut off", str(cut)
        for mirror in mirrors(self._store):
            yield "mirror", str(mirror)
        speed.record(counter.read)
        pages, duration = counted(counter.read, "page"), as_duration(speed.elapsed_s)
        yield "this run", f"{pages} in {duration}, {rate(speed.mean)}"
        yield "store", str(self._store)

    def _log_progress(self, progress: Progress) -> None:
        if self._log_files is not None:
            self._state.record(progress)
            text = as_line(self._state, progress)
            line = progress_line(self._options.log_format, progress, text, time.time())
            self._log_files.write(line)

    @cached_property
    def _console(self) -> "Console":
        """Console on stderr, made on demand: rich takes time to import."""
        from rich.console import Console

        match self._options.color:
            case "never":
                return Console(stderr=True, color_system=None)
            case "always":
                return Console(stderr=True, force_terminal=True, no_color=False)
        return Console(stderr=True)

    def _print(self, line: str, style: str = "") -> None:
        if not self._options.quiet:
            from rich.text import Text

            self._console.print(Text(visible(line), style=style), soft_wrap=True)


def _warning_without_contact(crawl: Crawl, shown: Lines) -> events.Listener:
    """Return a listener that warns of a missing contact at the first request, or at the end.

    Not earlier: the contact in the store is known by then, and a crawl that fails to start needs
    no warning.
    """
    lines = [_NO_CONTACT]

    def hear(_event: events.Event) -> None:
        while lines:
            line = lines.pop()
            if crawl.settings.politeness.contact is None:
                shown.say(line)

    return hear


def _showing_ranks(shown: Lines, stack: ExitStack) -> events.Listener:
    """Return a listener that replaces the crawl's display by the progress of the ranks."""
    reports: list[Callable[[float], None]] = []

    def hear(event: events.Event) -> None:
        if isinstance(event, events.Converging):
            if not reports:
                shown.close()
                reports.append(stack.enter_context(progress("ranks")))
            reports[0](event.done)

    return hear


def _telling_systemd() -> events.Listener:
    """Return a listener that tells systemd when the crawl has begun and when it ends."""
    left = ["READY=1"]

    def hear(event: events.Event) -> None:
        if left:
            tell_systemd(left.pop())
        if isinstance(event, events.Ended):
            tell_systemd("STOPPING=1")

    return hear


def _showing_all(form: str, shown: Lines) -> events.Listener:
    """Return a listener that shows each event as a log line; text has readable host names."""
    as_shown = readable if form == "text" else str
    notes = Log(form, lambda line: shown.say(as_shown(line)))
    warnings = Log(form, lambda line: shown.warn(as_shown(line)))
    return lambda event: (warnings if isinstance(event, events.Warned) else notes).hear(event)


def _show_note(event: events.Event, shown: Lines) -> None:
    if isinstance(event, events.Warned):
        shown.warn(event.text)
    elif isinstance(event, events.Noted | events.Steered):
        shown.say(event.text)


def _listed(counts: dict[str, int]) -> str:
    listed = ", ".join(f"{kind} {number:,}" for kind, number in counts.items())
    return listed and f" ({listed})"
