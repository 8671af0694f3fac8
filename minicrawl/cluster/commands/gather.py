"""`minicrawl cluster gather` and `reshard`, and the gathered store for commands of the core."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from hashlib import blake2b
from itertools import islice
from pathlib import Path

import click

from minicrawl.cli import PROGRAM
from minicrawl.cli.options import CommandWithSettings, settings_options
from minicrawl.cli.output import show_facts, show_json, warn
from minicrawl.cli.progress_bar import progress
from minicrawl.cli.store_options import json_option
from minicrawl.cluster.access import access_of, opened
from minicrawl.cluster.commands.nodes import with_engine
from minicrawl.cluster.gathering.gather import Gathered
from minicrawl.cluster.gathering.kept_store import gather_cluster, kept_store
from minicrawl.cluster.gathering.resharding import name_of_continuation, reshard as dealt_anew
from minicrawl.config import Settings
from minicrawl.opic.ledger.channels import MOST_SHARDS
from minicrawl.opic.ledger.money import UNIT
from minicrawl.own_files import scratch
from minicrawl.wording import counted

_DIGEST_BYTES = 8


@click.command(cls=CommandWithSettings)
@click.argument("file", type=click.Path(path_type=Path))
@json_option
@settings_options("cluster", "insecure", "dedupe-with")
def gather(file: Path, settings: Settings, as_json: bool) -> None:
    """Gather all shards of a crawl into one store, FILE.

    The shards are restored from the servers, without disturbing a node. All commands work on FILE,
    which has the pages of all shards, the cash in transit to them, and their kept responses. If
    cash is missing, FILE is not written, and the error says where. With --dedupe-with, web archives
    that are exported from FILE refer to the bodies of earlier ones.
    """
    with progress("gather") as report:
        earlier = settings.storing.dedupe_with
        made = with_engine(
            settings,
            lambda engine: gather_cluster(engine, file, report, earlier=earlier, emit=warn),
        )
    _warn_of_ages(made)
    if as_json:
        show_json(made)
    else:
        show_facts(_facts(made))


@click.command(cls=CommandWithSettings)
@click.option(
    "--shards",
    required=True,
    metavar="N",
    type=click.IntRange(2, MOST_SHARDS),
    help="New number of shards, a few per node; with --forget it may be the old one.",
)
@click.option(
    "--forget",
    "gone",
    metavar="URL",
    multiple=True,
    help="Take a URL down, as `minicrawl forget` does; with * at its end, all with this prefix. "
    "Repeatable.",
)
@json_option
@settings_options("cluster", "insecure")
def reshard(shards: int, gone: tuple[str, ...], settings: Settings, as_json: bool) -> None:
    """Give a stopped crawl another number of shards, or take pages of it down.

    This machine gathers the crawl and deals it out again, with all cash, links and kept responses;
    it needs twice the room of the gathered crawl. Until that is complete, the crawl keeps its
    shards. Nodes join the new ones by themselves when `minicrawl crawl --cluster URL` continues it.
    The logs and objects of the old shards are deleted.
    """

    async def run() -> Gathered:
        async with opened(access, makes=False) as engine:
            new = replace(access, name=name_of_continuation(engine))
            async with opened(new) as target:
                return await dealt_anew(engine, target, shards, folder, report, gone)

    access = access_of(settings)
    with scratch("reshard") as folder, progress("reshard") as report:
        made = asyncio.run(run())
    if as_json:
        show_json({"shards": shards, "pages": made.pages, "minted": made.minted})
    else:
        show_facts((("shards", f"{shards:,}"), *islice(_facts(made), 2, 4)))


@contextmanager
def store_of_cluster(settings: Settings, *, pages: bool) -> Iterator[Path]:
    """Yield a store of the whole cluster, with or (faster) without kept pages.

    The store exists until the context is left, even if a newer one is gathered meanwhile.
    """
    folder = folder_of(settings)
    with ExitStack() as reading:
        with progress("gather") as progress_part:
            store, made = with_engine(
                settings,
                lambda engine: kept_store(
                    engine, folder, progress_part, pages=pages, reading=reading
                ),
            )
        if made is not None:
            _warn_of_ages(made)
            read, shards = counted(made.pages, "page"), counted(made.shards, "shard")
            warn(f"gathered {read} of {shards} into {store}")
        yield store


def folder_of(settings: Settings) -> Path:
    usual = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    name = blake2b((settings.cluster.url or "").encode(), digest_size=_DIGEST_BYTES).hexdigest()
    return Path(usual) / PROGRAM / "clusters" / name


def _warn_of_ages(made: Gathered) -> None:
    if made.ahead:
        batches = counted(sum(shard.batches for shard in made.ahead), "batch", "batches")
        units = sum(shard.atoms for shard in made.ahead) / UNIT
        warn(
            f"the stores are from different moments: a newer one received {batches} with "
            f"{units:,.2f} units that an older one has not sent yet; the pot paid for them"
        )


def _facts(made: Gathered) -> Iterator[tuple[str, str]]:
    yield "store", str(made.store)
    yield "shards", f"{made.shards:,}"
    yield "pages", f"{made.pages:,}"
    yield "cash", f"{made.minted:,.2f} units, none missing"
    yield "waited in outboxes", f"{made.in_outboxes:,.2f} units"
    yield "was under way", f"{made.under_way:,.2f} units"
    if made.unheard:
        yield "unheard", f"{counted(made.unheard, 'page')} that their own shards did not know yet"
    if made.circles:
        yield "broken", f"{counted(made.circles, 'circle')} of pages that stand for each other"
