"""How a turn ends, in all cases of what was looked up."""

import pytest

from minicrawl.crawl.settle.plan import plan_of_reading, why_endless
from minicrawl.states import State

PAGE, ORIGINAL, CANONICAL = 1, 2, 3


@pytest.mark.parametrize(
    ("original", "is_better", "canonical", "leads_back", "plan"),
    [
        (None, False, None, False, (State.FETCHED, PAGE)),
        (None, False, CANONICAL, False, (State.CANONICAL, CANONICAL)),
        (None, False, CANONICAL, True, (State.FETCHED, PAGE)),
        (ORIGINAL, False, None, False, (State.ALIAS, ORIGINAL)),
        (ORIGINAL, False, CANONICAL, False, (State.ALIAS, ORIGINAL)),
        (ORIGINAL, True, None, False, (State.FETCHED, PAGE)),
        (ORIGINAL, True, CANONICAL, False, (State.CANONICAL, CANONICAL)),
        (ORIGINAL, True, CANONICAL, True, (State.FETCHED, PAGE)),
    ],
)
def test_a_copy_stands_for_its_original_and_others_for_their_canonical_page_unless_in_a_cycle(
    original: int | None,
    is_better: bool,
    canonical: int | None,
    leads_back: bool,
    plan: tuple[State, int],
) -> None:
    planned = plan_of_reading(PAGE, original, canonical, is_better=is_better, leads_back=leads_back)
    assert planned == plan


@pytest.mark.parametrize("was_tried", [False, True])
@pytest.mark.parametrize("sets_cookies", [False, True])
@pytest.mark.parametrize("target", [State.MOVED, State.FETCHED, State.CANONICAL])
def test_redirects_in_a_circle_go_on_once_and_only_with_a_new_cookie(
    target: State, sets_cookies: bool, was_tried: bool
) -> None:
    why = why_endless(sets_cookies=sets_cookies, was_tried=was_tried, target=target)
    assert (why is None) == (sets_cookies and not was_tried and target is State.MOVED)
    assert why is None or ("cookie" in why) == sets_cookies
