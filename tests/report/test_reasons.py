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


def test_a_page_that_was_read_says_so(store: Path) -> None:
    found = explained(store, A)
    assert (found.state, found.rank, found.status) == ("fetched", found.rank, 200)
    assert found.reasons == ["it was read"]
    assert (found.history, found.depth, found.inlinks) == (6.0, 0, 2)
    assert (found.title, found.last_fetched) == ("The first", "2027-01-15T08:00:01Z")
    assert found.fetches == [Fetch("2027-01-15T08:00:01Z", "page", 200, "")]
    assert (found.place, found.stands_for) == (None, None)


def test_a_page_is_told_as_it_was_written_where_its_url_had_marks(tmp_path: Path) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        crawl.seeds([A, B])
        crawl.batch.originals = [(0, f"{A}?gclid=1")]
    assert explained(crawl.path, f"{A}?gclid=2").original == f"{A}?gclid=1"
    assert explained(crawl.path, B).original is None


def test_a_page_of_a_store_that_keeps_marks_is_found_by_them(tmp_path: Path) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db", StoreTerms(strip_marks=False))) as crawl:
        crawl.seeds([f"{A}?gclid=1"])
    assert explained(crawl.path, f"{A}?gclid=1").url == f"{A}?gclid=1"


def test_the_largest_givers_come_first_with_their_share_of_all_that_came(store: Path) -> None:
    givers = explained(store, A).givers
    assert {giver.url for giver in givers} == {MOVED, B}
    assert sum(giver.share for giver in givers) == pytest.approx(1)
    assert givers[0].amount >= givers[1].amount


def test_what_a_link_gave_is_the_givers_history_by_the_links_part(store: Path) -> None:
    (giver,) = explained(store, DEEP).givers
    assert giver.url == A
    assert giver.amount == pytest.approx(6 * 0.85 / 3)
    assert giver.share == 1


def test_a_page_that_nobody_gave_anything_has_no_givers(tmp_path: Path) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        crawl.seeds([A])
    assert explained(crawl.path, A).givers == []


def test_a_page_that_moved_says_where_to(store: Path) -> None:
    found = explained(store, MOVED)
    assert found.stands_for == A
    assert found.reasons == [f"it redirects to {A}, which gets its links"]


@pytest.mark.parametrize(
    ("state", "words"), [(State.CANONICAL, "canonical URL"), (State.ALIAS, "same content as")]
)
def test_a_page_that_is_another_one_says_why(tmp_path: Path, state: State, words: str) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        crawl.seeds([A])
        crawl.moved(A, B, state)
    (reason,) = explained(crawl.path, A).reasons
    assert words in reason
    assert B in reason


def test_a_page_that_waits_says_how_many_wait_before_it(tmp_path: Path) -> None:
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


def test_a_page_that_waits_says_what_robots_txt_says_of_it(tmp_path: Path) -> None:
    assert reasons_under(tmp_path / "1", Rules(forbidden=("/",)))[1:] == [
        "the robots.txt of its host forbids it, so it will not be requested"
    ]
    assert reasons_under(tmp_path / "2", Rules(crawl_delay_s=2.5))[1:] == [
        "its host asks for a delay of 2.5 s"
    ]
    assert reasons_under(tmp_path / "3", Rules())[1:] == []


def test_a_host_that_asked_for_a_pause_is_left_alone(tmp_path: Path) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        crawl.seeds([A])
        crawl.batch.hosts = [HostRow(0, "http://a.example", None, None, 1_800_000_000.0)]
    assert explained(crawl.path, A).reasons[1:] == [
        "its host asked for a pause until 2027-01-15T08:00:00Z",
        "the robots.txt of its host was not requested yet",
    ]


def test_what_robots_txt_forbids_it_forbids_for_a_while(tmp_path: Path) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        crawl.seeds([A])
        crawl.ended(A, State.ROBOTS, "")
        rules = Rules(forbidden=("/",)).text()
        crawl.batch.hosts = [HostRow(0, "http://a.example", rules, 1_800_000_000.0)]
    assert explained(crawl.path, A).reasons[1:] == [
        "a crawl that runs after 2027-01-15T08:00:00Z asks for robots.txt again"
    ]


def test_a_page_that_nobody_asked_for_says_what_was_wrong_with_its_host(tmp_path: Path) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        crawl.seeds([A])
        crawl.ended(A, State.TLS)
        crawl.batch.fetches.clear()
        crawl.batch.hosts = [HostRow(0, "http://a.example", trouble="tls: it has expired")]
    assert explained(crawl.path, A).reasons == [
        "its requests failed: tls",
        "the problem of its host was: tls: it has expired",
    ]


def test_a_page_that_was_put_aside_says_by_which_limit(tmp_path: Path) -> None:
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
def test_a_script_or_program_says_whether_it_was_requested(tmp_path: Path, ending: str) -> None:
    """A seed is, whatever its URL ends in."""
    linked, seed = f"http://a.example/run.{ending}", f"http://b.example/run.{ending}"
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        crawl.seeds([A, linked, seed])
        crawl.ended(linked, State.TYPE)
        crawl.ended(seed, State.TYPE)
        crawl.batch.fetches.append(FetchRow(2, crawl.now, "type", 200, 9, 0.1, "text/css"))
    (told,) = explained(crawl.path, linked).reasons
    assert f".{ending}," in told
    assert "was not requested" in told
    assert not any("not requested" in one for one in explained(crawl.path, seed).reasons)


@pytest.mark.parametrize("reason", [*Refusal, *FailureKind])
def test_every_way_to_end_has_words(tmp_path: Path, reason: Refusal | FailureKind) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        crawl.seeds([A])
        crawl.ended(A, State.of(reason), "what exactly")
    found = explained(crawl.path, A)
    assert len(found.reasons) == 1
    assert found.fetches[0].detail == "what exactly"
    assert found.state == reason.value


@pytest.mark.parametrize("text", ["b.example/gone", "HTTP://B.example/gone#part", f" {GONE} "])
def test_a_url_is_taken_as_people_write_it(tmp_path: Path, text: str) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        crawl.seeds([GONE, GONE.replace("http:", "https:")])
    assert explained(crawl.path, text).url in {GONE, GONE.replace("http:", "https:")}


def test_what_is_no_url_is_refused(store: Path) -> None:
    with pytest.raises(UsageError, match="'mailto:me' is not a URL such as"):
        explained(store, "mailto:me")


def test_an_unknown_url_is_answered_with_the_nearest_of_its_host(store: Path) -> None:
    with pytest.raises(UsageError, match="similar pages: ") as caught:
        explained(store, "http://a.example/older")
    assert caught.value.exit_code == 2
    assert str(caught.value).partition("similar pages: ")[2].split(", ")[0] == MOVED


def test_an_unknown_host_is_said_to_be_one(store: Path) -> None:
    with pytest.raises(UsageError, match=r"not in the store; it has no page of d\.example"):
        explained(store, "http://d.example/")
