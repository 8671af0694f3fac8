"""Copies of a page take nothing from it, whichever page is read first."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minicrawl import State, Store
from minicrawl.report.integrity.audit import audit
from tests.crawl.fakes import Answer, Run, crawl, html
from tests.crawl.settle.desk import Desk

SEED, VICTIM = "http://seed.example", "http://victim.example"
EVIL, OTHER = "http://evil.example", "http://other.example"
PAIR = f"{VICTIM}/", f"{EVIL}/"
PAGES = 12
TEXT = "It says the same in many words. " * 7


def same(*links: str) -> Answer:
    return html(*links, title="Victim", body=TEXT)


def word(number: int) -> str:
    """Return a word for a number: pages that differ in numbers alone would be copies."""
    return "abcdefghij"[number // 10] + "klmnopqrst"[number % 10]


WORDS = [word(number) for number in range(PAGES)]


def mine(*links: str) -> Answer:
    """Return a page that is no copy of another one."""
    return html(*links, title=f"Mine {links}", body=f"These are my own words: {links}.")


def web_of(copies: Sequence[str], *, are_copies: bool = True, depth: int = 0) -> dict[str, Answer]:
    """Return a web whose seed links to the copies, and to the victim by way of many pages."""
    names = [f"{SEED}/{word}" for word in WORDS]
    web: dict[str, Answer] = {f"{SEED}/": html(*copies, *names, title="Seed")}
    web |= {name: mine(name, f"{name}/k" if depth else f"{VICTIM}/") for name in names}
    for step in range(depth):
        here, there = "/k" * (step + 1), "/k" * (step + 2)
        for name in names:
            to = name + there if step + 1 < depth else f"{VICTIM}/"
            web[name + here] = mine(name + here, to)
    web |= {copy: same(f"{VICTIM}/about") if are_copies else mine(copy) for copy in copies}
    return web | {f"{VICTIM}/": same(f"{VICTIM}/about"), f"{VICTIM}/about": mine("about")}


def rank(run: Run, url: str) -> int:
    with Store(run.path) as store:
        return store.explain(url).rank


def stands_for(run: Run, url: str) -> str | None:
    with Store(run.path) as store:
        return store.explain(url).stands_for


def is_intact(run: Run) -> bool:
    return audit(run.path).wrong == []


@pytest.mark.parametrize(
    ("copies", "depth", "strategy"),
    [
        ([f"{EVIL}/", f"{EVIL}/again", f"{OTHER}/x", "http://third.example/"], 0, "greedy"),
        ([f"{EVIL}/"], 1, "breadth-first"),
        (["http://copy.famous.example/"], 3, "greedy"),
        (["http://192.0.2.7/"], 3, "breadth-first"),
    ],
)
def test_a_copy_does_not_lower_the_rank_of_its_original(
    tmp_path: Path, copies: list[str], depth: int, strategy: str
) -> None:
    limits: dict[str, Any] = {"strategy": strategy, "concurrency": 1}
    before = web_of(copies, are_copies=False, depth=depth)
    unharmed = crawl(before, tmp_path / "unharmed.db", f"{SEED}/", **limits)
    run = crawl(web_of(copies, depth=depth), tmp_path / "crawl.db", f"{SEED}/", **limits)
    assert run.states[f"{VICTIM}/"] is State.FETCHED
    assert rank(run, f"{VICTIM}/") <= rank(unharmed, f"{VICTIM}/")
    assert [stands_for(run, copy) for copy in copies] == [f"{VICTIM}/"] * len(copies)
    assert all(rank(run, f"{VICTIM}/") < rank(run, copy) for copy in copies)
    assert is_intact(run)


def test_the_original_gets_the_cash_that_went_to_its_copy_first(path: Path) -> None:
    crawl(web_of([f"{EVIL}/"], depth=4), path, f"{SEED}/", concurrency=1)
    with Store(path) as store:
        victim, evil = store.explain(f"{VICTIM}/"), store.explain(f"{EVIL}/")
        assert (victim.inlinks, evil.inlinks) == (PAGES + 1, 1)
        assert store.backlinks(f"{EVIL}/") == store.backlinks(f"{VICTIM}/")
    assert victim.history + victim.cash > evil.history + evil.cash


def late(path: Path, **limits: Any) -> Run:
    """Crawl a web where the victim has one link when it is read, and gets others later."""
    web = web_of([f"{EVIL}/"], depth=3)
    web[f"{SEED}/"] = html(f"{EVIL}/", f"{SEED}/first", *[f"{SEED}/{word}" for word in WORDS])
    web[f"{SEED}/first"] = mine("first", f"{VICTIM}/", *[f"{SEED}/gone/{word}" for word in WORDS])
    return crawl(web, path, f"{SEED}/", strategy="breadth-first", concurrency=1, **limits)


def test_a_change_of_the_original_costs_one_more_request(path: Path) -> None:
    run = late(path)
    assert run.states[f"{VICTIM}/"] is State.FETCHED
    assert stands_for(run, f"{EVIL}/") == f"{VICTIM}/"
    assert run.asked.count(f"{VICTIM}/") == 2
    assert len(run.asked) == len(set(run.asked)) + 1


@pytest.mark.parametrize(
    ("pages", "limits"),
    [*((pages, {}) for pages in (15, 20, 25, 30)), (22, {"weight_internal": 0.5})],
)
def test_a_resumed_crawl_chooses_the_same_original(
    path: Path, pages: int, limits: dict[str, Any]
) -> None:
    late(path, pages=pages, **limits)
    run = late(path, **limits)
    assert run.states[f"{VICTIM}/"] is State.FETCHED
    assert stands_for(run, f"{EVIL}/") == f"{VICTIM}/"
    assert is_intact(run)


def test_a_copy_found_by_a_resumed_crawl_takes_nothing(path: Path) -> None:
    web = web_of([])
    crawl(web, path, f"{SEED}/", concurrency=1)
    web |= {f"{OTHER}/": mine(f"{EVIL}/"), f"{EVIL}/": web[f"{VICTIM}/"]}
    run = crawl(web, path, f"{OTHER}/", endowment=0)
    assert run.states[f"{VICTIM}/"] is State.FETCHED
    assert stands_for(run, f"{EVIL}/") == f"{VICTIM}/"


def test_a_seed_is_the_original_of_its_copies(path: Path) -> None:
    run = crawl(web_of([f"{EVIL}/"]), path, f"{SEED}/", f"{EVIL}/", concurrency=1)
    assert run.states[f"{EVIL}/"] is State.FETCHED
    assert stands_for(run, f"{VICTIM}/") == f"{EVIL}/"


PARTS = [f"/part-{word(number)}" for number in range(20)]


def with_parts(front: Answer) -> dict[str, Answer]:
    """Return the victim, whose front page links to its parts, and a copy of it with this front."""
    leaves = {name: html(title=f"Part {name}", body=f"All about {name}. {TEXT}") for name in PARTS}
    web: dict[str, Answer] = {f"{VICTIM}/": same(*PARTS), f"{EVIL}/": front}
    return web | {host + name: leaf for host in (VICTIM, EVIL) for name, leaf in leaves.items()}


def test_all_pages_of_a_copied_site_remain_originals(path: Path) -> None:
    """Links from others lead to the front page of the victim alone. Its other pages count because
    its host gets more from others.
    """
    web = web_of([]) | with_parts(html(*PARTS, title="Evil", body="Others are better."))
    web[f"{SEED}/"] = html(f"{EVIL}/", *[f"{SEED}/{word}" for word in WORDS])
    run = crawl(web, path, f"{SEED}/", strategy="breadth-first", concurrency=1)
    assert {run.states[VICTIM + name] for name in PARTS} == {State.FETCHED}
    assert {run.states[EVIL + name] for name in PARTS} <= {State.ALIAS, State.TWIN}
    assert is_intact(run)


def test_a_host_taken_for_a_mirror_is_read_when_it_gets_more_from_others(path: Path) -> None:
    """Links to the copy are found first, and those to the victim later."""
    web = with_parts(same(*PARTS))
    trail = [f"{SEED}/trail-{word(number)}" for number in range(8)]
    web[f"{SEED}/"] = html(f"{EVIL}/", f"{SEED}/link", trail[0])
    web[f"{SEED}/link"] = mine("link", f"{VICTIM}/")
    for one, after in zip(trail, [*trail[1:], f"{SEED}/hub"], strict=True):
        web[one] = mine(one, after)
    friends = [f"{SEED}/friend-{word}" for word in WORDS]
    web[f"{SEED}/hub"] = mine("hub", *friends)
    web |= {name: mine(name, f"{VICTIM}/", f"{VICTIM}{PARTS[-1]}") for name in friends}
    run = crawl(web, path, f"{SEED}/", strategy="breadth-first", concurrency=1, endowment=50)
    of_victim = {url: state for url, state in run.states.items() if url.startswith(VICTIM)}
    assert len(of_victim) == 21
    assert set(of_victim.values()) == {State.FETCHED}
    assert is_intact(run)


def test_of_copies_on_one_site_the_page_read_first_is_the_original(path: Path) -> None:
    web = web_of(["http://copy.victim.example/"])
    run = crawl(web, path, f"{SEED}/", strategy="breadth-first", concurrency=1)
    assert stands_for(run, f"{VICTIM}/") == "http://copy.victim.example/"


def give(desk: Desk, url: str, units: int, by: str = OTHER) -> None:
    """Let a page of the site `by` give cash to the page at `url`."""
    giver = desk.page(f"{by}/{desk.frontier.last_seq}")
    desk.frontier.ledger.endow([giver], 2 * units)
    desk.read(desk.recorder.pages.url_of(giver), url, words=f"gift {giver}")


def overtaking(desk: Desk) -> list[str]:
    # The loop asks for this between two turns.
    found = desk.traps.copies.take_overtaking()
    desk.poster.reopen(found)
    return [desk.recorder.pages.url_of(page) for page in found]


@pytest.fixture
def pair(desk: Desk) -> Desk:
    """Desk that has read the victim and its copy."""
    for page in PAIR:
        desk.read(page, words="same")
    return desk


def test_how_often_two_pages_overtake_each_other_is_limited(pair: Desk) -> None:
    changes = 0
    for turn in range(20):
        page = PAIR[1 - turn % 2]
        give(pair, page, 10 * 2**turn)
        if overtaking(pair) == [page]:
            changes += 1
            assert pair.read(page, words="same") is State.FETCHED
    assert 2 <= changes < 10


def test_a_copy_that_gets_a_little_more_does_not_overtake(desk: Desk) -> None:
    for page in PAIR:
        give(desk, page, 10)
        desk.read(page, words="same")
    give(desk, f"{EVIL}/", 2)
    assert overtaking(desk) == []


def test_cash_from_its_own_site_does_not_help_a_copy(pair: Desk) -> None:
    give(pair, f"{EVIL}/", 1000, by="http://farm.evil.example")
    assert overtaking(pair) == []


def test_a_copy_that_is_gone_when_it_overtakes_changes_nothing(pair: Desk) -> None:
    give(pair, f"{EVIL}/", 10)
    assert overtaking(pair) == [f"{EVIL}/"]
    pair.settler.close(pair.page(f"{EVIL}/"), State.NOT_FOUND)
    assert pair.frontier.state[pair.page(f"{VICTIM}/")] == State.FETCHED
    assert overtaking(pair) == []


def test_a_copy_is_compared_with_the_page_that_overtook_its_original(pair: Desk) -> None:
    pair.read(f"{OTHER}/x", words="same")
    give(pair, f"{EVIL}/", 10, by=SEED)
    overtaking(pair)
    pair.read(f"{EVIL}/", words="same")
    give(pair, f"{OTHER}/x", 5, by=SEED)
    assert overtaking(pair) == []
    give(pair, f"{OTHER}/x", 50, by=SEED)
    assert overtaking(pair) == [f"{OTHER}/x"]


def test_a_page_whose_canonical_form_is_its_copy_stands_for_the_copy(desk: Desk) -> None:
    desk.read("/evil", words="same")
    give(desk, f"{VICTIM}/", 10)
    assert desk.read(f"{VICTIM}/", words="same", canonical="/evil") is State.CANONICAL
    assert desk.frontier.state[desk.page("/evil")] == State.FETCHED


def test_the_number_of_watched_copies_is_limited(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("minicrawl.crawl.settle.duplicates.MOST_COPIES", 4)
    desk.read(f"{VICTIM}/", words="same")
    copies = [f"http://copy{number}.example/" for number in range(8)]
    give(desk, f"{VICTIM}/", 10)
    for number, copy in enumerate(copies):
        give(desk, copy, 9 if number == 1 else 1)
        assert desk.read(copy, words="same") is State.ALIAS
    for copy in copies[:2]:
        give(desk, copy, 1000)
    assert overtaking(desk) == [copies[1]]


def test_a_copy_that_becomes_a_seed_is_the_original(desk: Desk) -> None:
    for page in PAIR:
        give(desk, f"{VICTIM}/", 10)
        desk.read(page, words="same")
    # As a crawl that begins with this page.
    desk.traps.seeds.add(desk.page(f"{EVIL}/"))
    assert overtaking(desk) == [f"{EVIL}/"]
    assert desk.read(f"{EVIL}/", words="same") is State.FETCHED


@pytest.mark.parametrize("are_twins", [False, True])
def test_of_many_overtaking_copies_a_limited_number_is_reopened_at_a_time(
    desk: Desk, *, are_twins: bool
) -> None:
    names = [str(number) for number in range(600)]
    for origin in (VICTIM, EVIL):
        for name in names:
            if not are_twins:
                desk.read(f"{origin}/{name}", words=name)
            elif origin == EVIL:
                desk.settler.close_twin(desk.page(f"{EVIL}/{name}"), f"{VICTIM}/{name}")
    assert overtaking(desk) == []
    give(desk, f"{EVIL}/", 10)
    first, rest = overtaking(desk), overtaking(desk)
    assert 0 < len(rest) < len(first)
    assert first + rest == [f"{EVIL}/{name}" for name in names]
    assert overtaking(desk) == []


def test_thin_pages_are_copies_only_of_pages_of_their_host(desk: Desk) -> None:
    for origin in (VICTIM, EVIL):
        assert desk.read(f"{origin}/", words="", is_thin=True, content=7) is State.FETCHED
        assert desk.read(f"{origin}/2", words="", is_thin=True, content=7) is State.ALIAS
        assert desk.links(f"{origin}/2") == [desk.page(f"{origin}/")]


def test_after_a_resume_thin_pages_are_copies_only_of_pages_of_their_host(desk: Desk) -> None:
    hosts = [f"http://host{number}.example" for number in range(5)]
    for host in hosts:
        desk.read(f"{host}/", is_thin=True, content=7)
    later = Desk(desk.recorder)
    pages = np.array([desk.page(f"{host}/") for host in hosts])
    later.settler.load_contents(pages, np.full(len(pages), 7))
    for host in hosts:
        assert later.read(f"{host}/2", is_thin=True, content=7) is State.ALIAS
        assert later.links(f"{host}/2") == [desk.page(f"{host}/")]
    assert later.read("http://new.example/", is_thin=True, content=7) is State.FETCHED


def test_the_former_content_of_a_thin_page_is_forgotten(desk: Desk) -> None:
    desk.read(f"{VICTIM}/", is_thin=True, content=7)
    desk.read(f"{VICTIM}/", words="It says more now.")
    assert len(desk.settler.contents) == 1
