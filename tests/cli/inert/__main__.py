"""Walk the options of all commands in pairs: `python -m tests.cli.inert [COMMAND...]`.

It prints the pairs in which one option takes the effect of another one, and exits with 1 if there
are any. All commands take a quarter of an hour.
"""

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from tests.cli.inert.data import (
    GRAPHS,
    MAY_STAY_BESIDE,
    STORES,
    WALKED,
    Made,
    frozen,
    make_files,
    make_store,
    store_walks_of,
    walk_of,
)
from tests.cli.inert.walk import Inert, Walk


def graph_pairs(command: str, folder: Path) -> Iterator[Inert]:
    """Yield the inert pairs of a command that reads a graph, without the exceptions."""
    return _pairs((walk_of(command, graph) for graph in GRAPHS), folder)


def store_pairs(command: str, store: Made) -> Iterator[Inert]:
    """Yield the inert pairs of a command that reads the store, without the exceptions."""
    with frozen(store):
        yield from _pairs(store_walks_of(command, store), store.folder)


def _pairs(walks: Iterable[Walk], folder: Path) -> Iterator[Inert]:
    for walk in walks:
        for found in walk.in_pairs(folder):
            places = (found.command, f"{found.command} {found.input}")
            if all((one, found.beside, found.option) not in MAY_STAY_BESIDE for one in places):
                yield found


def main() -> int:
    """Walk the named commands, or all."""
    os.environ["MINICRAWL_STORE"] = "none.db"
    wrong, named = 0, sys.argv[1:]
    with TemporaryDirectory() as name:
        graphs, stores = Path(name, "graphs"), Path(name, "stores")
        graphs.mkdir()
        stores.mkdir()
        make_files(graphs)
        store = make_store(stores)
        for command in named or (*WALKED, *STORES):
            pairs = (
                graph_pairs(command, graphs) if command in WALKED else store_pairs(command, store)
            )
            for found in pairs:
                line = f"{found.command} of {found.input}: {found.option} beside {found.beside}"
                click.echo(line)
                wrong += 1
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
