"""Which store a command reads, and which of its pages."""

import functools
import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import click

from minicrawl.cli.options import CONFIG_VARIABLE, USUAL_FILE
from minicrawl.config import load
from minicrawl.report.kept import kept
from minicrawl.report.ranks import Choice
from minicrawl.report.snapshot import Snapshot

Command = Callable[..., Any]

json_option = click.option("--json", "as_json", is_flag=True, help="The same for programs.")


def store_option_for(purpose: str) -> Callable[[Command], Command]:
    """Hands the command `store`: what the flag, the environment, minicrawl.toml or nobody says."""

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def with_store(store: Path | None, **rest: Any) -> Any:
            chosen = os.environ.get(CONFIG_VARIABLE)
            usual = Path(chosen) if chosen else USUAL_FILE if USUAL_FILE.exists() else None
            settings = load({"store": store and str(store)}, os.environ, usual).settings
            return command(store=settings.storing.store, **rest)

        return click.option(
            "--store",
            metavar="FILE",
            type=click.Path(path_type=Path),
            help=f"The store to {purpose}.  [default: data/crawl.db]",
        )(with_store)

    return decorate


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
