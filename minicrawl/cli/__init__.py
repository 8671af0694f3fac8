"""The command line: parse, call, render. It has no logic, and it is the only part that prints.

The law of `main`: an expected error is one line on stderr, `minicrawl: <what>`, and an exit code.
Only a bug in minicrawl shows a traceback.

    0    success, or the reader of stdout has gone away (`minicrawl ... | head`)
    1    an error
    2    a bad value of an option or a setting
    3    nothing could be fetched, or too much failed
    130  interrupted by Ctrl-C or SIGTERM, after a clean end

A group lists, completes and suggests its commands by their names and a line of help each. Only the
command that the user calls is imported, so `--help` imports nothing but click.
"""

import atexit
import gc
import os
import re
import select
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import click

from minicrawl import plugins
from minicrawl.cli.examples import GROUPS, epilog
from minicrawl.errors import MinicrawlError, UsageError
from minicrawl.export.cells import visible
from minicrawl.version import __version__

PROGRAM = "minicrawl"
COMPLETION_VARIABLE = "_MINICRAWL_COMPLETE"
STDOUT = 1
_EXTRA = re.compile(r"unexpected extra arguments? \((.+)\)")
USAGE = 2
INTERRUPTED = 130

# The name of each command -> where it is, and its line in `minicrawl --help`.
COMMANDS = {
    "crawl": (
        "minicrawl.cli.crawl.command:crawl",
        "Crawl the web, the most important pages first.",
    ),
    "control": (
        "minicrawl.cli.crawl.control:control",
        "Pause, stop or change a crawl while it runs.",
    ),
    "config": ("minicrawl.cli.config:config", "Show the settings and where they come from."),
    "import": (
        "minicrawl.cli.stores:import_",
        "Make a store of WARC files, without fetching.",
    ),
    "refine": ("minicrawl.cli.crawl.refine:refine", "Compute converged ranks of a crawl."),
    "graph": ("minicrawl.cli.graph:graph", "Describe a link graph, or import one from a file."),
    "top": ("minicrawl.cli.reports.top:top", "Show the most important pages."),
    "export": ("minicrawl.cli.reports.export:export", "Write pages and their ranks to a file."),
    "status": ("minicrawl.cli.reports.status:status", "Show the progress of a crawl."),
    "plot": ("minicrawl.cli.reports.plot:plot", "Draw a crawl: its curves, its graph, its hosts."),
    "check": ("minicrawl.cli.reports.status:check", "Check that a store is intact."),
    "move": ("minicrawl.cli.stores:move", "Move a store with all that belongs to it."),
    "explain": ("minicrawl.cli.reports.pages:explain", "Explain the rank and state of a page."),
    "page": ("minicrawl.cli.reports.pages:page", "Show a page as it was fetched."),
    "archive": ("minicrawl.cli.archive:archive", "Describe, verify or prune kept pages."),
    "backlinks": ("minicrawl.cli.reports.pages:backlinks", "Show the pages that link to a page."),
    "links": ("minicrawl.cli.reports.pages:links", "Show the pages that a page links to."),
    "pages": (
        "minicrawl.cli.reports.lists:pages",
        "List pages with the columns that you choose.",
    ),
    "changes": (
        "minicrawl.cli.reports.lists:changes",
        "Show the pages that are new, changed or gone.",
    ),
    "broken": ("minicrawl.cli.reports.lists:broken", "Show the links that lead nowhere."),
    "redirects": (
        "minicrawl.cli.reports.lists:redirects",
        "Show the redirects, and where they end.",
    ),
    "orphans": (
        "minicrawl.cli.reports.lists:orphans",
        "Show the pages that no page links to.",
    ),
    "duplicates": (
        "minicrawl.cli.reports.lists:duplicates",
        "Show the pages that are copies of others.",
    ),
    "report": ("minicrawl.cli.reports.lists:report", "Write a report on a site as one HTML file."),
    "errors": ("minicrawl.cli.reports.status:errors", "Show what failed, and why."),
    "frontier": ("minicrawl.cli.reports.status:frontier", "Show the pages that are read next."),
}


ROOMS = {
    "cluster": "cluster node",
    "dashboard": "dashboard",
    "lab": "lab",
    "ranks": "agree compare rank seed-set stability",
    "search": "index search",
}
"""The rooms beside the core with their commands, for who asks for one that is gone."""
EXTRAS = {room: f"[{room}]" for room in ("cluster", "dashboard", "lab", "search", "text")}


class DeferredCommand(click.Command):
    """A placeholder for a command: its name, a line of help, and where to import it from."""

    def __init__(self, name: str, *, target: str, summary: str) -> None:
        super().__init__(name, help=summary, short_help=summary)
        self.target = target

    def load(self) -> click.Command:
        """Import the command from `target`, which is written as module:attribute."""
        module, _, attribute = self.target.partition(":")
        command = getattr(import_module(module), attribute)
        if not isinstance(command, click.Command):
            raise TypeError(f"{self.target} is not a click command but {type(command).__name__}")
        return command


class LazyGroup(click.Group):
    """A group with deferred commands: resolving a name imports the command."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        if isinstance(command, DeferredCommand):
            command = command.load()
            command.epilog = epilog(f"{ctx.command_path} {name}".removeprefix(f"{PROGRAM} "))
        return name, command, rest


class AddedCommand(DeferredCommand):
    """A command of another package, or of a room beside the core."""

    def __init__(self, point: plugins.EntryPoint) -> None:
        super().__init__(point.name, target=point.value, summary=point.summary())
        self._point = point

    def load(self) -> click.Command:
        """Import it from its package."""
        command = self._point.load()
        if not isinstance(command, click.Command):
            package, kind = self._point.package, type(command).__name__
            raise MinicrawlError(f"the package {package} adds {self.name!r}: {kind}, no command")
        return command


def is_missing(what: str, room: str) -> UsageError:
    """Return the error that a command or an option is of a room which is not installed."""
    return UsageError(
        f"{what} is part of minicrawl.{room}, which this installation lacks: "
        f"install minicrawl{EXTRAS.get(room, '')} again"
    )


class Program(LazyGroup):
    """The group of all commands, whose help lists them by what they are for."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name: our own, or that of a package."""
        built_in = super().get_command(ctx, cmd_name)
        point = None if built_in else plugins.entry_points(plugins.COMMANDS).get(cmd_name)
        return built_in if point is None else AddedCommand(point)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Say of a command that is gone what brings it."""
        for room, names in ROOMS.items():
            if args[0] in names.split() and self.get_command(ctx, args[0]) is None:
                raise is_missing(f"minicrawl {args[0]}", room)
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands."""
        return sorted({*super().list_commands(ctx), *plugins.entry_points(plugins.COMMANDS)})

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
        DeferredCommand(name, target=target, summary=summary)
        for name, (target, summary) in COMMANDS.items()
    ],
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, message=f"{PROGRAM} %(version)s")
def root() -> None:
    """Crawl the web from a few seeds, the most important pages first."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    # numpy would start a thread on each core to multiply matrices, which minicrawl never does.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    atexit.register(_spare_the_last_search_for_cycles)
    try:
        with _sigterm_as_ctrl_c():
            return _run(sys.argv[1:] if arguments is None else arguments)
    except click.exceptions.NoArgsIsHelpError as no_arguments:
        click.echo(no_arguments.format_message(), err=True)
        return USAGE
    except click.ClickException as error:
        message = error.format_message()
        return _complain(f"{message}{_hint(error)}", error.exit_code)
    except MinicrawlError as error:
        return _complain(str(error), error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        return _complain("interrupted", INTERRUPTED)
    except OSError as error:
        return _handle_os_error(error)


def _hint(error: click.ClickException) -> str:
    """What to do about an argument too many that is a store or a graph file."""
    extra = _EXTRA.search(error.format_message())
    if extra is None:
        return ""
    from minicrawl.store.files import is_database

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


def _spare_the_last_search_for_cycles() -> None:
    """The process ends anyway, so do not search what is left for cycles.

    DuckDB is the exception: at the end it complains of each object of its own that was not found.
    """
    if "duckdb" not in sys.modules:
        gc.freeze()


@contextmanager
def _sigterm_as_ctrl_c() -> Iterator[None]:
    former = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)


def _handle_os_error(error: OSError) -> int:
    """A reader that went away is fine, a full disk is an error, a broken socket is our bug."""
    if not isinstance(error, BrokenPipeError):
        _flush_or_discard_stdout()
        return _complain(str(error), MinicrawlError.exit_code)
    if not _has_lost_its_reader():
        raise error
    _discard_stdout()
    return 0


def _run(arguments: Sequence[str]) -> int:
    if COMPLETION_VARIABLE in os.environ:
        root.main(prog_name=PROGRAM)
    # click's own main would handle an interrupt and a closed pipe in its own way.
    try:
        with root.make_context(PROGRAM, list(arguments)) as context:
            root.invoke(context)
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    finally:
        sys.stdout.flush()
    return 0


def _complain(message: str, exit_code: int) -> int:
    """Print the message as one line. It may quote a page, so control characters are escaped."""
    click.echo(f"{PROGRAM}: {visible(' '.join(message.split()))}", err=True)
    return exit_code


def _has_lost_its_reader() -> bool:
    """Whether stdout is the pipe that broke, and not a pipe or socket of our own."""
    poll = select.poll()
    poll.register(STDOUT, 0)
    return bool(poll.poll(0))


def _flush_or_discard_stdout() -> None:
    """Discard what cannot be written: at exit it would fail again."""
    try:
        sys.stdout.flush()
    except OSError:
        _discard_stdout()


def _discard_stdout() -> None:
    """Point stdout at /dev/null, because Python flushes it once more at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), STDOUT)
