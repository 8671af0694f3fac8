"""The command line: parse, call, print. Only it and the commands of rooms print, without logic.

The law of `main`: an expected error is one line on stderr, `minicrawl: <what>`, and an exit code.
So is an exception of a package that extends minicrawl. Only a bug in minicrawl shows a traceback.

    0    success, or the reader of stdout has gone away (`minicrawl ... | head`)
    1    an error, or a finding of `check`, `archive --verify`, `audit --baseline` or `--exit-code`
    2    an invalid value of an option or a setting
    3    nothing could be fetched, or more pages failed than `--max-failures` allows
    130  interrupted by Ctrl-C or SIGTERM, after a clean end

A group lists, completes and suggests commands from their names and summaries. Only the command that
is called is imported, so `minicrawl --help` imports no command.
"""

import atexit
import gc
import os
import re
import select
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import takewhile
from pathlib import Path
from types import FrameType

import click

from minicrawl import __version__, ext
from minicrawl.cli.examples import epilog
from minicrawl.errors import MinicrawlError, UsageError
from minicrawl.memory.garbage_collector import load_modules_quickly
from minicrawl.wording import visible

PROGRAM = "minicrawl"
COMPLETION_VARIABLE = "_MINICRAWL_COMPLETE"
STDOUT = 1
_SURPLUS = re.compile(r"unexpected extra arguments? \((.+)\)")
USAGE = 2
INTERRUPTED = 130

# name -> target to import, below minicrawl.cli, and summary in `minicrawl --help`
COMMANDS = {
    "crawl": ("crawl.command:crawl", "Crawl the web, most important pages first."),
    "update": ("crawl.command:update", "Fetch the pages of a crawl again, and report changes."),
    "control": ("manage.control:control", "Pause, stop or adjust a running crawl."),
    "config": ("manage.config:config", "Show all settings and where they come from."),
    "about": ("manage.about:about", "Describe the crawler to owners of servers."),
    "import": ("manage.imports:import_", "Create a store from WARC files or a graph file."),
    "refine": ("state.refine:refine", "Compute converged ranks without fetching."),
    "graph": ("state.graph:graph", "Show size, components and distances of a graph."),
    "top": ("pages.top:top", "List the most important pages."),
    "export": ("pages.export:export", "Export pages, links or ranks to a file."),
    "status": ("state.status:status", "Show the progress of a crawl."),
    "plot": ("state.plot:plot", "Plot a crawl: progress, degrees and hosts."),
    "check": ("state.check:check", "Verify the integrity of a store."),
    "move": ("manage.archive:move", "Move a store and its files."),
    "explain": ("pages.explain:explain", "Explain the rank and state of a page."),
    "page": ("pages.page:page", "Show a page as it was fetched."),
    "forget": ("manage.forget:forget", "Remove pages with all their versions."),
    "archive": ("manage.archive:archive", "Describe or verify kept pages."),
    "backlinks": ("pages.explain:backlinks", "List the pages that link to a page."),
    "links": ("pages.explain:links", "List the pages that a page links to."),
    "pages": ("pages.lists:pages", "List pages with selected columns."),
    "changes": ("pages.lists:changes", "List new, changed and removed pages."),
    "broken": ("pages.lists:broken", "List broken links."),
    "redirects": ("pages.lists:redirects", "List redirects and their final targets."),
    "duplicates": ("pages.lists:duplicates", "List duplicate pages."),
    "report": ("state.plot:report", "Write an HTML report on a site."),
    "errors": ("state.errors:errors", "Show failed pages and the reasons."),
    "frontier": ("state.errors:frontier", "List the next pages to fetch."),
}

GROUPS = {
    "First steps": "crawl update status top search page report export",
    "Inspect a crawl": "pages explain links backlinks errors frontier changes plot dashboard mcp",
    "Fix a site": "audit broken redirects duplicates",
    "Analyse links": "rank seed-set graph lab",
    "Manage crawls and data": (
        "control config about refine check move import forget archive index node cluster"
    ),
}
"""Groups of commands in the order of `minicrawl --help`: those of a first week come first."""

ROOMS = {
    "audit": "audit",
    "cluster": "cluster node",
    "dashboard": "dashboard",
    "lab": "lab",
    "mcp": "mcp",
    "ranks": "rank seed-set",
    "search": "index search",
}
"""Rooms beside the core with their commands, so that an error can name a missing command's room."""
EXTRA_OF_ROOM = {
    room: f"[{room}]" for room in ("cluster", "dashboard", "lab", "mcp", "search", "text")
}
MOVED = {
    "archive info": "archive",
    "archive prune": "forget",
    "archive verify": "archive --verify",
    "compare": "lab compare",
    "config show": "config",
    "graph import": "import",
    "graph info": "graph",
    "orphans": "audit",
    "rank eigenvector": "lab eigenvector",
    "rank inverse-pagerank": "rank pagerank --inverse",
    "rank list": "rank",
    "rank rm": "rank --remove",
}
"""Renamed commands and options of 0.1; 0.3 will drop the old names."""
REMOVED = (
    *("agree", "search --judge", "search --verdict", "search --verdicts", "search --weight"),
    "stability",
)
"""Commands and options of 0.1 that nothing replaces; 0.3 will drop them, too."""


class DeferredCommand(click.Command):
    """Placeholder for a command: its name, its summary, and its import target."""

    def __init__(self, name: str, *, target: str, summary: str) -> None:
        super().__init__(name, help=summary, short_help=summary)
        self.target = target

    def load(self) -> click.Command:
        """Import the command from `target`, given as module:attribute."""
        module, _, attribute = self.target.partition(":")
        command = getattr(import_module(module), attribute)
        if not isinstance(command, click.Command):
            raise TypeError(f"{self.target} is not a click command but {type(command).__name__}")
        return command


class LazyGroup(click.Group):
    """Group of deferred commands; resolving a name imports the command."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, command, arguments = super().resolve_command(ctx, args)
        if isinstance(command, DeferredCommand):
            command = command.load()
            command.epilog = epilog(f"{ctx.command_path} {name}".removeprefix(f"{PROGRAM} "))
        return name, command, arguments


class AddedCommand(DeferredCommand):
    """Command of another package, or of a room beside the core."""

    def __init__(self, point: ext.EntryPoint) -> None:
        super().__init__(point.name, target=point.value, summary=point.summary())
        self._point = point

    def load(self) -> click.Command:
        command = self._point.load()
        if not isinstance(command, click.Command):
            package, kind = self._point.package, type(command).__name__
            raise MinicrawlError(f"{package} adds the command {self.name!r}, but it is a {kind}")
        return command


def missing_room(feature: str, room: str) -> UsageError:
    """Return the error for a command or an option of a room that is not installed."""
    return UsageError(
        f"{feature} is part of minicrawl.{room}, which this installation lacks: "
        f"install minicrawl{EXTRA_OF_ROOM.get(room, '')} again"
    )


class Program(LazyGroup):
    """The group of all commands; its help lists them by purpose."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command with this name: our own, or a package's."""
        built_in = super().get_command(ctx, cmd_name)
        point = None if built_in else ext.entry_points(ext.COMMANDS).get(cmd_name)
        return built_in if point is None else AddedCommand(point)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Name the room of a missing command, or what became of an old one."""
        for room, names in ROOMS.items():
            if args[0] in names.split() and self.get_command(ctx, args[0]) is None:
                raise missing_room(f"minicrawl {args[0]}", room)
        options = {word.partition("=")[0] for word in takewhile("--".__ne__, args)}
        for old in (*MOVED, *REMOVED):
            name, _, option = old.partition(" --")
            is_called = args[: len(name.split())] == name.split()
            is_called &= not option or f"--{option}" in options
            if is_called and (" " in old or self.get_command(ctx, old) is None):
                if old in MOVED:
                    raise UsageError(f"{PROGRAM} {old} is now {PROGRAM} {MOVED[old]}")
                raise UsageError(
                    f"{PROGRAM} {old} was removed: `{PROGRAM} lab compare` compares ranks, and "
                    f"`{PROGRAM} export` writes what other programs need to judge them"
                )
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *ext.entry_points(ext.COMMANDS)})

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        left = dict.fromkeys(self.list_commands(ctx))
        for heading, names in (*GROUPS.items(), ("Other", " ".join(left))):
            with_summary = [
                (name, command.get_short_help_str())
                for name in names.split()
                if name in left and (command := self.get_command(ctx, name))
            ]
            left = {name: None for name in left if name not in names.split()}
            if with_summary:
                with formatter.section(heading):
                    formatter.write_dl(with_summary, col_max=12)


@click.group(
    cls=Program,
    commands=[
        DeferredCommand(name, target=f"minicrawl.cli.{target}", summary=summary)
        for name, (target, summary) in COMMANDS.items()
    ],
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, message=f"{PROGRAM} %(version)s")
def root() -> None:
    """Crawl the web from a few seeds, most important pages first.

    Start with `minicrawl crawl example.org --scope host --pages 100`, then `minicrawl top`. For
    the options of a command: `minicrawl COMMAND --help`.
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    # numpy would start a thread on each core to multiply matrices, which minicrawl never does.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    load_modules_quickly()
    # The process ends anyway. But DuckDB complains about each of its objects that is not collected.
    atexit.register(lambda: None if "duckdb" in sys.modules else gc.freeze())
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115
    try:
        with handling(signal.default_int_handler, signal.SIGTERM):
            return _run(sys.argv[1:] if arguments is None else arguments)
    except click.exceptions.NoArgsIsHelpError as no_arguments:
        click.echo(no_arguments.format_message(), err=True)
        return USAGE
    except click.ClickException as error:
        return _complain(
            _removed_option(error) or f"{error.format_message()}{_hint(error)}", error.exit_code
        )
    except MinicrawlError as error:
        return _complain(str(error), error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        return _complain("interrupted", INTERRUPTED)
    except Exception as error:
        return _report_unexpected(error)


def _report_unexpected(error: Exception) -> int:
    """Handle an unexpected error: raise a bug in minicrawl again, and name anything else."""
    if isinstance(error, BrokenPipeError):
        # Only if it is stdout, and not a pipe or socket of our own, is a broken pipe no bug.
        poll = select.poll()
        poll.register(STDOUT, 0)
        if not poll.poll(0):
            raise error
        _discard_stdout()
        return 0
    if isinstance(error, OSError):  # such as a full disk
        try:
            sys.stdout.flush()
        except OSError:
            _discard_stdout()
        return _complain(str(error), MinicrawlError.exit_code)
    if (package := ext.culprit(error)) is None:
        raise error
    message = f"the package {package} raised {type(error).__name__}: {error}"
    return _complain(message, MinicrawlError.exit_code)


def _removed_option(error: click.ClickException) -> str:
    """Return the replacement of a removed option; empty if it never existed."""
    if not isinstance(error, click.NoSuchOption):
        return ""
    from minicrawl.config.removed import GONE
    from minicrawl.config.sources import removed_error

    name = error.option_name.removeprefix("--")
    name = name if name in GONE else name.removeprefix("no-")  # a switch that is turned off
    return str(removed_error(error.option_name, name)) if name in GONE else ""


def _hint(error: click.ClickException) -> str:
    """Return a hint for a surplus argument that is a store or a graph file."""
    extra = _SURPLUS.search(error.format_message())
    if extra is None:
        return ""
    from minicrawl.store.disk.files import is_database

    context = error.ctx if isinstance(error, click.UsageError) else None
    reads_graphs = context is not None and any(
        "--graph" in option.opts and not getattr(option, "is_flag", False)
        for option in context.command.params
    )
    hints = []
    for name in extra[1].split():
        if is_database(Path(name)):
            hints.append(f": --store {name} names a store")
        elif reads_graphs and Path(name).is_file():
            hints.append(f": --graph {name} names a graph file")
    return "".join(hints)


@contextmanager
def handling(handler: Callable[[int, FrameType | None], object], *signals: int) -> Iterator[None]:
    """Have these signals handled, and restore their former handlers."""
    former = [signal.signal(number, handler) for number in signals]
    try:
        yield
    finally:
        for number, before in zip(signals, former, strict=True):
            signal.signal(number, before)


def _run(arguments: Sequence[str]) -> int:
    if os.name == "nt":
        raise UsageError("minicrawl needs Linux or macOS: on Windows run it in WSL")
    if COMPLETION_VARIABLE in os.environ:
        root.main(prog_name=PROGRAM)
    # click's own main would handle interrupts and closed pipes differently.
    try:
        with root.make_context(PROGRAM, list(arguments)) as context:
            root.invoke(context)
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except ModuleNotFoundError as error:  # a command of one room may need another one
        room = (error.name or "").removeprefix("minicrawl.")
        if room in ROOMS:
            raise missing_room("a module that this command needs", room) from error
        raise
    finally:
        sys.stdout.flush()
    return 0


def _complain(message: str, exit_code: int) -> int:
    """Print a message as one line, with control characters escaped, because it may quote a page."""
    click.echo(f"{PROGRAM}: {visible(' '.join(message.split()))}", err=True)
    return exit_code


def _discard_stdout() -> None:
    """Point stdout at /dev/null, because Python flushes it once more at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), STDOUT)
