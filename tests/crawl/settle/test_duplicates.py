"""Copies of a page take nothing from it, whichever page is read first."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minicrawl.crawl.settle import contents as module
from minicrawl.crawl.settle.contents import MOST_DECISIONS
from minicrawl.model import State
from minicrawl.report.audit import audit
from minicrawl.report.page_links import backlinks
from minicrawl.report.page_states import explain
from minicrawl.report.snapshot import snapshot
from tests.crawl.fakes import Answer, Run, crawl, html
from tests.crawl.settle.desk import Desk

SEED, VICTIM = "http://seed.example", "http://victim.example"
EVIL, OTHER = "http://evil.example", "http://other.example"
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
    """Return the rank of a page by importance, from 1."""
    with snapshot(run.path) as seen:
        return explain(seen, url).rank


def stands_for(run: Run, url: str) -> str | None:
    with snapshot(run.path) as seen:
        return explain(seen, url).stands_for


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


def test_the_original_gets_the_cash_that_went_to_its_copy_first(tmp_path: Path) -> None:
    run = crawl(web_of([f"{EVIL}/"], depth=4), tmp_path / "crawl.db", f"{SEED}/", concurrency=1)
    with snapshot(run.path) as seen:
        victim, evil = explain(seen, f"{VICTIM}/"), explain(seen, f"{EVIL}/")
        assert victim.inlinks == PAGES + 1
        assert evil.inlinks == 1
        assert backlinks(seen, f"{EVIL}/").pages == backlinks(seen, f"{VICTIM}/").pages
    assert victim.history + victim.cash > evil.history + evil.cash


def late(path: Path, **limits: Any) -> Run:
    """Crawl a web where the victim has one link when it is read, and gets others later."""
    web = web_of([f"{EVIL}/"], depth=3)
    web[f"{SEED}/"] = html(f"{EVIL}/", f"{SEED}/first", *[f"{SEED}/{word}" for word in WORDS])
    web[f"{SEED}/first"] = mine("first", f"{VICTIM}/", *[f"{SEED}/gone/{word}" for word in WORDS])
    return crawl(web, path, f"{SEED}/", strategy="breadth-first", concurrency=1, **limits)


def test_a_change_of_the_original_costs_one_more_request(tmp_path: Path) -> None:
    run = late(tmp_path / "crawl.db")
    assert run.states[f"{VICTIM}/"] is State.FETCHED
    assert stands_for(run, f"{EVIL}/") == f"{VICTIM}/"
    assert run.asked.count(f"{VICTIM}/") == 2
    assert len(run.asked) == len(set(run.asked)) + 1


@pytest.mark.parametrize("pages", [15, 20, 25, 30])
def test_a_resumed_crawl_chooses_the_same_original(tmp_path: Path, pages: int) -> None:
    path = tmp_path / "crawl.db"
    late(path, pages=pages)
    run = late(path)
    assert run.states[f"{VICTIM}/"] is State.FETCHED
    assert stands_for(run, f"{EVIL}/") == f"{VICTIM}/"
    assert is_intact(run)


def test_a_copy_found_by_a_resumed_crawl_takes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "crawl.db"
    web = web_of([])
    crawl(web, path, f"{SEED}/", concurrency=1)
    web |= {f"{OTHER}/": mine(f"{EVIL}/"), f"{EVIL}/": web[f"{VICTIM}/"]}
    run = crawl(web, path, f"{OTHER}/", endowment=0)
    assert run.states[f"{VICTIM}/"] is State.FETCHED
    assert stands_for(run, f"{EVIL}/") == f"{VICTIM}/"


def test_a_resumed_crawl_with_weighted_links_chooses_the_same_original(tmp_path: Path) -> None:
    path = tmp_path / "crawl.db"
    limits: dict[str, Any] = {"weight_internal": 0.5}
    late(path, pages=22, **limits)
    assert late(path, **limits).states[f"{VICTIM}/"] is State.FETCHED


def test_a_seed_is_the_original_of_its_copies(tmp_path: Path) -> None:
    web = web_of([f"{EVIL}/"])
    run = crawl(web, tmp_path / "crawl.db", f"{SEED}/", f"{EVIL}/", concurrency=1)
    assert run.states[f"{EVIL}/"] is State.FETCHED
    assert stands_for(run, f"{VICTIM}/") == f"{EVIL}/"


def test_all_pages_of_a_copied_site_remain_originals(tmp_path: Path) -> None:
    """Links from others lead to the front page of the victim alone. Its other pages count because
    its host gets more from others.
    """
    names = [f"/part-{word(number)}" for number in range(20)]
    leaves = {name: html(title=f"Part {name}", body=f"All about {name}. {TEXT}") for name in names}
    web = web_of([])
    web |= {VICTIM + name: leaf for name, leaf in leaves.items()}
    web |= {EVIL + name: leaf for name, leaf in leaves.items()}
    web[f"{VICTIM}/"] = html(*names, title="Victim", body=TEXT)
    web[f"{EVIL}/"] = html(*names, title="Evil", body="Others are better.")
    web[f"{SEED}/"] = html(f"{EVIL}/", *[f"{SEED}/{word}" for word in WORDS])
    run = crawl(web, tmp_path / "crawl.db", f"{SEED}/", strategy="breadth-first", concurrency=1)
    assert {run.states[VICTIM + name] for name in names} == {State.FETCHED}
    assert {run.states[EVIL + name] for name in names} <= {State.ALIAS, State.TWIN}
    assert is_intact(run)


def mirrored_first(path: Path) -> Run:
    """Crawl a web where links to the copy are found first, and those to the victim later."""
    names = [f"/part-{word(number)}" for number in range(20)]
    leaves = {name: html(title=f"Part {name}", body=f"All about {name}. {TEXT}") for name in names}
    web: dict[str, Answer] = {VICTIM + name: leaf for name, leaf in leaves.items()}
    web |= {EVIL + name: leaf for name, leaf in leaves.items()}
    web[f"{VICTIM}/"] = web[f"{EVIL}/"] = html(*names, title="Victim", body=TEXT)
    trail = [f"{SEED}/trail-{word(number)}" for number in range(8)]
    web[f"{SEED}/"] = html(f"{EVIL}/", f"{SEED}/link", trail[0])
    web[f"{SEED}/link"] = mine("link", f"{VICTIM}/")
    for one, after in zip(trail, [*trail[1:], f"{SEED}/hub"], strict=True):
        web[one] = mine(one, after)
    friends = [f"{SEED}/friend-{word}" for word in WORDS]
    web[f"{SEED}/hub"] = mine("hub", *friends)
    web |= {name: mine(name, f"{VICTIM}/", f"{VICTIM}{names[-1]}") for name in friends}
    return crawl(web, path, f"{SEED}/", strategy="breadth-first", concurrency=1, endowment=50)


def test_a_host_taken_for_a_mirror_is_read_when_it_gets_more_from_others(tmp_path: Path) -> None:
    run = mirrored_first(tmp_path / "crawl.db")
    of_victim = {url: state for url, state in run.states.items() if url.startswith(VICTIM)}
    assert len(of_victim) == 21
    assert set(of_victim.values()) == {State.FETCHED}
    assert is_intact(run)


def test_of_copies_on_one_site_the_page_read_first_is_the_original(tmp_path: Path) -> None:
    web = web_of(["http://copy.victim.example/"])
    run = crawl(web, tmp_path / "crawl.db", f"{SEED}/", strategy="breadth-first", concurrency=1)
    assert stands_for(run, f"{VICTIM}/") == "http://copy.victim.example/"


def give(desk: Desk, url: str, units: int, by: str = OTHER) -> None:
    """Let a page of the site `by` give cash to the page at `url`."""
    giver = desk.page(f"{by}/{desk.frontier.last_seq}")
    desk.frontier.ledger.endow([giver], 2 * units)
    desk.read(desk.recorder.pages.url_of(giver), url, words=f"gift {giver}")


def overtaking(desk: Desk) -> list[str]:
    found = desk.settler._traps.copies.take_overtaking()
    desk.settler.poster.reopen(found)
    return [desk.recorder.pages.url_of(page) for page in found]


@pytest.fixture
def desk(recorder: Any) -> Desk:
    return Desk(recorder)


def test_how_often_two_pages_overtake_each_other_is_limited(desk: Desk) -> None:
    pages = [f"{VICTIM}/", f"{EVIL}/"]
    for page in pages:
        desk.read(page, words="same")
    changes = 0
    for turn in range(20):
        page = pages[1 - turn % 2]
        give(desk, page, 10 * 2**turn)
        if overtaking(desk) == [page]:
            changes += 1
            assert desk.read(page, words="same") is State.FETCHED
    assert changes == MOST_DECISIONS


def test_a_copy_that_gets_a_little_more_does_not_overtake(desk: Desk) -> None:
    for page in (f"{VICTIM}/", f"{EVIL}/"):
        give(desk, page, 10)
        desk.read(page, words="same")
    give(desk, f"{EVIL}/", 2)
    assert overtaking(desk) == []


def test_cash_from_its_own_site_does_not_help_a_copy(desk: Desk) -> None:
    for page in (f"{VICTIM}/", f"{EVIL}/"):
        desk.read(page, words="same")
    give(desk, f"{EVIL}/", 1000, by="http://farm.evil.example")
    assert overtaking(desk) == []


def test_a_copy_that_is_gone_when_it_overtakes_changes_nothing(desk: Desk) -> None:
    for page in (f"{VICTIM}/", f"{EVIL}/"):
        desk.read(page, words="same")
    give(desk, f"{EVIL}/", 10)
    assert overtaking(desk) == [f"{EVIL}/"]
    desk.settler.close(desk.page(f"{EVIL}/"), State.NOT_FOUND)
    assert desk.frontier.state[desk.page(f"{VICTIM}/")] == State.FETCHED
    assert overtaking(desk) == []


def test_a_copy_is_compared_with_the_page_that_overtook_its_original(desk: Desk) -> None:
    for page in (f"{VICTIM}/", f"{EVIL}/", f"{OTHER}/x"):
        desk.read(page, words="same")
    give(desk, f"{EVIL}/", 10, by=SEED)
    overtaking(desk)
    desk.read(f"{EVIL}/", words="same")
    give(desk, f"{OTHER}/x", 5, by=SEED)
    assert overtaking(desk) == []
    give(desk, f"{OTHER}/x", 50, by=SEED)
    assert overtaking(desk) == [f"{OTHER}/x"]


def test_a_page_whose_canonical_form_is_its_copy_stands_for_the_copy(desk: Desk) -> None:
    desk.read("/evil", words="same")
    give(desk, f"{VICTIM}/", 10)
    assert desk.read(f"{VICTIM}/", words="same", canonical="/evil") is State.CANONICAL
    assert desk.frontier.state[desk.page("/evil")] == State.FETCHED


def test_the_number_of_watched_copies_is_limited(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_COPIES", 4)
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
    for page in (f"{VICTIM}/", f"{EVIL}/"):
        give(desk, f"{VICTIM}/", 10)
        desk.read(page, words="same")
    desk.settler._traps.seeds.add(desk.page(f"{EVIL}/"))
    assert overtaking(desk) == [f"{EVIL}/"]
    assert desk.read(f"{EVIL}/", words="same") is State.FETCHED


@pytest.mark.parametrize("are_folded", [False, True])
def test_of_many_overtaking_copies_a_limited_number_is_reopened_at_a_time(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, *, are_folded: bool
) -> None:
    monkeypatch.setattr(module, "MOST_AT_ONCE", 2)
    for origin in (VICTIM, EVIL):
        for name in "abc":
            if not are_folded:
                desk.read(f"{origin}/{name}", words=name)
            elif origin == EVIL:
                desk.settler.fold(desk.page(f"{EVIL}/{name}"), f"{VICTIM}/{name}")
    assert overtaking(desk) == []
    give(desk, f"{EVIL}/", 10)
    assert overtaking(desk) == [f"{EVIL}/a", f"{EVIL}/b"]
    assert overtaking(desk) == [f"{EVIL}/c"]
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
