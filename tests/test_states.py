"""The table of states: a label each, and pauses that follow from their row alone."""

import pytest

from minicrawl.states import (
    CUT,
    FAILURES,
    REFUSALS,
    Pause,
    RetryPolicy,
    State,
)


def test_each_state_has_a_label_of_its_own() -> None:
    assert all(State.labelled(state.label) is state for state in State)
    assert not {*FAILURES} & {*REFUSALS}


def test_failures_alone_have_a_retry_policy() -> None:
    assert {state for state in State if state.row.retry} == {*FAILURES}


def test_a_limit_is_named_by_the_option_that_lifts_it() -> None:
    assert all(state.row.limit.startswith("--") for state in CUT)


@pytest.mark.parametrize(
    ("strikes", "asked_s", "pause_s"),
    [(1, None, 2.0), (2, None, 4.0), (3, None, 8.0), (6, None, 30.0), (6, 20.0, 20.0), (1, 90, 90)],
)
def test_a_pause_doubles_up_to_its_limit_unless_the_host_asks_for_one(
    strikes: int, asked_s: float | None, pause_s: float
) -> None:
    assert RetryPolicy(5, Pause(2.0, 30.0)).pause_s(strikes, asked_s) == pause_s


def test_a_final_failure_pauses_no_host() -> None:
    assert RetryPolicy(1).pause_s(3, 60.0) == 0.0
