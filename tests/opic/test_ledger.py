"""The ledger of cash, by hand and against books that pay every page."""

import numpy as np
import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from minicrawl.opic.ledger.ledger import READ, Ledger, Plan, restate
from minicrawl.opic.ledger.money import PARTS, UNIT, fixed_edge
from minicrawl.opic.ledger.plans import dead_end, forward, replay, visit, weighted_visit
from minicrawl.opic.windows.by_name import WINDOWS
from minicrawl.opic.windows.window import Static, Window


def units(ledger: Ledger) -> list[float]:
    return [ledger.cash(page) / UNIT for page in range(len(ledger))]


def test_the_seeds_share_their_endowment() -> None:
    ledger = Ledger()
    ledger.endow(ledger.mint(4), 1000)
    assert units(ledger) == [251] * 4
    assert ledger.minted == 1004 * UNIT


def test_a_plan_that_is_out_of_date_is_refused() -> None:
    ledger = Ledger()
    ledger.mint(3)
    late = visit(ledger, 1, [0])
    ledger.post(visit(ledger, 0, [1]))
    with pytest.raises(ValueError, match="page 1"):
        ledger.post(late)
    assert ledger.missing() == 0


def test_only_newborn_pages_can_be_refused_together() -> None:
    ledger = Ledger()
    ledger.mint(3)
    ledger.post(visit(ledger, 0, [1]))
    with pytest.raises(ValueError, match="one was read"):
        ledger.refuse([0, 1])
    ledger.refuse([1, 2])
    assert ledger.missing() == 0


def test_time_is_the_recorded_cash_and_a_circulation_all_cash() -> None:
    ledger = Ledger()
    ledger.mint(8, pool=READ)
    for page in range(8):
        ledger.post(visit(ledger, page, []))
    assert ledger.circulation == 8 << 16
    assert ledger.now == ledger.recorded >> 16 > ledger.circulation


def test_missing_counts_atoms_too_many_and_too_few() -> None:
    ledger = Ledger()
    ledger.mint(3)
    ledger.key[1] += 1
    assert ledger.missing() == -1
    ledger.key[1] -= 3
    assert ledger.missing() == 2


def test_missing_is_exact_where_a_sum_of_keys_exceeds_64_bits() -> None:
    ledger = Ledger()
    ledger.mint(4)
    ledger.endow([0], (1 << 31) - 2)
    ledger.endow([1], (1 << 31) - 2)
    ledger.endow([2], (1 << 31) - 2)
    assert ledger.missing() == 0
    assert ledger.minted > 1 << 64


def test_new_terms_count_for_dividends_from_then_on() -> None:
    ledger = Ledger(small_edge=fixed_edge(0.75), discovery=0)
    ledger.mint(4)
    ledger.virtual_page.discovery = PARTS
    ledger.post(visit(ledger, 0, [1]))
    assert units(ledger) == [0, 1.5, 1.25, 1.25]
    ledger.virtual_page.discovery = None
    ledger.post(visit(ledger, 1, [0]))
    assert units(ledger) == [0.375 + 1.125 / 4, 1.125 / 4, *[1.25 + 1.125 / 4] * 2]


@pytest.mark.parametrize("discovery", [None, 0.0, 0.25])
def test_a_restored_ledger_continues_like_the_original(discovery: float | None) -> None:
    lived = Ledger(discovery=discovery)
    lived.endow(lived.mint(5), 7)
    lived.post(visit(lived, 0, [1, 2]))
    loaded = Ledger()
    loaded.restore(lived.key[:], lived.flags[:], lived.totals)
    for ledger in (lived, loaded):
        ledger.mint(1)
        ledger.post(visit(ledger, 1, [0, 5]))
    assert loaded.totals == lived.totals
    assert (loaded.key, loaded.flags) == (lived.key, lived.flags)


def a_ledger_to_restate(window: Window) -> Ledger:
    ledger = Ledger(windows=[window], discovery=0.5)
    ledger.endow(ledger.mint(4), 10)
    ledger.post(visit(ledger, 0, [1, 2]))
    ledger.post(visit(ledger, 2, [3]))
    return ledger


IMPORTANCE = np.array([0.5, 0.25, 0.125, 0.125])


@pytest.mark.parametrize("name", WINDOWS)
def test_restated_books_deal_all_the_cash_by_importance(name: str) -> None:
    window = WINDOWS[name](8, None)
    ledger = a_ledger_to_restate(window)
    recorded = ledger.recorded
    restate(ledger, IMPORTANCE)
    assert units(ledger) == pytest.approx(14 * IMPORTANCE, rel=1e-9)
    assert ledger.missing() == 0
    assert (ledger.minted, ledger.recorded, ledger.unread) == (14 * UNIT, recorded, 2)
    found = window.importance(ledger.cash_of_all(), ledger.now, ledger.circulation)
    assert found / found.sum() == pytest.approx(IMPORTANCE, rel=1e-9)


@pytest.mark.parametrize(("share", "least"), [(1, 4), (1 + 1e-13, 0)])
def test_the_next_step_pays_the_remainder_of_restating(share: float, least: int) -> None:
    """Shares that sum to slightly more than 1 make no debt."""
    ledger = a_ledger_to_restate(Static())
    restate(ledger, IMPORTANCE * share)
    assert least <= ledger.virtual_page.remainder < UNIT >> 20
    ledger.post(visit(ledger, 1, [0]))
    assert 0 <= ledger.virtual_page.remainder < 4
    assert ledger.missing() == 0


class Books(RuleBasedStateMachine):
    """Any sequence of steps, against books that pay every page by hand."""

    @initialize(
        pages=st.integers(1, 5),
        endowment=st.integers(0, 50),
        share=st.sampled_from([0.0, 0.15, 0.6, 1.0]),
        discovery=st.sampled_from([None, 0.0, 0.3125, 1.0]),
        focus=st.sampled_from([0, PARTS // 2, PARTS]),
    )
    def open(
        self, pages: int, endowment: int, share: float, discovery: float | None, focus: int
    ) -> None:
        self.window = Static()
        self.ledger = Ledger(
            windows=[self.window], small_edge=fixed_edge(share), discovery=discovery
        )
        self.ledger.virtual_page.focus = focus
        self.discovery = discovery
        self.ledger.endow(self.ledger.mint(pages), endowment)
        self.by_hand = units(self.ledger)
        self.read = [False] * pages

    def page(self, drawn: int) -> int:
        return drawn % len(self.ledger)

    def pages(self, drawn: list[int]) -> list[int]:
        return [self.page(one) for one in drawn]

    def post(self, plan: Plan) -> None:
        handed_on = plan.share * len(plan.links) + sum(atoms for _, atoms in plan.extras)
        assert handed_on + plan.virtual == plan.cash == self.ledger.cash(plan.page)
        assert all(atoms > 0 for _, atoms in plan.extras)
        assert plan.virtual >= 0 or self.ledger.virtual_page.focus
        self.ledger.post(plan)
        self.by_hand[plan.page] = 0
        self.read[plan.page] = True
        for link in plan.links:
            self.by_hand[link] += plan.share / UNIT
        for link, atoms in plan.extras:
            self.by_hand[link] += atoms / UNIT
        self.pay(plan.virtual / UNIT)

    def pay(self, purse: float) -> None:
        unread = [page for page, read in enumerate(self.read) if not read]
        read = [page for page, read in enumerate(self.read) if read]
        part = len(unread) / len(self.read) if self.discovery is None else self.discovery
        part = part if unread else 0
        if purse < 0:  # unread pages lend what focused links got beyond the cash of the page
            part = 1
        for page in unread:
            self.by_hand[page] += purse * part / len(unread)
        for page in read:
            self.by_hand[page] += purse * (1 - part) / len(read)

    @invariant()
    def no_page_lends_more_than_the_terms_say(self) -> None:
        least = -self.ledger.unread * (UNIT * self.ledger.virtual_page.focus // PARTS)
        assert self.ledger.virtual_page.pot >= least

    @rule(count=st.integers(1, 4))
    def discover(self, count: int) -> None:
        """Mint pages, which share the pot of the unread pages."""
        unread = [page for page, read in enumerate(self.read) if not read]
        in_pot = self.ledger.virtual_page.pot / UNIT
        for page in unread:
            self.by_hand[page] -= in_pot / len(unread) - in_pot / (len(unread) + count)
        self.by_hand += [1 + in_pot / (len(unread) + count)] * count
        self.read += [False] * count
        self.ledger.mint(count)

    @rule(page=st.integers(0, 99), links=st.lists(st.integers(0, 99), max_size=5))
    def visit(self, page: int, links: list[int]) -> None:
        self.post(visit(self.ledger, self.page(page), self.pages(links)))

    @rule(
        page=st.integers(0, 99),
        links=st.lists(
            st.tuples(st.integers(0, 99), st.integers(0, 3), st.integers(0, 5 * PARTS)), max_size=5
        ),
        idle=st.integers(0, 9),
    )
    def weighted_visit(self, page: int, links: list[tuple[int, int, int]], idle: int) -> None:
        pages, weights, focus = ([row[part] for row in links] for part in range(3))
        of_links = self.pages(pages), weights, focus, idle
        self.post(weighted_visit(self.ledger, self.page(page), *of_links))

    @rule(page=st.integers(0, 99), onto=st.integers(0, 99))
    def redirect(self, page: int, onto: int) -> None:
        self.post(forward(self.ledger, self.page(page), self.page(onto)))

    @rule(page=st.integers(0, 99))
    def dead_end(self, page: int) -> None:
        self.post(dead_end(self.ledger, self.page(page)))

    @rule(pages=st.lists(st.integers(0, 99), max_size=4))
    def refuse(self, pages: list[int]) -> None:
        """Let pages give away their cash at once: what one pays reaches none of the others."""
        refused = sorted({page for page in self.pages(pages) if not self.read[page]})
        if refused:
            total = sum(map(self.ledger.cash, refused))
            self.ledger.refuse(refused)
            for page in refused:
                self.by_hand[page], self.read[page] = 0, True
            self.pay(total / UNIT)

    @precondition(lambda self: any(self.read))
    @rule(page=st.integers(0, 99), links=st.lists(st.integers(0, 99), max_size=5))
    def replay(self, page: int, links: list[int]) -> None:
        read = [page for page, read in enumerate(self.read) if read]
        self.post(replay(self.ledger, read[page % len(read)], self.pages(links)))

    @invariant()
    def not_an_atom_is_lost_or_made(self) -> None:
        assert self.ledger.missing() == 0
        assert 0 <= self.ledger.virtual_page.remainder < max(1, len(self.ledger))

    @invariant()
    def no_page_has_negative_cash(self) -> None:
        assert all(self.ledger.cash(page) >= 0 for page in range(len(self.ledger)))

    @invariant()
    def histories_sum_to_all_that_was_recorded(self) -> None:
        assert round(sum(self.window.history) * UNIT) == pytest.approx(self.ledger.recorded)

    @invariant()
    def cash_is_that_by_hand(self) -> None:
        assert units(self.ledger) == pytest.approx(self.by_hand, abs=1e-6)
        assert self.ledger.cash_of_all() == pytest.approx(self.by_hand, abs=1e-6)


TestBooks = Books.TestCase
TestBooks.settings = settings(stateful_step_count=40, max_examples=60)


def test_a_page_that_is_reopened_lends_no_more_than_it_holds() -> None:
    """Page 0 was read and holds only a dividend; then unread pages lend for a focus."""
    ledger = Ledger(small_edge=fixed_edge(0))
    ledger.virtual_page.focus = PARTS
    ledger.mint(5)
    ledger.post(visit(ledger, 0, [1]))
    ledger.reopen(0)
    ledger.post(weighted_visit(ledger, 1, [2], [1], [1000 * PARTS]))
    assert ledger.virtual_page.pot < 0
    assert ledger.cash(0) == 0
    assert ledger.cash_of_all().tolist() == ledger.cash_of(np.arange(5)).tolist()
    assert ledger.cash_of_all()[0] == 0
    pot = ledger.virtual_page.pot
    ledger.post(visit(ledger, 0, [1]))
    assert ledger.virtual_page.pot == pot
    assert ledger.missing() == 0


def test_a_page_that_is_reopened_waits_with_the_cash_that_it_holds() -> None:
    ledger = Ledger()
    ledger.mint(4)
    ledger.post(visit(ledger, 0, [1, 2]))
    ledger.post(visit(ledger, 1, [0, 3]))
    cash = ledger.cash(0)
    ledger.reopen(0)
    assert not ledger.is_read(0)
    assert ledger.unread == 3
    assert ledger.missing() == 0
    assert ledger.cash(0) == cash + ledger.virtual_page.pot // 3
    ledger.post(visit(ledger, 0, [1]))
    assert ledger.is_read(0)
    assert ledger.missing() == 0
