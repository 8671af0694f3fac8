"""Transfers of cash between the ledgers of two shards."""

import numpy as np
import pytest

from minicrawl.opic.ledger.books import Books, Spending, Step, StepKind
from minicrawl.opic.ledger.ledger import FOREIGN, UNREAD, Ledger
from minicrawl.opic.ledger.money import UNIT, fixed_edge
from minicrawl.opic.queues.candidate_heap import CandidateHeap


def some_books(own: int = 2, foreign: int = 1) -> Books:
    """Make books with pages of this shard, then foreign ones; the small edge is a half."""
    books = Books(Ledger(small_edge=fixed_edge(0.5)), lambda _page: Spending(()))
    books.apply(Step(StepKind.BORN, born=own + foreign))
    books.apply(Step(StepKind.FOREIGN, spending=Spending(range(own, own + foreign))))
    return books


def sending(*rows: tuple[int, int], of_pot: int = 0) -> Step:
    pages, atoms = [page for page, _ in rows], [atoms for _, atoms in rows]
    return Step(StepKind.SEND, 7, 0, Spending(pages, atoms, (), of_pot), 1)


def receipt(*rows: tuple[int, int], to_pot: int = 0, born: int = 0) -> Step:
    pages, atoms = [page for page, _ in rows], [atoms for _, atoms in rows]
    return Step(StepKind.RECEIVE, 7, born, Spending(pages, atoms, (), to_pot), 1)


def visit(page: int, *links: int) -> Step:
    return Step(StepKind.VISIT, page, spending=Spending(links))


def test_nothing_is_minted_for_a_foreign_page() -> None:
    ledger = some_books().ledger
    assert ledger.minted == 2 * UNIT
    assert (ledger.own, ledger.unread, len(ledger)) == (2, 2, 3)
    assert ledger.key[2] == 0
    assert ledger.missing() == 0


def test_a_foreign_page_gets_the_gifts_of_links_and_no_dividend() -> None:
    books = some_books()
    books.apply(visit(0, 2))
    ledger = books.ledger
    assert ledger.key[2] == UNIT // 2
    assert ledger.cash_of_all().tolist() == [0.25, 1.25, 0.5]
    assert ledger.missing() == 0


def test_a_foreign_page_is_in_no_queue_and_has_no_turn() -> None:
    ledger = some_books(own=1).ledger
    richest = CandidateHeap(ledger.key, ledger.flags, UNREAD)
    richest.offer(range(2))
    assert [richest.take(), richest.take()] == [0, None]
    with pytest.raises(ValueError, match=r"page 1 .* another shard"):
        ledger.cash(1)


def test_sent_cash_leaves_the_foreign_page_and_the_pot() -> None:
    books = some_books()
    books.apply(visit(0, 2))
    assert books.apply(sending((2, UNIT // 2), of_pot=UNIT // 8)) == []
    ledger = books.ledger
    assert (ledger.key[2], ledger.abroad) == (0, UNIT // 2 + UNIT // 8)
    assert ledger.virtual_page.pot == UNIT // 4 - UNIT // 8
    assert ledger.missing() == 0


def test_received_cash_goes_to_the_page_that_its_page_stands_for() -> None:
    books = some_books(own=3, foreign=0)
    books.apply(Step(StepKind.FORWARD, 0, spending=Spending((1,))))
    held, pot = books.ledger.key[1], books.ledger.virtual_page.pot
    assert books.apply(receipt((0, 5), (2, 6), (3, 7), to_pot=8, born=1)) == []
    ledger = books.ledger
    assert list(ledger.key[1:]) == [held + 5, UNIT + 6, UNIT + 7]
    assert ledger.virtual_page.pot == pot + 8
    assert ledger.abroad == -26
    assert ledger.missing() == 0


def test_a_ledger_of_a_shard_is_saved_and_restored() -> None:
    books = some_books()
    books.apply(visit(0, 2))
    books.apply(sending((2, UNIT // 2)))
    ledger, restored = books.ledger, Ledger()
    restored.restore(ledger.key, ledger.flags, ledger.totals)
    assert restored.totals == ledger.totals
    assert restored.own == 2
    assert restored.missing() == 0


@pytest.mark.parametrize(
    ("step", "why"),
    [
        (sending((1, UNIT)), "own pages"),
        (sending((2, 1)), "out of date"),
        (sending(of_pot=1), "the pot holds 0 atoms, not 1"),
        (sending(of_pot=-1), "the pot holds 0 atoms, not -1"),
        (receipt((0, -1)), "negative amount"),
        (receipt(to_pot=-1), "negative amount"),
        (Step(StepKind.FOREIGN, spending=Spending((2,))), "newborn"),
    ],
)
def test_an_invalid_transfer_is_refused_and_changes_nothing(step: Step, why: str) -> None:
    books = some_books()
    before = books.ledger.totals, list(books.ledger.key)
    with pytest.raises(ValueError, match=why):
        books.apply(step)
    assert (books.ledger.totals, list(books.ledger.key)) == before


def test_a_page_that_was_paid_cannot_become_foreign() -> None:
    books = some_books(own=2, foreign=0)
    books.apply(visit(0, 1))
    with pytest.raises(ValueError, match="newborn"):
        books.apply(Step(StepKind.FOREIGN, spending=Spending((1,))))
    assert FOREIGN not in books.ledger.flags


def test_foreign_pages_do_not_change_dividends() -> None:
    with_foreign, without = some_books(own=3, foreign=100), some_books(own=3, foreign=0)
    for books in (with_foreign, without):
        for page in (0, 1, 0):
            kind = StepKind.VISIT if books.ledger.flags[page] == UNREAD else StepKind.DEAD_END
            books.apply(Step(kind, page, spending=Spending((2,) if kind is StepKind.VISIT else ())))
    assert with_foreign.ledger.key[:3] == without.ledger.key
    assert np.array_equal(with_foreign.ledger.cash_of_all(end=3), without.ledger.cash_of_all())
