"""Options of commands that work on a store: a store, pages in it, and times.

A store is opened to read it, to steer its crawl or to watch it; `--cluster` takes its place.
"""

import functools
import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from minicrawl.cli.companions import cluster_door
from minicrawl.cli.options import (
    CONFIG_VARIABLE,
    Command,
    loaded_from,
    warn_of_ignored,
    warn_of_unknown_variables,
)
from minicrawl.cli.output import wide_option
from minicrawl.cli.progress_bar import progress
from minicrawl.config import Loaded, Storing
from minicrawl.config.parts.storage import DEMO_STORE
from minicrawl.config.settings import DEFAULT
from minicrawl.config.table import BY_NAME
from minicrawl.config.values import quantities
from minicrawl.errors import MinicrawlError, StoreError, UsageError
from minicrawl.wording import counted

if TYPE_CHECKING:
    from minicrawl.report.snapshot import Snapshot

NeedsPages = Callable[[Mapping[str, Any]], bool]
"""True if a command with these parameters reads kept pages."""

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")

READ, STEER, WATCH = "read", "steer", "watch"


def store_option_for(
    purpose: str, *, of_cluster: bool = False, needs_pages: NeedsPages = lambda _given: False
) -> Callable[[Command], Command]:
    """Pass `store` to the command, from the strongest source of settings.

    `of_cluster` adds --cluster, which gathers the shards of a cluster into a store first, with
    their kept pages if the command `needs_pages`.
    """

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def with_store(store: Path | None, cluster: str | None = None, **options: Any) -> Any:
            warn_of_unknown_variables()
            chosen = os.environ.get(CONFIG_VARIABLE)
            given = {"store": store and str(store), "cluster": cluster}
            loaded = loaded_from(given, Path(chosen) if chosen else None)
            used = ("store", "cluster", "insecure") if of_cluster else ("store",)
            warn_of_ignored(loaded, map(BY_NAME.__getitem__, used))
            with ExitStack() as stack:
                if of_cluster and _is_of_cluster(given, loaded, options):
                    gathered = cluster_door().gathered(loaded.settings, pages=needs_pages(options))
                    read = stack.enter_context(gathered)
                else:
                    read = loaded.settings.storing.store
                    is_usual = loaded.origins["store"] == DEFAULT
                    if is_usual and not read.exists() and DEMO_STORE.exists():
                        read = DEMO_STORE
                if not options.get("graph"):
                    stack.enter_context(reporting_damaged_store(read))
                return command(store=read, **options)

        decorated: Command = click.option(
            "--store",
            metavar="FILE",
            type=click.Path(path_type=Path),
            help=f"The store to {purpose}.  [default: {Storing().store}, or {DEMO_STORE} if only "
            "that exists]",
        )(with_store)
        if not of_cluster:
            return decorated
        return click.option(
            "--cluster",
            metavar="URL",
            help="Read the crawl of this cluster instead of a store. Its shards are gathered "
            "first.",
        )(decorated)

    return decorate


def _is_of_cluster(given: Mapping[str, object], loaded: Loaded, more: Mapping[str, object]) -> bool:
    """Return whether the strongest source of settings that names an input names a cluster."""
    sources = {
        "--store": given["store"],
        "--graph": more.get("graph"),
        "FOLDER": more.get("folder"),
    }
    named = next((name for name, value in sources.items() if value), None)
    if given["cluster"] and named:
        raise click.UsageError(f"--cluster and {named} cannot be combined")
    if named or loaded.settings.cluster.url is None:
        return False
    return bool(given["cluster"]) or loaded.origins["store"] == DEFAULT


@contextmanager
def reporting_damaged_store(store: Path) -> Iterator[None]:
    """Turn an unexpected error into a `StoreError` if the store is damaged.

    A damaged value can make any code fail in any way, so the store is audited after such an error.
    Without damage, the error is a bug in minicrawl and is raised unchanged.
    """
    from minicrawl.store.disk.trouble import translating_sqlite_errors

    try:
        with translating_sqlite_errors(store):
            yield
    # These say what is wrong by themselves. Checking the store before each command would catch
    # damage earlier, but takes minutes in a large store.
    except (MinicrawlError, click.ClickException, click.Abort, click.exceptions.Exit, OSError):
        raise
    except Exception as error:
        from minicrawl.report.integrity.audit import audit  # deferred: most stores are whole

        try:
            wrong = audit(store).wrong if store.is_file() else []
        except MinicrawlError as trouble:
            wrong = [str(trouble)]
        if not wrong:
            raise
        text = f"{store} is damaged ({wrong[0]}): run `minicrawl check` for details"
        raise StoreError(text) from error


store_option = store_option_for(READ, of_cluster=True)
store_with_pages_option = store_option_for(READ, of_cluster=True, needs_pages=lambda _given: True)
own_store_option = store_option_for(READ)
"""Without --cluster, for commands that change files beside a store."""


def selection_options(count: int) -> Callable[[Command], Command]:
    """Pass `selection`, the pages to show, to the command."""

    def decorate(command: Command) -> Command:
        @count_option(count)
        @click.option("--host", metavar="NAME", help="Only pages of this host.")
        @click.option("--unread", is_flag=True, help="Only pages that have not been fetched.")
        @click.option("--fetched", is_flag=True, help="Only pages that have been fetched.")
        @functools.wraps(command)
        def with_selection(
            n: int, host: str | None, unread: bool, fetched: bool, **options: Any
        ) -> Any:
            if unread and fetched:
                raise click.UsageError("--unread and --fetched cannot be combined")
            from minicrawl.report.selected_pages import PageSelection

            selection = PageSelection(count=n, host=host, unread=unread, fetched=fetched)
            return command(selection=selection, **options)

        return with_selection

    return decorate


def count_option(count: int) -> Callable[[Command], Command]:
    """Pass `n`, the number of rows to show (0: all), and add --wide unless `count` is 0."""
    number = click.option(
        "-n",
        "--n",
        metavar="N",
        type=click.IntRange(min=0),
        default=count,
        help=f"At most N rows; 0 for all.  [default: {count or 'all'}]",
    )
    return (lambda command: number(wide_option(command))) if count else number


def refuse_without_near_duplicates(snapshot: "Snapshot") -> None:
    """Raise UsageError if there is no search index, which finds near-duplicates."""
    from minicrawl.store.reader import search_folder

    if not search_folder(snapshot.path).is_dir():
        raise UsageError(f"{snapshot.path} has no index: `minicrawl index` finds near-duplicates")


def warn_of_unranked_pages(snapshot: "Snapshot", names: Collection[str]) -> None:
    """Warn about ranks that are older than some pages."""
    from minicrawl.report.saved_ranks import saved_ranks

    for rank in saved_ranks(snapshot.path, snapshot.connection) if names else ():
        unranked = len(snapshot) - rank.nodes
        if rank.name in names and unranked:
            pages = counted(unranked, "page has", "pages have")
            click.echo(f"{pages} no score by {rank.name}: found after it was made", err=True)


def tell_of_importance(snapshot: "Snapshot", *, err: bool = False) -> None:
    """Print how exact and how old the importance is, unless the store is empty."""
    from minicrawl.report.saved_ranks import convergence_of, convergence_text

    if len(snapshot):
        click.echo(f"importance: {convergence_text(convergence_of(snapshot))}", err=err)


graph_option = click.option(
    "--graph",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
    help="Read this graph file instead of a store: links between IDs or names, plain or .gz; - "
    "for stdin.",
)


def source_options(command: Command) -> Command:
    """Pass an open `source`, the graph, to the command. click's `obj` has it as well."""

    @functools.wraps(command)
    def with_source(store: Path, graph: Path | None, **options: Any) -> Any:
        from minicrawl.report.graph.source import opened

        context = click.get_current_context()
        if graph and context.get_parameter_source("store") is ParameterSource.COMMANDLINE:
            raise click.UsageError("--store and --graph cannot be combined")
        with opened(store, graph, progress) as source:
            context.obj = source
            return command(source=source, **options)

    return graph_option(store_option(with_source))


def moment_or_age(text: str) -> float:
    """Return a time, or the time that was so long ago, in seconds since 1970."""
    from minicrawl.report.archived.page_versions import moment

    is_number = quantities.finite_number(text) is not None
    ago_s = None if is_number else quantities.seconds(text)
    if ago_s is not None:
        return time.time() - ago_s
    try:
        return moment(text)
    except UsageError as error:
        raise click.BadParameter(f"{error}, nor an age such as 7d") from None
