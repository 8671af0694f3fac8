"""Which store a command reads, and which of its pages.

Which graph a command analyses: that of a store, or that of a file.
"""

import functools
import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from minicrawl.analysis.source import opened
from minicrawl.cli.common.options import CONFIG_VARIABLE, default_file
from minicrawl.cli.common.progress import progress
from minicrawl.config import load
from minicrawl.errors import MinicrawlError, StoreError
from minicrawl.report.audit import audit
from minicrawl.report.kept import kept
from minicrawl.report.ranks import Choice
from minicrawl.report.snapshot import Snapshot
from minicrawl.store.trouble import translating_sqlite_errors

Command = Callable[..., Any]

json_option = click.option("--json", "as_json", is_flag=True, help="The same for programs.")


def store_option_for(purpose: str) -> Callable[[Command], Command]:
    """Hands the command `store`: what the flag, the environment, minicrawl.toml or nobody says."""

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def with_store(store: Path | None, **rest: Any) -> Any:
            chosen = os.environ.get(CONFIG_VARIABLE)
            file = Path(chosen) if chosen else default_file()
            settings = load({"store": store and str(store)}, os.environ, file).settings
            read = settings.storing.store
            with nullcontext() if rest.get("graph") else blamed(read):
                return command(store=read, **rest)

        return click.option(
            "--store",
            metavar="FILE",
            type=click.Path(path_type=Path),
            help=f"The store to {purpose}.  [default: data/crawl.db]",
        )(with_store)

    return decorate


@contextmanager
def blamed(store: Path) -> Iterator[None]:
    """What fails inside is the fault of the store if that is damaged, and our own mistake if not.

    Nobody can foresee what a damaged value does to those who rely on it: it is looked for then.
    """
    try:
        with translating_sqlite_errors(store):
            yield
    except (MinicrawlError, click.ClickException, click.Abort, click.exceptions.Exit, OSError):
        raise
    except Exception as error:
        if wrong := _first_wrong(store):
            raise StoreError(
                f"{store} is damaged ({wrong}): `minicrawl check` says what is wrong"
            ) from error
        raise


def _first_wrong(store: Path) -> str | None:
    try:
        return next(iter(audit(store).wrong), None) if store.is_file() else None
    except MinicrawlError as error:
        return str(error)


store_option = store_option_for("read")


def choice_options(count: int) -> Callable[[Command], Command]:
    """Hands the command `choice`: which pages are asked for."""

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def with_choice(n: int, host: str | None, unread: bool, fetched: bool, **rest: Any) -> Any:
            if unread and fetched:
                raise click.UsageError("--unread and --fetched leave no page: choose one of them")
            return command(
                choice=Choice(count=n, host=host, unread=unread, fetched=fetched), **rest
            )

        decorated: Command = with_choice
        for option in reversed(
            (
                count_option(count),
                click.option("--host", metavar="NAME", help="Only pages of this host."),
                click.option("--unread", is_flag=True, help="Only pages that wait to be read."),
                click.option("--fetched", is_flag=True, help="Only pages that were read."),
            )
        ):
            decorated = option(decorated)
        return decorated

    return decorate


def count_option(count: int) -> Callable[[Command], Command]:
    """How many, 0 for all."""
    return click.option(
        "--n",
        type=click.IntRange(min=0),
        default=count,
        help=f"How many; 0 for all.  [default: {count or 'all'}]",
    )


def say_what_is_unranked(seen: Snapshot, names: Collection[str]) -> None:
    """Of these ranks those that do not know all pages."""
    for rank in kept(seen.path, seen.connection) if names else ():
        if rank.row.name in names and rank.unranked:
            click.echo(
                f"{rank.row.name} was made before {rank.unranked:,} of the pages became known: "
                "these have no score",
                err=True,
            )


def percent(share: float) -> str:
    """A share as people read it."""
    return f"{100 * share:.4f} %"


def units(amount: float) -> str:
    """An amount of cash."""
    return f"{amount:,.2f}"


graph_option = click.option(
    "--graph",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
    help="A graph file instead: links of ids or names, plain or .gz; - for stdin.",
)


def source_options(command: Command) -> Command:
    """Hands the command `source`, open until it ends; whatever it calls finds it as click's obj."""

    @functools.wraps(command)
    def with_source(store: Path, graph: Path | None, **rest: Any) -> Any:
        context = click.get_current_context()
        if graph and context.get_parameter_source("store") is ParameterSource.COMMANDLINE:
            raise click.UsageError("--store and --graph name two graphs: leave out one of them")
        with opened(store, graph, progress) as source:
            context.obj = source
            return command(source=source, **rest)

    return graph_option(store_option(with_source))
