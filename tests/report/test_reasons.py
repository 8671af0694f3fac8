"""A page is explained: why it is in its state, and what comes next."""

from contextlib import closing
from pathlib import Path

import pytest

from minicrawl.errors import UsageError
from minicrawl.report.selected_pages import PageSelection, rows
from minicrawl.report.snapshot import snapshot
from minicrawl.report.states.explanation import Explanation, Fetch, explain
from minicrawl.report.waiting_pages import QueuePosition
from minicrawl.states import CUT, FAILURES, REFUSALS, State
from minicrawl.store.records import NOT_ASKED, FetchRow, HostRow, StoreTerms
from minicrawl.web.robots.rules import Rules
from tests.stores import DEEP, GONE, MOVED, A, B, C, HandCrawl

HOST = "http://a.example"
UNTIL = 1_800_000_000.0
FORBIDDEN = Rules(forbidden=("/",)).text()


def explained(path: Path, url: str) -> Explanation:
    with snapshot(path) as seen:
        return explain(seen, url)


def test_a_page_that_was_read_has_all_its_facts(store: Path) -> None:
    found = explained(store, A)
    assert (found.state, found.status) == ("fetched", 200)
    assert len(found.reasons) == 1
    assert (found.history, found.depth, found.inlinks) == (6.0, 0, 2)
    assert (found.title, found.last_fetched) == ("The first", "2027-01-15T08:00:01Z")
    assert found.fetches == [Fetch("2027-01-15T08:00:01Z", "page", 200, "")]
    assert (found.place, found.stands_for) == (None, None)


def test_the_largest_givers_come_first_and_their_shares_add_up(store: Path) -> None:
    givers = explained(store, A).givers
    assert {giver.url for giver in givers} == {MOVED, B}
    assert sum(giver.share for giver in givers) == pytest.approx(1)
    assert givers[0].amount >= givers[1].amount
    (giver,) = explained(store, DEEP).givers
    assert (giver.url, giver.share) == (A, 1)
    assert giver.amount == pytest.approx(6 * 0.85 / 3)


def test_a_page_has_the_status_of_the_lists(path: Path) -> None:
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds([A, GONE, C])
        crawl.read(A)
        crawl.batch.fetches.append(FetchRow(1, crawl.now, "failed:not-found", 404, 0, 0.0, ""))
        crawl.ended(GONE, State.NOT_FOUND)
        crawl.batch.fetches.pop()
    with snapshot(crawl.path) as seen:
        listed = {page.url: page.status for page in rows(seen, PageSelection())}
    assert listed == {A: 200, GONE: 404, C: None}
    assert {url: explained(crawl.path, url).status for url in listed} == listed


def test_a_redirect_names_its_target(store: Path) -> None:
    found = explained(store, MOVED)
    assert found.stands_for == A
    assert A in found.reasons[0]


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("mailto:me", "'mailto:me'"),
        ("http://a.example/older", MOVED),
        ("http://d.example/", "no page of d.example"),
    ],
)
def test_an_unknown_url_is_refused_with_similar_ones(store: Path, url: str, named: str) -> None:
    with pytest.raises(UsageError) as caught:
        explained(store, url)
    assert caught.value.exit_code == 2
    assert named in str(caught.value)


NEXT, UNASKED, PAUSES = "most cash", "not requested yet", "pause until 2027-01-15T08:00:00Z"


@pytest.mark.parametrize(
    ("state", "host", "named"),
    [
        (None, HostRow(0, HOST), [NEXT, UNASKED]),
        (None, HostRow(0, HOST, wait_until=UNTIL), [NEXT, PAUSES, UNASKED]),
        (None, HostRow(0, HOST, FORBIDDEN, 0.0), [NEXT, "robots.txt of its host forbids"]),
        (None, HostRow(0, HOST, Rules().text(), 0.0), [NEXT]),
        (None, HostRow(0, HOST, Rules(crawl_delay_s=2.5).text(), 0.0), [NEXT, "2.5 s"]),
        (State.ROBOTS, HostRow(0, HOST, FORBIDDEN, UNTIL), ["", "after 2027-01-15T08:00:00Z"]),
        (State.TLS, HostRow(0, HOST, trouble="tls: it has expired"), ["tls", "it has expired"]),
        (State.ROBOTS, HostRow(0, HOST, trouble="robots.txt: x"), ["", "was: robots.txt: x"]),
        (State.ROBOTS, HostRow(0, HOST, trouble="reset: of another page"), ["robots.txt"]),
        (State.SCOPE, HostRow(0, HOST, trouble="reset: of another page"), ["scope"]),
        (State.ADDRESS, HostRow(0, HOST, trouble="address: 10.0.0.1"), ["", "10.0.0.1"]),
        (State.ADDRESS, HostRow(0, HOST, trouble="address: port 1"), ["or the port", "port 1"]),
    ],
)
def test_a_page_has_the_reasons_of_its_host(
    tmp_path: Path, state: State | None, host: HostRow, named: list[str]
) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        crawl.seeds([A])
        if state is not None:
            crawl.ended(A, state)
            crawl.batch.fetches.clear()
        crawl.batch.hosts = [host]
    for reason, words in zip(explained(crawl.path, A).reasons, named, strict=True):
        assert words in reason


def test_a_skipped_page_names_the_limit(path: Path) -> None:
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds([A, B])
        crawl.ended(A, State.TRAP)
        crawl.batch.fetches.append(FetchRow(0, crawl.now, NOT_ASKED, None, 0, 0.0, "--limit 3"))
        crawl.moved(B, A, State.TWIN)
        crawl.batch.fetches.append(FetchRow(1, crawl.now, NOT_ASKED, None, 0, 0.0, "--limit 4"))
    for url, words, limit in ((A, "trap", "--limit 3"), (B, A, "--limit 4")):
        reason, detail = explained(crawl.path, url).reasons[:2]
        assert words in reason
        assert detail == limit


@pytest.mark.parametrize(
    ("state", "words"), [(State.CANONICAL, "canonical URL"), (State.ALIAS, "same content as")]
)
def test_a_duplicate_names_its_original_and_the_reason(
    path: Path, state: State, words: str
) -> None:
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds([A])
        crawl.moved(A, B, state)
    (reason,) = explained(crawl.path, A).reasons
    assert words in reason
    assert B in reason


def test_a_waiting_page_has_its_position_in_the_queue(path: Path) -> None:
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds([GONE, A, B, C, DEEP])
        crawl.read(GONE)
    assert explained(crawl.path, A).place == QueuePosition(1, 4, 1, 2)
    last = explained(crawl.path, DEEP)
    assert last.place == QueuePosition(4, 4, 2, 2)
    assert "3 pages with more cash, 1 on its host" in last.reasons[0]
    assert last.givers == []


@pytest.mark.parametrize("ending", ["js", "exe", "JS"])
def test_scripts_and_programs_are_only_requested_if_they_are_seeds(path: Path, ending: str) -> None:
    linked, seed = f"http://a.example/run.{ending}", f"http://b.example/run.{ending}"
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds([A, linked, seed])
        crawl.ended(linked, State.TYPE)
        crawl.ended(seed, State.TYPE)
        crawl.batch.fetches.append(FetchRow(2, crawl.now, "type", 200, 9, 0.1, "text/css"))
    (reason,) = explained(crawl.path, linked).reasons
    assert f".{ending}," in reason
    assert "was not requested" in reason
    assert not any("not requested" in one for one in explained(crawl.path, seed).reasons)


@pytest.mark.parametrize("reason", [*FAILURES, *REFUSALS])
def test_every_refusal_and_failure_has_one_reason_and_every_cut_its_remedy(
    path: Path, reason: State
) -> None:
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds([A])
        crawl.ended(A, reason, "what exactly")
    found = explained(crawl.path, A)
    assert len(found.reasons) == 1 + (reason in CUT)
    assert ("lifted by --" in found.reasons[-1]) is (reason in CUT)
    assert found.fetches[0].detail == "what exactly"
    assert found.state == reason.label


def test_a_url_is_understood_as_people_write_it(tmp_path: Path) -> None:
    """Marks are no part of it, unless the store keeps them."""
    secure = GONE.replace("http:", "https:")
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        crawl.seeds([GONE, secure, A])
        crawl.batch.originals = [(2, f"{A}?gclid=1")]
    for text in ("b.example/gone", "HTTP://B.example/gone#part", f" {GONE} "):
        found = explained(crawl.path, text)
        assert (found.url in {GONE, secure}, found.original) == (True, None)
    assert explained(crawl.path, f"{A}?gclid=2").original == f"{A}?gclid=1"
    with closing(HandCrawl(tmp_path / "marks.db", StoreTerms(strip_marks=False))) as crawl:
        crawl.seeds([f"{A}?gclid=1"])
    assert explained(crawl.path, f"{A}?gclid=1").url == f"{A}?gclid=1"
