"""Deals the store of a whole crawl out to shards, the inverse of `gather`.

Each shard gets the pages of its sites, and a foreign page for each page of others to which theirs
lead. All owners know their pages, so nothing is under way, and no channel has a batch yet.

Example, in units: two shards get the store of `gathering`'s example, whose pot has 0.5.

                         whole store          shard 0              shard 1
      /a, read           0.6                  0.6
      /b, unread         1.9                  a foreign page: 0    1.9
      pot                0.5                  0                    0.5
      minted             3                    0.6                  2.4

Laws: what all shards hold is what the whole store holds, to the atom. Each shard counts as minted
what it holds, so that a circulation takes as long as in the others. The pot is divided by unread
pages, as levelling does. Gathering the shards gives the pages, links, histories and kept answers of
the whole store. A shard without pages has a store as well, which knows what was taken down.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate, pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from minicrawl.archive.reader import ArchiveReader
from minicrawl.archive.record import RecordKind, pack_again, repacked
from minicrawl.archive.segments import FIRST
from minicrawl.archive.writer import ArchiveWriter
from minicrawl.cluster.gathering.common_pages import UNKNOWN, Hosts, Numbers, owner_of
from minicrawl.cluster.gathering.gather import write_pages
from minicrawl.cluster.gathering.ledger import LedgerTable, retimed, retimed_measures
from minicrawl.cluster.gathering.rows import OF_ALL, SUMMED, blocks, write_urls
from minicrawl.cluster.gathering.shard_stores import LoadedShard, ShardStore, Small
from minicrawl.cluster.gathering.steps import write_log
from minicrawl.crawl.start.opening import FIRST_SEEDS
from minicrawl.errors import Damaged
from minicrawl.model import KeptAnswer
from minicrawl.opic.ledger.channels import Channels
from minicrawl.opic.ledger.ledger import Totals
from minicrawl.ports import Progress, unreported
from minicrawl.states import State
from minicrawl.store import page_columns, step_log, tables
from minicrawl.store.disk.trouble import reporting_damage
from minicrawl.store.merging import drafting_store
from minicrawl.store.reader import archive_folder, reading
from minicrawl.store.records import Batch, HostRow, StoreTerms
from minicrawl.store.stored_links import unpack, unpack_plain
from minicrawl.store.writer import StoreWriter
from minicrawl.web.urls import origin, pictured

_ANSWERS_AT_ONCE = 500
_SAME = (*OF_ALL, FIRST_SEEDS, "running_s")
"""Counters that each shard has as the whole."""


def deal(path: Path, folder: Path, shards: int, progress: Progress = unreported) -> list[Path]:
    """Write the stores of all shards, and their archives. Return the stores."""
    with reading(path) as connection, reporting_damage(path):
        terms = tables.terms(connection) or StoreTerms()
        whole = LoadedShard(ShardStore(path, connection, terms), Hosts(), 0)
        hosts = list(tables.hosts(connection))
        owner_of_host = np.array([owner_of(row.origin, shards) for row in hosts])
        host_of = page_columns.whole(connection, "urls", "host")
        owner_of_page = owner_of_host[host_of]

        def counts(chosen: NDArray[np.bool_]) -> list[int]:
            """Return how many of the chosen pages each shard has."""
            pages: list[int] = np.bincount(owner_of_page[chosen], minlength=shards).tolist()
            return pages

        pages = counts(np.ones(len(host_of), dtype=np.bool_))
        unread = counts(whole.state == State.UNREAD)
        turns = [here - waiting for here, waiting in zip(pages, unread, strict=True)]
        pots = parts_of(whole.totals.pot, unread if any(unread) else pages)
        remainders = parts_of(whole.totals.virtual, pages)
        clocks = parts_of(whole.totals.recorded, pages)
        known = tables.counters(connection)
        sums = {
            name: parts_of(number, turns if any(turns) else pages)
            for name in SUMMED
            if isinstance(number := known.get(name), int)
        }
        stores = [folder / f"shard-{shard}.db" for shard in range(shards)]
        for shard, store in enumerate(stores):
            dealt = DealtShard(whole, owner_of_page == shard, host_of)
            totals = whole.totals._replace(
                recorded=clocks[shard], pot=pots[shard], virtual=remainders[shard]
            )
            table = _DealtPages(whole, dealt, totals)
            counters = {name: known[name] for name in _SAME if name in known}
            counters |= {name: parts[shard] for name, parts in sums.items()}
            if (end := tables.archive_end(connection)) is not None:
                counters[tables.ARCHIVE_END] = _deal_answers(path, end, store, shard, shards)
            with closing(StoreWriter.open(store)) as out, drafting_store(out):
                out.agree(replace(terms, shard=shard, shards=shards))
                rows = (
                    row if owner_of_host[row.id] == shard else HostRow(row.id, row.origin)
                    for row in hosts
                    if dealt.hosts[row.id] != UNKNOWN
                )
                out.commit(Batch(hosts=[row._replace(id=dealt.hosts[row.id]) for row in rows]))
                for _ in write_urls(dealt, dealt.is_own | dealt.is_foreign, out):
                    pass
                log = write_log(out, [dealt], 0, table, (), unreported)
                write_pages(out, [dealt], table, log, counters, Channels().as_rows())
            progress((shard + 1) / shards)
        return stores


def parts_of(total: int, weights: Sequence[int]) -> list[int]:
    """Divide a whole number in proportion to the weights, which are not all 0."""
    sums = list(accumulate(weights, initial=0))
    return [end - begin for begin, end in pairwise(total * upto // sums[-1] for upto in sums)]


def _deal_answers(whole: Path, end: int, store: Path, shard: int, shards: int) -> int:
    """Write the archive of a shard. A revisit whose original goes elsewhere gets the body."""
    owner = lru_cache(1 << 16)(lambda name: owner_of(name, shards))
    with (
        closing(ArchiveReader(archive_folder(whole), end)) as archive,
        closing(ArchiveWriter(archive_folder(store), FIRST)) as out,
    ):
        codec = out.reader.codec

        def answers() -> Iterator[KeptAnswer]:
            for row, head in archive.heads():
                if owner(origin(pictured(head.url))) != shard:
                    continue
                with suppress(Damaged):  # a record that is damaged already is not copied
                    if row.kind == RecordKind.REVISIT:
                        record = pack_again(archive.answer(row.place), codec, out.dictionary)
                    else:
                        plain = repacked(archive.segments.read(row.place), 0, archive.codec)
                        record = repacked(plain, out.dictionary, codec)
                    yield KeptAnswer(record, row.at)

        for block in blocks(answers(), _ANSWERS_AT_ONCE):
            out.append(block)
            out.confirm()
        return out.end


class DealtShard:
    """The pages of a whole store that one shard gets; a `PageSource`.

    Own pages are numbered first, then foreign ones.
    """

    def __init__(self, whole: LoadedShard, is_own: NDArray[np.bool_], host_of: Numbers) -> None:
        self.store, self.is_own = whole.store, is_own
        self.state, self.spent = whole.state[is_own], whole.spent[is_own]
        # Links to each page from own pages, paid or not.
        spent = np.where(is_own, whole.spent, 0)
        self.inlinks: Small = np.zeros(len(spent), dtype=np.uint32)
        unpaid = np.zeros(len(spent), dtype=np.bool_)
        for block in step_log.spendings(self.store.connection):
            plain, custom = block.only(spent[block.pages] == block.seqs).split()
            if plain.blobs:
                np.add.at(self.inlinks, unpack_plain(plain.blobs)[1], 1)
            for spending in map(unpack, custom.blobs):
                np.add.at(self.inlinks, np.asarray(spending.links, dtype=np.int64), 1)
                unpaid[list(spending.unpaid)] = True
        self.is_foreign = (unpaid | (self.inlinks > 0)) & ~is_own
        self.own = range(int(np.count_nonzero(is_own)))
        self.ids = np.concatenate([np.flatnonzero(is_own), np.flatnonzero(self.is_foreign)])
        """Page of the whole store for each page of the shard."""
        self.pages: Small = np.zeros(len(is_own), dtype=np.uint32)
        self.pages[self.ids] = np.arange(len(self.ids), dtype=np.uint32)
        hosts = np.unique(host_of[self.ids])
        numbers = np.full(int(host_of.max(initial=0)) + 1, UNKNOWN)
        numbers[hosts] = np.arange(len(hosts))
        self.hosts: list[int] = numbers.tolist()


class _DealtPages(LedgerTable):
    """The ledger of one shard, without cash on foreign pages."""

    def __init__(self, whole: LoadedShard, dealt: DealtShard, totals: Totals) -> None:
        """`totals` has the shard's clock and the cash of its virtual page."""
        foreign = len(dealt.ids) - len(dealt.own)
        nothing = np.zeros(foreign, dtype=np.int64)
        super().__init__(
            np.append(dealt.state, np.full(foreign, State.FOREIGN, dtype=np.uint8)),
            np.append(whole.key[dealt.is_own], nothing),
            totals._replace(minted=0, abroad=0),
        )
        ledger = self.ledger
        ledger.minted = -ledger.missing()
        self.history = np.append(whole.history[dealt.is_own], nothing)
        self.inlinks, self.spent = dealt.inlinks[dealt.ids], np.zeros(len(dealt.ids), np.uint32)
        before, now = whole.totals, ledger.totals
        times = retimed(whole.g_time[dealt.is_own], before, now)
        self.g_time = np.append(times, np.full(foreign, ledger.now))
        self.measures = {
            int(dealt.pages[page]): retimed_measures(packed, whole.store.terms, before, now)
            for page, packed in whole.measures.items()
            if dealt.is_own[page]
        }
