"""The stores of the shards of one crawl, open for reading.

Law: all shards are there, each once, and all were begun on the same terms.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from minicrawl.errors import UsageError
from minicrawl.store import tables
from minicrawl.store.reader import reading
from minicrawl.store.records import StoreTerms
from minicrawl.store.trouble import reporting_damage
from minicrawl.wording import counted

_NAMED = 10


class ShardStore(NamedTuple):
    """The store of a shard, as it was when it was opened."""

    path: Path
    connection: tables.Connection
    terms: StoreTerms

    @property
    def number(self) -> int:
        """Of the shard."""
        return self.terms.shard


@contextmanager
def opened(paths: Sequence[Path], absent: Collection[int] = ()) -> Iterator[list[ShardStore]]:
    """The stores by the numbers of their shards. Those that are `absent` have not begun yet."""
    with ExitStack() as stack:
        stores = [_opened(path, stack) for path in paths]
        _refuse_others(stores)
        _refuse_some(stores, absent)
        yield sorted(stores, key=lambda store: store.number)


def terms_of_all(stores: Sequence[ShardStore]) -> StoreTerms:
    """The terms of the crawl, as one machine would have them."""
    return _as_one(stores[0].terms)


def _opened(path: Path, stack: ExitStack) -> ShardStore:
    connection = stack.enter_context(reading(path))
    with reporting_damage(path):
        terms = tables.terms(connection)
    if terms is None or terms.shards == 1:
        raise UsageError(f"{path} is the store of a whole crawl, and not of a shard")
    return ShardStore(path, connection, terms)


def _refuse_others(stores: Sequence[ShardStore]) -> None:
    if not stores:
        raise UsageError("no stores of shards to gather")
    first, known = stores[0], dict[int, ShardStore]()
    for store in stores:
        if (other := known.setdefault(store.number, store)) is not store:
            raise UsageError(f"{other.path} and {store.path} are both shard {store.number}")
        if store.terms.shards != first.terms.shards:
            raise UsageError(
                f"{first.path} is one of {first.terms.shards} shards, "
                f"{store.path} one of {store.terms.shards}: they are of different crawls"
            )
        if _as_one(store.terms) != _as_one(first.terms):
            raise UsageError(
                f"{first.path} and {store.path} were started on different terms: "
                "they are of different crawls"
            )


def _refuse_some(stores: Sequence[ShardStore], absent: Collection[int]) -> None:
    shards, known = stores[0].terms.shards, {store.number for store in stores}
    if missing := sorted(set(range(shards)) - known - set(absent)):
        named = ", ".join(map(str, missing[:_NAMED])) + (", ..." if missing[_NAMED:] else "")
        raise UsageError(
            f"{counted(len(missing), 'shard')} of {shards} missing: {named}; "
            "name the stores of all shards"
        )


def _as_one(terms: StoreTerms) -> StoreTerms:
    return replace(terms, shard=0, shards=1)
