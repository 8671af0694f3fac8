from contextlib import closing
from pathlib import Path

import pytest

from minicrawl.errors import UsageError
from minicrawl.model import FailureKind, Refusal, State
from minicrawl.report.page_states import Explanation, Fetch, explain
from minicrawl.report.snapshot import QueuePosition, snapshot
from minicrawl.store.records import NOT_ASKED, FetchRow, HostRow, StoreTerms
from minicrawl.web.robots import Rules
from tests.stores import DEEP, GONE, MOVED, A, B, C, HandCrawl, filled_store


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return filled_store(tmp_path / "crawl.db")


def explained(path: Path, url: str) -> Explanation:
    with snapshot(path) as seen:
        return explain(seen, url)


def reasons_under(tmp_path: Path, rules: Rules) -> list[str]:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        crawl.seeds([A])
        crawl.batch.hosts = [HostRow(0, "http://a.example", rules.text(), 0.0)]
    return explained(crawl.path, A).reasons


def test_a_page_that_was_read_has_all_its_facts(store: Path) -> None:
    found = explained(store, A)
    assert (found.state, found.status) == ("fetched", 200)
    assert found.reasons == ["it was read"]
    assert (found.history, found.depth, found.inlinks) == (6.0, 0, 2)
    assert (found.title, found.last_fetched) == ("The first", "2027-01-15T08:00:01Z")
    assert found.fetches == [Fetch("2027-01-15T08:00:01Z", "page", 200, "")]
    assert (found.place, found.stands_for) == (None, None)


def test_a_page_whose_url_lost_its_marks_shows_the_original_url(tmp_path: Path) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        crawl.seeds([A, B])
        crawl.batch.originals = [(0, f"{A}?gclid=1")]
    assert explained(crawl.path, f"{A}?gclid=2").original == f"{A}?gclid=1"
    assert explained(crawl.path, B).original is None


def test_a_store_that_keeps_marks_finds_a_page_by_its_full_url(tmp_path: Path) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db", StoreTerms(strip_marks=False))) as crawl:
        crawl.seeds([f"{A}?gclid=1"])
    assert explained(crawl.path, f"{A}?gclid=1").url == f"{A}?gclid=1"


def test_the_largest_givers_come_first_and_their_shares_add_up(store: Path) -> None:
    givers = explained(store, A).givers
    assert {giver.url for giver in givers} == {MOVED, B}
    assert sum(giver.share for giver in givers) == pytest.approx(1)
    assert givers[0].amount >= givers[1].amount


def test_a_link_gives_its_share_of_the_givers_history(store: Path) -> None:
    (giver,) = explained(store, DEEP).givers
    assert giver.url == A
    assert giver.amount == pytest.approx(6 * 0.85 / 3)
    assert giver.share == 1


def test_a_page_without_links_to_it_has_no_givers(tmp_path: Path) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        crawl.seeds([A])
    assert explained(crawl.path, A).givers == []


def test_a_redirect_names_its_target(store: Path) -> None:
    found = explained(store, MOVED)
    assert found.stands_for == A
    assert found.reasons == [f"it redirects to {A}, which gets its links"]


@pytest.mark.parametrize(
    ("state", "words"), [(State.CANONICAL, "canonical URL"), (State.ALIAS, "same content as")]
)
def test_a_duplicate_names_its_original_and_the_reason(
    tmp_path: Path, state: State, words: str
) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        crawl.seeds([A])
        crawl.moved(A, B, state)
    (reason,) = explained(crawl.path, A).reasons
    assert words in reason
    assert B in reason


def test_a_waiting_page_has_its_position_in_the_queue(tmp_path: Path) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        crawl.seeds([A, B, C, DEEP])
    first, last = explained(crawl.path, A), explained(crawl.path, DEEP)
    assert first.place == QueuePosition(1, 4, 1, 2)
    assert first.reasons[0] == "it has the most cash of all unread pages"
    assert last.place == QueuePosition(4, 4, 2, 2)
    assert last.reasons == [
        "it waits for 3 pages with more cash, 1 on its host",
        "the robots.txt of its host was not requested yet",
    ]


def test_a_waiting_page_has_what_robots_txt_says_about_it(tmp_path: Path) -> None:
    assert reasons_under(tmp_path / "1", Rules(forbidden=("/",)))[1:] == [
        "the robots.txt of its host forbids it, so it will not be requested"
    ]
    assert reasons_under(tmp_path / "2", Rules(crawl_delay_s=2.5))[1:] == [
        "its host asks for a delay of 2.5 s"
    ]
    assert reasons_under(tmp_path / "3", Rules())[1:] == []


def test_a_waiting_page_names_the_pause_that_its_host_asked_for(tmp_path: Path) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        crawl.seeds([A])
        crawl.batch.hosts = [HostRow(0, "http://a.example", None, None, 1_800_000_000.0)]
    assert explained(crawl.path, A).reasons[1:] == [
        "its host asked for a pause until 2027-01-15T08:00:00Z",
        "the robots.txt of its host was not requested yet",
    ]


def test_a_forbidden_page_says_when_robots_txt_is_requested_again(tmp_path: Path) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        crawl.seeds([A])
        crawl.ended(A, State.ROBOTS, "")
        rules = Rules(forbidden=("/",)).text()
        crawl.batch.hosts = [HostRow(0, "http://a.example", rules, 1_800_000_000.0)]
    assert explained(crawl.path, A).reasons[1:] == [
        "a crawl that runs after 2027-01-15T08:00:00Z asks for robots.txt again"
    ]


def test_a_page_that_was_never_requested_names_the_problem_of_its_host(tmp_path: Path) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        crawl.seeds([A])
        crawl.ended(A, State.TLS)
        crawl.batch.fetches.clear()
        crawl.batch.hosts = [HostRow(0, "http://a.example", trouble="tls: it has expired")]
    assert explained(crawl.path, A).reasons == [
        "its requests failed: tls",
        "the problem of its host was: tls: it has expired",
    ]


def test_a_skipped_page_names_the_limit(tmp_path: Path) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        crawl.seeds([A, B])
        crawl.ended(A, State.TRAP)
        crawl.batch.fetches.append(FetchRow(0, crawl.now, NOT_ASKED, None, 0, 0.0, "--limit 3"))
        crawl.moved(B, A, State.TWIN)
        crawl.batch.fetches.append(FetchRow(1, crawl.now, NOT_ASKED, None, 0, 0.0, "--limit 4"))
    assert explained(crawl.path, A).reasons == [
        "it is probably part of a trap: endless similar pages",
        "--limit 3",
    ]
    assert explained(crawl.path, B).reasons == [
        f"it was not requested, because by its URL it is the same as {A}, which gets its links",
        "--limit 4",
    ]


@pytest.mark.parametrize("ending", ["js", "exe", "JS"])
def test_scripts_and_programs_are_only_requested_if_they_are_seeds(
    tmp_path: Path, ending: str
) -> None:
    linked, seed = f"http://a.example/run.{ending}", f"http://b.example/run.{ending}"
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        crawl.seeds([A, linked, seed])
        crawl.ended(linked, State.TYPE)
        crawl.ended(seed, State.TYPE)
        crawl.batch.fetches.append(FetchRow(2, crawl.now, "type", 200, 9, 0.1, "text/css"))
    (reason,) = explained(crawl.path, linked).reasons
    assert f".{ending}," in reason
    assert "was not requested" in reason
    assert not any("not requested" in one for one in explained(crawl.path, seed).reasons)


@pytest.mark.parametrize("reason", [*Refusal, *FailureKind])
def test_every_refusal_and_failure_has_one_reason(
    tmp_path: Path, reason: Refusal | FailureKind
) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        crawl.seeds([A])
        crawl.ended(A, State.of(reason), "what exactly")
    found = explained(crawl.path, A)
    assert len(found.reasons) == 1
    assert found.fetches[0].detail == "what exactly"
    assert found.state == reason.value


@pytest.mark.parametrize("text", ["b.example/gone", "HTTP://B.example/gone#part", f" {GONE} "])
def test_a_url_is_understood_as_people_write_it(tmp_path: Path, text: str) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        crawl.seeds([GONE, GONE.replace("http:", "https:")])
    assert explained(crawl.path, text).url in {GONE, GONE.replace("http:", "https:")}


def test_an_invalid_url_is_refused(store: Path) -> None:
    with pytest.raises(UsageError, match="'mailto:me' is not a URL such as"):
        explained(store, "mailto:me")


def test_an_unknown_url_is_refused_with_similar_ones(store: Path) -> None:
    with pytest.raises(UsageError, match="similar pages: ") as caught:
        explained(store, "http://a.example/older")
    assert caught.value.exit_code == 2
    assert str(caught.value).partition("similar pages: ")[2].split(", ")[0] == MOVED


def test_an_unknown_host_is_named_as_unknown(store: Path) -> None:
    with pytest.raises(UsageError, match=r"not in the store; it has no page of d\.example"):
        explained(store, "http://d.example/")
