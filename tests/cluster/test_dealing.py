"""The store of a whole crawl is dealt out to shards: cash, pages, links and answers stay exact."""

from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings, strategies as st

from minicrawl.archive.reader import ArchiveReader, verify
from minicrawl.cluster.gathering.dealing import deal, parts_of
from minicrawl.opic.ledger.money import UNIT
from minicrawl.report.integrity.audit import audit
from minicrawl.report.snapshot import Snapshot, snapshot
from minicrawl.states import State
from minicrawl.store import tables
from minicrawl.store.reader import archive_folder
from minicrawl.store.records import HostRow, WrittenRow, check_of
from minicrawl.store.written_links import WrittenLinks
from minicrawl.web.urls import PICTURES
from tests.archive.archives import bodies, confirmed, failed, kept, written
from tests.cluster.crawl.crawling import statements_of
from tests.cluster.hand_shards import HandCluster, owner_of
from tests.cluster.shards.audit import missing
from tests.cluster.test_gathering import (
    HERE,
    MOMENT,
    PAGE,
    SHARDS,
    THERE,
    URLS,
    converged,
    crawl_both,
    gathered,
    links_of,
    pages_of,
    rows_of,
    turn,
)
from tests.stores import HandCrawl


def pasts_of(seen: Snapshot) -> dict[str, int]:
    """Return the history of each page, in atoms."""
    return {url: seen.frontier.window.past(page)[0] for url, page in pages_of(seen).items()}


def dealt_cluster(whole: Path, folder: Path, shards: int, stack: ExitStack) -> HandCluster:
    """Deal a store out, and let a cluster take over the shards."""
    folder.mkdir()
    stores = deal(whole, folder, shards)
    statements = statements_of(stores)
    with snapshot(whole) as before:
        assert sum(shard.minted for shard in statements) == before.frontier.ledger.minted
    assert missing(statements) == 0
    for shard, store in enumerate(stores):
        assert list(audit(store).wrong) == []
        home = folder / f"shard-{shard:02}"
        home.mkdir()
        store.rename(home / "crawl.db")
    return HandCluster(folder, shards, stack)


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(
    st.lists(PAGE, min_size=len(URLS), max_size=len(URLS)),
    st.lists(MOMENT, max_size=40),
    st.integers(2, 7),
)
def test_shards_dealt_anew_have_the_cash_pages_and_links_of_the_crawl_and_continue_it(
    web: list[tuple[str, list[int]]], course: list[str], shards: int
) -> None:
    with TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        hand = HandCluster(folder, SHARDS, stack)
        alone = stack.enter_context(closing(HandCrawl(folder / "alone.db")))
        crawl_both(hand, alone, web, course)
        with gathered(hand) as (_, before):
            again = dealt_cluster(before.path, folder / "again", shards, stack)
            with gathered(again) as (_, after):
                was, now = before.frontier.ledger.totals, after.frontier.ledger.totals
                assert (now.minted, now.pot, now.recorded) == (was.minted, was.pot, was.recorded)
                assert rows_of(after) == rows_of(before)
                assert links_of(after) == links_of(before)
                assert pasts_of(after) == pasts_of(before)
                assert converged(after) == pytest.approx(converged(before), abs=1e-6)
            again.folder = folder / "later"
            unread = {url for url, (state, _) in rows_of(before).items() if state == State.UNREAD}
            for place, url in enumerate(URLS):
                if url in unread:
                    turn(again.of(url), place, *web[place])
            again.settle()
            with gathered(again) as (_, later):
                assert later.frontier.ledger.missing() == 0
                assert later.frontier.ledger.minted == now.minted + UNIT * (
                    len(later) - len(before)
                )


@given(st.integers(-(10**30), 10**30), st.lists(st.integers(0, 10**9), min_size=1))
def test_parts_add_up_to_the_whole_and_differ_from_their_shares_by_less_than_one(
    total: int, weights: Sequence[int]
) -> None:
    weights = [*weights, 1]
    parts, whole = parts_of(total, weights), sum(weights)
    assert sum(parts) == total
    for part, weight in zip(parts, weights, strict=True):
        assert abs(part * whole - total * weight) < whole


def test_all_that_a_store_says_of_a_page_goes_with_it(tmp_path: Path) -> None:
    with ExitStack() as stack:
        alone = stack.enter_context(closing(HandCrawl(tmp_path / "alone.db")))
        alone.seeds([HERE, THERE], 8)
        page = alone.read(HERE, [THERE, HERE + "a"], title="Here")
        alone.read(THERE, [HERE], title="There")
        alone.batch.steps[-1] = alone.batch.steps[-1]._replace(value=700)
        alone.moved(HERE + "a", THERE)
        links = alone.frontier.spendings.of(page).links
        entries = b"\x1e".join(f"\x1f{link}".encode() for link in links)
        alone.batch.written.append(WrittenRow(page, check_of(links), entries))
        host = alone.frontier.urls.host_of[page]
        alone.batch.hosts.append(HostRow(host, HERE[:-1], "allow all", 5.0, None, "slow"))
        alone.batch.originals.append((page, f"{HERE}?sid=1"))
        alone.commit()
        stores = deal(alone.path, tmp_path, SHARDS)
        with snapshot(stores[owner_of(HERE, SHARDS)]) as here:
            pages, connection = pages_of(here), here.connection
            assert rows_of(here) == {
                HERE: (State.FETCHED, 0),
                HERE + "a": (State.MOVED, 1),
                THERE: (State.FOREIGN, 2),
            }
            assert [row.title for row in tables.all_documents(connection)] == ["Here"]
            assert tables.fetches_known(connection) == 2
            assert tables.original(connection, pages[HERE]) == f"{HERE}?sid=1"
            assert {row.robots for row in tables.hosts(connection)} == {"allow all", None}
            own = here.frontier.spendings.of(pages[HERE]).links
            assert len(WrittenLinks(connection).of(pages[HERE], own) or b"") == len(entries)
            assert here.frontier.ledger.endowed == {pages[HERE]: 4 * UNIT}
        with snapshot(stores[owner_of(THERE, SHARDS)]) as there:
            assert tables.values_of(there.connection, range(len(there))) == {0: 700}


def test_answers_go_with_their_pages_and_shared_bodies_to_each(tmp_path: Path) -> None:
    with closing(HandCrawl(tmp_path / "alone.db")) as alone:
        alone.seeds([HERE, THERE])
        end = written(
            archive_folder(alone.path),
            [kept(HERE, b"the same", 1.0), kept(THERE, b"the same", 2.0)],
            [confirmed(THERE, 3.0), failed(HERE + "a", b"gone", 4.0)],
            [kept(f"{PICTURES[0]}{HERE}", b"picture", 5.0)],
        )
        alone.batch.counters[tables.ARCHIVE_END] = end
        alone.commit()
    stores = deal(alone.path, tmp_path, SHARDS)
    answers = {}
    for shard, store in enumerate(stores):
        with snapshot(store) as seen:
            ended = tables.archive_end(seen.connection)
        with closing(ArchiveReader(archive_folder(store), ended)) as reader:
            assert list(verify(reader)) == []
            answers[shard] = bodies(reader)
    assert answers == {shard: {} for shard in range(SHARDS)} | {
        owner_of(HERE, SHARDS): {
            HERE: [b"the same"],
            HERE + "a": [b"gone"],
            f"{PICTURES[0]}{HERE}": [b"picture"],
        },
        owner_of(THERE, SHARDS): {THERE: [b"the same", b"the same"]},
    }
