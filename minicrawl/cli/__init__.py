"""The command line: parse, call, render. No logic, and the only part that prints.

The law of `main`: expected trouble is one line on stderr, `minicrawl: <what>`, and an exit
code; only a mistake in our own code shows a traceback.

    0    done, or the reader of stdout has gone (`minicrawl ... | head`)
    1    an error
    2    a value or a setting that cannot be used
    3    nothing could be fetched, or too much failed
    130  interrupted, by Ctrl-C or SIGTERM: what was begun is put away first
"""

import atexit
import gc
import os
import select
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click

from minicrawl.cli.common.lazy import DeferredCommand, LazyGroup
from minicrawl.errors import MinicrawlError
from minicrawl.export.cells import visible
from minicrawl.version import __version__

PROGRAM = "minicrawl"
COMPLETION_VARIABLE = "_MINICRAWL_COMPLETE"
STDOUT = 1
USAGE = 2
INTERRUPTED = 130

# name -> where the command is and the line that `minicrawl --help` shows for it.
COMMANDS = {
    "crawl": ("minicrawl.cli.crawl.command:crawl", "Crawl the web, the pages that matter first."),
    "config": ("minicrawl.cli.config:config", "Show the settings and where they come from."),
    "lab": ("minicrawl.cli.lab:lab", "Run the experiments that show how the algorithm behaves."),
    "refine": ("minicrawl.cli.rank.refine:refine", "Replay until the ranks have converged."),
    "rank": ("minicrawl.cli.rank:rank", "Rank pages by the links of the whole graph."),
    "seed-set": (
        "minicrawl.cli.seed_set.command:seed_set",
        "Print seeds, one from each community.",
    ),
    "graph": ("minicrawl.cli.graph:graph", "Look at the link graph, or make a store of a file."),
    "top": ("minicrawl.cli.reports.top:top", "Show the pages that matter most."),
    "export": (
        "minicrawl.cli.reports.export:export",
        "Write the pages with their ranks to a file.",
    ),
    "compare": ("minicrawl.cli.rank.compare:compare", "Show how far two ranks agree."),
    "stability": (
        "minicrawl.cli.rank.stability:stability",
        "Show how a rank bears a loss of pages.",
    ),
    "agree": ("minicrawl.cli.rank.agree:agree", "Show how far a rank agrees with people's grades."),
    "status": ("minicrawl.cli.reports.status:status", "Show how far the crawl has come."),
    "check": ("minicrawl.cli.reports.check:check", "Prove that the store is whole."),
    "explain": ("minicrawl.cli.reports.explain:explain", "Explain why a page is where it is."),
    "backlinks": ("minicrawl.cli.reports.links:backlinks", "Show who links to a page."),
    "links": ("minicrawl.cli.reports.links:links", "Show where a page links to."),
    "errors": ("minicrawl.cli.reports.errors:errors", "Show what failed, and why."),
    "frontier": ("minicrawl.cli.reports.frontier:frontier", "Show what would be read next."),
}


@click.group(
    cls=LazyGroup,
    commands=[
        DeferredCommand(name, target=target, summary=summary)
        for name, (target, summary) in COMMANDS.items()
    ],
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, message=f"{PROGRAM} %(version)s")
def root() -> None:
    """Crawl the web from a few seeds, the pages that matter first."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and answer with its exit code."""
    # Nothing here multiplies matrices, for which numpy would start a thread a core.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # What is left in the end goes with the process: it is not searched for cycles first.
    atexit.register(gc.freeze)
    try:
        with _terminated_as_by_ctrl_c():
            return _run(sys.argv[1:] if arguments is None else arguments)
    except click.exceptions.NoArgsIsHelpError as question:
        click.echo(question.format_message(), err=True)
        return USAGE
    except click.ClickException as error:
        return _complain(error.format_message(), error.exit_code)
    except MinicrawlError as error:
        return _complain(str(error), error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        return _complain("interrupted", INTERRUPTED)
    except OSError as error:
        return _answer_to_the_system(error)


@contextmanager
def _terminated_as_by_ctrl_c() -> Iterator[None]:
    former = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)


def _answer_to_the_system(error: OSError) -> int:
    """A reader that left is no error; a full disk is one; a broken socket is our own mistake."""
    if not isinstance(error, BrokenPipeError):
        _flush_or_give_up_stdout()
        return _complain(str(error), MinicrawlError.exit_code)
    if not _reader_has_gone():
        raise error
    _give_up_stdout()
    return 0


def _run(arguments: Sequence[str]) -> int:
    if COMPLETION_VARIABLE in os.environ:
        root.main(prog_name=PROGRAM)
    # Not click's own main here: it would answer an interrupt and a closed pipe in its own way.
    try:
        with root.make_context(PROGRAM, list(arguments)) as context:
            root.invoke(context)
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    finally:
        sys.stdout.flush()
    return 0


def _complain(message: str, exit_code: int) -> int:
    """In one line. It quotes what the user, a file or a page gave: that steers no terminal."""
    click.echo(f"{PROGRAM}: {visible(' '.join(message.split()))}", err=True)
    return exit_code


def _reader_has_gone() -> bool:
    """Whether it was stdout that broke, and not a pipe or socket of our own."""
    poll = select.poll()
    poll.register(STDOUT, 0)
    return bool(poll.poll(0))


def _flush_or_give_up_stdout() -> None:
    """What cannot be written now could not be written on the way out either."""
    try:
        sys.stdout.flush()
    except OSError:
        _give_up_stdout()


def _give_up_stdout() -> None:
    """Point stdout at nothing: Python flushes it once more on the way out."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), STDOUT)
