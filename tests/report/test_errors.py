from contextlib import closing
from pathlib import Path

import pytest

from minicrawl.config.table import TABLE
from minicrawl.errors import UsageError
from minicrawl.report.snapshot import snapshot
from minicrawl.report.states.errors import (
    KINDS,
    ErrorReport,
    FailedPage,
    FailingHost,
    errors,
)
from minicrawl.states import FAILURES, REFUSALS, State
from minicrawl.store.records import NOT_ASKED, FetchRow, HostRow
from tests.stores import DEEP, GONE, NOON, A, B, C, HandCrawl


def found(path: Path, *kinds: State, host: str | None = None, count: int = 0) -> ErrorReport:
    with snapshot(path) as seen:
        return errors(seen, frozenset(kinds), host, count)


def kinds_of(path: Path, host: str | None = None) -> list[tuple[str, int, int, float]]:
    kinds = found(path, host=host).kinds
    return [(kind.kind, kind.pages, kind.requests, kind.share) for kind in kinds]


@pytest.fixture
def store(path: Path) -> Path:
    """Return a store with two failures of one host, one of another, a refusal and a page."""
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds([A, B, C, GONE, DEEP])
        crawl.read(C)
        crawl.ended(A, State.TIMEOUT, "no whole answer")
        crawl.ended(DEEP, State.TIMEOUT, "no answer at all")
        crawl.ended(GONE, State.NOT_FOUND)
        crawl.ended(B, State.ROBOTS)
    return crawl.path


class TestKinds:
    def test_pages_and_requests_are_counted_with_their_share_of_all_requests(
        self, store: Path
    ) -> None:
        others = [("not-found", 1, 1, 0.2), ("robots", 1, 1, 0.2)]
        assert kinds_of(store) == [("timeout", 2, 2, 0.4), *others]
        assert kinds_of(store, host="a.example") == [("timeout", 2, 2, 1.0)]

    def test_skipped_pages_and_failures_before_a_success_count_on_one_side(
        self, path: Path
    ) -> None:
        with closing(HandCrawl(path)) as crawl:
            crawl.seeds([A, B])
            crawl.ended(B, State.TRAP)
            crawl.batch.fetches[-1] = FetchRow(1, NOON, NOT_ASKED, None, 0, 0.0, "--limit 3")
            crawl.batch.fetches.append(FetchRow(0, NOON, State.RESET.outcome, None, 0, 0.1, ""))
            crawl.read(A)
        assert kinds_of(crawl.path) == [("reset", 0, 1, 0.5), ("trap", 1, 0, 0.0)]
        (page,) = found(crawl.path, State.TRAP).pages
        assert page.detail == "--limit 3"
        assert found(crawl.path, State.RESET).pages == []

    @pytest.mark.parametrize("state", [*FAILURES, *REFUSALS])
    def test_every_failure_and_refusal_is_explained(self, state: State) -> None:
        row = state.row
        assert row.means
        assert row.helps

    def test_options_named_as_help_exist(self) -> None:
        flags = {setting.flag for setting in TABLE}
        named = {word.strip(",;") for state in KINDS for word in state.row.helps.split()}
        assert {word for word in named if word.startswith("--")} <= flags


class TestHosts:
    def test_the_host_with_most_failures_comes_first_with_its_last_error(self, store: Path) -> None:
        hosts = [
            FailingHost("http://a.example", 2, "timeout", "no answer at all"),
            FailingHost("http://b.example", 1, "not-found", ""),
        ]
        assert found(store).hosts == hosts
        assert found(store, count=1).hosts == hosts[:1]

    def test_the_error_of_a_host_has_the_status(self, path: Path) -> None:
        with closing(HandCrawl(path)) as crawl:
            crawl.seeds([A])
            crawl.ended(A, State.SERVER_ERROR, "busy")
            crawl.batch.fetches[0] = crawl.batch.fetches[0]._replace(status=503)
        assert [host.detail for host in found(crawl.path).hosts] == ["503 busy"]

    def test_a_host_that_was_never_requested_shows_its_problem(self, path: Path) -> None:
        with closing(HandCrawl(path)) as crawl:
            crawl.seeds([A])
            crawl.ended(A, State.TLS)
            crawl.batch.fetches.clear()
            crawl.batch.hosts = [HostRow(0, "http://a.example", trouble="tls: has expired")]
        report = found(crawl.path)
        assert report.hosts == [FailingHost("http://a.example", 1, "tls", "tls: has expired")]
        assert report.pages == [FailedPage(A, "tls", None, "tls: has expired", None)]
        assert kinds_of(crawl.path) == [("tls", 1, 0, 0.0)]

    def test_a_problem_with_another_page_is_no_reason_of_a_refusal(self, path: Path) -> None:
        with closing(HandCrawl(path)) as crawl:
            crawl.seeds([A])
            crawl.ended(A, State.ROBOTS)
            crawl.batch.fetches.clear()
            crawl.batch.hosts = [HostRow(0, "http://a.example", trouble="reset: of a page")]
        report = found(crawl.path, State.ROBOTS)
        assert report.hosts == [FailingHost("http://a.example", 1, "robots", "")]
        assert report.pages == [FailedPage(A, "robots", None, "", None)]


class TestPages:
    def test_the_latest_failure_comes_first(self, store: Path) -> None:
        assert found(store).pages == [
            FailedPage(GONE, "not-found", None, "", "2027-01-15T08:00:04Z"),
            FailedPage(DEEP, "timeout", None, "no answer at all", "2027-01-15T08:00:03Z"),
            FailedPage(A, "timeout", None, "no whole answer", "2027-01-15T08:00:02Z"),
        ]
        assert [page.url for page in found(store, count=1).pages] == [GONE]

    def test_refusals_are_listed_on_request(self, store: Path) -> None:
        assert [page.url for page in found(store, State.ROBOTS).pages] == [B]
        assert [page.url for page in found(store, State.ROBOTS, State.NOT_FOUND).pages] == [B, GONE]

    def test_failures_can_be_limited_to_a_host(self, store: Path) -> None:
        assert [page.url for page in found(store, host="b.example").pages] == [GONE]
        with pytest.raises(UsageError, match=r"d\.example"):
            found(store, host="d.example")

    def test_a_page_is_listed_once_with_the_request_that_decided_its_state(
        self, path: Path
    ) -> None:
        with closing(HandCrawl(path)) as crawl:
            crawl.seeds([A])
            crawl.ended(A, State.RESET, "the first")
            crawl.ended(A, State.RESET, "the second")
            crawl.batch.fetches.append(FetchRow(0, NOON, State.TIMEOUT.outcome, None, 0, 0.1, ""))
        assert [page.detail for page in found(crawl.path).pages] == ["the second"]

    def test_requested_pages_come_before_others(self, path: Path) -> None:
        with closing(HandCrawl(path)) as crawl:
            crawl.seeds([A, B, C])
            for url in (A, B, C):
                crawl.ended(url, State.CONNECT)
            del crawl.batch.fetches[1:]
        assert [page.url for page in found(crawl.path).pages] == [A, C, B]
        assert [page.url for page in found(crawl.path, count=2).pages] == [A, C]
