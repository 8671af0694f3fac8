"""Turns of pages that wait for another lease."""

from pathlib import Path

from minicrawl import Event
from minicrawl.crawl.settle.outcome import NO_CHAIN, RedirectChain
from minicrawl.crawl.turns.turn import SuspendedTurns
from minicrawl.states import State
from tests.crawl.fakes import Answer, Scene, crawl, failed, html, moved

A = "http://a.example"
PAGE, OTHER = 7, 8


def test_of_two_chains_of_redirects_to_a_page_the_longer_one_counts() -> None:
    turns = SuspendedTurns()
    for hops in (2, 5, 3):
        turns.redirected(PAGE, RedirectChain(hops))
    assert (turns.chain_to(PAGE).hops, turns.chain_to(OTHER).hops) == (5, 0)
    turns.end(PAGE)
    assert turns.chain_to(PAGE) is NO_CHAIN


def test_the_first_pages_of_both_chains_to_a_page_are_known() -> None:
    turns = SuspendedTurns()
    first = NO_CHAIN.led_on(1, has_jar=True, sets_cookies=True).led_on(
        2, has_jar=True, sets_cookies=False
    )
    turns.redirected(PAGE, first)
    turns.redirected(PAGE, NO_CHAIN.led_on(3, has_jar=True, sets_cookies=False))
    assert turns.chain_to(PAGE) == RedirectChain(2, True, (1, 3))


def test_cookies_that_another_page_brought_count_for_a_chain_that_waits() -> None:
    turns = SuspendedTurns()
    turns.cookies_came()  # too early for pages that are redirected only now
    turns.redirected(PAGE, NO_CHAIN.led_on(1, has_jar=True, sets_cookies=False))
    assert not turns.chain_to(PAGE).sets_cookies
    turns.cookies_came()
    assert turns.chain_to(PAGE).sets_cookies
    turns.redirected(OTHER, NO_CHAIN.led_on(1, has_jar=False, sets_cookies=False))
    turns.cookies_came()
    assert not turns.chain_to(OTHER).sets_cookies  # nothing is sent back without a jar


def test_a_finished_crawl_remembers_no_suspended_turn(path: Path) -> None:
    web: dict[str, Answer] = {
        f"{A}/": html("/moved", "/gone", "/down", title="All"),
        f"{A}/moved": moved("/here"),
        f"{A}/here": html(title="Here"),
        f"{A}/gone": failed(State.NOT_FOUND),
        f"{A}/down": failed(State.SERVER_ERROR),
    }
    remembered: list[int] = []

    def hear(scene: Scene, _event: Event) -> None:
        remembered.append(len(scene.crawler.parts.ends.suspended))

    run = crawl(web, path, f"{A}/", hear=hear)
    assert run.states[f"{A}/here"] is State.FETCHED
    assert max(remembered) > 0
    assert remembered[-1] == 0
