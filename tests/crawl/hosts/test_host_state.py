"""Strikes and pauses of one host, and whether it answers."""

import pytest

from minicrawl.crawl.hosts.politeness import HostState, NameState
from minicrawl.model import Failed, FailureKind, Response, State, Unchanged
from tests.crawl.hosts.polite import HOST, Polite


def test_no_pause_is_longer_than_max_pause() -> None:
    polite = Polite(max_pause_s=100)
    for _ in range(100):
        polite.strike(HOST, 0, FailureKind.RESET)
    assert polite.hosts[HOST].paused_until == 100
    polite.strike(HOST, 10, FailureKind.THROTTLED, 5000)
    assert polite.hosts[HOST].paused_until == 110


def test_a_success_removes_half_of_the_strikes() -> None:
    polite = Polite(delay_s=0)
    for _ in range(4):
        polite.strike(HOST, 0, FailureKind.RESET)
    polite.hosts[HOST].recover()
    assert polite.hosts[HOST].strikes == 2
    polite.strike(HOST, 100, FailureKind.RESET)
    assert polite.hosts[HOST].paused_until == 104


@pytest.mark.parametrize(("asked_s", "ready_at"), [(0.5, 0.5), (3600, 3600)])
def test_a_host_gets_the_pause_that_it_asks_for(asked_s: float, ready_at: float) -> None:
    polite = Polite(delay_s=0)
    polite.hosts.begin(HOST, 0)
    polite.strike(HOST, 0, FailureKind.THROTTLED, asked_s)
    polite.hosts.end(HOST, 0)
    assert polite.resumed(ready_at - 0.1) == []
    assert polite.resumed(ready_at) == [HOST]


def test_a_pause_is_never_cut_short_by_another_request() -> None:
    polite = Polite(delay_s=1, per_host=3)
    polite.hosts.begin(HOST, 0)
    polite.hosts.begin(HOST, 1)
    polite.strike(HOST, 2, FailureKind.THROTTLED, 60)
    polite.hosts.begin(HOST, 3)
    polite.hosts.end(HOST, 4)
    polite.resumed_hosts.clear()
    assert polite.resumed(61.9) == []
    assert set(polite.resumed(62)) == {HOST}


def test_a_host_that_answers_is_not_down() -> None:
    polite = Polite()
    polite.hosts[HOST].put_down(State.DNS, 100)
    polite.hosts[HOST].recover()
    assert polite.hosts[HOST].trouble_at(1) is None


def test_a_host_that_did_not_answer_in_time_is_silent() -> None:
    host = HostState(NameState("a.example"))
    page = Response(status=200, headers={}, body=b"")
    assert not host.shared.answers
    for heard, answers in (
        (Failed(kind=FailureKind.RESET), False),
        (Failed(kind=FailureKind.NOT_FOUND), True),
        (Failed(kind=FailureKind.RESET), True),
        (Failed(kind=FailureKind.TIMEOUT), False),
        (page, True),
        (page._replace(cut=FailureKind.TIMEOUT), False),
        (Unchanged(), True),
        (Failed(kind=FailureKind.DNS), False),
    ):
        host.hear(heard)
        assert host.shared.answers is answers
