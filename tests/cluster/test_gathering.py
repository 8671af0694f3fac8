"""The stores of all shards are gathered into one store, on which every command works."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from minicrawl import State
from minicrawl.cluster.gathering.gather import Gathered, gather
from minicrawl.errors import StoreError
from minicrawl.frontier.importance import cash_flow
from minicrawl.opic.importance.cash_flow import Refinement
from minicrawl.opic.ledger.money import UNIT
from minicrawl.report.integrity.audit import audit
from minicrawl.report.snapshot import Snapshot, snapshot
from minicrawl.store import tables
from minicrawl.store.records import HostRow, StoreTerms, WrittenRow, check_of
from minicrawl.store.written_links import WrittenLinks
from tests.cluster.hand_shards import HandCluster, owner_of
from tests.stores import HandCrawl

SHARDS = 3
SITES = tuple(f"http://s{number}.example/" for number in range(6))
URLS = tuple(site + page for site in SITES for page in ("", "x"))
_OWNED = {owner_of(url, SHARDS): url for url in (f"http://t{n}.example/" for n in range(20))}
HERE, THERE, ELSEWHERE = (_OWNED[shard] for shard in range(SHARDS))
"""A URL of each shard."""


@pytest.fixture
def hand(tmp_path: Path) -> Iterator[HandCluster]:
    with ExitStack() as stack:
        yield HandCluster(tmp_path, SHARDS, stack)


@contextmanager
def gathered(hand: HandCluster) -> Iterator[tuple[Gathered, Snapshot]]:
    """Gather the stores, and give what was found and the new store, which must be intact."""
    hand.commit()
    into = hand.folder / "all.db"
    found = gather(hand.paths, into)
    assert list(audit(into).wrong) == []
    with snapshot(into) as seen:
        yield found, seen


def pages_of(seen: Snapshot) -> dict[str, int]:
    return {seen.url(page): page for page in range(len(seen))}


def rows_of(seen: Snapshot) -> dict[str, tuple[int, int]]:
    return {
        url: (int(seen.states[page]), int(seen.inlinks[page]))
        for url, page in pages_of(seen).items()
    }


def links_of(seen: Snapshot) -> set[tuple[str, str]]:
    return {
        (url, seen.url(link))
        for url, page in pages_of(seen).items()
        for link in seen.frontier.spendings.of(page).links
    }


def converged(seen: Snapshot) -> dict[str, float]:
    flow = cash_flow(seen.frontier, seen.connection)
    assert flow is not None
    refinement = Refinement(flow)
    for _ in refinement.until(1e-9):
        """Another round."""
    return {url: float(refinement.importance[page]) for url, page in pages_of(seen).items()}


PAGE = st.tuples(
    st.sampled_from(("read", "read", "read", "moved", "ended")),
    st.lists(st.sampled_from(range(len(URLS))), max_size=6, unique=True),
)
MOMENT = st.sampled_from(
    ("turn", "turn", "turn", "send", "one arrives", "all arrive", "checkpoint")
)


def turn(crawl: HandCrawl, place: int, kind: str, links: Sequence[int]) -> None:
    """Take a turn on one machine or in a shard. Redirects lead to later pages, never in circles."""
    later = [link for link in links if link > place]
    if kind == "moved" and later:
        crawl.moved(URLS[place], URLS[later[0]])
    elif kind == "ended":
        crawl.ended(URLS[place], State.NOT_FOUND)
    else:
        crawl.read(URLS[place], [URLS[link] for link in links])


def crawl_both(
    hand: HandCluster, alone: HandCrawl, web: Sequence[tuple[str, list[int]]], course: list[str]
) -> None:
    seeds = URLS[:2]
    hand.seeds(seeds, 4)
    alone.seeds(seeds, 8)
    done = set[int]()
    for moment in course:
        waiting = [place for place, url in enumerate(URLS) if hand.knows(url)]
        ready = [place for place in waiting if place not in done]
        if moment == "turn" and ready:
            for crawl in (alone, hand.of(URLS[ready[0]])):
                turn(crawl, ready[0], *web[ready[0]])
            done.add(ready[0])
        elif moment == "send":
            hand.send_all(of_pot=UNIT // 8)
        elif moment == "checkpoint":
            for shard in hand.shards:
                shard.checkpoint()
        else:
            hand.deliver(1 if moment == "one arrives" else None)


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(st.lists(PAGE, min_size=len(URLS), max_size=len(URLS)), st.lists(MOMENT, max_size=40))
def test_shards_gathered_at_any_moment_equal_one_machine_that_read_the_same_pages(
    web: list[tuple[str, list[int]]], course: list[str]
) -> None:
    with TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        hand = HandCluster(folder, SHARDS, stack)
        alone = stack.enter_context(closing(HandCrawl(folder / "alone.db")))
        crawl_both(hand, alone, web, course)
        alone.commit()
        with gathered(hand) as (found, all_), snapshot(folder / "alone.db") as one:
            together, other = all_.frontier.ledger, one.frontier.ledger
            assert together.minted == other.minted == found.minted * UNIT
            assert together.missing() == other.missing() == 0
            assert rows_of(all_) == rows_of(one)
            assert links_of(all_) == links_of(one)
            assert converged(all_) == pytest.approx(converged(one), abs=1e-6)


@pytest.mark.parametrize("is_sent", [False, True])
def test_cash_in_an_outbox_or_under_way_is_credited_to_its_receiver(
    hand: HandCluster, *, is_sent: bool
) -> None:
    hand.seeds([HERE, THERE])
    hand.of(HERE).read(HERE, [THERE])
    cash = hand.waiting_for(THERE)
    if is_sent:
        hand.send_all(of_pot=77)
    to_pots = sum(batch.to_pot for batch in hand.on_the_way)
    with gathered(hand) as (found, seen):
        places = (found.in_outboxes, found.under_way)
        assert places == ((0, (cash + to_pots) / UNIT) if is_sent else (cash / UNIT, 0))
        assert seen.frontier.ledger.key[pages_of(seen)[THERE]] == UNIT + cash > UNIT


def test_a_page_unknown_to_its_owner_is_added_with_its_unit_and_its_cash(hand: HandCluster) -> None:
    hand.seeds([HERE, THERE])
    hand.of(HERE).read(HERE, [ELSEWHERE])
    hand.of(THERE).read(THERE, [HERE, ELSEWHERE])
    waiting = hand.waiting_for(ELSEWHERE)
    with gathered(hand) as (found, seen):
        assert (found.pages, found.unheard) == (3, 1)
        assert rows_of(seen)[ELSEWHERE] == (State.UNREAD, 2)
        assert seen.frontier.ledger.minted == 3 * UNIT
        assert seen.frontier.ledger.key[pages_of(seen)[ELSEWHERE]] == UNIT + waiting


def test_cash_for_a_page_that_stands_for_another_goes_to_the_other(hand: HandCluster) -> None:
    hand.seeds([HERE, THERE, ELSEWHERE])
    hand.of(THERE).moved(THERE, ELSEWHERE)
    hand.of(HERE).read(HERE, [THERE])
    waiting = hand.waiting_for(THERE) + hand.waiting_for(ELSEWHERE)
    with gathered(hand) as (_, seen):
        assert seen.frontier.ledger.cash(pages_of(seen)[THERE]) == 0
        assert seen.frontier.ledger.key[pages_of(seen)[ELSEWHERE]] == UNIT + waiting


def test_one_page_of_a_redirect_circle_over_shards_becomes_a_dead_end(hand: HandCluster) -> None:
    hand.seeds([HERE, THERE])
    hand.of(HERE).moved(HERE, THERE)
    hand.of(THERE).moved(THERE, HERE)
    with gathered(hand) as (found, seen):
        assert found.circles == 1
        assert {state for state, _ in rows_of(seen).values()} == {State.MOVED, State.BAD_REDIRECT}


def test_a_reopened_page_keeps_its_links(hand: HandCluster) -> None:
    hand.seeds([HERE, THERE])
    hand.of(HERE).read(HERE, [THERE])
    hand.of(HERE).reopen([hand.of(HERE).page(HERE)])
    with gathered(hand) as (_, seen):
        assert seen.states[pages_of(seen)[HERE]] == State.UNREAD
        assert links_of(seen) == {(HERE, THERE)}


def test_requests_documents_originals_and_hosts_of_all_shards_are_gathered(
    hand: HandCluster,
) -> None:
    hand.seeds([HERE, THERE])
    owner = hand.of(HERE)
    owner.read(HERE, [THERE, ELSEWHERE], title="Here")
    hand.of(THERE).read(THERE, [HERE], title="There")
    host = owner.frontier.urls.host_of[owner.page(HERE)]
    owner.batch.hosts.append(HostRow(host, HERE[:-1], "allow all", 5.0, None, "slow"))
    owner.batch.originals.append((owner.page(HERE), f"{HERE}?sid=1"))
    with gathered(hand) as (_, seen):
        connection, pages = seen.connection, pages_of(seen)
        titles = {row.page: row.title for row in tables.all_documents(connection)}
        assert titles == {pages[HERE]: "Here", pages[THERE]: "There"}
        assert tables.fetches_known(connection) == 2
        assert tables.original(connection, pages[HERE]) == f"{HERE}?sid=1"
        rows = {row.origin: row for row in tables.hosts(connection)}
        assert rows[HERE[:-1]].robots == "allow all"
        assert len(rows) == 3


def test_values_of_a_scorer_stay_with_their_pages(hand: HandCluster) -> None:
    hand.seeds([HERE, THERE, ELSEWHERE])
    for url, value in ((HERE, 700), (THERE, None), (ELSEWHERE, 0)):
        owner = hand.of(url)
        owner.read(url, [HERE, THERE] if url == HERE else ())
        owner.batch.steps[-1] = owner.batch.steps[-1]._replace(value=value)
    with gathered(hand) as (_, seen):
        pages = pages_of(seen)
        values = tables.values_of(seen.connection, range(len(seen)))
        assert values == {pages[HERE]: 700, pages[ELSEWHERE]: 0}


def test_entries_of_links_stay_with_their_links(hand: HandCluster) -> None:
    hand.seeds([THERE])
    owner = hand.of(THERE)
    page = owner.read(THERE, [ELSEWHERE, THERE + "a", HERE])
    links = owner.frontier.spendings.of(page).links
    entries = b"\x1e".join(f"\x1f{owner.url(link)}".encode() for link in links)
    owner.batch.written.append(WrittenRow(page, check_of(links), entries))
    with gathered(hand) as (_, seen):
        number = pages_of(seen)[THERE]
        links = seen.frontier.spendings.of(number).links
        found = WrittenLinks(seen.connection).of(number, links)
        assert found == b"\x1e".join(f"\x1f{seen.url(link)}".encode() for link in links)


@pytest.mark.parametrize(
    "terms",
    [
        *(StoreTerms(window=name) for name in ("static", "adaptive", "fixed")),
        StoreTerms(window="variable", width=3, measures=2),
        StoreTerms(window="variable:2"),
    ],
)
def test_importance_is_valid_and_no_measure_is_lost_with_each_window(
    terms: StoreTerms, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        hand = HandCluster(tmp_path, 2, stack, terms)
        hand.seeds(SITES, 2)
        for url in SITES * 3:
            hand.of(url).read(url, SITES)
        hand.settle()
        with gathered(hand) as (_, seen):
            shares = seen.frontier.importance()
            assert np.isfinite(shares).all()
            assert float(shares.sum()) == pytest.approx(1)
            for url, page in pages_of(seen).items():
                owner = hand.of(url)
                measures = seen.frontier.window.past(page)[2]
                kept = owner.frontier.window.past(owner.page(url))[2]
                assert (measures and len(measures)) == (kept and len(kept))


def test_stores_of_different_moments_are_gathered_without_a_loss(
    hand: HandCluster, tmp_path: Path
) -> None:
    hand.seeds([HERE, THERE])
    hand.commit()
    older = tmp_path / "older.db"
    hand.of(HERE).store.connection.execute("VACUUM INTO ?", (str(older),))
    hand.of(HERE).read(HERE, [THERE])
    hand.settle()
    sender, receiver = (hand.of(url).terms.shard for url in (HERE, THERE))
    hand.paths[sender] = older
    with gathered(hand) as (found, seen):
        (ahead,) = found.ahead
        assert (ahead.sender, ahead.receiver, ahead.batches) == (sender, receiver, 1)
        assert seen.frontier.ledger.missing() == 0
        assert seen.frontier.ledger.virtual_page.pot < 0


def test_posted_atoms_that_were_never_sent_are_an_error(hand: HandCluster, tmp_path: Path) -> None:
    hand.seeds([HERE, THERE])
    hand.of(HERE).read(HERE, [THERE])
    hand.send_all()
    (batch,) = hand.on_the_way
    dearer = [one._replace(atoms=one.atoms + 1) for one in batch.transfers]
    more = replace(batch, transfers=dearer)
    hand.of(THERE).receive(more)
    hand.commit()
    wrong, right = (
        sum(one.atoms for one in sent.transfers) + sent.to_pot for sent in (more, batch)
    )
    with pytest.raises(StoreError, match=rf"{wrong}\b.* {right}\b"):
        gather(hand.paths, tmp_path / "all.db")


@pytest.mark.parametrize("atoms", [-1, 1])
def test_cash_that_no_shard_has_is_an_error(atoms: int, hand: HandCluster, tmp_path: Path) -> None:
    hand.seeds([HERE, THERE])
    hand.of(HERE).read(HERE, [THERE])
    hand.send_all()
    sender = hand.of(HERE)
    sender.ledger.abroad += atoms
    sender.ledger.virtual_page.pot -= atoms
    assert sender.ledger.missing() == 0
    hand.commit()
    sender.checkpoint()
    with pytest.raises(StoreError, match="of cash missing over all shards"):
        gather(hand.paths, tmp_path / "all.db")


def test_a_url_that_two_shards_own_is_an_error(tmp_path: Path) -> None:
    with ExitStack() as stack:
        hand = HandCluster(tmp_path, 2, stack)
        url = SITES[0]
        for shard in hand.shards:
            shard.owner = lambda _page, number=shard.terms.shard: number  # type: ignore[method-assign,misc]
            shard.seeds([url])
        hand.commit()
        with pytest.raises(StoreError, match=r"s0\.example"):
            gather(hand.paths, tmp_path / "all.db")
