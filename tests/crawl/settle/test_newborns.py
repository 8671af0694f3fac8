"""What pages are worth when they are born, by the mean of their host."""

from array import array

import pytest

from minicrawl.crawl.settle.posting import LEAST_WORTH, MOST_WORTH, Newborns
from minicrawl.opic.journal import Spending, Step, StepKind
from minicrawl.opic.ledger import Plan
from minicrawl.opic.money import UNIT


def newborns(*held: tuple[int, float]) -> Newborns:
    """Of hosts whose pages held so many units when they were read; page 10 h + n is of host h."""
    found = Newborns(array("I", [page // 10 for page in range(50)]))
    found.saw(Plan(10 * host, int(units * UNIT), (), 0, (), 0) for host, units in held)
    return found


def test_at_first_each_page_is_worth_a_unit() -> None:
    assert newborns().worth(3) == 1
    assert list(newborns().steps([1, 11])) == []


def test_a_host_of_which_nothing_is_known_is_like_the_mean_of_all() -> None:
    assert newborns((0, 2.0), (1, 6.0)).worth(2) == 1


def test_a_host_is_worth_what_its_pages_held_times_the_mean_of_all() -> None:
    """The mean is 4; a host counts as having had three pages of it more than it had."""
    found = newborns((0, 2.0), (1, 6.0))
    assert found.worth(0) == round((2 + 3 * 4) / 4 / 4 * 16) / 16 == 0.875
    assert found.worth(1) == round((6 + 3 * 4) / 4 / 4 * 16) / 16 == 1.125


def test_no_host_is_worth_much_more_or_less_than_another() -> None:
    found = newborns(*[(0, 1000.0)] * 50, *[(1, 0.001)] * 500)
    assert found.worth(0) == MOST_WORTH
    assert found.worth(1) == LEAST_WORTH


def test_pages_of_equal_worth_share_a_step() -> None:
    found = newborns((0, 2.0), (1, 6.0))
    assert list(found.steps([1, 2, 11, 21, 3])) == [
        Step(StepKind.GRANT, spending=Spending([1, 2, 3]), amount=-UNIT // 8),
        Step(StepKind.GRANT, spending=Spending([11]), amount=UNIT // 8),
    ]


@pytest.mark.parametrize("host", [0, 1, 2])
def test_worths_are_whole_16ths(host: int) -> None:
    worth = newborns((0, 1.7), (1, 3.3), (1, 9.1)).worth(host)
    assert (worth * 16).is_integer()
