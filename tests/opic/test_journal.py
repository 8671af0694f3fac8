"""The books: a fold over the steps that knows which pages stand for others."""

import numpy as np
import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from minicrawl.opic.ledger.books import Books, Spending, Step, StepKind, terms
from minicrawl.opic.ledger.ledger import Ledger, Plan
from minicrawl.opic.ledger.money import PARTS, UNIT, fixed_edge
from minicrawl.opic.windows.interpolation import Interpolation
from minicrawl.opic.windows.window import Static


def some_books(
    pages: int = 5, spendings: dict[int, Spending] | None = None, edge: float = 0.5
) -> Books:
    books = Books(Ledger(small_edge=fixed_edge(edge)), (spendings or {}).__getitem__)
    books.apply(Step(StepKind.BORN, born=pages))
    return books


def visit(page: int, *links: int) -> Step:
    return Step(StepKind.VISIT, page, spending=Spending(links))


def forward(page: int, target: int, amount: int = 0) -> Step:
    return Step(StepKind.FORWARD, page, spending=Spending((target,)), amount=amount)


def reopen(page: int) -> Step:
    return Step(StepKind.REOPEN, spending=Spending((page,)))


def replay(*pages: int) -> Step:
    return Step(StepKind.REPLAY, spending=Spending(pages))


def test_kinds_of_steps_keep_their_numbers_in_stores() -> None:
    assert [kind.name for kind in sorted(StepKind)] == [
        *("TERMS", "BORN", "ENDOWED", "VISIT", "FORWARD", "DEAD_END", "REPLAY", "REOPEN", "GRANT"),
        *("PRESUME", "FOREIGN", "SEND", "RECEIVE", "REFUSE", "TIME"),
    ]
    assert min(StepKind) == 0


def test_pages_are_born_before_the_rest_of_their_step() -> None:
    books = some_books(1)
    (plan,) = books.apply(Step(StepKind.VISIT, 0, 2, Spending((1, 2))))
    assert plan == Plan(0, UNIT, (1, 2), UNIT // 4, (), UNIT // 2)
    assert len(books.ledger) == 3


@pytest.mark.parametrize("atoms", [UNIT // 2 + 1, 0, -UNIT])
def test_a_grant_is_minted_for_each_newborn_page(atoms: int) -> None:
    books = some_books(3)
    assert books.apply(Step(StepKind.GRANT, spending=Spending((0, 2)), amount=atoms)) == []
    assert [books.ledger.cash(page) for page in range(3)] == [UNIT + atoms, UNIT, UNIT + atoms]
    assert books.ledger.minted == 3 * UNIT + 2 * atoms
    assert books.ledger.missing() == 0


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (Step(StepKind.GRANT, spending=Spending((0,)), amount=-UNIT - 1), "newborn page"),
        (forward(4, 3), "page 4 stands for itself"),
        (forward(1, 3), "page 1 stands for itself"),  # until then it stands for page 4
        (forward(0, 1, amount=1), "page 0 was never read"),
        (replay(2), "page 2 was never read"),
    ],
)
def test_a_step_that_breaks_the_books_is_refused(step: Step, message: str) -> None:
    books = some_books()
    books.apply(forward(3, 1))
    books.apply(forward(1, 4))
    with pytest.raises(ValueError, match=message):
        books.apply(step)


def test_a_presumed_history_adds_no_cash_and_no_time() -> None:
    """The window counts it like cash that flowed: 2 units in a circulation of 2 units."""
    books = some_books(2)
    window = Interpolation(8)
    window.grow(2, 0, 0)
    books.ledger.windows = [window]
    before = books.ledger.totals
    step = Step(StepKind.PRESUME, spending=Spending((1,)), amount=2 * UNIT)
    assert books.apply(step) == []
    assert books.ledger.totals == before
    assert books.ledger.missing() == 0
    assert window.histories(np.array([0, 1])).tolist() == [0, 16]
    with pytest.raises(ValueError, match=r"above 0 .* 0"):
        books.apply(step._replace(amount=0))


@pytest.mark.parametrize("discovery", [-1, 0, PARTS // 4, PARTS])
@pytest.mark.parametrize("focus", [0, PARTS // 2, PARTS])
@pytest.mark.parametrize("edge", [1, PARTS // 2, PARTS - 1])
def test_terms_set_the_loan_for_focus_and_the_small_edge(
    discovery: int, focus: int, edge: int
) -> None:
    books = some_books()
    books.apply(terms(discovery, focus, edge))
    totals = books.ledger.totals
    assert (totals.discovery, totals.focus, totals.edge) == (discovery, focus, edge)
    assert books.ledger.small_edge(PARTS, 3) == PARTS - edge
    books.apply(Step(StepKind.TERMS, amount=discovery))  # as older logs have it
    assert books.ledger.totals == totals._replace(focus=0)


def test_a_visit_has_weights_and_focus() -> None:
    weighted = Step(StepKind.VISIT, 0, spending=Spending((1, 2), (1, 2), (), 1))
    assert some_books().apply(weighted)[0].extras == [(1, UNIT // 8), (2, UNIT // 4)]
    focused = Step(StepKind.VISIT, 0, spending=Spending((1, 2), (), (PARTS, 0)))
    assert some_books().apply(focused)[0].extras == [(1, UNIT // 2), (2, UNIT // 4)]


def test_a_page_that_stands_for_another_gives_it_all_now_and_when_replayed() -> None:
    books = some_books()
    assert books.apply(forward(0, 1)) == [Plan(0, UNIT, (1,), UNIT, (), 0)]
    assert books.stands_for(0) == books.stands_for(1) == 1
    books.apply(forward(1, 2))
    books.apply(visit(3))
    (plan,) = books.apply(replay(0))
    assert plan.links == (2,)
    assert plan.virtual == 0 < plan.cash


def test_links_that_end_at_one_page_are_merged_and_those_back_to_the_page_dropped() -> None:
    books = some_books()
    books.apply(forward(1, 2))
    books.apply(forward(4, 0))
    spending = Spending((1, 2, 3), (5, 6, 7), (8, 9, 10), 11)
    assert books.without_detours(0, spending) == Spending([2, 3], [5, 7], [8, 10], 11)
    assert books.without_detours(0, Spending((2, 1))) == Spending([2])
    assert books.without_detours(0, Spending((4, 3))) == Spending([3])


def test_cash_that_is_handed_over_enters_no_history() -> None:
    window = Static()
    books = Books(Ledger(windows=[window]), lambda _: Spending(()))
    books.apply(Step(StepKind.BORN, born=3))
    books.apply(visit(0))
    books.apply(visit(1, 0))
    cash, waiting = books.ledger.cash(0), books.ledger.cash(2)
    recorded, history = books.ledger.recorded, window.past(0)
    (plan,) = books.apply(forward(0, 2, amount=1))
    assert (plan.cash, plan.links) == (cash, (2,))
    assert (books.ledger.cash(0), books.ledger.cash(2)) == (0, waiting + cash)
    assert (books.ledger.recorded, window.past(0)) == (recorded, history)
    assert books.ledger.missing() == 0
    assert books.stands_for(0) == 2


class Fold(RuleBasedStateMachine):
    """Any sequence of steps, which makes the same books when it is folded again."""

    @initialize()
    def open(self) -> None:
        self.steps: list[Step] = []
        self.spendings: dict[int, Spending] = {}
        self.stands_for: dict[int, int] = {}
        self.books, self.window = self.new_books()
        self.take(Step(StepKind.BORN, born=3))

    def new_books(self) -> tuple[Books, Interpolation]:
        window = Interpolation(8)
        return Books(Ledger(windows=[window]), lambda page: self.spendings[page]), window

    def take(self, step: Step) -> None:
        match step.kind:
            case StepKind.FORWARD:
                self.stands_for[step.page] = step.spending.links[0]
            case StepKind.VISIT | StepKind.DEAD_END:
                self.stands_for.pop(step.page, None)
            case StepKind.REOPEN:
                self.stands_for.pop(step.spending.links[0], None)
        if step.kind in (StepKind.VISIT, StepKind.DEAD_END, StepKind.FORWARD):
            self.spendings[step.page] = step.spending
        self.steps.append(step)
        for plan in self.books.apply(step):
            given = plan.share * len(plan.links) + sum(atoms for _, atoms in plan.extras)
            assert given + plan.virtual == plan.cash
            ends = {self.chain(link)[-1] for link in self.spendings[plan.page].links}
            paid = {*plan.links, *(page for page, _ in plan.extras)}
            assert paid == ends - {plan.page} or (plan.extras and paid < ends) or not paid

    def chain(self, page: int) -> list[int]:
        chain = [page]
        while chain[-1] in self.stands_for:
            chain.append(self.stands_for[chain[-1]])
        return chain

    def page(self, drawn: int) -> int:
        return drawn % len(self.books.ledger)

    @rule(
        page=st.integers(0, 99),
        links=st.lists(st.integers(0, 99), max_size=4),
        born=st.integers(0, 2),
        idle=st.none() | st.integers(0, 3),
        strength=st.sampled_from([0, PARTS // 3, 1000 * PARTS]),
    )
    def visit(
        self, page: int, links: list[int], born: int, idle: int | None, strength: int
    ) -> None:
        pages = len(self.books.ledger) + born
        found = sorted({link % pages for link in links} - {self.page(page)})
        weights = () if idle is None else tuple(1 + link % 3 for link in found)
        focus = [strength * (link % 2) for link in found] if strength else ()
        spending = Spending(found, weights, focus, idle or 0)
        self.take(Step(StepKind.VISIT, self.page(page), born, spending))

    @rule(page=st.integers(0, 99), onto=st.integers(0, 99), is_handed_over=st.booleans())
    def forward(self, page: int, onto: int, is_handed_over: bool) -> None:
        kept = self.books.forwards.pop(self.page(page), None)
        is_circle = self.books.stands_for(self.page(onto)) == self.page(page)
        if kept is not None:
            self.books.forwards[self.page(page)] = kept
        if not is_circle:
            was_read = self.books.ledger.is_read(self.page(page))
            self.take(forward(self.page(page), self.page(onto), int(is_handed_over and was_read)))

    @rule(page=st.integers(0, 99))
    def dead_end(self, page: int) -> None:
        self.take(Step(StepKind.DEAD_END, self.page(page)))

    @rule(seeds=st.lists(st.integers(0, 99), min_size=1, max_size=3), units=st.integers(0, 20))
    def endow(self, seeds: list[int], units: int) -> None:
        spending = Spending(sorted(set(map(self.page, seeds))))
        self.take(Step(StepKind.ENDOWED, spending=spending, amount=units))

    @rule(count=st.integers(1, 3), atoms=st.integers(-UNIT, 4 * UNIT))
    def bear(self, count: int, atoms: int) -> None:
        first = len(self.books.ledger)
        self.take(Step(StepKind.BORN, born=count))
        spending = Spending(range(first, first + count))
        self.take(Step(StepKind.GRANT, spending=spending, amount=atoms))

    @rule(
        share=st.sampled_from([-1, 0, PARTS // 2, PARTS]),
        focus=st.sampled_from([0, PARTS // 2, PARTS]),
    )
    def pay_otherwise(self, share: int, focus: int) -> None:
        self.take(terms(share, focus))

    @precondition(lambda self: self.spendings)
    @rule(drawn=st.lists(st.integers(0, 99), min_size=1, max_size=4))
    def replay(self, drawn: list[int]) -> None:
        read = [page for page in sorted(self.spendings) if self.books.ledger.is_read(page)]
        if read:
            self.take(replay(*(read[one % len(read)] for one in drawn)))

    @rule(page=st.integers(0, 99))
    def reopen(self, page: int) -> None:
        page = self.page(page)
        if self.books.ledger.is_read(page):
            self.take(reopen(page))

    @invariant()
    def a_page_stands_for_the_end_of_its_chain(self) -> None:
        pages = range(len(self.books.ledger))
        for page in pages:
            chain = self.chain(page)
            assert self.books.stands_for(page) == chain[-1]
            assert [one for one in pages if self.books.leads_to(page, one)] == sorted(chain)

    @invariant()
    def not_an_atom_is_lost(self) -> None:
        assert self.books.ledger.missing() == 0

    @invariant()
    def no_page_has_negative_cash(self) -> None:
        ledger = self.books.ledger
        assert all(ledger.cash(page) >= 0 for page in range(len(ledger)))

    def teardown(self) -> None:
        """Fold all steps once more, into new books."""
        before, self.spendings, self.stands_for = self.spendings, {}, {}
        lived, (self.books, window) = (self.books, self.window), self.new_books()
        for step in self.steps.copy():
            self.take(step)
        assert self.spendings == before
        assert self.books.forwards == lived[0].forwards
        assert self.books.ledger.key == lived[0].ledger.key
        assert self.books.ledger.totals == lived[0].ledger.totals
        pages = range(len(self.books.ledger))
        assert list(map(window.past, pages)) == list(map(lived[1].past, pages))


TestFold = Fold.TestCase
TestFold.settings = settings(max_examples=60, stateful_step_count=30)
