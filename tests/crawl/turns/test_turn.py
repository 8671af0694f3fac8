"""The turn of a page, and the decision what to do with it."""

from itertools import product
from pathlib import Path

import pytest

from minicrawl.crawl.events import Event
from minicrawl.crawl.schedule.leases import Lease
from minicrawl.crawl.settle.outcome import NO_CHAIN, RedirectChain
from minicrawl.crawl.trap_detector import SkipReason
from minicrawl.crawl.turns.turn import (
    Ask,
    Close,
    Decision,
    HostFacts,
    LearnHost,
    SuspendedTurns,
    Wait,
    WaitsFor,
    decide,
)
from minicrawl.model import FailureKind, State
from tests.crawl.fakes import Answer, Scene, crawl, failed, html, moved

A = "http://a.example"

REFUSALS = (
    None,
    SkipReason(State.SCOPE),
    SkipReason(State.TRAP, "deep"),
    SkipReason(State.TWIN, "", "http://a/"),
)
FACTS = [HostFacts(*facts) for facts in product((False, True), repeat=len(HostFacts._fields))]


def _by_table(refusal: SkipReason | None, host: HostFacts, *, is_too_far: bool) -> Decision:
    """The first row whose condition holds."""
    table: list[tuple[bool, Decision]] = [
        (refusal is not None, Close(refusal or SkipReason(State.UNREAD))),
        (is_too_far, Wait(WaitsFor.SHORTER_WAY)),
        (host.is_onboarding, Wait(WaitsFor.ONBOARDING)),
        (not host.has_room, Wait(WaitsFor.ADDRESS)),
        (not host.may_be_asked, Wait(WaitsFor.HOST)),
        (not host.has_slot, Wait(WaitsFor.SLOT)),
        (not host.is_known, LearnHost()),
        (True, Ask()),
    ]
    return next(decision for holds, decision in table if holds)


def test_every_combination_is_decided_as_the_table_says() -> None:
    met = set()
    for refusal, is_too_far, host in product(REFUSALS, (False, True), FACTS):
        decision = decide(refusal, is_too_far=is_too_far, host=host)
        assert decision == _by_table(refusal, host, is_too_far=is_too_far), (refusal, host)
        met.add(decision)
    assert {type(decision) for decision in met} == {Ask, LearnHost, Wait, Close}
    waits = {decision.waits_for for decision in met if isinstance(decision, Wait)}
    assert waits == set(WaitsFor)


READY = HostFacts(
    is_onboarding=False, has_room=True, may_be_asked=True, has_slot=True, is_known=True
)


def test_a_page_whose_host_is_ready_is_asked_for() -> None:
    assert decide(None, is_too_far=False, host=READY) == Ask()


def test_a_host_is_learned_before_its_first_page() -> None:
    assert decide(None, is_too_far=False, host=READY._replace(is_known=False)) == LearnHost()


@pytest.mark.parametrize("host", FACTS)
def test_a_page_that_is_refused_is_closed_whatever_its_host_does(host: HostFacts) -> None:
    refusal = SkipReason(State.ROBOTS)
    assert decide(refusal, is_too_far=True, host=host) == Close(refusal)


@pytest.mark.parametrize("host", [host for host in FACTS if not host.is_known])
def test_no_page_of_an_unknown_host_is_asked_for(host: HostFacts) -> None:
    assert decide(None, is_too_far=False, host=host) != Ask()


# ---------------------------------------------------------------- between two leases

PAGE, OTHER, HOST = 7, 8, 3
LEASE = Lease(PAGE, HOST, "http://a.example/", again=False)


def test_a_turn_begins_with_nothing() -> None:
    turns = SuspendedTurns()
    turn = turns.turn_of(LEASE)
    assert (turn.page, turn.host, turn.tries, turn.spelling, turn.chain) == (
        PAGE,
        HOST,
        0,
        None,
        NO_CHAIN,
    )
    assert len(turns) == 0


def test_a_suspended_turn_keeps_its_tries_and_its_spelling_for_every_lease_until_it_ends() -> None:
    turns = SuspendedTurns()
    turn = turns.turn_of(LEASE)
    turn.tries, turn.spelling, turn.cost_s = 2, "http://a.example/?sid=1", 0.5
    turns.suspend(turn)
    for _ in range(2):  # the first lease is given back, as the host may not be asked
        again = turns.turn_of(LEASE)
        assert (again.tries, again.spelling, again.cost_s) == (2, turn.spelling, 0)
    assert turns.turn_of(LEASE._replace(page=OTHER)).tries == 0
    turns.end(PAGE)
    assert turns.turn_of(LEASE).tries == 0
    assert len(turns) == 0


def test_of_two_chains_of_redirects_to_a_page_the_longer_one_counts() -> None:
    turns = SuspendedTurns()
    for hops in (2, 5, 3):
        turns.redirected(PAGE, RedirectChain(hops))
    assert (turns.chain_to(PAGE).hops, turns.chain_to(OTHER).hops) == (5, 0)
    turns.end(PAGE)
    assert turns.chain_to(PAGE) is NO_CHAIN


def test_of_two_chains_to_a_page_both_beginnings_are_known() -> None:
    turns = SuspendedTurns()
    first = NO_CHAIN.led_on(1, has_jar=True, sets_cookies=True).led_on(
        2, has_jar=True, sets_cookies=False
    )
    turns.redirected(PAGE, first)
    turns.redirected(PAGE, NO_CHAIN.led_on(3, has_jar=True, sets_cookies=False))
    assert turns.chain_to(PAGE) == RedirectChain(2, True, (1, 3))


def test_cookies_that_another_page_brought_count_for_a_chain_that_waits() -> None:
    turns = SuspendedTurns()
    turns.cookies_came()  # too early to let anybody in who is sent to a login now
    turns.redirected(PAGE, NO_CHAIN.led_on(1, has_jar=True, sets_cookies=False))
    assert not turns.chain_to(PAGE).sets_cookies
    turns.cookies_came()
    assert turns.chain_to(PAGE).sets_cookies
    turns.redirected(OTHER, NO_CHAIN.led_on(1, has_jar=False, sets_cookies=False))
    turns.cookies_came()
    assert not turns.chain_to(OTHER).sets_cookies  # nothing is sent back without a jar


def test_without_a_jar_a_chain_is_its_length() -> None:
    chain = NO_CHAIN.led_on(1, has_jar=False, sets_cookies=False)
    assert chain == RedirectChain(1)


def test_a_page_whose_turn_has_ended_takes_no_room() -> None:
    turns = SuspendedTurns()
    for page in range(100):
        turn = turns.turn_of(LEASE._replace(page=page))
        turns.suspend(turn)
        turns.redirected(page, RedirectChain(1))
        turns.end(page)
    assert len(turns) == 0


def test_a_crawl_that_has_read_all_remembers_nothing_of_its_turns(tmp_path: Path) -> None:
    web: dict[str, Answer] = {
        f"{A}/": html("/moved", "/gone", "/down", title="All"),
        f"{A}/moved": moved("/here"),
        f"{A}/here": html(title="Here"),
        f"{A}/gone": failed(FailureKind.NOT_FOUND),
        f"{A}/down": failed(FailureKind.SERVER_ERROR),
    }
    remembered: list[int] = []

    def hear(scene: Scene, _event: Event) -> None:
        remembered.append(len(scene.crawler.parts.suspended))

    run = crawl(web, tmp_path / "crawl.db", f"{A}/", hear=hear)
    assert run.states[f"{A}/here"] is State.FETCHED
    assert max(remembered) > 0
    assert remembered[-1] == 0
