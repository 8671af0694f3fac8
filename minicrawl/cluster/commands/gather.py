"""`minicrawl cluster gather`, and the gathered store that reports with --cluster read."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import click

from minicrawl.cli import PROGRAM
from minicrawl.cli.input_options import json_option, progress
from minicrawl.cli.output import show_facts, show_json
from minicrawl.cli.setting_options import CommandWithSettings, settings_options
from minicrawl.cluster.commands.nodes import with_engine
from minicrawl.config import Cluster, Settings
from minicrawl.errors import UsageError
from minicrawl.export.cells import visible
from minicrawl.opic.money import UNIT
from minicrawl.wording import counted

if TYPE_CHECKING:
    from minicrawl.cluster.gather.gathering import Gathered

_DIGEST_BYTES = 8


@click.command(cls=CommandWithSettings)
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("stores", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@json_option
@settings_options("cluster")
def gather(file: Path, stores: tuple[Path, ...], settings: Settings, as_json: bool) -> None:
    """Gather all shards of a crawl into one store, FILE.

    With --cluster, the shards are restored from the servers, without disturbing a node; otherwise,
    name the files of all shards as STORES. All commands work on FILE, which has the pages of all
    shards, the cash in transit to them, and their kept responses. If cash is missing, FILE is not
    written, and the error says where.
    """
    with progress("gather") as tell:
        if stores:
            from minicrawl.cluster.gather.gathering import gather_stores

            made = gather_stores(stores, file, tell)
        else:
            from minicrawl.cluster.gather.gathering import gather_cluster

            made = with_engine(settings.cluster, lambda engine: gather_cluster(engine, file, tell))
    _tell_of_age(made)
    if as_json:
        show_json(made.as_json())
    else:
        show_facts(_facts(made))


@contextmanager
def store_of_cluster(cluster: Cluster, *, pages: bool) -> Iterator[Path]:
    """Yield a store of the whole cluster, with or (faster) without kept pages.

    It exists until the context is left, even if a newer one is gathered meanwhile.
    """
    from minicrawl.cluster.gather.gathering import kept_store

    folder = folder_of(cluster)
    with ExitStack() as reading:
        with progress("gather") as tell:
            found = with_engine(
                cluster,
                lambda engine: kept_store(engine, folder, tell, pages=pages, reading=reading),
            )
        if (made := found.made) is not None:
            _tell_of_age(made)
            read, shards = counted(made.pages, "page"), counted(made.shards, "shard")
            _say(f"gathered {read} of {shards} into {found.store}")
        yield found.store


def folder_of(cluster: Cluster) -> Path:
    """Return the folder of this cluster in the user's cache."""
    if cluster.url is None:
        raise UsageError("which cluster? --cluster nats://host:4222 names its servers")
    usual = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    name = blake2b(cluster.url.encode(), digest_size=_DIGEST_BYTES).hexdigest()
    return Path(usual) / PROGRAM / "clusters" / name


def _tell_of_age(made: "Gathered") -> None:
    """Warn that some stores are older than others."""
    if made.ahead:
        batches = counted(sum(one.batches for one in made.ahead), "batch", "batches")
        units = sum(one.atoms for one in made.ahead) / UNIT
        _say(
            f"the stores are of different moments: {batches} with {units:,.2f} units came to a "
            "younger one, and an older one has not sent them yet; so much was taken from the pot"
        )


def _say(line: str) -> None:
    click.echo(f"{PROGRAM}: {visible(line)}", err=True)


def _facts(made: "Gathered") -> Iterator[tuple[str, str]]:
    yield "store", str(made.store)
    yield "shards", f"{made.shards:,}"
    yield "pages", f"{made.pages:,}"
    yield "cash", f"{made.minted:,.2f} units, none missing"
    yield "waited in outboxes", f"{made.in_outboxes:,.2f} units"
    yield "was under way", f"{made.under_way:,.2f} units"
    if made.unheard:
        yield "unheard", f"{counted(made.unheard, 'page')} that no shard had heard of yet"
    if made.circles:
        yield "broken", f"{counted(made.circles, 'circle')} of pages that stand for each other"
